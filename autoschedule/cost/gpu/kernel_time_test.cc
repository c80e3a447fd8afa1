#include "autoschedule/cost/gpu/kernel_time.h"

#include <gtest/gtest.h>

#include <string>

#include "absl/strings/substitute.h"
#include "ir/script/parse_or_die.h"

namespace tilewright {
namespace {

const Target& Gpu() {
  static const Target target = *NamedTarget("cuda-sm90a");
  return target;
}
Projection Of(const std::string& text) { return ProjectKernels(GatherFacts(ParseFunctionOrDie(text)), Gpu()); }

// 4096 x 4096 elements, copied by 4096 blocks; `row` and `column` of an element, in b, t and j.
std::string Copy(const std::string& row, const std::string& column, const std::string& loop = "range(16)") {
  return absl::Substitute(R"(
@T.prim_func
def main(A: T.Buffer((4096, 4096), "float32"), B: T.Buffer((4096, 4096), "float32")):
    for b in T.thread_binding(4096, thread="blockIdx.x"):
        for t in T.thread_binding(256, thread="threadIdx.x"):
            for j in $2:
                with T.block("B"):
                    v = T.axis.spatial(4096, $0)
                    w = T.axis.spatial(4096, $1)
                    B[v, w] = A[v, w]
)",
                          row, column, loop);
}
constexpr double kCopyBytes = 2.0 * 4096 * 4096 * 4;

TEST(KernelTime, CopiesTakeWhatMemoryTakes) {
  const Projection p = Of(Copy("b", "j * 256 + t"));
  const double least = kCopyBytes / (Gpu().memory_gbs * 1e9);
  EXPECT_EQ(p.limiter, "memory");
  EXPECT_GE(p.seconds, least);
  EXPECT_LT(p.seconds, 1.5 * least);
  EXPECT_EQ(p.levels[1].read_bytes, kCopyBytes / 2);
}

TEST(KernelTime, NeighboursAreFetchedTogether) {
  // Each thread has 16 neighbours for itself, or a column.
  const double together = Of(Copy("b", "j * 256 + t")).seconds;
  EXPECT_GT(Of(Copy("t * 16 + j", "b")).seconds, 2 * together);
  EXPECT_GT(Of(Copy("b", "t * 16 + j")).levels[0].read_bytes, Of(Copy("b", "j * 256 + t")).levels[0].read_bytes);
}

TEST(KernelTime, IdleCoresCount) {
  const auto sums = [](int blocks, int threads) {
    return Of(absl::Substitute(R"(
@T.prim_func
def main(A: T.Buffer((65536,), "float32"), B: T.Buffer((65536,), "float32")):
    for b in T.thread_binding($0, thread="blockIdx.x"):
        for t in T.thread_binding($1, thread="threadIdx.x"):
            for j in range($2):
                with T.block("B"):
                    v = T.axis.spatial(65536, (b * $2 + j) * $1 + t)
                    B[v] = T.exp(A[v])
)",
                               blocks, threads, 65536 / (blocks * threads)))
        .seconds;
  };
  EXPECT_LT(sums(256, 256), sums(16, 256));
  EXPECT_LT(sums(16, 256), sums(1, 256));
  EXPECT_LT(sums(1, 256), sums(1, 32));
}

TEST(KernelTime, LaunchesCount) {
  const std::string kernel = R"(
    for t in T.thread_binding(32, thread="threadIdx.x"):
        with T.block("B$0"):
            v = T.axis.spatial(32, t)
            B$0[v] = A[v]
)";
  const std::string head = R"(
@T.prim_func
def main(A: T.Buffer((32,), "float32"), B0: T.Buffer((32,), "float32"), B1: T.Buffer((32,), "float32")):
)";
  const Projection one = Of(head + absl::Substitute(kernel, 0)),
                   two = Of(head + absl::Substitute(kernel, 0) + absl::Substitute(kernel, 1));
  EXPECT_EQ(one.forks, 1);
  EXPECT_EQ(two.forks, 2);
  EXPECT_EQ(one.limiter, "launches");
  EXPECT_NEAR(two.seconds, 2 * one.seconds, 1e-9);
}

// Blocks that need much shared memory wait alone.
TEST(KernelTime, SharedMemoryLimitsWhatRunsAtOnce) {
  const auto staged = [](int bytes) {
    return Of(absl::Substitute(R"(
@T.prim_func
def main(A: T.Buffer((1056, 64), "float32"), B: T.Buffer((1056, 64), "float32")):
    S = T.alloc_buffer((1056, $0), "float32", scope="shared")
    for b in T.thread_binding(1056, thread="blockIdx.x"):
        for t in T.thread_binding(64, thread="threadIdx.x"):
            with T.block("S"):
                v, w = T.axis.remap("SS", [b, t])
                S[v, w * $1] = A[v, w]
        for t in T.thread_binding(64, thread="threadIdx.x"):
            with T.block("B"):
                v, w = T.axis.remap("SS", [b, t])
                B[v, w] = S[v, w * $1]
)",
                               bytes / 4, bytes / 256))
        .latency_seconds;
  };
  EXPECT_GT(staged(200 << 10), 4 * staged(4 << 10));
}

// What all blocks of a cluster need is read once for them.
TEST(KernelTime, BlocksOfAClusterReadForEachOther) {
  const auto copies = [](const std::string& row, const std::string& roles) {
    return Of(absl::Substitute(R"(
@T.prim_func
def main(A: T.Buffer((4096, 4096), "float32"), B: T.Buffer((66, 2, 128), "float32")):
    S = T.alloc_buffer((66, 2, 64, 128), "float32", scope="shared")
    for b in T.thread_binding(66, thread="blockIdx.x"):
        for c in T.thread_binding(2, thread="clusterCtaIdx.x"):
            for k in T.serial(64, annotations={"software_pipeline_stage": [0, 1], "software_pipeline_order": [0, 1], "software_pipeline_async_stages": [0]$1}):
                for i in range(64):
                    for t in T.thread_binding(128, thread="threadIdx.x"):
                        with T.block("S"):
                            v, vc, vi, w = T.axis.remap("SSSS", [b, c, i, t])
                            vk = T.axis.opaque(64, k)
                            S[v, vc, vi, w] = A[$0, vk * 64 + w]
                for t in T.thread_binding(128, thread="threadIdx.x"):
                    with T.block("B"):
                        v, vc, w = T.axis.remap("SSS", [b, c, t])
                        vk = T.axis.opaque(64, k)
                        B[v, vc, w] = S[v, vc, 0, w]
)",
                               row, roles))
        .levels[0];
  };
  const std::string roles = ", \"software_pipeline_roles\": 1";
  const double own = copies("vc * 2048 + vi", roles).read_bytes, same = copies("vi", roles).read_bytes;
  EXPECT_NEAR(same / own, 0.5, 0.05);
  EXPECT_EQ(copies("vi", "").read_bytes, own);
  // Shared memory takes them in all the same.
  EXPECT_GT(copies("vi", roles).seconds, 0.55 * copies("vc * 2048 + vi", roles).seconds);
}

TEST(KernelTime, MatrixUnitsAreFaster) {
  const auto product = [](const std::string& instruction) {
    return Of(absl::Substitute(R"(
@T.prim_func
def main(O: T.Buffer((2048, 32, 4), "float32")):
    A = T.alloc_buffer((4, 16), "float16", scope="local")
    B = T.alloc_buffer((4, 16), "float16", scope="local")
    C = T.alloc_buffer((4,), "float32", scope="local")
    for b in T.thread_binding(2048, thread="blockIdx.x"):
        for t in T.thread_binding(32, thread="threadIdx.x"):
            for k in range(256):
                with T.attr(0, "$0", T.call_intrin("handle", "cuda.mma_m16n8k16_f32_f16")):
                    for e, i in T.grid(4, 16):
                        C[e] = C[e] + T.Cast("float32", A[e, i]) * T.Cast("float32", B[e, i])
            for e in range(4):
                O[b, t, e] = C[e]
)",
                               instruction))
        .throughput_seconds;
  };
  EXPECT_GT(product("tilewright.nothing"), 5 * product("cuda.instruction"));
}

}  // namespace
}  // namespace tilewright
