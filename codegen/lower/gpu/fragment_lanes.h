// Tells which register of which lane holds an element of the sums of products.
//
//   for jj, h, p in T.grid(8, 2, 2):                                                    of lane tx of 128, register
//       D[tx // 32 * 16 + h * 8 + tx % 32 // 4, jj * 8 + tx % 4 * 2 + p] = C[...]       jj * 4 + h * 2 + p
//
// Sums of wmma are tiles of 16 x 16 by 32 lanes, those of wgmma tiles of 64 rows by 128 lanes; which lane holds which
// of them, their layout says (intrin/operand_layout.h). Where each thread accesses the elements that its lane holds, an
// access is one of a register: so what is done to sums element by element (a bias, a residual, an activation) needs no
// memory between. Left operands of 16 bits lie as sums of as many rows and 16 columns do: the probabilities of
// attention are made of scores, and multiplied, where they are.
#pragma once

#include <cstdint>
#include <optional>
#include <vector>

#include "ir/arith/analyzer.h"
#include "ir/function.h"
#include "ir/layout.h"

namespace tilewright {

// Annotates fragments with their columns (kFragmentColumns). Expects buffers with their shapes.
Function MarkFragments(const Function& function);

// The register that holds an element of a fragment of `columns` columns, which consists of tiles of this layout.
// Nothing unless it is proven that the executing thread is the lane that holds it. `threads`: the loops over threads
// around; `analyzer` knows the ranges of the others.
std::optional<Expr> OwnRegister(const Expr& element, int64_t columns, const TileLayout& tile,
                                const std::vector<const ForNode*>& threads, arith::Analyzer* analyzer);

}  // namespace tilewright
