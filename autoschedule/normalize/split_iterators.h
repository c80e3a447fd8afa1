// Splits iterators that a block divides by a constant, so that the parts are iterators of their own: a grouped
// convolution becomes a batch of contractions.
//
//   out[.., o] += in[.., o // 8 * 4 + c] * W[.., c, o]      with o in [0, 32)
//
//   out[.., g * 8 + o] += in[.., g * 4 + c] * W[.., c, g * 8 + o]      with g in [0, 4), o in [0, 8)
// Where a condition on such parts makes terms of a sum zero, they are left out (schedule/algebra/skip_zero_terms.h): a
// transposed convolution becomes one convolution for each phase of its stride, with the phases as a batch. Where output
// or window are not multiples of the stride, both are filled up: phases with fewer weights meet zeros, which lowering
// leaves out.
#pragma once

#include <string>

#include "schedule/recorder/schedule.h"

namespace tilewright {

// Every block directly in the function's root block. Blocks whose loops are not one for each iterator stay as they are.
void SplitIterators(Schedule& sch, const std::string& function);

// An iterator of a block in parts of `divisor`, which divides its extent. Whether that was possible.
bool SplitIterator(Schedule& sch, BlockRv block, size_t iterator, int64_t divisor);

// Makes the iterator `inner` of a block, which has the given extent, and the one before it a single one. Whether it
// did.
bool FuseIterators(Schedule& sch, BlockRv block, size_t inner, int64_t extent);

}  // namespace tilewright
