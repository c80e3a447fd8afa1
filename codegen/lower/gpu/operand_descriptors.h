// Describes the operands that instructions read from shared memory by themselves.
//
//   T.cuda.wgmma("128", ..., C, T.address_of(S[s, 64, 16]), ...)
//       =>  T.cuda.wgmma("128", ..., C, T.cuda.wgmma_descriptor("tw::kSwizzle128", T.address_of(S[s, 64, 16]), 16, 1024), ...)
//
// wgmma finds the elements of an operand by its address, two distances and a swizzle. These follow from the layout of
// the buffer (shared_places.h), which set_layout gives to it. The pass runs while buffers have their shapes.
//
// ldmatrix and stmatrix take the address of each row of 16 bytes: a layout must keep these together, where they begin
// at multiples of 16 bytes.
#pragma once

#include "absl/status/statusor.h"
#include "ir/function.h"

namespace tilewright {

// InvalidArgument names a buffer in which there is no descriptor for the instruction's tiles, or no whole row.
absl::StatusOr<Function> DescribeOperands(const Function& function);

}  // namespace tilewright
