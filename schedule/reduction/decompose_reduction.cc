#include "schedule/reduction/decompose_reduction.h"

#include <algorithm>
#include <utility>
#include <vector>

#include "base/status_macros.h"
#include "ir/analysis.h"
#include "schedule/program/common_refusals.h"
#include "schedule/program/loop_independence.h"
#include "schedule/program/loop_tree.h"
#include "schedule/program/reduction_block.h"
#include "verify/structure/block_scope.h"
#include "verify/structure/instance_order.h"

namespace tilewright {
namespace {

constexpr const char* kName = "decompose_reduction";

// What is taken apart: the block, and the loops above it from the given one inwards.
struct Reduction {
  const BlockRealizeNode* realize;
  const ForNode* loop;
  std::vector<const ForNode*> outer_loops, inner_loops;  // `loop` is the first inner one
};

Outcome<Reduction> Check(const Function& function, uint32_t block_id, uint32_t loop_id) {
  TW_ASSIGN_OR_RETURN(Path path, PathToInnerBlock(kName, function, block_id));
  TW_ASSIGN_OR_RETURN(Path loop_path, PathToLoop(kName, function, loop_id));
  Reduction reduction{cast<BlockRealizeNode>(path.back()), cast<ForNode>(loop_path.back()), {}, {}};
  const std::vector<const ForNode*> above = LoopsAbove(path);
  const auto first = std::find(above.begin(), above.end(), reduction.loop);
  if (first == above.end()) return Refusal{kName, "{loop1} is not above {block0}", {block_id, loop_id}};
  reduction.outer_loops.assign(above.begin(), first);
  reduction.inner_loops.assign(first, above.end());

  const BlockScope scope = BlockScope::Around(function, block_id);
  if (auto why = WhyNotReduction(scope, *scope.Find(block_id))) {
    return Refusal{kName, "{block0} is not a reduction block: {text0}", {block_id}, {}, {*why}};
  }
  const BlockNode& block = *reduction.realize->block;
  if (const OrderedInstances ordered = FindOrderedInstances(block); ordered.by_elements) {
    return Refusal{
        kName, "instances of {block0} depend on each other by {text0}", {block_id}, {}, {ordered.buffer->name}};
  }
  for (auto outer = above.begin(); outer != first; ++outer) {
    for (size_t i = 0; i < block.iter_vars.size(); ++i) {
      if (block.iter_vars[i].kind == IterKind::kReduce && !IsInt((*outer)->extent, 1) &&
          UsesVar(reduction.realize->bindings[i], (*outer)->var)) {
        return Refusal{kName,
                       "{loop2}, outside of {loop1}, takes part in the reduction of {block0}",
                       {block_id, loop_id, (*outer)->id}};
      }
    }
  }
  if (auto refusal = WhyOthersUseOutputs(kName, function, *reduction.realize, *reduction.loop)) return *refusal;
  return reduction;
}

Stmt MakeUpdate(const BlockRealizeNode& realize) {
  BlockNode::Fields update = realize.block->fields();
  update.name += "_update";
  update.init = Stmt();
  update.reads = ReadsOfUpdate(*realize.block);
  return Realize(realize.bindings, realize.predicate, Block(std::move(update)));
}

}  // namespace

Outcome<DecomposeReductionResult> DecomposeReduction(const Function& function, uint32_t block_id, uint32_t loop_id) {
  TW_ASSIGN_OR_RETURN(Reduction reduction, Check(function, block_id, loop_id));
  uint32_t next_id = function->next_id;
  TW_ASSIGN_OR_RETURN(InitNest init, MakeInitNest(kName, *reduction.realize, reduction.outer_loops,
                                                  reduction.inner_loops, {.loop_suffix = "_init"}, &next_id));
  const Stmt update = ReplaceStmt(Stmt(reduction.loop), reduction.realize, MakeUpdate(*reduction.realize));
  return DecomposeReductionResult{ReplaceIn(function, reduction.loop, Sequence({init.nest, update}), next_id),
                                  init.block};
}

}  // namespace tilewright
