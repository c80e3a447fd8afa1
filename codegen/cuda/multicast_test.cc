// Products whose blocks copy for each other, in clusters: right in the emulator, and wrong ones are found.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <string>

#include "codegen/counters.h"
#include "codegen/cuda/nvrtc.h"
#include "codegen/cuda/preamble.h"
#include "codegen/cuda/ptxas_log.h"
#include "codegen/cuda/testing/scheduled_kernels.h"

namespace tilewright {
namespace {

using cuda::testing::Edits;
using cuda::testing::Emulated;
using cuda::testing::KernelText;
using cuda::testing::Replaced;
using cuda::testing::Scheduled;
using ::testing::AllOf;
using ::testing::HasSubstr;
using ::testing::Not;

constexpr char kTarget[] = "cuda-sm90a";

// Clusters of so many blocks along rows and columns.
struct Cluster {
  int rows = 1, columns = 1;
  std::string name;
  bool transposed = false;      // B is [n, k]
  int batch = 1, clusters = 1;  // along rows
};
void PrintTo(const Cluster& c, std::ostream* out) { *out << c.name; }

constexpr char kProduct[] = R"(
@T.prim_func
def main(A: T.Buffer((BATCH, SIZE_M, 160), "float16"), B: T.Buffer(SHAPE_B, "float16"), C: T.Buffer((BATCH, SIZE_M, SIZE_N), "float32")):
    for b, i, j, k in T.grid(BATCH, SIZE_M, SIZE_N, 160):
        with T.block("C"):
            vb, vi, vj, vk = T.axis.remap("SSSR", [b, i, j, k])
            with T.init():
                C[vb, vi, vj] = T.float32(0)
            C[vb, vi, vj] = C[vb, vi, vj] + T.Cast("float32", A[vb, vi, vk]) * T.Cast("float32", B[vb, INDEX_B])
)";

// Tiles of 64 x 64: all threads copy, which a producer does for them.
constexpr char kSchedule[] = R"(
C = sch.get_block("C")
b, i, j, k = sch.get_loops(C)
i0, ic, i1, i2 = sch.split(i, factors=[None, ROWS, 1, 64])
j0, jc, j1 = sch.split(j, factors=[None, COLUMNS, 64])
k0, k1, k2 = sch.split(k, factors=[None, 2, 16])
sch.reorder(b, i0, j0, ic, jc, i1, k0, k1, i2, j1, k2)
sch.bind(b, "blockIdx.z")
sch.bind(i0, "blockIdx.y")
sch.bind(j0, "blockIdx.x")
sch.bind(ic, "clusterCtaIdx.y")
sch.bind(jc, "clusterCtaIdx.x")
sch.bind(i1, "threadIdx.y")
CF = sch.cache_write(C, 0, "wgmma.accumulator")
sch.reverse_compute_at(CF, i1)
AS = sch.cache_read(C, 0, "shared.dyn")
BS = sch.cache_read(C, 1, "shared.dyn")
sch.compute_at(AS, k0)
sch.compute_at(BS, k0)
a = sch.fuse(sch.get_loops(AS)[-2], sch.get_loops(AS)[-1])
a0, a1, a2 = sch.split(a, factors=[None, 128, 8])
sch.bind(a1, "threadIdx.x")
sch.vectorize(a2)
b = sch.fuse(sch.get_loops(BS)[-2], sch.get_loops(BS)[-1])
b0, b1, b2 = sch.split(b, factors=[None, 128, 8])
sch.bind(b1, "threadIdx.x")
sch.vectorize(b2)
sch.set_layout(AS, 0, "swizzle_64B")
sch.set_layout(BS, 0, "SWIZZLE_B")
init = sch.decompose_reduction(C, k0)
sch.tensorize(sch.get_loops(init)[-2], "wgmma_fill_64x64_f32")
sch.tensorize(i2, "wgmma_sync_64x64x16_f16f16f32TRANS_dyn")
sch.tensorize(sch.get_loops(CF)[-2], "wgmma_store_64x64_f32_global")
sch.annotate(k0, "software_pipeline_stage", [0, 0, 2])
sch.annotate(k0, "software_pipeline_order", [0, 1, 2])
sch.annotate(k0, "software_pipeline_async_stages", [0])
sch.annotate(k0, "software_pipeline_roles", 1)
)";

Function Product(const Cluster& c) {
  std::string program = kProduct, schedule = kSchedule;
  const std::string batch = std::to_string(c.batch);
  for (const auto& [what, by] : Edits{{"SHAPE_B", c.transposed ? "(BATCH, SIZE_N, 160)" : "(BATCH, 160, SIZE_N)"},
                                      {"BATCH", batch},
                                      {"SIZE_M", std::to_string(64 * c.rows * c.clusters)},
                                      {"SIZE_N", std::to_string(64 * c.columns)},
                                      {"INDEX_B", c.transposed ? "vj, vk" : "vk, vj"}}) {
    program = Replaced(program, what, by);
  }
  for (const auto& [what, by] : Edits{{"ROWS", std::to_string(c.rows)},
                                      {"COLUMNS", std::to_string(c.columns)},
                                      {"TRANS", c.transposed ? "_trans" : ""},
                                      {"SWIZZLE_B", c.transposed ? "swizzle_64B" : "swizzle_128B"}}) {
    schedule = Replaced(schedule, what, by);
  }
  return Scheduled(program, schedule);
}

class Multicast : public ::testing::TestWithParam<Cluster> {};
TEST_P(Multicast, ComputesTheProduct) { EXPECT_EQ(Emulated(Product(GetParam()), kTarget), ""); }

TEST_P(Multicast, CompilesWithoutSpills) {
  if (!cuda::NvrtcIsInstalled()) GTEST_SKIP() << "NVRTC is not installed";
  const std::string text = KernelText(Product(GetParam()), kTarget);
  const auto cubin = cuda::CompileWithNvrtc(cuda::PreambleFor(text) + text, "sm_90a");
  ASSERT_TRUE(cubin.ok()) << cubin.status();
  Counters counters = cuda::CountersOfLog(cubin->log);
  EXPECT_EQ(counters[kSpillBytesCounter], 0) << cubin->log;
  EXPECT_EQ(counters[kStackBytesCounter], 0) << cubin->log;
  EXPECT_EQ(counters[kPtxasWarningsCounter], 0) << cubin->log;
}

INSTANTIATE_TEST_SUITE_P(All, Multicast,
                         ::testing::Values(Cluster{2, 1, "rows", false, 1, 2}, Cluster{1, 2, "columns"},
                                           Cluster{4, 1, "four_rows"}, Cluster{2, 2, "both"},
                                           Cluster{2, 2, "both_transposed", true}, Cluster{4, 2, "eight", true},
                                           Cluster{1, 2, "batch", false, 2}),
                         [](const auto& info) { return info.param.name; });

// Rows share what they need of B, columns what they need of A.
TEST(Multicast, EachBlockCopiesItsShare) {
  const std::string rows = KernelText(Product({2, 1}), kTarget);
  EXPECT_THAT(rows, HasSubstr("__cluster_dims__(1, 2, 1)"));
  EXPECT_THAT(rows, HasSubstr("&A_map, full + groups[0] % 3u, 0"));
  EXPECT_THAT(rows, HasSubstr("&B_map, full + groups[0] % 3u, 3, "));
  EXPECT_THAT(rows, HasSubstr("tw::mbarrier_init(empty, 8);"));
  EXPECT_THAT(rows, HasSubstr("tw::mbarrier_arrive_cluster(empty + groups[0] % 3u, tx % 32);"));
  const std::string both = KernelText(Product({2, 2}), kTarget);
  EXPECT_THAT(both, HasSubstr("__cluster_dims__(2, 2, 1)"));
  EXPECT_THAT(both, HasSubstr("&A_map, full + groups[0] % 3u, int32_t(uint32_t(3) << "));
  EXPECT_THAT(both, HasSubstr("&B_map, full + groups[0] % 3u, int32_t(uint32_t(5) << "));
}

// Eight rows lie in a repeat of the swizzle: 32 rows of B are enough for four blocks, not for eight.
TEST(Multicast, SharesAreWholeRepeatsOfTheSwizzle) {
  std::string text = KernelText(Product({4, 1}), kTarget);
  EXPECT_THAT(text, HasSubstr("tw::tma_load_multicast("));
  std::string schedule = Replaced(kSchedule, "factors=[None, 2, 16]", "factors=[None, 1, 16]");
  for (const auto& [what, by] : Edits{{"ROWS", "4"},
                                      {"COLUMNS", "1"},
                                      {"TRANS", ""},
                                      {"swizzle_64B", "swizzle_32B"},
                                      {"SWIZZLE_B", "swizzle_128B"}}) {
    schedule = Replaced(schedule, what, by);
  }
  std::string program = Replaced(Replaced(kProduct, "SHAPE_B", "(1, 160, 64)"), "BATCH", "1");
  program = Replaced(Replaced(program, "SIZE_M", "256"), "SIZE_N", "64");
  const Function shallow = Scheduled(Replaced(program, "INDEX_B", "vk, vj"), schedule);
  text = KernelText(shallow, kTarget);
  EXPECT_THAT(text, AllOf(HasSubstr("tw::tma_load("), Not(HasSubstr("multicast"))));
  EXPECT_EQ(Emulated(shallow, kTarget), "");
}

// What the emulator reports when the text lacks or changes something.
struct Planted {
  const char* name;
  Edits edits;
  const char* report;
};
class PlantedInMulticast : public ::testing::TestWithParam<Planted> {};
TEST_P(PlantedInMulticast, IsFound) {
  EXPECT_THAT(Emulated(Product({2, 1}), kTarget, GetParam().edits), HasSubstr(GetParam().report));
}
INSTANTIATE_TEST_SUITE_P(
    All, PlantedInMulticast,
    ::testing::Values(
        Planted{"cluster_sync", {{"tw::cluster_sync();", "__syncthreads();"}}, "mbarrier"},
        Planted{"early_release", {{"tw::wgmma_wait<1>();", "tw::wgmma_wait<2>();"}}, "race: bulk load by thread 128"},
        Planted{"release_of_own_block",
                {{"mbarrier_arrive_cluster(empty + (groups[0] - 1u) % 3u, tx % 32)",
                  "mbarrier_arrive(empty + (groups[0] - 1u) % 3u)"}},
                "race"},
        Planted{"few_releases", {{"if (tx % 32 < 2)", "if (tx % 32 < 1)"}}, "no thread can run"},
        Planted{"count", {{"tw::mbarrier_init(empty, 8);", "tw::mbarrier_init(empty, 4);"}}, "race"},
        Planted{"few_bytes", {{", 4096);", ", 4080);"}}, "deadlock"},
        Planted{"mask", {{"% 3u, 3, ", "% 3u, 1, "}}, "deadlock"},
        Planted{"last_wait", {{"tw::mbarrier_wait(empty + groups[0] % 3u, (groups[0] / 3u + 1u) % 2u);", ""}}, "race"}),
    [](const auto& info) { return std::string(info.param.name); });

}  // namespace
}  // namespace tilewright
