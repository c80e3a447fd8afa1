// __nv_bfloat16 and __nv_bfloat162.
#pragma once

extern "C" __device__ float __tw_half_to_float(int bf16, unsigned bits);
extern "C" __device__ unsigned __tw_float_to_half(int bf16, float value);

#define TW_HALF __nv_bfloat16
#define TW_PAIR __nv_bfloat162
#define TW_RAW __nv_bfloat16_raw
#define TW_RAW_PAIR __nv_bfloat162_raw
#define TW_IS_BF16 1
#include "tilewright_half.inc"
#undef TW_HALF
#undef TW_PAIR
#undef TW_RAW
#undef TW_RAW_PAIR
#undef TW_IS_BF16
typedef __nv_bfloat16 nv_bfloat16;
typedef __nv_bfloat162 nv_bfloat162;

TW_CUDA __nv_bfloat16 __float2bfloat16(float v) { return __nv_bfloat16(v); }
TW_CUDA __nv_bfloat16 __float2bfloat16_rn(float v) { return __nv_bfloat16(v); }
TW_CUDA float __bfloat162float(__nv_bfloat16 v) { return v; }
TW_CUDA unsigned short __bfloat16_as_ushort(__nv_bfloat16 v) { return v.__x; }
TW_CUDA __nv_bfloat16 __ushort_as_bfloat16(unsigned short v) { return __nv_bfloat16(__nv_bfloat16_raw{v}); }
TW_CUDA __nv_bfloat162 __halves2bfloat162(__nv_bfloat16 a, __nv_bfloat16 b) { return __nv_bfloat162(a, b); }
TW_CUDA __nv_bfloat162 make_bfloat162(__nv_bfloat16 a, __nv_bfloat16 b) { return __nv_bfloat162(a, b); }
TW_CUDA __nv_bfloat162 __bfloat162bfloat162(__nv_bfloat16 a) { return __nv_bfloat162(a, a); }
TW_CUDA __nv_bfloat162 __float2bfloat162_rn(float v) { return __nv_bfloat162(__nv_bfloat16(v), __nv_bfloat16(v)); }
TW_CUDA __nv_bfloat162 __floats2bfloat162_rn(float a, float b) {
  return __nv_bfloat162(__nv_bfloat16(a), __nv_bfloat16(b));
}
TW_CUDA __nv_bfloat162 __float22bfloat162_rn(float2 v) { return __floats2bfloat162_rn(v.x, v.y); }
TW_CUDA float2 __bfloat1622float2(__nv_bfloat162 v) { return {(float)v.x, (float)v.y}; }
TW_CUDA float __low2float(__nv_bfloat162 v) { return v.x; }
TW_CUDA float __high2float(__nv_bfloat162 v) { return v.y; }
TW_CUDA __nv_bfloat16 __low2bfloat16(__nv_bfloat162 v) { return v.x; }
TW_CUDA __nv_bfloat16 __high2bfloat16(__nv_bfloat162 v) { return v.y; }
