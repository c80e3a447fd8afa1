// Blocks that make wide elements of constants that take less memory: weights of 4 or 8 bits and their scales.
//
//   W[k, j] = (float32(q[k / 2, j] >> k % 2 * 4 & 15) - 8) * scale[k / 32, j]
//
// Such a block is not computed ahead of time: what is stored would be several times as large as what it is made of, and
// a product by few rows takes as long as its weights take to arrive.
#pragma once

#include <optional>

#include "autoschedule/program/contraction.h"
#include "ir/function.h"
#include "schedule/recorder/schedule.h"

namespace tilewright {

// Whether the block computes each element of one buffer, floating-point numbers or bytes, from constant parameters that
// take at most half of its bytes.
bool UnpacksConstants(const Function& function, const BlockNode& block);

// Whether the contraction has one iterator over columns and one over the depth, and no batch: that of a product by a
// matrix.
bool IsMatrixProduct(const Contraction& contraction);

// The block that unpacks the columns of a matrix product of floating-point numbers, for it alone; nothing where there
// is none, or it was scheduled. Bytes are multiplied in groups, which the rule for sums of blocks unpacks
// (autoschedule/sketch/cpu/block_sums_rule.h).
std::optional<BlockRv> UnpackerOf(Schedule& sch, BlockRv product, const Contraction& contraction);

}  // namespace tilewright
