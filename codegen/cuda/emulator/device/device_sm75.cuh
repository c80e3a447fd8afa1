// What GPUs before sm_80 have in the place of conversions of two numbers at once: one at a time, and bfloat16, which they
// do not have, by integers. Each takes the place of the function of its name in device.cuh.
#pragma once

namespace tw {

TW_DEVICE f16 to_f16(float v) {
  f16 r;
  asm("cvt.rn.f16.f32 %0, %1;" : "=h"(r.bits) : "f"(v));
  return r;
}
// Rounds to nearest even; the bits of NaN that are kept may be none, and one is set.
TW_DEVICE bf16 to_bf16(float v) {
  const uint32_t bits = __float_as_uint(v);
  const bool nan = (bits & 0x7fffffffu) > 0x7f800000u;
  return {static_cast<uint16_t>(nan ? 0x7fffu : (bits + 0x7fffu + (bits >> 16 & 1)) >> 16)};
}
TW_DEVICE uint32_t pack_f16(float low, float high) {
  return to_f16(low).bits | static_cast<uint32_t>(to_f16(high).bits) << 16;
}
TW_DEVICE uint32_t pack_bf16(float low, float high) {
  return to_bf16(low).bits | static_cast<uint32_t>(to_bf16(high).bits) << 16;
}

}  // namespace tw
