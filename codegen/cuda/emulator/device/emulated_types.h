// Types, built-in variables and conversions of emulated kernels.
#pragma once

#include <stdint.h>

#define __global__
#define __device__
#define __forceinline__ inline
#define __launch_bounds__(...)
#define __cluster_dims__(...)
#define __grid_constant__
#define __restrict__
#define TW_DEVICE inline

// As in CUDA: 128 opaque bytes. tensor_map.h makes them.
struct alignas(64) TwTensorMap {
  uint64_t opaque[16];
};

namespace tw {

struct f16 {
  uint16_t bits;
};
struct bf16 {
  uint16_t bits;
};
struct tf32 {
  uint32_t bits;
};
struct e4m3 {
  uint8_t bits;
};
struct e5m2 {
  uint8_t bits;
};
// 8-bit integers as operands of matrix instructions.
using s8 = int8_t;
using u8 = uint8_t;

struct alignas(8) u32x2 {
  uint32_t x, y;
};
struct alignas(16) u32x4 {
  uint32_t x, y, z, w;
};
struct alignas(8) f32x2 {
  float x, y;
};
struct alignas(16) f32x4 {
  float x, y, z, w;
};

namespace emu {

struct Index {
  uint32_t x, y, z;
};
// The built-in variables of the thread that runs.
struct View {
  Index thread, block, block_dim, grid_dim;
};
extern thread_local constinit const View* view;

float FromF16(uint16_t bits);
uint16_t ToF16(float value);
float FromBf16(uint16_t bits);
uint16_t ToBf16(float value);
float FromE4m3(uint8_t bits);
uint8_t ToE4m3(float value);
float FromE5m2(uint8_t bits);
uint8_t ToE5m2(float value);
float RoundToTf32(float value);

template <class To, class From>
inline To BitCast(const From& from) {
  static_assert(sizeof(To) == sizeof(From));
  To to;
  __builtin_memcpy(&to, &from, sizeof(To));
  return to;
}

}  // namespace emu

// Conversions, rounding to nearest even; to 8 bits saturating.
inline float to_float(f16 v) { return emu::FromF16(v.bits); }
inline float to_float(bf16 v) { return emu::FromBf16(v.bits); }
inline float to_float(e4m3 v) { return emu::FromE4m3(v.bits); }
inline float to_float(e5m2 v) { return emu::FromE5m2(v.bits); }
inline f16 to_f16(float v) { return {emu::ToF16(v)}; }
inline bf16 to_bf16(float v) { return {emu::ToBf16(v)}; }
inline e4m3 to_e4m3(float v) { return {emu::ToE4m3(v)}; }
inline e5m2 to_e5m2(float v) { return {emu::ToE5m2(v)}; }
// A float whose bits are those of the nearest tf32 (ties away from zero, as cvt.rna).
inline float to_tf32(float v) { return emu::RoundToTf32(v); }

// Two values in a register, `low` in the low half.
inline uint32_t pack_f16(float low, float high) {
  return emu::ToF16(low) | static_cast<uint32_t>(emu::ToF16(high)) << 16;
}
inline uint32_t pack_bf16(float low, float high) {
  return emu::ToBf16(low) | static_cast<uint32_t>(emu::ToBf16(high)) << 16;
}
inline uint32_t bits_of(float v) { return emu::BitCast<uint32_t>(v); }
inline float float_of(uint32_t bits) { return emu::BitCast<float>(bits); }

// Fast approximations of the GPU; exact to a few units in the last place here.
inline float exp2_fast(float v) { return __builtin_exp2f(v); }
inline float rsqrt_fast(float v) { return 1.0f / __builtin_sqrtf(v); }
inline float max(float a, float b) { return __builtin_fmaxf(a, b); }
inline float min(float a, float b) { return __builtin_fminf(a, b); }
inline float fma(float a, float b, float c) { return __builtin_fmaf(a, b, c); }

}  // namespace tw

#define threadIdx (tw::emu::view->thread)
#define blockIdx (tw::emu::view->block)
#define blockDim (tw::emu::view->block_dim)
#define gridDim (tw::emu::view->grid_dim)
