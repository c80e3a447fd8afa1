// Dot products of four bytes by one thread, added to 32 bits: dp4a_s8s8s32, dp4a_s8u8s32, dp4a_u8s8s32, dp4a_u8u8u32.
// Operands lie in shared memory, the sum in local memory, as in schedules that use TVM's intrinsics of these names.
#pragma once

#include "intrin/registry.h"

namespace tilewright {

IntrinFamily Dp4aFamily();

}  // namespace tilewright
