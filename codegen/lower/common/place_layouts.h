// Gives allocated buffers the layouts that set_layout asks for.
//
//   S = T.allocate((64, 64), "float16", "shared",        S = T.allocate((64, 64), "float16", "shared", align=1024,
//                  {"buffer_layout": "swizzle_128B"})  =>               layout=T.layout(lambda i, j: ...))
//
// A layout changes addresses and no meaning; flatten_buffers.h computes them. The pass runs when buffers have the shape
// that they are allocated with.
#pragma once

#include "absl/status/statusor.h"
#include "ir/function.h"

namespace tilewright {

// InvalidArgument names the buffer whose shape does not fit its layout, or that has strides or a layout already.
absl::StatusOr<Function> PlaceLayouts(const Function& function);

}  // namespace tilewright
