// Whether a copy of a box of a buffer, made when a block begins, stays inside of the buffer.
//
//   with T.block("expert"):                           W[E[vn], 0:16] is inside of W: the block reads
//       vn = T.axis.spatial(2, n)                     W[E[vn], 0] to W[E[vn], 15] whatever E holds,
//       T.reads(W[E[vn], 0:16], E[vn])                or ends the program
//       for i in range(16):
//           with T.block("o"): O[vn, i] = W[E[vn], i]
//
// A dimension that is not known to be inside is so where reads that no condition guards take all of it: a program in
// which they leave the buffer is wrong already. Memory that the place depends on must not change while the block runs.
#pragma once

#include <vector>

#include "ir/arith/analyzer.h"
#include "ir/function.h"
#include "verify/structure/block_scope.h"

namespace tilewright {

// `box` is in terms of the variables that are defined in the scope's block, whose ranges `analyzer` knows.
bool CopyStaysInside(const Function& function, const BlockScope& scope, const Buffer& buffer,
                     const std::vector<Range>& box, arith::Analyzer* analyzer);

}  // namespace tilewright
