// Which sketches there are for the blocks of a program, and which tensor intrinsics can compute them, and how: what
// `tilewright tune --list-candidates` prints.
//
//   block conv2d_nhwc over n, h, w, co; summed over rh, rw, rc
//     sketches: contraction (preferred), plain
//     fma_f32_12x32x1_avx512    vi = h, w; vj = co; vk = rc        padding  2.0%
//     dot_bf16_12x32x2_avx512   no: C[..] + A[..] * B[..] is not of the form ...
//
//   candidates by projected time, nothing was measured:
//     12.3 us  C.sketch=contraction C.tile_rows=12 ... (preferred)
//     14.0 us  C.sketch=contraction C.tile_rows=6 ...
//
// Blocks are looked at in the form that the rules give them first (autoschedule/normalize/normal_form.h).
#pragma once

#include <string>
#include <vector>

#include "intrin/registry.h"
#include "ir/function.h"
#include "target/target.h"

namespace tilewright {

// The sketches that a search chooses from, and every mapping of every block to the registry's intrinsics; of a family,
// to its first member that the target has.
//
// Behind them candidates with all of their choices: the preferred one of each sketch and some that are drawn, verified,
// from fast to slow as they are projected to be (autoschedule/cost/projected.h).
std::string ListCandidates(const Module& module, const Target& target, IntrinRegistry* intrins);

// Names of the blocks that no intrinsic of the target can compute: they get loops over vectors.
std::vector<std::string> BlocksWithoutIntrinsic(const Module& module, const Target& target, IntrinRegistry* intrins);

}  // namespace tilewright
