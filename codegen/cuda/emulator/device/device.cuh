// The GPU's side of kernel.h: each instruction as a function around inline PTX, by the names of the emulated side.
// wgmma has hundreds of forms: those a kernel uses are generated (wgmma_forms.py) and named by TW_WGMMA_FORMS.
#pragma once

#include <stdint.h>

struct alignas(64) TwTensorMap {
  uint64_t opaque[16];
};

extern __shared__ __align__(1024) uint8_t tw_dynamic_shared[];

#define TW_DEVICE __device__ __forceinline__

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

// ---- pointers and values

template <class T>
using Global = T*;
template <class T>
using Shared = T*;
template <class T>
TW_DEVICE T* SharedAt(uint32_t byte) {
  return reinterpret_cast<T*>(tw_dynamic_shared + byte);
}
template <class U, class T>
TW_DEVICE U* Cast(T* p) {
  return reinterpret_cast<U*>(p);
}
template <class U, class T>
TW_DEVICE const U* Cast(const T* p) {
  return reinterpret_cast<const U*>(p);
}
TW_DEVICE uint32_t Address(const void* p) { return static_cast<uint32_t>(__cvta_generic_to_shared(p)); }
template <class V, class T>
TW_DEVICE V Load(const T* p) {
  return *reinterpret_cast<const V*>(p);
}
template <class V, class T>
TW_DEVICE void Store(T* p, V v) {
  *reinterpret_cast<V*>(p) = v;
}
template <class T>
TW_DEVICE T* map_shared(T* p, uint32_t rank) {
  uint64_t mapped;
  asm("mapa.u64 %0, %1, %2;" : "=l"(mapped) : "l"(p), "r"(rank));
  return reinterpret_cast<T*>(mapped);
}

TW_DEVICE uint32_t bits_of(float v) { return __float_as_uint(v); }
TW_DEVICE float float_of(uint32_t v) { return __uint_as_float(v); }
TW_DEVICE uint32_t pack_f16(float low, float high) {
  uint32_t r;
  asm("cvt.rn.f16x2.f32 %0, %1, %2;" : "=r"(r) : "f"(high), "f"(low));
  return r;
}
TW_DEVICE uint32_t pack_bf16(float low, float high) {
  uint32_t r;
  asm("cvt.rn.bf16x2.f32 %0, %1, %2;" : "=r"(r) : "f"(high), "f"(low));
  return r;
}
TW_DEVICE float to_float(f16 v) {
  float r;
  asm("cvt.f32.f16 %0, %1;" : "=f"(r) : "h"(v.bits));
  return r;
}
TW_DEVICE float to_float(bf16 v) { return __uint_as_float(static_cast<uint32_t>(v.bits) << 16); }
TW_DEVICE f16 to_f16(float v) { return {static_cast<uint16_t>(pack_f16(v, 0.0f))}; }
TW_DEVICE bf16 to_bf16(float v) { return {static_cast<uint16_t>(pack_bf16(v, 0.0f))}; }
TW_DEVICE float exp2_fast(float v) {
  float r;
  asm("ex2.approx.ftz.f32 %0, %1;" : "=f"(r) : "f"(v));
  return r;
}
TW_DEVICE float rsqrt_fast(float v) {
  float r;
  asm("rsqrt.approx.ftz.f32 %0, %1;" : "=f"(r) : "f"(v));
  return r;
}
TW_DEVICE float max(float a, float b) { return fmaxf(a, b); }
TW_DEVICE float min(float a, float b) { return fminf(a, b); }
TW_DEVICE float fma(float a, float b, float c) { return fmaf(a, b, c); }

template <class A, class B>
TW_DEVICE int dp4a(uint32_t a, uint32_t b, int c) {
  int r;
  constexpr bool kSignedA = A(-1) < A(0), kSignedB = B(-1) < B(0);
  if (kSignedA && kSignedB) asm("dp4a.s32.s32 %0, %1, %2, %3;" : "=r"(r) : "r"(a), "r"(b), "r"(c));
  if (kSignedA && !kSignedB) asm("dp4a.s32.u32 %0, %1, %2, %3;" : "=r"(r) : "r"(a), "r"(b), "r"(c));
  if (!kSignedA && kSignedB) asm("dp4a.u32.s32 %0, %1, %2, %3;" : "=r"(r) : "r"(a), "r"(b), "r"(c));
  if (!kSignedA && !kSignedB) asm("dp4a.u32.u32 %0, %1, %2, %3;" : "=r"(r) : "r"(a), "r"(b), "r"(c));
  return r;
}

TW_DEVICE void named_barrier(int id, int threads) { asm volatile("bar.sync %0, %1;" ::"r"(id), "r"(threads) : "memory"); }
TW_DEVICE void named_barrier_arrive(int id, int threads) {
  asm volatile("bar.arrive %0, %1;" ::"r"(id), "r"(threads) : "memory");
}

// ---- sm_80: copies in groups, matrices of warps

template <int kBytes>
TW_DEVICE void cp_async(void* to, const void* from, int valid = kBytes) {
  if (kBytes == 16) {
    asm volatile("cp.async.cg.shared.global.L2::128B [%0], [%1], 16, %2;" ::"r"(Address(to)), "l"(from), "r"(valid) : "memory");
  } else {
    asm volatile("cp.async.ca.shared.global [%0], [%1], %2, %3;" ::"r"(Address(to)), "l"(from), "n"(kBytes), "r"(valid)
                 : "memory");
  }
}
TW_DEVICE void cp_async_commit() { asm volatile("cp.async.commit_group;" ::: "memory"); }
template <int kPending>
TW_DEVICE void cp_async_wait() {
  asm volatile("cp.async.wait_group %0;" ::"n"(kPending) : "memory");
}
TW_DEVICE void cp_async_wait_all() { asm volatile("cp.async.wait_all;" ::: "memory"); }

#define TW_LDMATRIX(name, form)                                                                        \
  TW_DEVICE void name##x1##form(uint32_t* r, const void* row) {                                        \
    asm volatile("ldmatrix.sync.aligned.m8n8.x1" TW_FORM##form ".shared.b16 {%0}, [%1];"               \
                 : "=r"(r[0]) : "r"(Address(row)) : "memory");                                         \
  }                                                                                                    \
  TW_DEVICE void name##x2##form(uint32_t* r, const void* row) {                                        \
    asm volatile("ldmatrix.sync.aligned.m8n8.x2" TW_FORM##form ".shared.b16 {%0, %1}, [%2];"           \
                 : "=r"(r[0]), "=r"(r[1]) : "r"(Address(row)) : "memory");                             \
  }                                                                                                    \
  TW_DEVICE void name##x4##form(uint32_t* r, const void* row) {                                        \
    asm volatile("ldmatrix.sync.aligned.m8n8.x4" TW_FORM##form ".shared.b16 {%0, %1, %2, %3}, [%4];"   \
                 : "=r"(r[0]), "=r"(r[1]), "=r"(r[2]), "=r"(r[3]) : "r"(Address(row)) : "memory");     \
  }
#define TW_FORM ""
#define TW_FORM_trans ".trans"
TW_LDMATRIX(ldmatrix_, )
TW_LDMATRIX(ldmatrix_, _trans)
TW_DEVICE uint32_t movmatrix_trans(uint32_t r) {
  uint32_t to;
  asm("movmatrix.sync.aligned.m8n8.trans.b16 %0, %1;" : "=r"(to) : "r"(r));
  return to;
}

#define TW_SUM_float "+f"
#define TW_SUM_uint32_t "+r"
#define TW_SUM_int32_t "+r"
#define TW_MMA_442(ptx, S)                                                                                       \
  asm volatile("mma.sync.aligned." ptx " {%0, %1, %2, %3}, {%4, %5, %6, %7}, {%8, %9}, {%0, %1, %2, %3};"        \
               : S(d[0]), S(d[1]), S(d[2]), S(d[3])                                                              \
               : "r"(a[0]), "r"(a[1]), "r"(a[2]), "r"(a[3]), "r"(b[0]), "r"(b[1]));
#define TW_MMA_421(ptx, S)                                                                                       \
  asm volatile("mma.sync.aligned." ptx " {%0, %1, %2, %3}, {%4, %5}, {%6}, {%0, %1, %2, %3};"                    \
               : S(d[0]), S(d[1]), S(d[2]), S(d[3]) : "r"(a[0]), "r"(a[1]), "r"(b[0]));
#define TW_MMA_242(ptx, S)                                                                                       \
  asm volatile("mma.sync.aligned." ptx " {%0, %1}, {%2, %3, %4, %5}, {%6, %7}, {%0, %1};"                        \
               : S(d[0]), S(d[1]) : "r"(a[0]), "r"(a[1]), "r"(a[2]), "r"(a[3]), "r"(b[0]), "r"(b[1]));
#define TW_MMA_221(ptx, S)                                                                                       \
  asm volatile("mma.sync.aligned." ptx " {%0, %1}, {%2, %3}, {%4}, {%0, %1};"                                    \
               : S(d[0]), S(d[1]) : "r"(a[0]), "r"(a[1]), "r"(b[0]));
#define TW_MMA_211(ptx, S)                                                                                       \
  asm volatile("mma.sync.aligned." ptx " {%0, %1}, {%2}, {%3}, {%0, %1};" : S(d[0]), S(d[1]) : "r"(a[0]), "r"(b[0]));
#define TW_MMA(name, ptx, m, n, k, d_type, a_type, b_type, register_type, dr, ar, br)            \
  TW_DEVICE void mma_##name(register_type* d, const uint32_t* a, const uint32_t* b) {            \
    TW_MMA_##dr##ar##br(ptx, TW_SUM_##register_type)                                             \
  }
#include "codegen/cuda/emulator/device/mma.inc"
#undef TW_MMA

// wmma of 16x16x16 halves with f32 sums.
template <int kM, int kN, int kK, class T>
struct WmmaA {
  uint32_t r[8];
};
template <int kM, int kN, int kK, class T>
struct WmmaB {
  uint32_t r[8];
};
template <int kM, int kN, int kK, class T>
struct WmmaSum {
  float r[8];
};
enum WmmaOrder { kRowMajor, kColumnMajor };
#define TW_WMMA_LOAD(order, operand)                                                                           \
  asm volatile("wmma.load." operand ".sync.aligned." order                                                     \
               ".m16n16k16.f16 {%0, %1, %2, %3, %4, %5, %6, %7}, [%8], %9;"                                    \
               : "=r"(t.r[0]), "=r"(t.r[1]), "=r"(t.r[2]), "=r"(t.r[3]), "=r"(t.r[4]), "=r"(t.r[5]),           \
                 "=r"(t.r[6]), "=r"(t.r[7]) : "l"(from), "r"(stride) : "memory")
template <WmmaOrder kOrder>
TW_DEVICE void wmma_load(WmmaA<16, 16, 16, f16>& t, const f16* from, uint32_t stride) {
  if (kOrder == kRowMajor) TW_WMMA_LOAD("row", "a");
  if (kOrder == kColumnMajor) TW_WMMA_LOAD("col", "a");
}
template <WmmaOrder kOrder>
TW_DEVICE void wmma_load(WmmaB<16, 16, 16, f16>& t, const f16* from, uint32_t stride) {
  if (kOrder == kRowMajor) TW_WMMA_LOAD("row", "b");
  if (kOrder == kColumnMajor) TW_WMMA_LOAD("col", "b");
}
template <WmmaOrder kOrder>
TW_DEVICE void wmma_store(float* to, const WmmaSum<16, 16, 16, float>& t, uint32_t stride) {
  static_assert(kOrder == kRowMajor, "sums are stored by rows");
  asm volatile("wmma.store.d.sync.aligned.row.m16n16k16.f32 [%0], {%1, %2, %3, %4, %5, %6, %7, %8}, %9;" ::"l"(to),
               "f"(t.r[0]), "f"(t.r[1]), "f"(t.r[2]), "f"(t.r[3]), "f"(t.r[4]), "f"(t.r[5]), "f"(t.r[6]), "f"(t.r[7]),
               "r"(stride) : "memory");
}
TW_DEVICE void wmma_fill(WmmaSum<16, 16, 16, float>& t, float v) {
#pragma unroll
  for (int i = 0; i < 8; ++i) t.r[i] = v;
}
TW_DEVICE void wmma_multiply(WmmaSum<16, 16, 16, float>& d, const WmmaA<16, 16, 16, f16>& a,
                             const WmmaB<16, 16, 16, f16>& b, const WmmaSum<16, 16, 16, float>& c) {
  d = c;
  asm volatile("wmma.mma.sync.aligned.row.row.m16n16k16.f32.f32 {%0, %1, %2, %3, %4, %5, %6, %7}, "
               "{%8, %9, %10, %11, %12, %13, %14, %15}, {%16, %17, %18, %19, %20, %21, %22, %23}, "
               "{%0, %1, %2, %3, %4, %5, %6, %7};"
               : "+f"(d.r[0]), "+f"(d.r[1]), "+f"(d.r[2]), "+f"(d.r[3]), "+f"(d.r[4]), "+f"(d.r[5]), "+f"(d.r[6]), "+f"(d.r[7])
               : "r"(a.r[0]), "r"(a.r[1]), "r"(a.r[2]), "r"(a.r[3]), "r"(a.r[4]), "r"(a.r[5]), "r"(a.r[6]), "r"(a.r[7]),
                 "r"(b.r[0]), "r"(b.r[1]), "r"(b.r[2]), "r"(b.r[3]), "r"(b.r[4]), "r"(b.r[5]), "r"(b.r[6]), "r"(b.r[7]));
}

}  // namespace tw

#include "codegen/cuda/emulator/device/numerics.h"

#ifdef TW_SM90
#include "codegen/cuda/emulator/device/device_sm90.cuh"
#endif
