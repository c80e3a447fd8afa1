#include "codegen/foreign/kernel.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <cstring>
#include <string>
#include <vector>

#include "base/temporary_folder.h"

namespace tilewright::foreign {
namespace {

using emulator::GlobalMemory;
using testing::HasSubstr;

// A text with kernels void(float* x, int n) on an array of 256 floats, each 1.
class Text {
 public:
  explicit Text(const std::string& text) {
    EXPECT_TRUE(folder_.Write("kernel.cu", text));
    path_ = (folder_.path() / "kernel.cu").string();
  }

  // The first fault, as text without the folder; what is wrong with the text; or nothing.
  std::string Run(const ForeignLaunch& launch = {.block = {64}, .budget = 1000000}, const std::string& kernel = "") {
    x.assign(256, 1.0f);
    auto loaded = ForeignKernel::Load(path_, {.kernel = kernel});
    if (!loaded.ok()) return Plain(std::string(loaded.status().message()));
    std::vector<std::byte> arguments((*loaded)->argument_bytes());
    float* const data = x.data();
    const int n = 256;
    std::memcpy(arguments.data() + (*loaded)->parameters()[0].offset, &data, sizeof data);
    std::memcpy(arguments.data() + (*loaded)->parameters()[1].offset, &n, sizeof n);
    const auto result = (*loaded)->Launch(launch, {{"x", data, x.size() * 4, GlobalMemory::kInOut}}, arguments.data());
    if (result.faults.empty()) return result.finished ? "" : "not finished";
    return Plain(ToString(result.faults[0]));
  }

  absl::StatusOr<std::unique_ptr<ForeignKernel>> Load() const { return ForeignKernel::Load(path_, {}); }

  std::vector<float> x;

 private:
  std::string Plain(std::string text) const {
    const std::string folder = folder_.path().string() + "/";
    for (size_t at; (at = text.find(folder)) != std::string::npos;) text.erase(at, folder.size());
    return text;
  }

  const TemporaryFolder folder_;
  std::string path_;
};

TEST(ForeignKernelTest, TextAsPeopleWriteIt) {
  Text text(R"(
#include <cuda_runtime.h>
#include <algorithm>
#include <cassert>
#include <cmath>
#include <cstdio>
#include <vector>

__constant__ float weights[4] = {1, 2, 3, 4};
__device__ int launches = 5;

struct Scale {
  float by;
  __device__ float operator()(float v) const { return v * by; }
};

template <typename T, int kCount, class Function>
__device__ T sum_of(const T* p, Function f) {
  T sum = 0;
#pragma unroll
  for (int i = 0; i < kCount; ++i) sum += f(p[i]);
  return sum;
}

template <typename T>
__global__ void kernel(T* x, int n) {
  extern __shared__ unsigned char raw[];
  T* tile = reinterpret_cast<T*>(raw);
  __shared__ int count;
  const int i = blockIdx.x * blockDim.x + threadIdx.x;
  if (threadIdx.x == 0) count = launches;
  tile[threadIdx.x] = i < n ? x[i] : T(0);
  __syncthreads();
  assert(count == 5);
  const auto weighted = [&](T v) { return v * weights[i % 4]; };
  x[i] = std::max(weighted(tile[(threadIdx.x + 1) % 64]), T(0)) + sum_of<T, 4>(tile, Scale{0.5f}) + sqrtf(4.0f);
}

int main() {
  std::vector<float> host(256);
  float* x;
  if (cudaMalloc(&x, 1024) != cudaSuccess) return 1;
  dim3 grid(4), block(64);
  kernel<float><<<grid, block, 256>>>(x, 256);
  printf("%d\n", (int)cudaDeviceSynchronize());
}
)");
  const ForeignLaunch launch = {.grid = {4}, .block = {64}, .shared_bytes = 256};
  EXPECT_EQ(text.Run(launch), "");
  EXPECT_EQ(text.x[0], 5.0f);
  EXPECT_EQ(text.x[3], 8.0f);
  EXPECT_EQ(text.Run(launch, "kernel<float>"), "");
  EXPECT_THAT(text.Run(launch, "colonel"), HasSubstr("no kernel is called colonel; there are: kernel<float>"));
  EXPECT_THAT(text.Run(launch, "kernel<double, 3>"), HasSubstr("error"));
}

TEST(ForeignKernelTest, HalvesShufflesAndAtomics) {
  Text text(R"(
#include <cuda_bf16.h>
#include <cuda_fp16.h>
__global__ void kernel(float* x, int n) {
  const __half2 pair = __floats2half2_rn(1.5f, 2.5f);
  const __half product = __hmul(__low2half(pair), __high2half(pair)) + __half(1.0f);
  const __nv_bfloat16 narrow = __float2bfloat16(3.14159f);
  int lanes = threadIdx.x % 32;
  for (int offset = 16; offset > 0; offset >>= 1) lanes += __shfl_down_sync(0xffffffff, lanes, offset);
  lanes = __shfl_sync(0xffffffff, lanes, 0);
  __shared__ unsigned votes;
  if (threadIdx.x == 0) votes = 0;
  __syncthreads();
  atomicAdd(&votes, __popc(__ballot_sync(0xffffffff, threadIdx.x % 2)));
  __syncthreads();
  if (threadIdx.x == 0) {
    x[0] = __half2float(product);
    x[1] = __bfloat162float(narrow);
    x[2] = lanes;
    x[3] = votes;
  }
}
)");
  EXPECT_EQ(text.Run(), "");
  EXPECT_EQ(text.x[0], 4.75f);
  EXPECT_EQ(text.x[1], 3.140625f);
  EXPECT_EQ(text.x[2], 496.0f);
  EXPECT_EQ(text.x[3], 16.0f * 64);
}

TEST(ForeignKernelTest, MatrixFragmentsAndGroups) {
  Text text(R"(
#include <cooperative_groups.h>
#include <mma.h>
namespace cg = cooperative_groups;
using namespace nvcuda;
__global__ void kernel(float* x, int n) {
  __shared__ __align__(16) __half a[16 * 16];
  __shared__ alignas(16) float c[16 * 16];
  auto block = cg::this_thread_block();
  auto warp = cg::tiled_partition<32>(block);
  for (int i = threadIdx.x; i < 256; i += blockDim.x) a[i] = __float2half(i / 16 == i % 16 ? 2.0f : 0.0f);
  block.sync();
  if (warp.meta_group_rank() == 0) {
    wmma::fragment<wmma::matrix_a, 16, 16, 16, half, wmma::row_major> fa;
    wmma::fragment<wmma::matrix_b, 16, 16, 16, half, wmma::col_major> fb;
    wmma::fragment<wmma::accumulator, 16, 16, 16, float> sum;
    wmma::fill_fragment(sum, 1.0f);
    wmma::load_matrix_sync(fa, a, 16);
    wmma::load_matrix_sync(fb, a, 16);
    wmma::mma_sync(sum, fa, fb, sum);
    for (int i = 0; i < sum.num_elements; ++i) sum.x[i] *= 2.0f;
    wmma::store_matrix_sync(c, sum, 16, wmma::mem_row_major);
  }
  __syncthreads();
  for (int i = threadIdx.x; i < 256; i += blockDim.x) x[i] = c[i];
}
)");
  EXPECT_EQ(text.Run(), "");
  EXPECT_EQ(text.x[0], 10.0f);
  EXPECT_EQ(text.x[1], 2.0f);
}

// Tiles of tiles, reductions of groups, the lanes that a branch has, what nvcc includes by itself, loops that are not
// unrolled as asked.
TEST(ForeignKernelTest, GroupsOfLanesAsPeopleUseThem) {
  Text text(R"(
#include <cooperative_groups.h>
#include <cooperative_groups/reduce.h>
#include <driver_types.h>
namespace cg = cooperative_groups;
__device__ int count;
__device__ int next_place() {
  const unsigned mask = __activemask();
  const int leader = __ffs(mask) - 1, lane = threadIdx.x % 32;
  int first = 0;
  if (lane == leader) first = atomicAdd(&count, __popc(mask));
  return __shfl_sync(mask, first, leader) + __popc(mask & ((1u << lane) - 1));
}
__global__ void __launch_bounds__(64, 2) kernel(float* x, int n) {
  const auto rank = cg::this_grid().thread_rank();
  float sum = 0;
#pragma unroll 2
  for (int i = threadIdx.x; i < n; i += blockDim.x) sum += x[i];
  auto tile = cg::tiled_partition<8>(cg::tiled_partition<16>(cg::this_thread_block()));
  if (tile.meta_group_rank() > 1) __trap();
  const float all = cg::reduce(tile, sum, cg::plus<float>());
  float here = 0;
  if (threadIdx.x % 3 == 0) {
    auto lanes = cg::coalesced_threads();
    here = cg::reduce(lanes, 1.0f, cg::plus<float>());
  }
  int place = threadIdx.x % 2 == 0 ? next_place() : -1;
  __syncthreads();
  float copied[2] = {all, here};
  memcpy(x + 2 * rank, copied, sizeof copied);
  if (place >= 0) x[128 + place] = sinpif(0.5f);
}
int main() {
  if (cudaDeviceSynchronize() != cudaSuccess) exit(1);
}
)");
  EXPECT_EQ(text.Run(), "");
  EXPECT_EQ(text.x[0], 32.0f);  // 8 lanes of 4
  EXPECT_EQ(text.x[1], 11.0f);  // lanes 0, 3, ..., 30
  EXPECT_EQ(text.x[2 * 33 + 1], 11.0f);
  EXPECT_EQ(text.x[3], 0.0f);
  EXPECT_EQ(text.x[128 + 31], 1.0f);
}

TEST(ForeignKernelTest, PairsOfHalvesAndRoundingTowardsZero) {
  Text text(R"(
#include <cuda_fp16.h>
__global__ void kernel(float* x, int n) {
  const __half2 pair = h2exp(__habs2(__halves2half2(__float2half(-1.0f), __float2half(0.0f))));
  if (threadIdx.x == 0) {
    x[0] = __low2float(pair);
    x[1] = __high2float(pair);
    x[2] = __half2float(__float2half_rz(-0.1f));
    x[3] = __half2float(__float2half_rz(1e9f));
  }
}
)");
  EXPECT_EQ(text.Run(), "");
  EXPECT_EQ(text.x[0], 2.71875f);
  EXPECT_EQ(text.x[1], 1.0f);
  EXPECT_EQ(text.x[2], -0.0999755859375f);
  EXPECT_EQ(text.x[3], 65504.0f);
}

// As CUDA's programming guide makes atomics: the first value may be stale. Nothing is included, as nvcc needs nothing.
TEST(ForeignKernelTest, AtomicsMadeOfCompareAndSwap) {
  const std::string text = R"(
__device__ float largest(float* address, float v) {
  int* p = (int*)address;
  int old = *p, assumed;
  do {
    assumed = old;
    old = atomicCAS(p, assumed, __float_as_int(fmaxf(v, __int_as_float(assumed))));
  } while (assumed != old);
  return __int_as_float(old);
}
__global__ void kernel(float* x, int n) {
  __shared__ float all;
  if (threadIdx.x == 0) all = 0;
  __syncthreads();
  largest(&all, threadIdx.x);
  __syncthreads();
  x[threadIdx.x] = all;
  x[threadIdx.x + 64] = all;
}
int main() {
  float* d;
  cudaMalloc(&d, 1024);
  kernel<<<1, 64>>>(d, 256);
  if (cudaDeviceSynchronize() != cudaSuccess) exit(1);
}
)";
  Text right(text);
  EXPECT_EQ(right.Run(), "");
  EXPECT_EQ(right.x[5], 63.0f);
  // Elsewhere the stale value counts.
  std::string stale = text;
  stale.replace(stale.find("  largest(&all"), 0, "  x[threadIdx.x + 128] = all;\n");
  EXPECT_THAT(Text(stale).Run(), HasSubstr("race: "));
}

TEST(ForeignKernelTest, TheLastBlockAddsWhatTheOthersFound) {
  Text text(R"(
__device__ unsigned count = 0;
template <typename T>
__global__ void kernel(T* x, int n) {
  __shared__ bool last;
  if (threadIdx.x == 0) {
    x[blockIdx.x] = blockIdx.x + 1;
    __threadfence();
    last = atomicInc(&count, gridDim.x) == gridDim.x - 1;
  }
  __syncthreads();
  if (last && threadIdx.x == 0) {
    float sum = 0;
    for (unsigned i = 0; i < gridDim.x; ++i) sum += x[i];
    x[100] = sum;
  }
}
template __global__ void kernel<float>(float*, int);
template __global__ void kernel<volatile float>(volatile float*, int);
)");
  const ForeignLaunch launch = {.grid = {4}, .block = {64}};
  EXPECT_EQ(text.Run(launch, "kernel<float>"), "");
  EXPECT_EQ(text.x[100], 10.0f);
  EXPECT_EQ(text.Run(launch, "kernel<float volatile>"), "");
}

TEST(ForeignKernelTest, ClusterOfTheText) {
  Text text(R"(
template <int kBlocks>
__global__ void __cluster_dims__(kBlocks, 1, 1) kernel(float* x, int n) {}
template __global__ void kernel<2>(float*, int);
)");
  const auto kernel = text.Load();
  ASSERT_TRUE(kernel.ok()) << kernel.status();
  EXPECT_EQ((*kernel)->cluster(), (std::vector<int64_t>{2, 1, 1}));
}

TEST(ForeignKernelTest, AThreadWaitsForAVolatileFlag) {
  Text text(R"(
__global__ void kernel(float* x, int n) {
  volatile float* flag = x + 200;
  if (threadIdx.x == 0) {
    while (*flag != 7.0f) {
    }
    x[0] = 3;
  } else if (threadIdx.x == 40) {
    *flag = 7.0f;
  }
}
)");
  EXPECT_EQ(text.Run(), "");
  EXPECT_EQ(text.x[0], 3.0f);
}

TEST(ForeignKernelTest, InlinePtx) {
  Text text(R"(
__global__ void kernel(float* x, int n) {
  unsigned lane, packed, shared_address;
  int chosen;
  unsigned long long wide;
  asm("mov.u32 %0, %%laneid;" : "=r"(lane));
  asm("{\n .reg .pred p;\n .reg .u32 t<2>;\n // a comment; with a semicolon\n"
      "  setp.lt.u32 p, %1, 7;\n mov.u32 t0, 3;\n @p add.u32 t0, t0, 0x10;\n selp.s32 %0, t0, -1, p;\n}"
      : "=r"(chosen) : "r"(threadIdx.x));
  asm("{ .reg .b16 h; cvt.rn.f16.f32 h, %1; mov.b32 %0, {h, h}; }" : "=r"(packed) : "f"(1.5f));
  asm("mad.wide.u32 %0, %1, %2, %3;" : "=l"(wide) : "r"(0xffffffffu), "r"(2u), "l"(1ull));
  __shared__ float s[64];
  asm("{ .reg .u64 t; cvta.to.shared.u64 t, %1; cvt.u32.u64 %0, t; }" : "=r"(shared_address) : "l"(&s[threadIdx.x]));
  asm volatile("st.shared.f32 [%0], %1;" :: "r"(shared_address), "f"((float)lane) : "memory");
  int turns = 0;
  asm volatile("{ .reg .pred p;\n AGAIN: add.s32 %0, %0, 1;\n setp.lt.s32 p, %0, 5;\n @p bra AGAIN; }" : "+r"(turns));
  __syncthreads();
  if (threadIdx.x == 5) {
    x[0] = lane;
    x[1] = chosen;
    x[2] = packed == 0x3e003e00u;
    x[3] = wide == 0x1ffffffffull;
    x[4] = s[63];
    x[5] = turns;
  }
}
)");
  EXPECT_EQ(text.Run(), "");
  EXPECT_EQ(std::vector<float>(text.x.begin(), text.x.begin() + 6), (std::vector<float>{5, 19, 1, 1, 31, 5}));
}

struct Wrong {
  const char* text;
  const char* fault;
};

class FaultTest : public testing::TestWithParam<Wrong> {};

TEST_P(FaultTest, IsFoundWithLineAndThread) {
  Text text(GetParam().text);
  EXPECT_THAT(text.Run(), HasSubstr(GetParam().fault));
}

const Wrong kWrong[] = {
    {"__global__ void k(float* x, int n) {\n  float* p = nullptr;\n  if (threadIdx.x == 3) p[0] = 1;\n}",
     "out of bounds: store by thread 3 of block (0, 0, 0) at kernel.cu:3, a pointer: 4 bytes through a null pointer"},
    {"__global__ void k(float* x, int n) {\n  if (threadIdx.x == 3) x[1000000000] = 1;\n}",
     "out of bounds: store by thread 3 of block (0, 0, 0) at kernel.cu:2, x byte 4000000000: 4 bytes outside of the "
     "1024"},
    {"__device__ float read(const float* p, int i) {\n  return p[i];\n}\n"
     "__global__ void k(float* x, int n) {\n  x[threadIdx.x] = read(x, threadIdx.x - 1);\n}",
     "out of bounds: load by thread 0 of block (0, 0, 0) at kernel.cu:2, called from kernel.cu:5, x byte -4"},
    {"__global__ void k(float* x, int n) {\n  __shared__ float a[64], b[64];\n  a[threadIdx.x + 1] = 1;\n"
     "  b[threadIdx.x] = 2;\n  x[threadIdx.x] = b[threadIdx.x];\n}",
     "out of bounds: store by thread 63 of block (0, 0, 0) at kernel.cu:3, shared byte 256"},
    {"__global__ void k(float* x, int n) {\n  float a[4];\n  for (int i = 0; i < n; ++i) a[i] = i;\n"
     "  x[threadIdx.x] = a[n % 4];\n}",
     "out of bounds: access of a local variable by thread 0 of block (0, 0, 0) at kernel.cu:3: byte 16 of 16"},
    {"__global__ void k(float* x, int n) {\n  __shared__ float a[64];\n  if (threadIdx.x > 0) a[threadIdx.x] = 1;\n"
     "  __syncthreads();\n  x[threadIdx.x] = a[threadIdx.x];\n}",
     "read of unwritten memory: load by thread 0 of block (0, 0, 0) at kernel.cu:5, a byte 0"},
    {"__global__ void k(float* x, int n) {\n  float4* p = reinterpret_cast<float4*>(x + 1);\n"
     "  if (threadIdx.x == 2) p[4] = p[0];\n}",
     "misaligned: load by thread 2 of block (0, 0, 0) at kernel.cu:3"},
    {"__global__ void k(float* x, int n) {\n  x[threadIdx.x] = 1;\n  x[0] = x[threadIdx.x];\n}",
     "race: store by thread 1 of block (0, 0, 0) at kernel.cu:3, x byte 0: a write that is not ordered after a write; "
     "the "
     "other access: store by thread 0 of block (0, 0, 0) at kernel.cu:3"},
    {"__global__ void k(float* x, int n) {\n  while (n > 0) {\n    if (threadIdx.x > 100) --n;\n  }\n}",
     "budget: loop by thread"},
    {"__global__ void k(float* x, int n) {\n  if (threadIdx.x % 32 < 16)\n"
     "    x[threadIdx.x] = __shfl_down_sync(0xffffffff, 1.0f, 1);\n}",
     "deadlock: shfl.sync by thread 0 of block (0, 0, 0) at kernel.cu:3: no thread can run; block (0, 0, 0) warp 0: "
     "shfl.sync at kernel.cu:3 (16 threads)"},
    {"__global__ void k(float* x, int n) {\n  x[threadIdx.x] = n / (int)(threadIdx.x - 3);\n}",
     "trap: division by thread 3 of block (0, 0, 0) at kernel.cu:2"},
    {"#include <cassert>\n__global__ void k(float* x, int n) {\n  assert(threadIdx.x != 5);\n}",
     "trap: assert by thread 5 of block (0, 0, 0) at kernel.cu:3: the assertion threadIdx.x != 5 does not hold"},
    // What is outside, by line.
    {"__global__ void k(float* x, int n) {\n\n  asm volatile(\"tcgen05.alloc [%0], %1;\" :: \"l\"(x), \"r\"(n));\n}",
     "kernel.cu:3: inline PTX: the instruction tcgen05.alloc is not known"},
    {"__global__ void k(float* x, int n) {\n  asm volatile(\"mma.sync.aligned.m16n8k256.row.col.s32.b1.b1.s32.xor.popc "
     "{%0}, {%1}, {%2}, {%3};\" :: \"r\"(n), \"r\"(n), \"r\"(n), \"r\"(n));\n}",
     "kernel.cu:2: inline PTX: mma.sync.aligned.m16n8k256.row.col.s32.b1.b1.s32.xor.popc: this shape with these types "
     "is "
     "not known"},
    {"__device__ void g(int);\n__global__ void k(float* x, int n) {\n  g(n);\n}",
     "kernel.cu:3: calls g, which has no definition in the text"},
    {"#include <cub/cub.cuh>\n__global__ void k(float* x, int n) {}",
     "kernel.cu:1:10: fatal error: 'cub/cub.cuh' file not found, and none of the headers of docs/emulate.md"},
    {"#include <curand_kernel.h>\n__global__ void k(float* x, int n) {}",
     "In file included from kernel.cu:1:\ntilewright-cuda-headers/curand_kernel.h:1:2: error: outside of what emulate "
     "takes"},
    {"#include <cooperative_groups.h>\n__global__ void k(float* x, int n) {\n  "
     "cooperative_groups::this_grid().sync();\n}",
     "grids that synchronize are outside of what emulate takes"},
    {"__global__ void k(float* x, int n) {\n  foo(n);\n}", "kernel.cu:2:3: error: use of undeclared identifier 'foo'"},
};

INSTANTIATE_TEST_SUITE_P(Kinds, FaultTest, testing::ValuesIn(kWrong));

}  // namespace
}  // namespace tilewright::foreign
