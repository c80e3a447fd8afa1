// Vectors of bytes shifted by different amounts per lane are converted to 32 bits first and shifted there.
//
//   T.Cast("float32x16", A[0:16] >> s & T.Broadcast(T.uint8(15), 16))    where s are 0, 4, 0, 4, ...
//
// =>
//
//   wide = T.Cast("int32x16", A[0:16])
//   T.Cast("float32x16", wide >> T.Cast("int32x16", s) & T.Cast("int32x16", T.Broadcast(15, 16)))
//
// Processors of x86 shift such bytes in words of 16 bits, which have to be widened and narrowed again. For elements of
// 8 and 16 bits that are converted to 32, on targets that do not shift bytes (ShiftsBytes).
#pragma once

#include "ir/function.h"
#include "target/target.h"

namespace tilewright {

Function WidenShifts(const Function& function, const Target& target);

}  // namespace tilewright
