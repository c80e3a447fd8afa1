// Blockize: a loop with all that is in it becomes a block, which computes a tile instead of an element.
//
//   for i_0, j_0, i_1, j_1 in T.grid(4, 4, 16, 16):      for i_0, j_0 in T.grid(4, 4):
//       with T.block("B"):                                   with T.block("B_o"):
//           vi = T.axis.spatial(64, i_0 * 16 + i_1)              vi_o, vj_o = T.axis.remap("SS", [i_0, j_0])
//           vj = T.axis.spatial(64, j_0 * 16 + j_1)              T.reads(A[vi_o * 16:vi_o * 16 + 16, ...]); ...
//           B[vi, vj] = A[vi, vj]                      ->        for i_1, j_1 in T.grid(16, 16):
//                                                                    with T.block("B"):
//                                                                        vi_i, vj_i = T.axis.remap("SS", [i_1, j_1])
//                                                                        B[vi_o * 16 + vi_i, ...] = A[...]
//
// at loop i_1. The init of a reduction moves to the new block: there it is a block "<name>_init" of its own, over the
// spatial iterators of the tile. An iterator that has one value in the tile stays outside: the inner block has none for
// it.
//
// Several blocks, consecutive in one loop or scope, become the body of one block "outer_B_C_": the iterators of the new
// block are those of the loops around all of them, its regions hold theirs.
//
//   for i:                                       for i in range(16):
//       for j: block B                               with T.block("outer_B_C_"):
//       for j: block C                     ->            vi_o, vj_o = i, 0
//                                                        for j: block B with the iterator vj_i
//                                                        for j: block C with the iterator vj_i
//
// Conditions: the loop holds nothing but loops around one block; their ranges do not depend on loops outside; the
// block's iterators that the tile divides start at 0; each of its bindings is `outer * extent + inner` with `inner`
// made of the loops inside only (SubspaceDivide of ir/arith); no loop of the tile runs a reduction with an init again,
// which would then be added several times to one init (verify/structure/repeating_loop.h), and none that takes part in
// such a reduction runs over threads; tiles that differ in a spatial iterator write different elements. Several
// blocks: each in loops of its own below the innermost loop around all of them; their outer iterators are the same,
// and none is a reduction.
//
// Ids: all survive; the new block's is born, and those of the init block and its loops.
#pragma once

#include <cstdint>
#include <vector>

#include "ir/function.h"
#include "schedule/core/refusal.h"

namespace tilewright {

struct BlockizeResult {
  Function function;
  uint32_t block = 0;
};

// Without `preserve_unit_iters`, iterators of one value are 0 wherever they are used, and bound to 0.
Outcome<BlockizeResult> Blockize(const Function& function, uint32_t loop, bool preserve_unit_iters = true);

// At least two blocks, in any order.
Outcome<BlockizeResult> Blockize(const Function& function, const std::vector<uint32_t>& blocks,
                                 bool preserve_unit_iters = true);

}  // namespace tilewright
