// The box of a buffer that a block touches while some of the loops around it run.
//
//   for i_0, j_0, k_0 in T.grid(4, 4, 4):
//       for i_1, j_1, k_1 in T.grid(16, 16, 16):
//           with T.block("C"):
//               vi = i_0 * 16 + i_1; ...; reads A[vi, vk]
//
// over i_1, j_1, k_1 the block reads A[i_0 * 16:i_0 * 16 + 16, k_0 * 16:k_0 * 16 + 16], over all loops A[0:64, 0:64].
#pragma once

#include <vector>

#include "ir/arith/analyzer.h"
#include "ir/function.h"

namespace tilewright {

// `region` is in terms of the block's iterators, the result in terms of the variables around `loops` (outermost first,
// all of them around the block). It is the hull of what is touched, cut to the buffer's shape where the ends are
// constants; a dimension of which no bound is known is whole.
BufferRegion RelaxedRegion(const BufferRegion& region, const BlockRealizeNode& realize,
                           const std::vector<const ForNode*>& loops);

// Whether the iterations of the loop are threads that share memory of the scope: all of them need what each reads.
bool IsSharedByThreadsOf(const ForNode& loop, const Scope& scope);

// Whether every element of `inner` lies in `outer`, as far as `analyzer` can prove.
bool ProvablyInside(arith::Analyzer* analyzer, const std::vector<Range>& inner, const std::vector<Range>& outer);

}  // namespace tilewright
