// A convolution as an implicit product for sm_90a: O[n, p, q, co] = sum of I[n, p S - P + r D, q S - P + s D, ci] *
// W[r, s, ci, co]. Rows of A are output pixels, fetched by im2col copies, which do padding, stride and dilation;
// columns of B are output channels. f16, sums in f32; blocks of 128 pixels x 64 channels.
#pragma once

#include "codegen/cuda/emulator/device/kernel.h"
#include "codegen/cuda/emulator/kernels/pipeline.h"
#include "codegen/cuda/emulator/kernels/planted.h"

namespace convolution {

constexpr int kPixels = 128, kChannels = 64, kDepth = 64, kStages = 3, kConsumers = 2,
              kThreads = 128 * (1 + kConsumers);
constexpr int kBytesA = kPixels * kDepth * 2, kBytesB = kDepth * kChannels * 2, kStageBytes = kBytesA + kBytesB;
constexpr int kBarriers = kStages * kStageBytes, kSharedBytes = kBarriers + 2 * kStages * 8;

struct Shape {
  int images, height, width, in_channels, out_channels, window, stride, padding, dilation, out_height, out_width;
};

template <Planted kPlanted>
TW_DEVICE void Produce(const TwTensorMap* I, const TwTensorMap* W, const Shape& c, int pixel, int channel) {
  const tw::Shared<uint64_t> full = tw::SharedAt<uint64_t>(kBarriers), empty = full + kStages;
  const int q = pixel % c.out_width, p = pixel / c.out_width % c.out_height, n = pixel / (c.out_width * c.out_height);
  RingPosition<kStages> at;
  for (int tap = 0; tap < c.window * c.window; ++tap) {
    for (int ci = 0; ci < c.in_channels; ci += kDepth) {
      tw::mbarrier_wait(empty + at.stage, at.phase ^ 1);
      tw::mbarrier_arrive_expect_tx(full + at.stage, kPlanted == kShortExpect ? kStageBytes - 128 : kStageBytes);
      tw::tma_load_im2col_4d(tw::SharedAt<tw::f16>(at.stage * kStageBytes), I, full + at.stage, ci,
                             q * c.stride - c.padding, p * c.stride - c.padding, n, tap % c.window * c.dilation,
                             tap / c.window * c.dilation);
      tw::tma_load(tw::SharedAt<tw::f16>(at.stage * kStageBytes + kBytesA), W, full + at.stage, channel, ci, tap);
      at.Next();
    }
  }
}

template <Planted kPlanted>
TW_DEVICE void Consume(tw::Global<tw::f16> O, const Shape& c, int pixel, int channel, int consumer) {
  const tw::Shared<uint64_t> full = tw::SharedAt<uint64_t>(kBarriers), empty = full + kStages;
  const int steps = c.window * c.window * ((c.in_channels + kDepth - 1) / kDepth);
  RingPosition<kStages> at;
  tw::Sums<kChannels, float> sums;
  for (int step = 0; step < steps; ++step) {
    tw::mbarrier_wait(full + at.stage, at.phase);
    const tw::Shared<tw::f16> a = tw::SharedAt<tw::f16>(at.stage * kStageBytes) + consumer * 64 * kDepth;
    const tw::Shared<tw::f16> b = tw::SharedAt<tw::f16>(at.stage * kStageBytes + kBytesA);
    tw::wgmma_fence();
#pragma unroll
    for (int kk = 0; kk < kDepth / 16; ++kk) {
      const uint64_t da = tw::wgmma_descriptor(a + kk * 16, 16, 1024, tw::kSwizzle128);
      const uint64_t db = tw::wgmma_descriptor(b + kk * 16 * kChannels, 8192, 1024, tw::kSwizzle128);
      tw::wgmma<kChannels, float, tw::f16, tw::f16, tw::kMajorK, tw::kMajorMN>(sums, da, db, step > 0 || kk > 0);
    }
    tw::wgmma_commit();
    if (kPlanted == kEarlyRelease && threadIdx.x % 128 == 0) tw::mbarrier_arrive(empty + at.stage);
    tw::wgmma_wait<0>();
    if (kPlanted != kEarlyRelease && threadIdx.x % 128 == 0) tw::mbarrier_arrive(empty + at.stage);
    at.Next();
  }
  const int lane = threadIdx.x % 32, row = pixel + consumer * 64 + threadIdx.x / 32 % 4 * 16 + lane / 4;
#pragma unroll
  for (int i = 0; i < kChannels / 4; ++i) {  // pairs of columns of a row
    const int m = row + i % 2 * 8, co = channel + i / 2 * 8 + lane % 4 * 2;
    if (m < c.images * c.out_height * c.out_width && co < c.out_channels) {
      tw::Store(O + m * c.out_channels + co, tw::pack_f16(sums[i * 2], sums[i * 2 + 1]));
    }
  }
}

template <Planted kPlanted = kNone>
__global__ void __launch_bounds__(kThreads, 1)
    Kernel(const __grid_constant__ TwTensorMap I, const __grid_constant__ TwTensorMap W, tw::Global<tw::f16> O,
           Shape c) {
  if (threadIdx.x == 0) {
    InitRing(tw::SharedAt<uint64_t>(kBarriers), kStages, kConsumers);
    tw::fence_mbarrier_init();
  }
  __syncthreads();
  const int pixel = blockIdx.x * kPixels, channel = blockIdx.y * kChannels;
  if (threadIdx.x < 128) {
    tw::setmaxnreg_dec<40>();
    if (threadIdx.x < 32 && tw::elect_one()) Produce<kPlanted>(&I, &W, c, pixel, channel);
  } else {
    tw::setmaxnreg_inc<232>();
    Consume<kPlanted>(O, c, pixel, channel, threadIdx.x / 128 - 1);
  }
}

}  // namespace convolution
