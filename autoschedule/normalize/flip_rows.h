// Contractions of signed bytes on targets whose instruction multiplies unsigned by signed ones, and of unsigned by
// signed bytes where it multiplies signed ones.
//
//   C[vi, vj] += A[vi, vk] * B[vk, vj]               A_flipped[vi, vk] = A[vi, vk] ^ 128                 unsigned
//                                             ->     C_sum[vi, vj] += A_flipped[vi, vk] * B[vk, vj]
//                                                    C[vi, vj] = C_sum[vi, vj] - 128 * C_offset[vj]
//
// The sums of B, which is constant, are made ahead of time (autoschedule/normalize/product_form.h). Without this the
// tile adds them up itself (codegen/lower/cpu/signed_dots.h), which takes registers and an instruction for each vector
// of B.
#pragma once

#include "schedule/recorder/schedule.h"
#include "target/target.h"

namespace tilewright {

// Flips the sign bits of what the rows read, where that pays; whether it did. Terms that padding makes zero, which
// lowering would leave out, are computed afterwards: they must be few. split_offset is still to be applied.
bool FlipRows(Schedule& sch, BlockRv block, const Target& target);

}  // namespace tilewright
