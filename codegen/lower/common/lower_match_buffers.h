// Replaces sub-buffers by the buffers they are parts of.
//
//   with T.block("update"):                                      with T.block("update"):
//       C = T.match_buffer(D[i * 12:i * 12 + 12, 0:32], ...) =>      D[i * 12 + a, b] = ...
//       C[a, b] = ...
//
// Variables in the sub-buffer's strides and offset get their values. What the sub-buffer promises is proven, or the
// program is refused: equal extents, equal scope and type, an offset that is a multiple of offset_factor, and strides
// where they are constants.
#pragma once

#include "absl/status/statusor.h"
#include "ir/function.h"

namespace tilewright {

absl::StatusOr<Function> LowerMatchBuffers(const Function& function);

}  // namespace tilewright
