// C[m, n] = sum over k of A[m, k] * B[k, n] for sm_80: cp.async in stages, ldmatrix, mma.sync. f16, sums in f32.
// Blocks of 64 x 64 by four warps of 32 x 32, depth 32 a stage; shared rows are swizzled. Any M; N and K multiples of
// 8.
#pragma once

#include "codegen/cuda/emulator/device/kernel.h"
#include "codegen/cuda/emulator/kernels/planted.h"

namespace product_mma {

constexpr int kTile = 64, kDepth = 32, kStages = 4, kThreads = 128;
constexpr int kBytesA = kTile * kDepth * 2, kBytesB = kDepth * kTile * 2, kStageBytes = kBytesA + kBytesB;
constexpr int kSharedBytes = kStages * kStageBytes;

// A's rows are 64 bytes, B's 128: where chunk `chunk` of eight elements of a row lies.
TW_DEVICE int PlaceA(int row, int chunk) { return row * kDepth + (chunk ^ (row >> 1 & 3)) * 8; }
TW_DEVICE int PlaceB(int row, int chunk) { return row * kTile + (chunk ^ (row & 7)) * 8; }

template <Planted kPlanted>
TW_DEVICE tw::Shared<tw::f16> StageA(int step) {
  return tw::SharedAt<tw::f16>(step % kStages * kStageBytes);
}
template <Planted kPlanted>
TW_DEVICE tw::Shared<tw::f16> StageB(int step) {
  return tw::SharedAt<tw::f16>(step % kStages * kStageBytes + (kPlanted == kOverlap ? kBytesA - 64 : kBytesA));
}

// Starts the copies of one stage.
template <Planted kPlanted>
TW_DEVICE void LoadStage(tw::Global<const tw::f16> A, tw::Global<const tw::f16> B, int m0, int n0, int step, int M,
                         int N, int K) {
  const int tx = threadIdx.x;
#pragma unroll
  for (int i = 0; i < kTile * kDepth / 8 / kThreads; ++i) {
    const int row = i * 32 + tx / 4, chunk = tx % 4, m = m0 + row, k = step * kDepth + chunk * 8;
    const bool inside = m < M && k < K;
    tw::cp_async<16>(StageA<kPlanted>(step) + PlaceA(row, chunk), A + (inside ? m * K + k : 0), inside ? 16 : 0);
  }
#pragma unroll
  for (int i = 0; i < kDepth * kTile / 8 / kThreads; ++i) {
    const int row = i * 16 + tx / 8, chunk = tx % 8, k = step * kDepth + row, n = n0 + chunk * 8;
    const bool inside = k < K && n < N;
    tw::cp_async<16>(StageB<kPlanted>(step) + PlaceB(row, chunk), B + (inside ? k * N + n : 0), inside ? 16 : 0);
  }
}

// Multiplies one stage into the sums of a warp.
template <Planted kPlanted>
TW_DEVICE void MultiplyStage(float (&sums)[2][4][4], int step, int warp_m, int warp_n) {
  const int lane = threadIdx.x % 32;
#pragma unroll
  for (int kk = 0; kk < kDepth / 16; ++kk) {
    uint32_t a[2][4], b[2][4];
#pragma unroll
    for (int i = 0; i < 2; ++i) {
      const int row = warp_m + i * 16 + lane % 16, chunk = kk * 2 + lane / 16;
      const int place = kPlanted == kWrongSwizzle ? row * kDepth + (chunk ^ (row & 3)) * 8 : PlaceA(row, chunk);
      tw::ldmatrix_x4(a[i], StageA<kPlanted>(step) + place);
    }
#pragma unroll
    for (int j = 0; j < 2; ++j) {
      const int row = kk * 16 + lane % 16, chunk = warp_n / 8 + j * 2 + lane / 16;
      tw::ldmatrix_x4_trans(b[j], StageB<kPlanted>(step) + PlaceB(row, chunk));
    }
#pragma unroll
    for (int i = 0; i < 2; ++i) {
#pragma unroll
      for (int j = 0; j < 4; ++j) tw::mma_m16n8k16_f32_f16(sums[i][j], a[i], b[j / 2] + j % 2 * 2);
    }
  }
}

template <Planted kPlanted = kNone>
__global__ void __launch_bounds__(kThreads)
    Kernel(tw::Global<const tw::f16> A, tw::Global<const tw::f16> B, tw::Global<tw::f16> C, int M, int N, int K) {
  const int warp = threadIdx.x / 32, lane = threadIdx.x % 32;
  const int m0 = blockIdx.y * kTile, n0 = blockIdx.x * kTile, warp_m = warp / 2 * 32, warp_n = warp % 2 * 32;
  float sums[2][4][4];
#pragma unroll
  for (int i = 0; i < 2 * 4 * 4; ++i) sums[i / 16][i / 4 % 4][i % 4] = 0.0f;

  const int steps = (K + kDepth - 1) / kDepth;
#pragma unroll
  for (int step = 0; step < kStages - 1; ++step) {
    if (step < steps) LoadStage<kPlanted>(A, B, m0, n0, step, M, N, K);
    tw::cp_async_commit();
  }
  for (int step = 0; step < steps; ++step) {
    tw::cp_async_wait<kPlanted == kWaitOffByOne ? kStages - 1 : kStages - 2>();
    if (kPlanted != kNoBarrier) __syncthreads();
    if (step + kStages - 1 < steps) LoadStage<kPlanted>(A, B, m0, n0, step + kStages - 1, M, N, K);
    if (kPlanted != kNoCommit) tw::cp_async_commit();
    MultiplyStage<kPlanted>(sums, step, warp_m, warp_n);
  }
#pragma unroll
  for (int i = 0; i < 2; ++i) {
#pragma unroll
    for (int j = 0; j < 4; ++j) {
#pragma unroll
      for (int h = 0; h < 2; ++h) {
        const int m = m0 + warp_m + i * 16 + h * 8 + lane / 4, n = n0 + warp_n + j * 8 + lane % 4 * 2;
        if (m < M && n < N) tw::Store(C + m * N + n, tw::pack_f16(sums[i][j][h * 2], sums[i][j][h * 2 + 1]));
      }
    }
  }
}

}  // namespace product_mma
