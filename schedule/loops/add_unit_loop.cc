#include "schedule/loops/add_unit_loop.h"

#include "schedule/program/loop_tree.h"

namespace tilewright {

Outcome<AddUnitLoopResult> AddUnitLoop(const Function& function, uint32_t id) {
  const Path path = FindPath(function, id);
  if (path.empty()) return Refusal{"add_unit_loop", "the loop or block no longer exists", {id}};
  if (path.size() == 1) return Refusal{"add_unit_loop", "{block0} is the root block", {id}};
  ForNode::Fields loop;
  loop.id = function->next_id;
  loop.var = Var("u");
  loop.extent = Expr(1);
  loop.body = path.back();
  return AddUnitLoopResult{ReplaceIn(function, path.back().get(), For(loop), function->next_id + 1), loop.id};
}

}  // namespace tilewright
