// C = A * B for sm_90a: a warp copies tiles by TMA, two warpgroups multiply them by wgmma; blocks are persistent. f16,
// sums in f32. Tiles of 128 x 128, depth 64 a stage. B is [k, n], or [n, k] with kTransposed. In a cluster of two,
// blocks with the same columns share each tile of B by multicast.
#pragma once

#include "codegen/cuda/emulator/device/kernel.h"
#include "codegen/cuda/emulator/kernels/pipeline.h"
#include "codegen/cuda/emulator/kernels/planted.h"

namespace product_wgmma {

constexpr int kM = 128, kN = 128, kDepth = 64, kStages = 3, kConsumers = 2, kThreads = 128 * (1 + kConsumers);
constexpr int kBytesA = kM * kDepth * 2, kBytesB = kN * kDepth * 2, kStageBytes = kBytesA + kBytesB,
              kBytesC = kM * kN * 2;
constexpr int kBarriers = kStages * kStageBytes + kBytesC, kSharedBytes = kBarriers + 2 * kStages * 8;
// Tiles in shared memory are boxes of 64 columns (128 bytes), swizzled.
constexpr int kBoxColumns = 64;

struct Sizes {
  int M, N, K;
};

template <int kCluster, Planted kPlanted>
TW_DEVICE void LoadStage(const TwTensorMap* A, const TwTensorMap* B, bool transposed, int stage, int m0, int n0,
                         int k0) {
  const tw::Shared<uint64_t> full = tw::SharedAt<uint64_t>(kBarriers) + stage;
  const tw::Shared<tw::f16> a = tw::SharedAt<tw::f16>(stage * kStageBytes),
                            b = tw::SharedAt<tw::f16>(stage * kStageBytes + kBytesA);
  tw::mbarrier_arrive_expect_tx(full, kPlanted == kShortExpect ? kStageBytes - 16 : kStageBytes);
  tw::tma_load(a, A, full, k0, m0);
  constexpr int kParts = kN / kBoxColumns;  // of B; each block of a cluster fetches some for all
#pragma unroll
  for (int i = 0; i < kParts / kCluster; ++i) {
    const int part = (kCluster > 1 ? (int)tw::cluster_rank() * (kParts / kCluster) : 0) + i,
              n = n0 + part * kBoxColumns;
    const tw::Shared<tw::f16> to = b + part * kBoxColumns * kDepth;
    const int x = transposed ? k0 : n, y = transposed ? n : k0;
    if (kCluster > 1) {
      tw::tma_load_multicast(to, B, full, (1 << kCluster) - 1, x, y);
    } else {
      tw::tma_load(to, B, full, x, y);
    }
  }
}

// One thread of a warpgroup for each block of the cluster tells it that this warpgroup is done with a stage.
template <int kCluster>
TW_DEVICE void Release(int stage) {
  const tw::Shared<uint64_t> empty = tw::SharedAt<uint64_t>(kBarriers) + kStages + stage;
  if (threadIdx.x % 128 >= kCluster) return;
  if (kCluster > 1) {
    tw::mbarrier_arrive_cluster(empty, threadIdx.x % 128);
  } else {
    tw::mbarrier_arrive(empty);
  }
}

template <int kCluster, Planted kPlanted>
TW_DEVICE void Produce(const TwTensorMap* A, const TwTensorMap* B, bool transposed, int first_tile, int tiles,
                       int tiles_n, const Sizes& s) {
  RingPosition<kStages> at;
  const tw::Shared<uint64_t> empty = tw::SharedAt<uint64_t>(kBarriers) + kStages;
  for (int tile = first_tile; tile < tiles; tile += gridDim.x / kCluster) {
    const int m0 = (tile / tiles_n * kCluster + (kCluster > 1 ? (int)tw::cluster_rank() : 0)) * kM,
              n0 = tile % tiles_n * kN;
    for (int k0 = 0; k0 < s.K; k0 += kDepth) {
      if (kPlanted != kNoEmptyWait) tw::mbarrier_wait(empty + at.stage, at.phase ^ 1);
      LoadStage<kCluster, kPlanted>(A, B, transposed, at.stage, m0, n0, k0);
      at.Next();
    }
  }
}

template <bool kTransposed, Planted kPlanted>
TW_DEVICE void MultiplyStage(tw::Sums<kN, float>& sums, int stage, int consumer, bool first) {
  const tw::Shared<tw::f16> a = tw::SharedAt<tw::f16>(stage * kStageBytes) + consumer * 64 * kDepth;
  const tw::Shared<tw::f16> b = tw::SharedAt<tw::f16>(stage * kStageBytes + kBytesA);
  constexpr int kStride = kPlanted == kWrongDescriptor ? 512 : 1024;
#pragma unroll
  for (int kk = 0; kk < kDepth / 16; ++kk) {
    const uint64_t da = tw::wgmma_descriptor(a + kk * 16, 16, 1024, tw::kSwizzle128);
    if (kTransposed) {
      const uint64_t db = tw::wgmma_descriptor(b + kk * 16, 16, kStride, tw::kSwizzle128);
      tw::wgmma<kN, float, tw::f16, tw::f16>(sums, da, db, !first || kk > 0);
    } else {
      const uint64_t db =
          tw::wgmma_descriptor(b + kk * 16 * kBoxColumns, kBoxColumns * kDepth * 2, kStride, tw::kSwizzle128);
      tw::wgmma<kN, float, tw::f16, tw::f16, tw::kMajorK, tw::kMajorMN>(sums, da, db, !first || kk > 0);
    }
  }
}

// The tile leaves through shared memory by bulk copies, 64 columns each.
template <Planted kPlanted>
TW_DEVICE void StoreTile(const TwTensorMap* C, tw::Sums<kN, float>& sums, int consumer, int m0, int n0) {
  const int warp = threadIdx.x / 32 % 4, lane = threadIdx.x % 32;
  const tw::Shared<tw::f16> c =
      tw::SharedAt<tw::f16>(kPlanted == kOverlap ? 0 : kStages * kStageBytes) + consumer * 64 * kN;
  if (threadIdx.x % 128 == 0) tw::bulk_wait_read<0>();
  tw::named_barrier(1 + consumer, 128);
#pragma unroll
  for (int j = 0; j < kN / 16; ++j) {
    const int row = warp * 16 + lane % 16, chunk = j % 4 * 2 + lane / 16;
    uint32_t r[4];
#pragma unroll
    for (int i = 0; i < 4; ++i) r[i] = tw::pack_f16(sums[j * 8 + i * 2], sums[j * 8 + i * 2 + 1]);
    tw::stmatrix_x4(c + j / 4 * 64 * kBoxColumns + row * kBoxColumns + (chunk ^ (row & 7)) * 8, r);
  }
  if (kPlanted != kNoProxyFence) tw::fence_proxy_async_shared();
  tw::named_barrier(1 + consumer, 128);
  if (threadIdx.x % 128 != 0) return;
#pragma unroll
  for (int part = 0; part < kN / kBoxColumns; ++part) {
    tw::tma_store(C, c + part * 64 * kBoxColumns, n0 + part * kBoxColumns, m0 + consumer * 64);
  }
  tw::bulk_commit();
}

template <int kCluster, bool kTransposed, Planted kPlanted>
TW_DEVICE void Consume(const TwTensorMap* C, int consumer, int first_tile, int tiles, int tiles_n, const Sizes& s) {
  RingPosition<kStages> at;
  const tw::Shared<uint64_t> full = tw::SharedAt<uint64_t>(kBarriers);
  tw::Sums<kN, float> sums;
  for (int tile = first_tile; tile < tiles; tile += gridDim.x / kCluster) {
    const int m0 = (tile / tiles_n * kCluster + (kCluster > 1 ? (int)tw::cluster_rank() : 0)) * kM,
              n0 = tile % tiles_n * kN;
    int last = -1;  // the stage that the product under way reads
    for (int k0 = 0; k0 < s.K; k0 += kDepth) {
      tw::mbarrier_wait(full + at.stage, at.phase ^ (kPlanted == kWrongParity));
      if (kPlanted != kNoWgmmaFence) tw::wgmma_fence();
      MultiplyStage<kTransposed, kPlanted>(sums, at.stage, consumer, k0 == 0);
      if (kPlanted != kNoCommit) tw::wgmma_commit();
      tw::wgmma_wait<kPlanted == kEarlyRelease ? 2 : 1>();
      if (last >= 0) Release<kCluster>(last);
      last = at.stage;
      at.Next();
    }
    if (kPlanted != kTouchedEarly) tw::wgmma_wait<0>();
    Release<kCluster>(last);
    StoreTile<kPlanted>(C, sums, consumer, m0, n0);
    if (kPlanted == kTouchedEarly) tw::wgmma_wait<0>();
  }
  if (threadIdx.x % 128 == 0 && kPlanted != kNoStoreWait) tw::bulk_wait<0>();
}

// Boxes: A [128 rows][64], B [64][64], C [64][64], all with a swizzle of 128 bytes.
template <int kCluster, bool kTransposed, Planted kPlanted = kNone>
__global__ void __launch_bounds__(kThreads, 1) __cluster_dims__(kCluster, 1, 1)
    Kernel(const __grid_constant__ TwTensorMap A, const __grid_constant__ TwTensorMap B,
           const __grid_constant__ TwTensorMap C, Sizes s) {
  const int warpgroup = threadIdx.x / 128;
  if (threadIdx.x == 0) {
    InitRing(tw::SharedAt<uint64_t>(kBarriers), kStages, kConsumers * kCluster);
    tw::fence_mbarrier_init();
  }
  if (kCluster > 1) {
    tw::cluster_sync();
  } else if (kPlanted != kNoBarrier) {
    __syncthreads();
  }
  const int tiles_n = (s.N + kN - 1) / kN, tiles = (s.M + kM * kCluster - 1) / (kM * kCluster) * tiles_n,
            first = blockIdx.x / kCluster;
  if (warpgroup == 0) {
    tw::setmaxnreg_dec<40>();
    if (threadIdx.x < 32 && tw::elect_one()) Produce<kCluster, kPlanted>(&A, &B, kTransposed, first, tiles, tiles_n, s);
  } else {
    tw::setmaxnreg_inc<232>();
    Consume<kCluster, kTransposed, kPlanted>(&C, warpgroup - 1, first, tiles, tiles_n, s);
  }
  if (kCluster > 1 && kPlanted != kNoLastSync) tw::cluster_sync();  // nobody may write to a block that has ended
}

}  // namespace product_wgmma
