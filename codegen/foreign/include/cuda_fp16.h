// __half and __half2.
#pragma once

extern "C" __device__ float __tw_half_to_float(int bf16, unsigned bits);
extern "C" __device__ unsigned __tw_float_to_half(int bf16, float value);

#define TW_HALF __half
#define TW_PAIR __half2
#define TW_RAW __half_raw
#define TW_RAW_PAIR __half2_raw
#define TW_IS_BF16 0
#include "tilewright_half.inc"
#undef TW_HALF
#undef TW_PAIR
#undef TW_RAW
#undef TW_RAW_PAIR
#undef TW_IS_BF16
typedef __half half;
typedef __half2 half2;

TW_CUDA __half __float2half(float v) { return __half(v); }
TW_CUDA __half __float2half_rn(float v) { return __half(v); }
TW_CUDA __half __float2half_rz(float v) {
  __half nearest(v);
  if (fabsf((float)nearest) > fabsf(v)) --nearest.__x;
  return nearest;
}
TW_CUDA __half __double2half(double v) { return __half((float)v); }
TW_CUDA float __half2float(__half v) { return v; }
TW_CUDA __half __int2half_rn(int v) { return __half((float)v); }
TW_CUDA int __half2int_rn(__half v) { return (int)rintf(v); }
TW_CUDA unsigned short __half_as_ushort(__half v) { return v.__x; }
TW_CUDA short __half_as_short(__half v) { return (short)v.__x; }
TW_CUDA __half __ushort_as_half(unsigned short v) { return __half(__half_raw{v}); }
TW_CUDA __half __short_as_half(short v) { return __half(__half_raw{(unsigned short)v}); }
TW_CUDA __half2 __halves2half2(__half a, __half b) { return __half2(a, b); }
TW_CUDA __half2 make_half2(__half a, __half b) { return __half2(a, b); }
TW_CUDA __half2 __half2half2(__half a) { return __half2(a, a); }
TW_CUDA __half2 __float2half2_rn(float v) { return __half2(__half(v), __half(v)); }
TW_CUDA __half2 __floats2half2_rn(float a, float b) { return __half2(__half(a), __half(b)); }
TW_CUDA __half2 __float22half2_rn(float2 v) { return __half2(__half(v.x), __half(v.y)); }
TW_CUDA float2 __half22float2(__half2 v) { return {(float)v.x, (float)v.y}; }
TW_CUDA float __low2float(__half2 v) { return v.x; }
TW_CUDA float __high2float(__half2 v) { return v.y; }
TW_CUDA __half __low2half(__half2 v) { return v.x; }
TW_CUDA __half __high2half(__half2 v) { return v.y; }
