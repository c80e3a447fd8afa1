// What sm_90 and sm_90a add: clusters, mbarriers, bulk tensor copies, stmatrix, wgmma. Included by device.cuh.
#pragma once

namespace tw {

TW_DEVICE bool elect_one() {
  uint32_t p;
  asm volatile("{\n.reg .pred p;\nelect.sync _|p, 0xffffffff;\nselp.u32 %0, 1, 0, p;\n}" : "=r"(p));
  return p != 0;
}
TW_DEVICE uint32_t cluster_rank() {
  uint32_t r;
  asm volatile("mov.u32 %0, %%cluster_ctarank;" : "=r"(r));
  return r;
}
TW_DEVICE void cluster_arrive() { asm volatile("barrier.cluster.arrive.release.aligned;" ::: "memory"); }
TW_DEVICE void cluster_arrive_relaxed() { asm volatile("barrier.cluster.arrive.relaxed.aligned;" ::: "memory"); }
TW_DEVICE void cluster_wait() { asm volatile("barrier.cluster.wait.acquire.aligned;" ::: "memory"); }
TW_DEVICE void cluster_sync() {
  cluster_arrive();
  cluster_wait();
}

TW_DEVICE void grid_dependency_wait() { asm volatile("griddepcontrol.wait;" ::: "memory"); }
TW_DEVICE void grid_dependency_launch() { asm volatile("griddepcontrol.launch_dependents;" ::: "memory"); }

TW_DEVICE void mbarrier_init(uint64_t* b, uint32_t count) {
  asm volatile("mbarrier.init.shared::cta.b64 [%0], %1;" ::"r"(Address(b)), "r"(count) : "memory");
}
TW_DEVICE void mbarrier_arrive(uint64_t* b) {
  asm volatile("mbarrier.arrive.shared::cta.b64 _, [%0];" ::"r"(Address(b)) : "memory");
}
TW_DEVICE void mbarrier_arrive_cluster(uint64_t* b, uint32_t rank) {
  asm volatile("{\n.reg .b32 a;\nmapa.shared::cluster.u32 a, %0, %1;\nmbarrier.arrive.shared::cluster.b64 _, [a];\n}" ::"r"(
                   Address(b)), "r"(rank) : "memory");
}
TW_DEVICE void mbarrier_arrive_expect_tx(uint64_t* b, uint32_t bytes) {
  asm volatile("mbarrier.arrive.expect_tx.shared::cta.b64 _, [%0], %1;" ::"r"(Address(b)), "r"(bytes) : "memory");
}
TW_DEVICE void mbarrier_expect_tx(uint64_t* b, uint32_t bytes) {
  asm volatile("mbarrier.expect_tx.relaxed.cta.shared::cta.b64 [%0], %1;" ::"r"(Address(b)), "r"(bytes) : "memory");
}
TW_DEVICE void mbarrier_wait(uint64_t* b, uint32_t parity) {
  asm volatile("{\n.reg .pred p;\nWAIT:\nmbarrier.try_wait.parity.shared::cta.b64 p, [%0], %1;\n@p bra DONE;\nbra WAIT;\nDONE:\n}" ::"r"(
                   Address(b)), "r"(parity) : "memory");
}
TW_DEVICE void fence_mbarrier_init() { asm volatile("fence.mbarrier_init.release.cluster;" ::: "memory"); }
TW_DEVICE void fence_proxy_async_shared() { asm volatile("fence.proxy.async.shared::cta;" ::: "memory"); }

#define TW_TILE "cp.async.bulk.tensor."
#define TW_TO_SHARED ".shared::cluster.global.tile.mbarrier::complete_tx::bytes"
TW_DEVICE void tma_load(void* to, const TwTensorMap* map, uint64_t* b, int x) {
  asm volatile(TW_TILE "1d" TW_TO_SHARED " [%0], [%1, {%3}], [%2];" ::"r"(Address(to)), "l"(map), "r"(Address(b)),
               "r"(x) : "memory");
}
TW_DEVICE void tma_load(void* to, const TwTensorMap* map, uint64_t* b, int x, int y) {
  asm volatile(TW_TILE "2d" TW_TO_SHARED " [%0], [%1, {%3, %4}], [%2];" ::"r"(Address(to)), "l"(map), "r"(Address(b)),
               "r"(x), "r"(y) : "memory");
}
TW_DEVICE void tma_load(void* to, const TwTensorMap* map, uint64_t* b, int x, int y, int z) {
  asm volatile(TW_TILE "3d" TW_TO_SHARED " [%0], [%1, {%3, %4, %5}], [%2];" ::"r"(Address(to)), "l"(map),
               "r"(Address(b)), "r"(x), "r"(y), "r"(z) : "memory");
}
TW_DEVICE void tma_load(void* to, const TwTensorMap* map, uint64_t* b, int x, int y, int z, int u) {
  asm volatile(TW_TILE "4d" TW_TO_SHARED " [%0], [%1, {%3, %4, %5, %6}], [%2];" ::"r"(Address(to)), "l"(map),
               "r"(Address(b)), "r"(x), "r"(y), "r"(z), "r"(u) : "memory");
}
TW_DEVICE void tma_load(void* to, const TwTensorMap* map, uint64_t* b, int x, int y, int z, int u, int v) {
  asm volatile(TW_TILE "5d" TW_TO_SHARED " [%0], [%1, {%3, %4, %5, %6, %7}], [%2];" ::"r"(Address(to)), "l"(map),
               "r"(Address(b)), "r"(x), "r"(y), "r"(z), "r"(u), "r"(v) : "memory");
}
TW_DEVICE void tma_load_multicast(void* to, const TwTensorMap* map, uint64_t* b, uint16_t mask, int x, int y) {
  asm volatile(TW_TILE "2d" TW_TO_SHARED ".multicast::cluster [%0], [%1, {%3, %4}], [%2], %5;" ::"r"(Address(to)),
               "l"(map), "r"(Address(b)), "r"(x), "r"(y), "h"(mask) : "memory");
}
TW_DEVICE void tma_load_multicast(void* to, const TwTensorMap* map, uint64_t* b, uint16_t mask, int x, int y, int z) {
  asm volatile(TW_TILE "3d" TW_TO_SHARED ".multicast::cluster [%0], [%1, {%3, %4, %5}], [%2], %6;" ::"r"(Address(to)),
               "l"(map), "r"(Address(b)), "r"(x), "r"(y), "r"(z), "h"(mask) : "memory");
}
TW_DEVICE void tma_load_multicast(void* to, const TwTensorMap* map, uint64_t* b, uint16_t mask, int x, int y, int z,
                                  int u) {
  asm volatile(TW_TILE "4d" TW_TO_SHARED ".multicast::cluster [%0], [%1, {%3, %4, %5, %6}], [%2], %7;" ::"r"(
                   Address(to)), "l"(map), "r"(Address(b)), "r"(x), "r"(y), "r"(z), "r"(u), "h"(mask) : "memory");
}
TW_DEVICE void tma_load_multicast(void* to, const TwTensorMap* map, uint64_t* b, uint16_t mask, int x, int y, int z,
                                  int u, int v) {
  asm volatile(TW_TILE "5d" TW_TO_SHARED ".multicast::cluster [%0], [%1, {%3, %4, %5, %6, %7}], [%2], %8;" ::"r"(
                   Address(to)), "l"(map), "r"(Address(b)), "r"(x), "r"(y), "r"(z), "r"(u), "r"(v), "h"(mask) : "memory");
}
#define TW_PIXELS_TO_SHARED ".shared::cluster.global.im2col.mbarrier::complete_tx::bytes"
TW_DEVICE void tma_load_im2col_3d(void* to, const TwTensorMap* map, uint64_t* b, int c, int w, int n,
                                  uint16_t offset_w) {
  asm volatile(TW_TILE "3d" TW_PIXELS_TO_SHARED " [%0], [%1, {%3, %4, %5}], [%2], {%6};" ::"r"(Address(to)), "l"(map),
               "r"(Address(b)), "r"(c), "r"(w), "r"(n), "h"(offset_w) : "memory");
}
TW_DEVICE void tma_load_im2col_4d(void* to, const TwTensorMap* map, uint64_t* b, int c, int w, int h, int n,
                                  uint16_t offset_w, uint16_t offset_h) {
  asm volatile(
      TW_TILE "4d" TW_PIXELS_TO_SHARED " [%0], [%1, {%3, %4, %5, %6}], [%2], {%7, %8};" ::"r"(
          Address(to)), "l"(map), "r"(Address(b)), "r"(c), "r"(w), "r"(h), "r"(n), "h"(offset_w), "h"(offset_h) : "memory");
}
TW_DEVICE void tma_load_im2col_5d(void* to, const TwTensorMap* map, uint64_t* b, int c, int w, int h, int d, int n,
                                  uint16_t offset_w, uint16_t offset_h, uint16_t offset_d) {
  asm volatile(
      TW_TILE "5d" TW_PIXELS_TO_SHARED " [%0], [%1, {%3, %4, %5, %6, %7}], [%2], {%8, %9, %10};" ::"r"(Address(to)),
      "l"(map), "r"(Address(b)), "r"(c), "r"(w), "r"(h), "r"(d), "r"(n), "h"(offset_w), "h"(offset_h), "h"(offset_d)
      : "memory");
}
#define TW_FROM_SHARED ".global.shared::cta.tile.bulk_group"
TW_DEVICE void tma_store(const TwTensorMap* map, const void* from, int x, int y) {
  asm volatile(TW_TILE "2d" TW_FROM_SHARED " [%0, {%2, %3}], [%1];" ::"l"(map), "r"(Address(from)), "r"(x), "r"(y)
               : "memory");
}
TW_DEVICE void tma_store(const TwTensorMap* map, const void* from, int x, int y, int z) {
  asm volatile(TW_TILE "3d" TW_FROM_SHARED " [%0, {%2, %3, %4}], [%1];" ::"l"(map), "r"(Address(from)), "r"(x), "r"(y),
               "r"(z) : "memory");
}
TW_DEVICE void tma_store(const TwTensorMap* map, const void* from, int x, int y, int z, int u) {
  asm volatile(TW_TILE "4d" TW_FROM_SHARED " [%0, {%2, %3, %4, %5}], [%1];" ::"l"(map), "r"(Address(from)), "r"(x),
               "r"(y), "r"(z), "r"(u) : "memory");
}
TW_DEVICE void tma_store(const TwTensorMap* map, const void* from, int x, int y, int z, int u, int v) {
  asm volatile(TW_TILE "5d" TW_FROM_SHARED " [%0, {%2, %3, %4, %5, %6}], [%1];" ::"l"(map), "r"(Address(from)), "r"(x),
               "r"(y), "r"(z), "r"(u), "r"(v) : "memory");
}
TW_DEVICE void bulk_commit() { asm volatile("cp.async.bulk.commit_group;" ::: "memory"); }
template <int kPending>
TW_DEVICE void bulk_wait() {
  asm volatile("cp.async.bulk.wait_group %0;" ::"n"(kPending) : "memory");
}
template <int kPending>
TW_DEVICE void bulk_wait_read() {
  asm volatile("cp.async.bulk.wait_group.read %0;" ::"n"(kPending) : "memory");
}

template <class T>
TW_DEVICE void stmatrix_x4(T* row, const uint32_t* r) {
  asm volatile("stmatrix.sync.aligned.m8n8.x4.shared.b16 [%0], {%1, %2, %3, %4};" ::"r"(Address(row)), "r"(r[0]),
               "r"(r[1]), "r"(r[2]), "r"(r[3]) : "memory");
}

enum Swizzle { kSwizzleNone = 0, kSwizzle128 = 1, kSwizzle64 = 2, kSwizzle32 = 3 };
TW_DEVICE uint64_t wgmma_descriptor(const void* tile, uint32_t leading, uint32_t stride, Swizzle swizzle) {
  return (uint64_t)((Address(tile) & 0x3ffff) >> 4) | (uint64_t)(leading >> 4) << 16 | (uint64_t)(stride >> 4) << 32 |
         (uint64_t)swizzle << 62;
}
template <Swizzle kSwizzle>
TW_DEVICE uint64_t wgmma_descriptor(const void* tile, uint32_t leading, uint32_t stride) {
  return wgmma_descriptor(tile, leading, stride, kSwizzle);
}
enum Major { kMajorK = 0, kMajorMN = 1 };

template <class D>
struct SumRegister {
  using Type = D;
  static constexpr int kPerRegister = 1;
};
template <>
struct SumRegister<f16> {
  using Type = uint32_t;
  static constexpr int kPerRegister = 2;
};
template <class T, int kCount>
struct Acc {
  T r[kCount];
  TW_DEVICE T& operator[](int i) { return r[i]; }
};
template <int kN, class D>
using Sums = Acc<typename SumRegister<D>::Type, kN / 2 / SumRegister<D>::kPerRegister>;

// Specializations have Run(d, a, b, scale_d) and RunRs(d, registers of A, b, scale_d).
template <int kN, class D, class A, class B, int kTransposeA, int kTransposeB>
struct WgmmaForm;

template <int kN, class D, class A, class B, Major kA = kMajorK, Major kB = kMajorK>
TW_DEVICE void wgmma(Sums<kN, D>& d, uint64_t a, uint64_t b, int scale_d) {
  WgmmaForm<kN, D, A, B, kA, kB>::Run(d, a, b, scale_d);
}
template <int kN, class D, class A, class B, Major kB = kMajorK>
TW_DEVICE void wgmma_rs(Sums<kN, D>& d, const uint32_t* a, uint64_t b, int scale_d) {
  WgmmaForm<kN, D, A, B, kMajorK, kB>::RunRs(d, a, b, scale_d);
}
// The compiler has a register of a sum in its place from here on.
TW_DEVICE void Hold(float& r) { asm volatile("" : "+f"(r)::"memory"); }
TW_DEVICE void Hold(uint32_t& r) { asm volatile("" : "+r"(r)::"memory"); }
TW_DEVICE void Hold(int32_t& r) { asm volatile("" : "+r"(r)::"memory"); }
template <class T, int kCount>
TW_DEVICE void Hold(Acc<T, kCount>& sums) {
#pragma unroll
  for (int i = 0; i < kCount; ++i) Hold(sums.r[i]);
}
template <class T, int kCount, int kTiles>
TW_DEVICE void Hold(Acc<T, kCount> (&sums)[kTiles]) {
#pragma unroll
  for (int i = 0; i < kTiles; ++i) Hold(sums[i]);
}
// Operands in registers.
template <class T, int kCount>
TW_DEVICE void Hold(T (&elements)[kCount]) {
#pragma unroll
  for (int i = 0; i < kCount * (int)sizeof(T) / 4; ++i) Hold(reinterpret_cast<uint32_t*>(elements)[i]);
}
// `sums`: what the products that follow add to, tiles or arrays of tiles; and their operands in registers.
template <class... Tiles>
TW_DEVICE void wgmma_fence(Tiles&... sums) {
  (Hold(sums), ...);
  asm volatile("wgmma.fence.sync.aligned;" ::: "memory");
}
TW_DEVICE void wgmma_commit() { asm volatile("wgmma.commit_group.sync.aligned;" ::: "memory"); }
template <int kPending>
TW_DEVICE void wgmma_wait() {
  asm volatile("wgmma.wait_group.sync.aligned %0;" ::"n"(kPending) : "memory");
}
template <int kRegisters>
TW_DEVICE void setmaxnreg_inc() {
  asm volatile("setmaxnreg.inc.sync.aligned.u32 %0;" ::"n"(kRegisters));
}
template <int kRegisters>
TW_DEVICE void setmaxnreg_dec() {
  asm volatile("setmaxnreg.dec.sync.aligned.u32 %0;" ::"n"(kRegisters));
}

}  // namespace tw

#ifdef TW_WGMMA_FORMS
#include TW_WGMMA_FORMS
#endif
