// C = A * B^T, halves with sums in floats, for sm_90a: TMA brings tiles into shared memory, a warpgroup multiplies them
// by wgmma, and TMA takes the result away. A is [M, K], B is [N, K], C is [M, N]; all are multiples of 64.
// Blocks of 128 threads, 64 x 64 of C each. Boxes of A and B are 64 x 64 with a swizzle of 128 bytes, of C 64 x 64.
#include <cuda.h>
#include <cuda_fp16.h>
#include <stdint.h>

constexpr int kTile = 64, kStages = 2;
constexpr int kTileBytes = kTile * kTile * 2;

__device__ __forceinline__ uint32_t shared_address(const void* p) {
  return static_cast<uint32_t>(__cvta_generic_to_shared(p));
}

__device__ __forceinline__ void wait(uint64_t* barrier, int parity) {
  asm volatile(
      "{\n"
      ".reg .pred done;\n"
      "WAIT:\n"
      "mbarrier.try_wait.parity.shared::cta.b64 done, [%0], %1;\n"
      "@done bra DONE;\n"
      "bra WAIT;\n"
      "DONE:\n"
      "}\n" ::"r"(shared_address(barrier)),
      "r"(parity)
      : "memory");
}

__device__ __forceinline__ void load_tile(void* to, const CUtensorMap* map, uint64_t* barrier, int x, int y) {
  asm volatile(
      "cp.async.bulk.tensor.2d.shared::cluster.global.mbarrier::complete_tx::bytes [%0], [%1, {%3, %4}], [%2];\n" ::"r"(
          shared_address(to)),
      "l"(map), "r"(shared_address(barrier)), "r"(x), "r"(y)
      : "memory");
}

// An operand of rows of 128 bytes, swizzled: eight rows are 1024 bytes.
__device__ __forceinline__ uint64_t descriptor(const void* tile) {
  const uint64_t address = shared_address(tile);
  return (address & 0x3ffff) >> 4 | uint64_t{1} << 16 | uint64_t{1024 >> 4} << 32 | uint64_t{1} << 62;
}

__device__ __forceinline__ void multiply(float (&d)[32], uint64_t a, uint64_t b, int add) {
  asm volatile(
      "{\n"
      ".reg .pred p;\n"
      "setp.ne.b32 p, %34, 0;\n"
      "wgmma.mma_async.sync.aligned.m64n64k16.f32.f16.f16 "
      "{%0, %1, %2, %3, %4, %5, %6, %7, %8, %9, %10, %11, %12, %13, %14, %15, "
      "%16, %17, %18, %19, %20, %21, %22, %23, %24, %25, %26, %27, %28, %29, %30, %31}, "
      "%32, %33, p, 1, 1, 0, 0;\n"
      "}\n"
      : "+f"(d[0]), "+f"(d[1]), "+f"(d[2]), "+f"(d[3]), "+f"(d[4]), "+f"(d[5]), "+f"(d[6]), "+f"(d[7]), "+f"(d[8]),
        "+f"(d[9]), "+f"(d[10]), "+f"(d[11]), "+f"(d[12]), "+f"(d[13]), "+f"(d[14]), "+f"(d[15]), "+f"(d[16]),
        "+f"(d[17]), "+f"(d[18]), "+f"(d[19]), "+f"(d[20]), "+f"(d[21]), "+f"(d[22]), "+f"(d[23]), "+f"(d[24]),
        "+f"(d[25]), "+f"(d[26]), "+f"(d[27]), "+f"(d[28]), "+f"(d[29]), "+f"(d[30]), "+f"(d[31])
      : "l"(a), "l"(b), "r"(add));
}

__global__ void __launch_bounds__(128) wgmma_product(const __grid_constant__ CUtensorMap A,
                                                     const __grid_constant__ CUtensorMap B,
                                                     const __grid_constant__ CUtensorMap C, int K) {
  extern __shared__ __align__(1024) unsigned char memory[];
  unsigned char* const a = memory;
  unsigned char* const b = a + kStages * kTileBytes;
  float* const c = reinterpret_cast<float*>(b + kStages * kTileBytes);
  uint64_t* const full = reinterpret_cast<uint64_t*>(reinterpret_cast<unsigned char*>(c) + kTile * kTile * 4);
  const int m0 = blockIdx.y * kTile, n0 = blockIdx.x * kTile, steps = K / kTile;

  const auto load = [&](int step) {
    const int stage = step % kStages;
    asm volatile("mbarrier.arrive.expect_tx.shared::cta.b64 _, [%0], %1;\n" ::"r"(shared_address(&full[stage])),
                 "r"(2 * kTileBytes)
                 : "memory");
    load_tile(a + stage * kTileBytes, &A, &full[stage], step * kTile, m0);
    load_tile(b + stage * kTileBytes, &B, &full[stage], step * kTile, n0);
  };

  if (threadIdx.x == 0) {
    for (int i = 0; i < kStages; ++i) {
      asm volatile("mbarrier.init.shared::cta.b64 [%0], %1;\n" ::"r"(shared_address(&full[i])), "r"(1) : "memory");
    }
    asm volatile("fence.mbarrier_init.release.cluster;\n" ::: "memory");
    load(0);
  }
  __syncthreads();
  float sums[32];
  for (int step = 0; step < steps; ++step) {
    const int stage = step % kStages;
    if (threadIdx.x == 0 && step + 1 < steps) load(step + 1);
    wait(&full[stage], step / kStages % 2);
    asm volatile("wgmma.fence.sync.aligned;\n" ::: "memory");
    for (int k = 0; k < kTile / 16; ++k) {
      multiply(sums, descriptor(a + stage * kTileBytes + k * 32), descriptor(b + stage * kTileBytes + k * 32),
               step + k > 0);
    }
    asm volatile("wgmma.commit_group.sync.aligned;\n" ::: "memory");
    asm volatile("wgmma.wait_group.sync.aligned 0;\n" ::: "memory");
    __syncthreads();  // the stage may be filled again
  }
  const int row = threadIdx.x / 32 * 16 + threadIdx.x % 32 / 4;
  for (int j = 0; j < 8; ++j) {
    const int column = j * 8 + threadIdx.x % 4 * 2;
    *reinterpret_cast<float2*>(c + row * kTile + column) = make_float2(sums[j * 4], sums[j * 4 + 1]);
    *reinterpret_cast<float2*>(c + (row + 8) * kTile + column) = make_float2(sums[j * 4 + 2], sums[j * 4 + 3]);
  }
  asm volatile("fence.proxy.async.shared::cta;\n" ::: "memory");
  __syncthreads();
  if (threadIdx.x == 0) {
    asm volatile("cp.async.bulk.tensor.2d.global.shared::cta.bulk_group [%0, {%2, %3}], [%1];\n" ::"l"(&C),
                 "r"(shared_address(c)), "r"(n0), "r"(m0)
                 : "memory");
    asm volatile("cp.async.bulk.commit_group;\n" ::: "memory");
    asm volatile("cp.async.bulk.wait_group 0;\n" ::: "memory");
  }
}
