// New blocks in loops of their own.
//
//   NewBlock sums = {.name = "S", .iters = {vj, vk}, .target = s, .indices = {vj}, .value = s[vj] + B[vk, vj],
//                    .init = 0};
//
//   for ax0, ax1 in T.grid(8, 16):
//       with T.block("S"):
//           v0, v1 = T.axis.remap("SR", [ax0, ax1])
//           with T.init():
//               S[v0] = 0
//           S[v0] = S[v0] + B[v1, v0]
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "ir/stmt.h"

namespace tilewright {

struct NewBlock {
  std::string name;
  std::vector<IterVar> iters;  // of another block, whose variables `indices`, `value` and `init` use; they count from 0
  Buffer target;
  std::vector<Expr> indices;
  Expr value;
  Expr init = {};  // null: none
};

// The block's regions are those that it touches. Loops and block get ids from `next_id`, `block_id` that of the block.
Stmt MakeBlock(const NewBlock& block, uint32_t* next_id, uint32_t* block_id);

// The block of these fields, with the regions that its init and body touch.
Block TouchingBlock(BlockNode::Fields fields);

}  // namespace tilewright
