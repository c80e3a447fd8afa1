// Asynchronous copies: cp.async, mbarriers, bulk and bulk tensor copies, clusters.
#pragma once

#include <stdint.h>

#include "codegen/cuda/emulator/device/emulated_memory.h"
#include "codegen/cuda/emulator/device/emulated_types.h"

namespace tw {
namespace emu {

void CopyAsync(uint32_t to, const void* from, void* array, int bytes, int valid);
void CopyAsyncCommit();
void CopyAsyncWait(int pending);  // -1: all, committed or not
void CopyAsyncArrive(uint32_t barrier, bool no_increment);

void BarrierInit(uint32_t barrier, uint32_t count);
void BarrierInvalidate(uint32_t barrier);
void BarrierArrive(uint32_t barrier, uint32_t count);
void BarrierExpect(uint32_t barrier, uint32_t bytes, bool arrive);
uint32_t BarrierPhase(uint32_t barrier);              // phases completed so far
bool BarrierTest(uint32_t barrier, uint32_t parity);  // lets others run where it is false
void BarrierWait(uint32_t barrier, uint32_t parity);
void FenceBarrierInit();
void FenceProxy(bool shared, bool global);

enum class Reduction : uint8_t { kNone, kAdd, kMin, kMax, kAnd, kOr, kXor };
struct TensorCopy {
  uint32_t shared;
  const TwTensorMap* map;
  int32_t coordinates[5];
  int rank;
  uint16_t offsets[3];
  bool im2col;
};
void TensorLoad(const TensorCopy& copy, uint32_t barrier, int mask);  // mask -1: no multicast
void TensorStore(const TensorCopy& copy, Reduction reduction);
void BulkLoad(uint32_t to, const void* from, void* array, uint32_t bytes, uint32_t barrier, int mask);
void BulkStore(void* to, void* array, uint32_t from, uint32_t bytes, Reduction reduction, int type);
void BulkCopyToShared(uint32_t to, uint32_t from, uint32_t bytes, uint32_t barrier);
void BulkCommit();
void BulkWait(int pending, bool only_reads);
void StoreAsync(uint32_t to, uint32_t value, uint32_t barrier);

// The order of grids, of which one may begin before the one in front of it has ended.
void WaitForGridInFront();
void LaunchDependents();

uint32_t ClusterRank();
uint32_t ClusterSize();
void ClusterArrive(bool release);
void ClusterWait();
void SetRegisters(int count, bool increase);

template <class... C>
inline TensorCopy MakeTensorCopy(uint32_t shared, const TwTensorMap* map, C... coordinates) {
  return {shared, map, {static_cast<int32_t>(coordinates)...}, sizeof...(C), {0, 0, 0}, false};
}

}  // namespace emu

// cp.async of kBytes (4, 8, 16), of which the first `valid` are read and the rest is zero.
template <int kBytes, class T, class U>
inline void cp_async(Shared<T> to, Global<U> from, int valid = kBytes) {
  emu::CopyAsync(to.address(), from.raw(), from.array(), kBytes, valid);
}
inline void cp_async_commit() { emu::CopyAsyncCommit(); }
// Waits until at most kPending of this thread's latest groups are under way.
template <int kPending>
inline void cp_async_wait() {
  emu::CopyAsyncWait(kPending);
}
inline void cp_async_wait_all() { emu::CopyAsyncWait(-1); }
// The barrier receives an arrival (one of those it counts) when this thread's copies so far are done.
inline void cp_async_arrive_noinc(Shared<uint64_t> barrier) { emu::CopyAsyncArrive(barrier.address(), true); }

inline void mbarrier_init(Shared<uint64_t> barrier, uint32_t count) { emu::BarrierInit(barrier.address(), count); }
inline void mbarrier_inval(Shared<uint64_t> barrier) { emu::BarrierInvalidate(barrier.address()); }
inline void mbarrier_arrive(Shared<uint64_t> barrier) { emu::BarrierArrive(barrier.address(), 1); }
inline void mbarrier_arrive_count(Shared<uint64_t> barrier, uint32_t count) {
  emu::BarrierArrive(barrier.address(), count);
}
// Arrives at the barrier at the same place of another block of the cluster.
inline void mbarrier_arrive_cluster(Shared<uint64_t> barrier, uint32_t rank) {
  emu::BarrierArrive(emu::MapShared(barrier.address(), rank), 1);
}
inline void mbarrier_arrive_expect_tx(Shared<uint64_t> barrier, uint32_t bytes) {
  emu::BarrierExpect(barrier.address(), bytes, true);
}
inline void mbarrier_expect_tx(Shared<uint64_t> barrier, uint32_t bytes) {
  emu::BarrierExpect(barrier.address(), bytes, false);
}
inline bool mbarrier_try_wait(Shared<uint64_t> barrier, uint32_t parity) {
  return emu::BarrierTest(barrier.address(), parity);
}
inline void mbarrier_wait(Shared<uint64_t> barrier, uint32_t parity) { emu::BarrierWait(barrier.address(), parity); }
inline void fence_mbarrier_init() { emu::FenceBarrierInit(); }
// fence.proxy.async.shared::cta, .global, and of both.
inline void fence_proxy_async_shared() { emu::FenceProxy(true, false); }
inline void fence_proxy_async_global() { emu::FenceProxy(false, true); }
inline void fence_proxy_async() { emu::FenceProxy(true, true); }

// Bulk tensor copies: coordinates are those of the box's first element, innermost dimension first.
template <class T, class... C>
inline void tma_load(Shared<T> to, const TwTensorMap* map, Shared<uint64_t> barrier, C... coordinates) {
  emu::TensorLoad(emu::MakeTensorCopy(to.address(), map, coordinates...), barrier.address(), -1);
}
template <class T, class... C>
inline void tma_load_multicast(Shared<T> to, const TwTensorMap* map, Shared<uint64_t> barrier, uint16_t mask,
                               C... coordinates) {
  emu::TensorLoad(emu::MakeTensorCopy(to.address(), map, coordinates...), barrier.address(), mask);
}
// Columns of pixels of an image from (n[, d][, h], w) on, each shifted by the offsets; channels from c on.
template <class T>
inline void tma_load_im2col_3d(Shared<T> to, const TwTensorMap* map, Shared<uint64_t> barrier, int c, int w, int n,
                               uint16_t offset_w, int mask = -1) {
  emu::TensorLoad({to.address(), map, {c, w, n, 0, 0}, 3, {offset_w, 0, 0}, true}, barrier.address(), mask);
}
template <class T>
inline void tma_load_im2col_4d(Shared<T> to, const TwTensorMap* map, Shared<uint64_t> barrier, int c, int w, int h,
                               int n, uint16_t offset_w, uint16_t offset_h, int mask = -1) {
  emu::TensorLoad({to.address(), map, {c, w, h, n, 0}, 4, {offset_w, offset_h, 0}, true}, barrier.address(), mask);
}
template <class T>
inline void tma_load_im2col_5d(Shared<T> to, const TwTensorMap* map, Shared<uint64_t> barrier, int c, int w, int h,
                               int d, int n, uint16_t offset_w, uint16_t offset_h, uint16_t offset_d, int mask = -1) {
  emu::TensorLoad({to.address(), map, {c, w, h, d, n}, 5, {offset_w, offset_h, offset_d}, true}, barrier.address(),
                  mask);
}
template <class T, class... C>
inline void tma_store(const TwTensorMap* map, Shared<T> from, C... coordinates) {
  emu::TensorStore(emu::MakeTensorCopy(from.address(), map, coordinates...), emu::Reduction::kNone);
}
template <class T, class... C>
inline void tma_reduce_add(const TwTensorMap* map, Shared<T> from, C... coordinates) {
  emu::TensorStore(emu::MakeTensorCopy(from.address(), map, coordinates...), emu::Reduction::kAdd);
}
template <class T, class... C>
inline void tma_reduce_max(const TwTensorMap* map, Shared<T> from, C... coordinates) {
  emu::TensorStore(emu::MakeTensorCopy(from.address(), map, coordinates...), emu::Reduction::kMax);
}
template <class T, class... C>
inline void tma_reduce_min(const TwTensorMap* map, Shared<T> from, C... coordinates) {
  emu::TensorStore(emu::MakeTensorCopy(from.address(), map, coordinates...), emu::Reduction::kMin);
}
inline void tma_prefetch_map(const TwTensorMap*) {}

// Bulk copies of bytes: multiples of 16, at addresses that are.
template <class T, class U>
inline void bulk_load(Shared<T> to, Global<U> from, uint32_t bytes, Shared<uint64_t> barrier) {
  emu::BulkLoad(to.address(), from.raw(), from.array(), bytes, barrier.address(), -1);
}
template <class T, class U>
inline void bulk_load_multicast(Shared<T> to, Global<U> from, uint32_t bytes, Shared<uint64_t> barrier, uint16_t mask) {
  emu::BulkLoad(to.address(), from.raw(), from.array(), bytes, barrier.address(), mask);
}
template <class T, class U>
inline void bulk_store(Global<T> to, Shared<U> from, uint32_t bytes) {
  emu::BulkStore(to.raw(), to.array(), from.address(), bytes, emu::Reduction::kNone, 0);
}
// Adds floats to memory.
inline void bulk_reduce_add(Global<float> to, Shared<float> from, uint32_t bytes) {
  emu::BulkStore(to.raw(), to.array(), from.address(), bytes, emu::Reduction::kAdd, 0);
}
// From this block's shared memory to that of another block of the cluster, whose barrier counts the bytes.
template <class T>
inline void bulk_copy_cluster(Shared<T> to, Shared<T> from, uint32_t bytes, Shared<uint64_t> barrier) {
  emu::BulkCopyToShared(to.address(), from.address(), bytes, barrier.address());
}
inline void bulk_commit() { emu::BulkCommit(); }
// Waits until at most kPending groups are under way; `_read`: until their sources may be overwritten.
template <int kPending>
inline void bulk_wait() {
  emu::BulkWait(kPending, false);
}
template <int kPending>
inline void bulk_wait_read() {
  emu::BulkWait(kPending, true);
}
// st.async: a store to another block's shared memory that its barrier counts.
inline void st_async(Shared<uint32_t> to, uint32_t value, Shared<uint64_t> barrier) {
  emu::StoreAsync(to.address(), value, barrier.address());
}

inline uint32_t cluster_rank() { return emu::ClusterRank(); }
inline uint32_t cluster_size() { return emu::ClusterSize(); }
inline void cluster_arrive() { emu::ClusterArrive(true); }
inline void cluster_arrive_relaxed() { emu::ClusterArrive(false); }
inline void cluster_wait() { emu::ClusterWait(); }
inline void cluster_sync() {
  emu::ClusterArrive(true);
  emu::ClusterWait();
}

template <int kRegisters>
inline void setmaxnreg_inc() {
  emu::SetRegisters(kRegisters, true);
}
template <int kRegisters>
inline void setmaxnreg_dec() {
  emu::SetRegisters(kRegisters, false);
}
// griddepcontrol.wait and griddepcontrol.launch_dependents.
inline void grid_dependency_wait() { emu::WaitForGridInFront(); }
inline void grid_dependency_launch() { emu::LaunchDependents(); }

}  // namespace tw
