// Computes elementwise blocks where their results are used, before other rules look at a function.
//
//   bias_add = conv + bias                  relu = max((conv + bias) * scale + offset, 0)
//   bn_mul = bias_add * scale         ->
//   bn_add = bn_mul + offset
//   relu = max(bn_add, 0)
//
// Kept are blocks whose value is expensive (exp, division, ...) and used more than once, values of more than a few
// operations that one element uses more than once, values that have grown long, the epilogue of a product that several
// blocks read, blocks whose elements contractions or window reductions use again (their rules place what feeds them),
// or gathers and samples of images (vectors along the order in which the block stores them), blocks that were scheduled
// before, and whatever compute_inline refuses.
#pragma once

#include <string>

#include "ir/function.h"
#include "schedule/recorder/schedule.h"

namespace tilewright {

// Whether the block's value takes so many cycles that computing it again costs more than loading it.
bool IsDear(const BlockNode& block);

// Whether the block's value is made of so many elements, those of a window say, that it is not computed for each of
// the products that it is a factor of.
bool CombinesElements(const BlockNode& block);

// Whether some instances of `consumer` use the same element of a buffer.
bool UsesElementsAgain(const BlockNode& consumer, const Buffer& buffer);

// `keeps_unpackers`: what unpacks the constants of a matrix product (autoschedule/program/unpacked_constants.h) stays a
// block, whose rule decides where it is computed.
void InlineElementwise(Schedule& sch, const std::string& function, bool keeps_unpackers = false);

}  // namespace tilewright
