// Groups of threads: blocks, clusters, tiles of a warp.
#pragma once

namespace cooperative_groups {

struct thread_block {
  TW_CUDA static void sync() { __syncthreads(); }
  TW_CUDA static unsigned thread_rank() { return threadIdx.x + blockDim.x * (threadIdx.y + blockDim.y * threadIdx.z); }
  TW_CUDA static unsigned size() { return blockDim.x * blockDim.y * blockDim.z; }
  TW_CUDA static unsigned num_threads() { return size(); }
  TW_CUDA static dim3 group_index() { return dim3(blockIdx.x, blockIdx.y, blockIdx.z); }
  TW_CUDA static dim3 thread_index() { return dim3(threadIdx.x, threadIdx.y, threadIdx.z); }
  TW_CUDA static dim3 group_dim() { return dim3(blockDim.x, blockDim.y, blockDim.z); }
  TW_CUDA static dim3 dim_threads() { return group_dim(); }
};
TW_CUDA thread_block this_thread_block() { return {}; }

// kSize lanes of a warp, at a multiple of it.
template <unsigned kSize, class Parent = thread_block>
struct thread_block_tile {
  static_assert(kSize <= warpSize && (kSize & (kSize - 1)) == 0, "a tile is a part of a warp");
  TW_CUDA static unsigned thread_rank() { return __tw_lane() % kSize; }
  TW_CUDA static constexpr unsigned size() { return kSize; }
  TW_CUDA static constexpr unsigned num_threads() { return kSize; }
  TW_CUDA static unsigned meta_group_rank() { return Parent::thread_rank() / kSize; }
  TW_CUDA static unsigned meta_group_size() { return (Parent::size() + kSize - 1) / kSize; }
  TW_CUDA static unsigned mask() { return (0xffffffffu >> (warpSize - kSize)) << (__tw_lane() / kSize * kSize); }
  TW_CUDA static void sync() { __tw_syncwarp(mask()); }
  template <class T>
  TW_CUDA static T shfl(T value, int lane) {
    return __shfl_sync(mask(), value, lane, kSize);
  }
  template <class T>
  TW_CUDA static T shfl_up(T value, unsigned delta) {
    return __shfl_up_sync(mask(), value, delta, kSize);
  }
  template <class T>
  TW_CUDA static T shfl_down(T value, unsigned delta) {
    return __shfl_down_sync(mask(), value, delta, kSize);
  }
  template <class T>
  TW_CUDA static T shfl_xor(T value, int lanes) {
    return __shfl_xor_sync(mask(), value, lanes, kSize);
  }
  TW_CUDA static int any(int predicate) { return (__tw_ballot(mask(), predicate) & mask()) != 0; }
  TW_CUDA static int all(int predicate) { return (__tw_ballot(mask(), predicate) & mask()) == mask(); }
  TW_CUDA static unsigned ballot(int predicate) {
    return __tw_ballot(mask(), predicate) >> (__tw_lane() / kSize * kSize);
  }
};
template <unsigned kSize, class Parent>
TW_CUDA thread_block_tile<kSize, Parent> tiled_partition(const Parent&) {
  return {};
}

// The lanes of a warp that are here together.
struct coalesced_group {
  unsigned mask_;
  TW_CUDA unsigned mask() const { return mask_; }
  TW_CUDA unsigned thread_rank() const { return (unsigned)__popc(mask_ & ((1u << __tw_lane()) - 1)); }
  TW_CUDA unsigned size() const { return (unsigned)__popc(mask_); }
  TW_CUDA unsigned num_threads() const { return size(); }
  TW_CUDA void sync() const { __tw_syncwarp(mask_); }
  TW_CUDA int lane_of(int rank) const {
    unsigned rest = mask_;
    for (int i = 0; i < rank; ++i) rest &= rest - 1;
    return __ffs((int)rest) - 1;
  }
  template <class T>
  TW_CUDA T shfl(T value, int rank) const {
    return __shfl_sync(mask_, value, lane_of(rank));
  }
  TW_CUDA int any(int predicate) const { return (__tw_ballot(mask_, predicate) & mask_) != 0; }
  TW_CUDA int all(int predicate) const { return (__tw_ballot(mask_, predicate) & mask_) == mask_; }
};
TW_CUDA coalesced_group coalesced_threads() { return {__tw_activemask()}; }

// All threads of the launch, which cannot synchronize here.
struct grid_group {
  TW_CUDA static unsigned long long block_rank() {
    return blockIdx.x + (unsigned long long)gridDim.x * (blockIdx.y + (unsigned long long)gridDim.y * blockIdx.z);
  }
  TW_CUDA static unsigned long long num_blocks() { return (unsigned long long)gridDim.x * gridDim.y * gridDim.z; }
  TW_CUDA static unsigned long long thread_rank() {
    return block_rank() * thread_block::size() + thread_block::thread_rank();
  }
  TW_CUDA static unsigned long long size() { return num_blocks() * thread_block::size(); }
  TW_CUDA static unsigned long long num_threads() { return size(); }
  TW_CUDA static dim3 group_dim() { return dim3(gridDim.x, gridDim.y, gridDim.z); }
  template <int kNever = 0>
  static __attribute__((device)) void sync() {
    static_assert(kNever != 0, "grids that synchronize are outside of what emulate takes (docs/emulate.md)");
  }
};
TW_CUDA grid_group this_grid() { return {}; }

struct cluster_group {
  TW_CUDA static void sync() { __tw_cluster_barrier(1, 1); }
  TW_CUDA static unsigned block_rank() { return __tw_cluster_rank(); }
  TW_CUDA static unsigned num_blocks() { return __tw_cluster_size(); }
  template <class T>
  TW_CUDA static T* map_shared_rank(T* p, unsigned rank) {
    return (T*)__tw_map_rank(p, rank);
  }
};
TW_CUDA cluster_group this_cluster() { return {}; }

template <class Group>
TW_CUDA void sync(const Group& group) {
  group.sync();
}

}  // namespace cooperative_groups
