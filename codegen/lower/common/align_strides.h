// Gives allocated buffers the strides that storage_align asks for.
//
//   X = T.allocate((16, 32), {"buffer_dim_align": [[0, 32, 8]]})   =>   X = T.allocate((16, 32), strides=[40, 1])
//
// The stride of the axis becomes the least one, not less than the compact one, that is 8 more than a multiple of 32;
// the strides of outer dimensions grow with it. Where two entries name an axis, the last one counts.
//
// Rows then lie in different memory banks or sets of the cache, or begin at vector boundaries. It runs after buffers
// are compacted, because their extents decide the strides, and before sub-buffers take the strides of what they are
// parts of.
#pragma once

#include "absl/status/statusor.h"
#include "ir/function.h"

namespace tilewright {

// Refuses buffers that have a layout or strides of their own.
absl::StatusOr<Function> AlignStrides(const Function& function);

}  // namespace tilewright
