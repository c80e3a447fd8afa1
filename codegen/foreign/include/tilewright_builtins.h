// What CUDA C++ has without any #include: qualifiers, vector types, built-in variables, barriers, exchange within a
// warp, atomics. Comes before the text of every kernel.
//
// Functions are inlined and carry no lines of their own, so that what they do happens at the line that calls them.
#pragma once

#define __CUDACC__ 1
#define __NVCC__ 1
#define __CUDACC_VER_MAJOR__ 12
#define __CUDACC_VER_MINOR__ 8
#define CUDART_VERSION 12080

#define __global__ __attribute__((global))
#define __device__ __attribute__((device))
#define __host__ __attribute__((host))
#define __shared__ __attribute__((shared))
#define __constant__ __attribute__((constant))
#define __managed__ __attribute__((device))
#define __forceinline__ inline __attribute__((always_inline))
#define __noinline__ __attribute__((noinline))
#define __launch_bounds__(...)
#define __cluster_dims__(...) __attribute__((annotate("tilewright.cluster", __VA_ARGS__)))
#define __maxnreg__(...)
#define __grid_constant__
#define __restrict__ __restrict
#define __align__(n) __attribute__((aligned(n)))
#define __builtin_align__(n) __attribute__((aligned(n)))

// Behind __shared__ the keyword would be taken for a part of the type. Its operand is a number or a type.
template <class T>
constexpr unsigned long __tw_alignas() {
  return alignof(T);
}
template <unsigned long kBytes>
constexpr unsigned long __tw_alignas() {
  return kBytes;
}
#define alignas(...) __attribute__((aligned(__tw_alignas<__VA_ARGS__>())))

#define TW_CUDA __attribute__((device, always_inline, nodebug)) inline
#define TW_CUDA_BOTH __attribute__((device, host, always_inline, nodebug)) inline

// Vector types: as large and as aligned as CUDA's.
#define TW_VECTOR(type, name, align1, align2, align4)                               \
  struct __attribute__((aligned(align1))) name##1 { type x; };                      \
  struct __attribute__((aligned(align2))) name##2 { type x, y; };                   \
  struct name##3 { type x, y, z; };                                                 \
  struct __attribute__((aligned(align4))) name##4 { type x, y, z, w; };             \
  TW_CUDA_BOTH name##1 make_##name##1(type x) { return {x}; }                       \
  TW_CUDA_BOTH name##2 make_##name##2(type x, type y) { return {x, y}; }            \
  TW_CUDA_BOTH name##3 make_##name##3(type x, type y, type z) { return {x, y, z}; } \
  TW_CUDA_BOTH name##4 make_##name##4(type x, type y, type z, type w) { return {x, y, z, w}; }
TW_VECTOR(signed char, char, 1, 2, 4)
TW_VECTOR(unsigned char, uchar, 1, 2, 4)
TW_VECTOR(short, short, 2, 4, 8)
TW_VECTOR(unsigned short, ushort, 2, 4, 8)
TW_VECTOR(int, int, 4, 8, 16)
TW_VECTOR(unsigned, uint, 4, 8, 16)
TW_VECTOR(long, long, 8, 16, 16)
TW_VECTOR(unsigned long, ulong, 8, 16, 16)
TW_VECTOR(long long, longlong, 8, 16, 16)
TW_VECTOR(unsigned long long, ulonglong, 8, 16, 16)
TW_VECTOR(float, float, 4, 8, 16)
TW_VECTOR(double, double, 8, 16, 16)
#undef TW_VECTOR

struct dim3 {
  unsigned x, y, z;
  TW_CUDA_BOTH constexpr dim3(unsigned x_ = 1, unsigned y_ = 1, unsigned z_ = 1) : x(x_), y(y_), z(z_) {}
  TW_CUDA_BOTH dim3(uint3 v) : x(v.x), y(v.y), z(v.z) {}
  TW_CUDA_BOTH operator uint3() const { return {x, y, z}; }
};

extern "C" __device__ __attribute__((const)) unsigned __tw_register(int number);
extern "C" __device__ __attribute__((const)) unsigned __tw_lane();
#define TW_INDEX(name, first, Type)                                                                                \
  struct __tw_##name {                                                                                             \
    __declspec(property(get = get_x)) unsigned x;                                                                  \
    __declspec(property(get = get_y)) unsigned y;                                                                  \
    __declspec(property(get = get_z)) unsigned z;                                                                  \
    static __attribute__((device, always_inline, nodebug)) unsigned get_x() { return __tw_register(first); }       \
    static __attribute__((device, always_inline, nodebug)) unsigned get_y() { return __tw_register((first) + 1); } \
    static __attribute__((device, always_inline, nodebug)) unsigned get_z() { return __tw_register((first) + 2); } \
    __attribute__((device, always_inline, nodebug)) operator Type() const { return {get_x(), get_y(), get_z()}; }  \
  };                                                                                                               \
  extern const __attribute__((device, weak)) __tw_##name name;
TW_INDEX(threadIdx, 0, uint3)
TW_INDEX(blockIdx, 3, uint3)
TW_INDEX(blockDim, 6, dim3)
TW_INDEX(gridDim, 9, dim3)
#undef TW_INDEX
constexpr int warpSize = 32;

extern "C" __device__ void __tw_syncthreads();
extern "C" __device__ int __tw_syncthreads_vote(int kind, int predicate);
extern "C" __device__ void __tw_syncwarp(unsigned mask);
extern "C" __device__ void __tw_fence(int device);
extern "C" __device__ void __tw_trap();
extern "C" __device__ void __tw_yield();
extern "C" __device__ unsigned long long __tw_time();
extern "C" __device__ unsigned __tw_activemask();
extern "C" __device__ unsigned __tw_ballot(unsigned mask, int predicate);
extern "C" __device__ unsigned __tw_reduce(int kind, unsigned mask, unsigned value);
extern "C" __device__ unsigned long long __tw_shuffle(int kind, unsigned mask, unsigned long long value, int bytes,
                                                      int lane, int width);
extern "C" __device__ unsigned long long __tw_atomic(void* p, int type, int operation, unsigned long long operand,
                                                     unsigned long long other);
extern "C" __device__ unsigned long long __tw_atomic_add_half(void* p, int bf16, unsigned long long operand);
extern "C" __device__ unsigned long long __tw_to_shared(const void* p);
extern "C" __device__ void* __tw_from_shared(unsigned long long address);
extern "C" __device__ int __tw_is_shared(const void* p);
extern "C" __device__ int __tw_is_global(const void* p);
extern "C" __device__ void* __tw_map_rank(const void* p, unsigned rank);
extern "C" __device__ void __tw_cluster_barrier(int arrive, int wait);
extern "C" __device__ unsigned __tw_cluster_rank();
extern "C" __device__ unsigned __tw_cluster_size();
extern "C" __device__ void __assert_fail(const char* condition, const char* file, unsigned line, const char* function);
extern "C" __device__ int vprintf(const char* format, const char* arguments);
extern "C" __device__ int printf(const char* format, ...);
// Named by headers of the C++ library; a kernel that calls them is refused.
extern "C" __device__ void* malloc(unsigned long bytes);
extern "C" __device__ void free(void* p);

#define __syncthreads() __tw_syncthreads()
#define __syncthreads_count(predicate) __tw_syncthreads_vote(0, (predicate) != 0)
#define __syncthreads_and(predicate) __tw_syncthreads_vote(1, (predicate) != 0)
#define __syncthreads_or(predicate) __tw_syncthreads_vote(2, (predicate) != 0)
#define __threadfence() __tw_fence(1)
#define __threadfence_system() __tw_fence(1)
#define __threadfence_block() __tw_fence(0)
#define __trap() __tw_trap()
#define __brkpt() __tw_trap()
#define __nanosleep(nanoseconds) ((void)(nanoseconds), __tw_yield())
#define __activemask() __tw_activemask()
TW_CUDA long long clock64() { return (long long)__tw_time(); }
TW_CUDA long clock() { return (long)__tw_time(); }
TW_CUDA void __tw_syncwarp_default(unsigned mask = 0xffffffffu) { __tw_syncwarp(mask); }
#define __syncwarp(...) __tw_syncwarp_default(__VA_ARGS__)
#define __isShared(p) (__tw_is_shared(p) != 0)
#define __isGlobal(p) (__tw_is_global(p) != 0)
#define __cvta_generic_to_shared(p) ((unsigned long)__tw_to_shared(p))
#define __cvta_shared_to_generic(a) (__tw_from_shared(a))
#define __cvta_generic_to_global(p) ((unsigned long)(p))
#define __cvta_global_to_generic(a) ((void*)(a))

#include "tilewright_atomics.h"
#include "tilewright_math.h"
#include "tilewright_warp.h"

extern "C" __device__ void* memcpy(void* to, const void* from, unsigned long bytes);
extern "C" __device__ void* memset(void* to, int value, unsigned long bytes);
extern "C" __device__ void* memmove(void* to, const void* from, unsigned long bytes);
// nvcc's first header brings these.
#include <stdlib.h>
#include <string.h>

#include "cuda_runtime.h"
