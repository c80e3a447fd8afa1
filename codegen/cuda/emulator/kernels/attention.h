// O = softmax(Q K^T / 8) V for heads of 64, f16, on sm_90a: a block takes 128 queries of a head, a warp copies, two
// warpgroups of 64 queries multiply. Probabilities go from the registers of the first product's sums into the second.
#pragma once

#include "codegen/cuda/emulator/device/kernel.h"
#include "codegen/cuda/emulator/kernels/pipeline.h"
#include "codegen/cuda/emulator/kernels/planted.h"

namespace attention {

constexpr int kHead = 64, kQueries = 128, kKeys = 64, kStages = 2, kConsumers = 2, kThreads = 128 * (1 + kConsumers);
constexpr int kBytesQ = kQueries * kHead * 2, kBytesK = kKeys * kHead * 2;
constexpr int kKeysAt = kBytesQ, kValuesAt = kKeysAt + kStages * kBytesK, kBarriers = kValuesAt + kStages * kBytesK;
constexpr int kSharedBytes = kBarriers + (1 + 4 * kStages) * 8;

// Barriers: queries; full and empty of keys; full and empty of values.
TW_DEVICE tw::Shared<uint64_t> Queries() { return tw::SharedAt<uint64_t>(kBarriers); }
TW_DEVICE tw::Shared<uint64_t> Keys() { return Queries() + 1; }
TW_DEVICE tw::Shared<uint64_t> Values() { return Keys() + 2 * kStages; }

TW_DEVICE void Produce(const TwTensorMap* Q, const TwTensorMap* K, const TwTensorMap* V, int length, int head) {
  tw::mbarrier_arrive_expect_tx(Queries(), kBytesQ);
  tw::tma_load(tw::SharedAt<tw::f16>(0), Q, Queries(), 0, (int)blockIdx.x * kQueries, head);
  RingPosition<kStages> at;
  for (int key = 0; key < length; key += kKeys) {
    tw::mbarrier_wait(Keys() + kStages + at.stage, at.phase ^ 1);
    tw::mbarrier_arrive_expect_tx(Keys() + at.stage, kBytesK);
    tw::tma_load(tw::SharedAt<tw::f16>(kKeysAt + at.stage * kBytesK), K, Keys() + at.stage, 0, key, head);
    tw::mbarrier_wait(Values() + kStages + at.stage, at.phase ^ 1);
    tw::mbarrier_arrive_expect_tx(Values() + at.stage, kBytesK);
    tw::tma_load(tw::SharedAt<tw::f16>(kValuesAt + at.stage * kBytesK), V, Values() + at.stage, 0, key, head);
    at.Next();
  }
}

// The greatest (sum) of a row's values, which four neighbouring lanes hold.
TW_DEVICE float RowMax(float v) {
  v = tw::max(v, __shfl_xor_sync(0xffffffffu, v, 1));
  return tw::max(v, __shfl_xor_sync(0xffffffffu, v, 2));
}
TW_DEVICE float RowSum(float v) {
  v += __shfl_xor_sync(0xffffffffu, v, 1);
  return v + __shfl_xor_sync(0xffffffffu, v, 2);
}

// Scores become probabilities, relative to the greatest score so far; sums and outputs so far are scaled to it.
TW_DEVICE void Softmax(tw::Sums<kKeys, float>& scores, tw::Sums<kHead, float>& out, uint32_t (&p)[kKeys / 16][4],
                       float (&most)[2], float (&sum)[2], int keys) {
  const float scale = 0.125f * 1.44269504f;
  const int lane = threadIdx.x % 32;
#pragma unroll
  for (int h = 0; h < 2; ++h) {  // the two rows of a thread
    float m = most[h];
#pragma unroll
    for (int j = 0; j < kKeys / 4; ++j) {
      const int i = j / 2 * 4 + h * 2 + j % 2;
      if (j / 2 * 8 + lane % 4 * 2 + j % 2 >= keys) scores[i] = -1e30f;
      m = tw::max(m, scores[i]);
    }
    m = RowMax(m);
    const float shrink = tw::exp2_fast((most[h] - m) * scale);
    most[h] = m;
    sum[h] *= shrink;
#pragma unroll
    for (int j = 0; j < kHead / 4; ++j) out[j / 2 * 4 + h * 2 + j % 2] *= shrink;
#pragma unroll
    for (int j = 0; j < kKeys / 8; ++j) {  // pairs of columns
      const float a = tw::exp2_fast((scores[j * 4 + h * 2] - m) * scale);
      const float b = tw::exp2_fast((scores[j * 4 + h * 2 + 1] - m) * scale);
      sum[h] += a + b;
      p[j / 2][j % 2 * 2 + h] = tw::pack_f16(a, b);
    }
  }
}

template <Planted kPlanted>
TW_DEVICE void Consume(tw::Global<tw::f16> O, int length, int head, int consumer) {
  tw::Sums<kHead, float> out;
  tw::Sums<kKeys, float> scores;
  float most[2] = {-1e30f, -1e30f}, sum[2] = {0, 0};
#pragma unroll
  for (int i = 0; i < kHead / 2; ++i) out[i] = 0;
  tw::mbarrier_wait(Queries(), 0);
  RingPosition<kStages> at;
  for (int key = 0; key < length; key += kKeys) {
    const tw::Shared<tw::f16> q = tw::SharedAt<tw::f16>(0) + consumer * 64 * kHead;
    const tw::Shared<tw::f16> k = tw::SharedAt<tw::f16>(kKeysAt + at.stage * kBytesK),
                              v = tw::SharedAt<tw::f16>(kValuesAt + at.stage * kBytesK);
    tw::mbarrier_wait(Keys() + at.stage, at.phase);
    tw::wgmma_fence();
#pragma unroll
    for (int kk = 0; kk < kHead / 16; ++kk) {
      tw::wgmma<kKeys, float, tw::f16, tw::f16>(scores, tw::wgmma_descriptor(q + kk * 16, 16, 1024, tw::kSwizzle128),
                                                tw::wgmma_descriptor(k + kk * 16, 16, 1024, tw::kSwizzle128), kk > 0);
    }
    tw::wgmma_commit();
    tw::wgmma_wait<0>();
    if (threadIdx.x % 128 == 0) tw::mbarrier_arrive(Keys() + kStages + at.stage);
    uint32_t p[kKeys / 16][4];
    Softmax(scores, out, p, most, sum, length - key);
    tw::mbarrier_wait(Values() + at.stage, at.phase);
    if (kPlanted != kNoWgmmaFence) tw::wgmma_fence();
#pragma unroll
    for (int kk = 0; kk < kKeys / 16; ++kk) {
      tw::wgmma_rs<kHead, float, tw::f16, tw::f16, tw::kMajorMN>(
          out, p[kk], tw::wgmma_descriptor(v + kk * 16 * kHead, 8192, 1024, tw::kSwizzle128), 1);
    }
    tw::wgmma_commit();
    if (kPlanted == kTouchedEarly) out[0] *= 1.0f;
    if (kPlanted == kEarlyRelease && threadIdx.x % 128 == 0) tw::mbarrier_arrive(Values() + kStages + at.stage);
    tw::wgmma_wait<0>();
    if (kPlanted != kEarlyRelease && threadIdx.x % 128 == 0) tw::mbarrier_arrive(Values() + kStages + at.stage);
    at.Next();
  }
  const int lane = threadIdx.x % 32;
#pragma unroll
  for (int h = 0; h < 2; ++h) {
    const float inverse = 1.0f / RowSum(sum[h]);
    const int row = blockIdx.x * kQueries + consumer * 64 + threadIdx.x / 32 % 4 * 16 + lane / 4 + h * 8;
#pragma unroll
    for (int j = 0; j < kHead / 8; ++j) {
      if (row >= length) continue;
      tw::Store(O + (head * length + row) * kHead + j * 8 + lane % 4 * 2,
                tw::pack_f16(out[j * 4 + h * 2] * inverse, out[j * 4 + h * 2 + 1] * inverse));
    }
  }
}

template <Planted kPlanted = kNone>
__global__ void __launch_bounds__(kThreads, 1)
    Kernel(const __grid_constant__ TwTensorMap Q, const __grid_constant__ TwTensorMap K,
           const __grid_constant__ TwTensorMap V, tw::Global<tw::f16> O, int length) {
  if (threadIdx.x == 0) {
    tw::mbarrier_init(Queries(), 1);
    InitRing(Keys(), kStages, kConsumers);
    InitRing(Values(), kStages, kConsumers);
    tw::fence_mbarrier_init();
  }
  __syncthreads();
  if (threadIdx.x < 128) {
    tw::setmaxnreg_dec<40>();
    if (threadIdx.x < 32 && tw::elect_one()) Produce(&Q, &K, &V, length, blockIdx.y);
  } else {
    tw::setmaxnreg_inc<232>();
    Consume<kPlanted>(O, length, blockIdx.y, threadIdx.x / 128 - 1);
  }
}

}  // namespace attention
