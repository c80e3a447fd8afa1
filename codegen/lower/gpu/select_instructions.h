// Puts instructions in the place of the programs that say what they do.
//
//   with T.attr(0, "cuda.instruction", T.cuda.ldmatrix_x4(...)):       T.cuda.ldmatrix_x4(...)
//       for e in range(8): A_frag[...] = A_shared[...]             =>
//   with T.attr(0, "cuda.registers", 8):                               for e in range(8):
//       for e in range(8): C[...] = C_frag[row(tx, e), column(tx, e)]      C[...] = C_frag[8 + e]
//   with T.attr(0, "cuda.value", T.cuda.dp4a(...)):                    C[0] = T.cuda.dp4a(...)
//       for i in range(4): C[0] = C[0] + ...
//
// Implementations of intrinsics (intrin/cuda) say both: the body is what a lane does, in the indices of the tile, and
// what the interpreter executes and place_barriers.h looks at; the attribute is the call that does it, or the first of
// the lane's registers that the iterations of the loop are. Fragments become registers of each lane: its share of
// what the warp has.
//
// Outside of such attributes, an access to sums that each thread makes to an element of its own lane is one of a
// register (fragment_lanes.h). Refused: other accesses to fragments.
#pragma once

#include "absl/status/statusor.h"
#include "ir/function.h"
#include "target/target.h"

namespace tilewright {

// InvalidArgument names the fragment. Expects flat buffers.
absl::StatusOr<Function> SelectInstructions(const Function& function, const GpuTarget& gpu);

}  // namespace tilewright
