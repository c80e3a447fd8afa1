// Reorder block iterators: the order in which a block lists them.
//
//   with T.block("C"):                                      with T.block("C"):
//       vi, vj, vk = T.axis.remap("SSR", [i, j, k])    ->       vk, vi, vj = T.axis.remap("RSS", [k, i, j])
//
// with the order [2, 0, 1]: the entry says which former iterator comes there.
//
// Why: intrinsics and layouts of blocks are matched in order.
//
// Conditions: the order is a permutation of the iterators' numbers; the block is not the root block.
//
// Ids: all survive.
#pragma once

#include <cstdint>
#include <vector>

#include "ir/function.h"
#include "schedule/core/refusal.h"

namespace tilewright {

Outcome<Function> ReorderBlockIterVar(const Function& function, uint32_t block, const std::vector<int64_t>& new_order);

}  // namespace tilewright
