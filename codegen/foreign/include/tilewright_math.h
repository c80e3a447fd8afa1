// Functions of mathematics and of bits.
#pragma once

#ifndef INFINITY
#define INFINITY (__builtin_inff())
#endif
#ifndef NAN
#define NAN (__builtin_nanf(""))
#endif
#define CUDART_INF_F (__builtin_inff())
#define CUDART_NAN_F (__builtin_nanf(""))
#define CUDART_PI_F 3.141592654f

#define TW_MATH1(name)                        \
  extern "C" __device__ float name##f(float); \
  extern "C" __device__ double name(double);  \
  TW_CUDA float name(float x) { return name##f(x); }
#define TW_MATH2(name)                               \
  extern "C" __device__ float name##f(float, float); \
  extern "C" __device__ double name(double, double); \
  TW_CUDA float name(float x, float y) { return name##f(x, y); }
TW_MATH1(acos)
TW_MATH1(acosh)
TW_MATH1(asin)
TW_MATH1(asinh)
TW_MATH1(atan)
TW_MATH1(atanh)
TW_MATH1(cbrt)
TW_MATH1(ceil)
TW_MATH1(cos)
TW_MATH1(cosh)
TW_MATH1(erf)
TW_MATH1(erfc)
TW_MATH1(exp)
TW_MATH1(exp2)
TW_MATH1(exp10)
TW_MATH1(expm1)
TW_MATH1(fabs)
TW_MATH1(floor)
TW_MATH1(lgamma)
TW_MATH1(log)
TW_MATH1(log10)
TW_MATH1(log1p)
TW_MATH1(log2)
TW_MATH1(nearbyint)
TW_MATH1(rint)
TW_MATH1(round)
TW_MATH1(sin)
TW_MATH1(sinh)
TW_MATH1(sqrt)
TW_MATH1(tan)
TW_MATH1(tanh)
TW_MATH1(tgamma)
TW_MATH1(trunc)
TW_MATH2(atan2)
TW_MATH2(copysign)
TW_MATH2(fdim)
TW_MATH2(fmax)
TW_MATH2(fmin)
TW_MATH2(fmod)
TW_MATH2(hypot)
TW_MATH2(pow)
TW_MATH2(remainder)
#undef TW_MATH1
#undef TW_MATH2
extern "C" __device__ float fmaf(float, float, float);
extern "C" __device__ double fma(double, double, double);
TW_CUDA float fma(float x, float y, float z) { return fmaf(x, y, z); }

// sin and cos of pi * x, and the normal distribution, by functions of doubles.
TW_CUDA double sinpi(double x) { return sin(3.14159265358979323846 * fmod(x, 2.0)); }
TW_CUDA double cospi(double x) { return cos(3.14159265358979323846 * fmod(x, 2.0)); }
TW_CUDA double normcdf(double x) { return 0.5 * erfc(-x * 0.70710678118654752440); }
TW_CUDA float sinpif(float x) { return (float)sinpi((double)x); }
TW_CUDA float cospif(float x) { return (float)cospi((double)x); }
TW_CUDA float normcdff(float x) { return (float)normcdf((double)x); }
TW_CUDA double rcbrt(double x) { return 1.0 / cbrt(x); }
TW_CUDA float rcbrtf(float x) { return 1.0f / cbrtf(x); }
TW_CUDA double rhypot(double x, double y) { return 1.0 / hypot(x, y); }
TW_CUDA float rhypotf(float x, float y) { return 1.0f / hypotf(x, y); }

TW_CUDA float rsqrtf(float x) { return 1.0f / sqrtf(x); }
TW_CUDA double rsqrt(double x) { return 1.0 / sqrt(x); }
TW_CUDA float rsqrt(float x) { return rsqrtf(x); }
TW_CUDA float __expf(float x) { return expf(x); }
TW_CUDA float __exp10f(float x) { return exp10f(x); }
TW_CUDA float __logf(float x) { return logf(x); }
TW_CUDA float __log2f(float x) { return log2f(x); }
TW_CUDA float __log10f(float x) { return log10f(x); }
TW_CUDA float __sinf(float x) { return sinf(x); }
TW_CUDA float __cosf(float x) { return cosf(x); }
TW_CUDA float __tanf(float x) { return tanf(x); }
TW_CUDA float __powf(float x, float y) { return powf(x, y); }
TW_CUDA float __fdividef(float x, float y) { return x / y; }
TW_CUDA float fdividef(float x, float y) { return x / y; }
TW_CUDA float __saturatef(float x) { return x > 0.0f ? x < 1.0f ? x : 1.0f : 0.0f; }
TW_CUDA float __frcp_rn(float x) { return 1.0f / x; }
TW_CUDA float __fsqrt_rn(float x) { return sqrtf(x); }
TW_CUDA float __frsqrt_rn(float x) { return rsqrtf(x); }
TW_CUDA float __fadd_rn(float x, float y) { return x + y; }
TW_CUDA float __fsub_rn(float x, float y) { return x - y; }
TW_CUDA float __fmul_rn(float x, float y) { return x * y; }
TW_CUDA float __fdiv_rn(float x, float y) { return x / y; }
TW_CUDA float __fmaf_rn(float x, float y, float z) { return fmaf(x, y, z); }
TW_CUDA void sincosf(float x, float* s, float* c) { *s = sinf(x), *c = cosf(x); }
TW_CUDA void __sincosf(float x, float* s, float* c) { *s = sinf(x), *c = cosf(x); }
TW_CUDA void sincos(double x, double* s, double* c) { *s = sin(x), *c = cos(x); }

#define TW_MIN_MAX(type)                                     \
  TW_CUDA type max(type a, type b) { return a < b ? b : a; } \
  TW_CUDA type min(type a, type b) { return b < a ? b : a; }
TW_MIN_MAX(int)
TW_MIN_MAX(unsigned)
TW_MIN_MAX(long)
TW_MIN_MAX(unsigned long)
TW_MIN_MAX(long long)
TW_MIN_MAX(unsigned long long)
#undef TW_MIN_MAX
TW_CUDA unsigned max(int a, unsigned b) { return max((unsigned)a, b); }
TW_CUDA unsigned max(unsigned a, int b) { return max(a, (unsigned)b); }
TW_CUDA unsigned min(int a, unsigned b) { return min((unsigned)a, b); }
TW_CUDA unsigned min(unsigned a, int b) { return min(a, (unsigned)b); }
TW_CUDA float max(float a, float b) { return fmaxf(a, b); }
TW_CUDA float min(float a, float b) { return fminf(a, b); }
TW_CUDA double max(double a, double b) { return fmax(a, b); }
TW_CUDA double min(double a, double b) { return fmin(a, b); }
TW_CUDA int abs(int a) { return a < 0 ? -a : a; }
TW_CUDA long abs(long a) { return a < 0 ? -a : a; }
TW_CUDA long long abs(long long a) { return a < 0 ? -a : a; }
TW_CUDA float abs(float a) { return fabsf(a); }
TW_CUDA double abs(double a) { return fabs(a); }
TW_CUDA bool isnan(float a) { return __builtin_isnan(a); }
TW_CUDA bool isnan(double a) { return __builtin_isnan(a); }
TW_CUDA bool isinf(float a) { return __builtin_isinf(a); }
TW_CUDA bool isinf(double a) { return __builtin_isinf(a); }
TW_CUDA bool isfinite(float a) { return __builtin_isfinite(a); }
TW_CUDA bool isfinite(double a) { return __builtin_isfinite(a); }
TW_CUDA bool signbit(float a) { return __builtin_signbit(a) != 0; }

TW_CUDA int __float_as_int(float v) { return tw_cuda::FromBits<int>(tw_cuda::Bits(v)); }
TW_CUDA unsigned __float_as_uint(float v) { return tw_cuda::FromBits<unsigned>(tw_cuda::Bits(v)); }
TW_CUDA float __int_as_float(int v) { return tw_cuda::FromBits<float>(tw_cuda::Bits(v)); }
TW_CUDA float __uint_as_float(unsigned v) { return tw_cuda::FromBits<float>(tw_cuda::Bits(v)); }
TW_CUDA long long __double_as_longlong(double v) { return tw_cuda::FromBits<long long>(tw_cuda::Bits(v)); }
TW_CUDA double __longlong_as_double(long long v) { return tw_cuda::FromBits<double>(tw_cuda::Bits(v)); }
TW_CUDA int __float2int_rn(float v) { return (int)rintf(v); }
TW_CUDA int __float2int_rz(float v) { return (int)v; }
TW_CUDA int __float2int_rd(float v) { return (int)floorf(v); }
TW_CUDA int __float2int_ru(float v) { return (int)ceilf(v); }
TW_CUDA unsigned __float2uint_rn(float v) { return (unsigned)rintf(v); }
TW_CUDA float __int2float_rn(int v) { return (float)v; }
TW_CUDA float __uint2float_rn(unsigned v) { return (float)v; }

TW_CUDA int __popc(unsigned v) { return __builtin_popcount(v); }
TW_CUDA int __popcll(unsigned long long v) { return __builtin_popcountll(v); }
TW_CUDA int __ffs(int v) { return __builtin_ffs(v); }
TW_CUDA int __ffsll(long long v) { return __builtin_ffsll(v); }
TW_CUDA int __clz(int v) { return v == 0 ? 32 : __builtin_clz((unsigned)v); }
TW_CUDA int __clzll(long long v) { return v == 0 ? 64 : __builtin_clzll((unsigned long long)v); }
TW_CUDA unsigned __brev(unsigned v) { return __builtin_bitreverse32(v); }
TW_CUDA unsigned long long __brevll(unsigned long long v) { return __builtin_bitreverse64(v); }
TW_CUDA int __mulhi(int a, int b) { return (int)((long long)a * b >> 32); }
TW_CUDA unsigned __umulhi(unsigned a, unsigned b) { return (unsigned)((unsigned long long)a * b >> 32); }
TW_CUDA int __mul24(int a, int b) { return (a << 8 >> 8) * (b << 8 >> 8); }
TW_CUDA unsigned __byte_perm(unsigned a, unsigned b, unsigned selector) {
  const unsigned long long bytes = (unsigned long long)b << 32 | a;
  unsigned result = 0;
  for (int i = 0; i < 4; ++i) result |= (unsigned)(bytes >> ((selector >> (4 * i) & 7) * 8) & 255) << (8 * i);
  return result;
}
TW_CUDA unsigned __funnelshift_l(unsigned low, unsigned high, unsigned shift) {
  return (unsigned)(((unsigned long long)high << 32 | low) << (shift & 31) >> 32);
}
TW_CUDA unsigned __funnelshift_r(unsigned low, unsigned high, unsigned shift) {
  return (unsigned)(((unsigned long long)high << 32 | low) >> (shift & 31));
}
TW_CUDA int __dp4a(int a, int b, int c) {
  for (int i = 0; i < 4; ++i) c += (signed char)(a >> (8 * i)) * (signed char)(b >> (8 * i));
  return c;
}
TW_CUDA unsigned __dp4a(unsigned a, unsigned b, unsigned c) {
  for (int i = 0; i < 4; ++i) c += (unsigned char)(a >> (8 * i)) * (unsigned char)(b >> (8 * i));
  return c;
}
