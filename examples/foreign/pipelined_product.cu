// C = A * B^T, halves with sums in floats: cp.async fills one stage of shared memory while mma.sync reads the other.
// A is [M, K], B is [N, K], C is [M, N]; M and N are multiples of 64, K of 32. Blocks of 128 threads, 64 x 64 of C each.
#include <cuda_fp16.h>
#include <stdint.h>

constexpr int kTile = 64, kDepth = 32, kStages = 2;
constexpr int kPitch = kDepth + 8;  // elements of a row in shared memory: no two rows of a matrix share a bank

__device__ __forceinline__ uint32_t shared_address(const void* p) {
  return static_cast<uint32_t>(__cvta_generic_to_shared(p));
}

__device__ __forceinline__ void copy_16(void* to, const void* from) {
  asm volatile("cp.async.cg.shared.global [%0], [%1], 16;\n" ::"r"(shared_address(to)), "l"(from) : "memory");
}

__device__ __forceinline__ void load_matrices(uint32_t (&r)[4], const void* row) {
  asm volatile("ldmatrix.sync.aligned.m8n8.x4.shared.b16 {%0, %1, %2, %3}, [%4];\n"
               : "=r"(r[0]), "=r"(r[1]), "=r"(r[2]), "=r"(r[3])
               : "r"(shared_address(row))
               : "memory");
}

__device__ __forceinline__ void multiply(float (&d)[4], const uint32_t (&a)[4], uint32_t b0, uint32_t b1) {
  asm volatile(
      "mma.sync.aligned.m16n8k16.row.col.f32.f16.f16.f32 {%0, %1, %2, %3}, {%4, %5, %6, %7}, {%8, %9}, "
      "{%0, %1, %2, %3};\n"
      : "+f"(d[0]), "+f"(d[1]), "+f"(d[2]), "+f"(d[3])
      : "r"(a[0]), "r"(a[1]), "r"(a[2]), "r"(a[3]), "r"(b0), "r"(b1));
}

// Every thread copies two pieces of 16 bytes of each operand.
__device__ void load_stage(__half (*a)[kPitch], __half (*b)[kPitch], const __half* A, const __half* B, int K, int k0) {
  for (int i = threadIdx.x; i < kTile * kDepth / 8; i += blockDim.x) {
    const int row = i / (kDepth / 8), column = i % (kDepth / 8) * 8;
    copy_16(&a[row][column], A + row * K + k0 + column);
    copy_16(&b[row][column], B + row * K + k0 + column);
  }
  asm volatile("cp.async.commit_group;\n" ::: "memory");
}

__global__ void __launch_bounds__(128) pipelined_product(const __half* A, const __half* B, float* C, int N, int K) {
  __shared__ alignas(16) __half a[kStages][kTile][kPitch];
  __shared__ alignas(16) __half b[kStages][kTile][kPitch];
  const int m0 = blockIdx.y * kTile, n0 = blockIdx.x * kTile;
  const int lane = threadIdx.x % 32, warp = threadIdx.x / 32;
  const int wm = warp / 2 * 32, wn = warp % 2 * 32;
  A += m0 * K;
  B += n0 * K;
  float sums[2][4][4] = {};
  load_stage(a[0], b[0], A, B, K, 0);
  const int steps = K / kDepth;
  for (int step = 0; step < steps; ++step) {
    const int now = step % kStages, next = (step + 1) % kStages;
    if (step + 1 < steps) {
      load_stage(a[next], b[next], A, B, K, (step + 1) * kDepth);
      asm volatile("cp.async.wait_group 1;\n" ::: "memory");
    } else {
      asm volatile("cp.async.wait_group 0;\n" ::: "memory");
    }
    __syncthreads();
#pragma unroll
    for (int k = 0; k < kDepth; k += 16) {
      uint32_t ra[2][4], rb[2][4];
      for (int i = 0; i < 2; ++i) {
        load_matrices(ra[i], &a[now][wm + i * 16 + lane % 16][k + lane / 16 * 8]);
        load_matrices(rb[i], &b[now][wn + i * 16 + lane % 16][k + lane / 16 * 8]);
      }
      for (int i = 0; i < 2; ++i) {
        for (int j = 0; j < 4; ++j) multiply(sums[i][j], ra[i], rb[j / 2][j % 2], rb[j / 2][j % 2 + 2]);
      }
    }
    __syncthreads();
  }
  for (int i = 0; i < 2; ++i) {
    for (int j = 0; j < 4; ++j) {
      const int row = m0 + wm + i * 16 + lane / 4, column = n0 + wn + j * 8 + lane % 4 * 2;
      *reinterpret_cast<float2*>(&C[row * N + column]) = make_float2(sums[i][j][0], sums[i][j][1]);
      *reinterpret_cast<float2*>(&C[(row + 8) * N + column]) = make_float2(sums[i][j][2], sums[i][j][3]);
    }
  }
}
