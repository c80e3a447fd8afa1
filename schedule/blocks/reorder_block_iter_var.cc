#include "schedule/blocks/reorder_block_iter_var.h"

#include <algorithm>
#include <numeric>

#include "base/status_macros.h"
#include "schedule/program/common_refusals.h"
#include "schedule/program/loop_tree.h"

namespace tilewright {

Outcome<Function> ReorderBlockIterVar(const Function& function, uint32_t block_id,
                                      const std::vector<int64_t>& new_order) {
  constexpr const char* kName = "reorder_block_iter_var";
  TW_ASSIGN_OR_RETURN(Path path, PathToInnerBlock(kName, function, block_id));
  const auto* realize = cast<BlockRealizeNode>(path.back());
  std::vector<int64_t> all(realize->bindings.size());
  std::iota(all.begin(), all.end(), 0);
  if (!std::is_permutation(all.begin(), all.end(), new_order.begin(), new_order.end())) {
    std::string text;
    for (int64_t number : new_order) text += (text.empty() ? "" : ", ") + std::to_string(number);
    return Refusal{kName,      "[{text0}] is not an order of the {num0} iterators of {block0}",
                   {block_id}, {},
                   {text},     {std::ssize(all)}};
  }
  BlockNode::Fields block = realize->block->fields();
  std::vector<Expr> bindings;
  for (size_t i = 0; i < all.size(); ++i) {
    block.iter_vars[i] = realize->block->iter_vars[new_order[i]];
    bindings.push_back(realize->bindings[new_order[i]]);
  }
  return ReplaceIn(function, realize, Realize(std::move(bindings), realize->predicate, Block(std::move(block))),
                   function->next_id);
}

}  // namespace tilewright
