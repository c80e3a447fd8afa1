// Kernels whose threads combine values: softmax of rows by a block each, a matrix times a vector by a warp for each
// row, a product by wmma through padded shared memory, and a product of bytes by dp4a.
#pragma once

#include "codegen/cuda/emulator/device/kernel.h"
#include "codegen/cuda/emulator/kernels/planted.h"

namespace rows {

constexpr int kThreads = 128, kWarps = kThreads / 32;

template <bool kMax>
TW_DEVICE float Combine(float a, float b) {
  return kMax ? tw::max(a, b) : a + b;
}

// The greatest (or the sum) of what all threads of the block bring: by shuffles, then through shared memory.
template <bool kMax, Planted kPlanted>
TW_DEVICE float OfBlock(float v) {
  const tw::Shared<float> parts = tw::SharedAt<float>(0);
#pragma unroll
  for (int i = 16; i > 0; i /= 2) v = Combine<kMax>(v, __shfl_xor_sync(0xffffffffu, v, i));
  if (kPlanted != kEarlyRelease) __syncthreads();  // the last call's parts have been read
  if (threadIdx.x % 32 == 0) parts[threadIdx.x / 32] = v;
  if (kPlanted != kNoBarrier) __syncthreads();
  v = parts[0];
#pragma unroll
  for (int i = 1; i < kWarps; ++i) v = Combine<kMax>(v, parts[i]);
  return v;
}

template <Planted kPlanted = kNone>
__global__ void __launch_bounds__(kThreads) Softmax(tw::Global<const float> X, tw::Global<float> Y, int columns) {
  const tw::Global<const float> x = X + (int)blockIdx.x * columns;
  const tw::Global<float> y = Y + (int)blockIdx.x * columns;
  float most = -1e30f, sum = 0;
  for (int i = threadIdx.x; i < columns; i += kThreads) most = tw::max(most, x[i]);
  most = OfBlock<true, kPlanted>(most);
  for (int i = threadIdx.x; i < columns; i += kThreads) sum += tw::exp2_fast((x[i] - most) * 1.44269504f);
  sum = OfBlock<false, kPlanted>(sum);
  for (int i = threadIdx.x; i < columns; i += kThreads) y[i] = tw::exp2_fast((x[i] - most) * 1.44269504f) / sum;
}

// y[m] = sum over k of A[m, k] * x[k]; K a multiple of 4.
template <Planted kPlanted = kNone>
__global__ void __launch_bounds__(kThreads)
    MatrixVector(tw::Global<const float> A, tw::Global<const float> x, tw::Global<float> y, int M, int K) {
  const tw::Shared<float> shared = tw::SharedAt<float>(0);
  for (int k = threadIdx.x; k < K; k += kThreads) shared[k] = x[k];
  if (kPlanted != kNoBarrier) __syncthreads();
  const int m = blockIdx.x * kWarps + threadIdx.x / 32;
  float sum = 0;
  if (m < M) {
    for (int k = threadIdx.x % 32 * 4; k < K; k += 128) {
      const tw::f32x4 a = tw::Load<tw::f32x4>(A + m * K + k), b = tw::Load<tw::f32x4>(shared + k);
      sum += a.x * b.x + a.y * b.y + a.z * b.z + a.w * b.w;
    }
  }
#pragma unroll
  for (int i = 16; i > 0; i /= 2) sum += __shfl_xor_sync(0xffffffffu, sum, i);
  if (m < M && threadIdx.x % 32 == 0) y[m] = sum;
}

// C[m, n] = sum over k of A[m, k] * B[k, n] in tiles of 32 x 32 by four warps; M, N and K multiples of 32.
template <Planted kPlanted = kNone>
__global__ void __launch_bounds__(kThreads)
    ProductWmma(tw::Global<const tw::f16> A, tw::Global<const tw::f16> B, tw::Global<float> C, int N, int K) {
  constexpr int kRow = 40;  // 32 and a pad
  const tw::Shared<tw::f16> a = tw::SharedAt<tw::f16>(0),
                            b = tw::SharedAt<tw::f16>(kPlanted == kOverlap ? 1024 : 32 * kRow * 2);
  const int warp = threadIdx.x / 32, m0 = blockIdx.y * 32, n0 = blockIdx.x * 32, row = threadIdx.x / 4,
            column = threadIdx.x % 4 * 8;
  tw::WmmaSum<16, 16, 16, float> sum;
  tw::wmma_fill(sum, 0.0f);
  for (int k0 = 0; k0 < K; k0 += 32) {
    tw::Store(a + row * kRow + column, tw::Load<tw::u32x4>(A + (m0 + row) * K + k0 + column));
    tw::Store(b + row * kRow + column, tw::Load<tw::u32x4>(B + (k0 + row) * N + n0 + column));
    if (kPlanted != kNoBarrier) __syncthreads();
#pragma unroll
    for (int kk = 0; kk < 32; kk += 16) {
      tw::WmmaA<16, 16, 16, tw::f16> fa;
      tw::WmmaB<16, 16, 16, tw::f16> fb;
      tw::wmma_load<tw::kRowMajor>(fa, a + warp / 2 * 16 * kRow + kk, kRow);
      tw::wmma_load<tw::kRowMajor>(fb, b + kk * kRow + warp % 2 * 16, kRow);
      tw::wmma_multiply(sum, fa, fb, sum);
    }
    if (kPlanted != kEarlyRelease) __syncthreads();
  }
  tw::wmma_store<tw::kRowMajor>(C + (m0 + warp / 2 * 16) * N + n0 + warp % 2 * 16, sum, N);
}

// y[m, n] = sum over k of a[m, k] * b[n, k], bytes, by a thread for each; K a multiple of 4.
__global__ void __launch_bounds__(kThreads)
    ProductBytes(tw::Global<const int8_t> A, tw::Global<const int8_t> B, tw::Global<int32_t> Y, int N, int K) {
  const int m = blockIdx.y, n = blockIdx.x * kThreads + threadIdx.x;
  if (n >= N) return;
  int sum = 0;
  for (int k = 0; k < K; k += 4) {
    sum = tw::dp4a<tw::s8, tw::s8>(tw::Load<uint32_t>(A + m * K + k), tw::Load<uint32_t>(B + n * K + k), sum);
  }
  Y[m * N + n] = sum;
}

}  // namespace rows
