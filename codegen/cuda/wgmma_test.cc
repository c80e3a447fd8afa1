// Products scheduled for wgmma, from the plain program to kernels: right in the emulator, and wrong ones are found.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <string>

#include "absl/strings/str_cat.h"
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
using ::testing::HasSubstr;
using ::testing::Not;

constexpr char kTarget[] = "cuda-sm90a";

struct Case {
  std::string types, a, b, sum;
  int columns, depth, step;  // of an instruction; K elements of a stage
  bool trans_a, trans_b;
  std::string layout_a, layout_b;
  std::string pipeline = "";
  bool bulk = false;  // copies by the engine for bulk copies
};
void PrintTo(const Case& c, std::ostream* out) { *out << c.types << " " << c.columns; }

constexpr char kProduct[] = R"(
@T.prim_func
def main(A: T.Buffer(SHAPE_A, "TYPE_A"), B: T.Buffer(SHAPE_B, "TYPE_B"), C: T.Buffer((128, 128), "TYPE_C")):
    for i, j, k in T.grid(128, 128, 256):
        with T.block("C"):
            vi, vj, vk = T.axis.remap("SSR", [i, j, k])
            with T.init():
                C[vi, vj] = T.TYPE_C(0)
            C[vi, vj] = C[vi, vj] + T.Cast("TYPE_C", A[INDEX_A]) * T.Cast("TYPE_C", B[INDEX_B])
)";

// Two warpgroups with 64 rows each; threads copy 16 bytes each.
constexpr char kSchedule[] = R"(
C = sch.get_block("C")
i, j, k = sch.get_loops(C)
i0, i1, i2 = sch.split(i, factors=[None, 2, 64])
j0, j1 = sch.split(j, factors=[None, COLUMNS])
k0, k1, k2 = sch.split(k, factors=[None, STEPS, DEPTH])
sch.reorder(i0, j0, i1, k0, k1, i2, j1, k2)
sch.bind(i0, "blockIdx.y")
sch.bind(j0, "blockIdx.x")
sch.bind(i1, "threadIdx.y")
CF = sch.cache_write(C, 0, "wgmma.accumulator")
sch.reverse_compute_at(CF, i1)
AS = sch.cache_read(C, 0, "shared.dyn")
BS = sch.cache_read(C, 1, "shared.dyn")
sch.compute_at(AS, k0)
sch.compute_at(BS, k0)
COPIES
sch.set_layout(AS, 0, "LAYOUT_A")
sch.set_layout(BS, 0, "LAYOUT_B")
init = sch.decompose_reduction(C, k0)
sch.tensorize(sch.get_loops(init)[-2], "wgmma_fill_64xCOLUMNS_SUM")
sch.tensorize(i2, "wgmma_sync_64xCOLUMNSxDEPTH_INSTRUCTION_dyn")
sch.tensorize(sch.get_loops(CF)[-2], "wgmma_store_64xCOLUMNS_SUM_global")
)";

constexpr char kCopies[] = R"(
a = sch.fuse(sch.get_loops(AS)[-2], sch.get_loops(AS)[-1])
a0, a1, a2, a3 = sch.split(a, factors=[None, 2, 128, CHUNK])
sch.bind(a1, "threadIdx.y")
sch.bind(a2, "threadIdx.x")
sch.vectorize(a3)
b = sch.fuse(sch.get_loops(BS)[-2], sch.get_loops(BS)[-1])
b0, b1, b2, b3 = sch.split(b, factors=[None, 2, 128, CHUNK])
sch.bind(b1, "threadIdx.y")
sch.bind(b2, "threadIdx.x")
sch.vectorize(b3)
)";

// One thread of the block copies each box.
constexpr char kBoxes[] = R"(
sch.bind(sch.add_unit_loop(sch.get_loops(AS)[-2]), "threadIdx.y")
sch.bind(sch.add_unit_loop(sch.get_loops(BS)[-2]), "threadIdx.y")
)";

std::string Text(const char* text, const Case& c) {
  const bool bytes = c.depth == 32;
  std::string result = Replaced(text, "SHAPE_A", c.trans_a ? "(256, 128)" : "(128, 256)");
  for (const auto& [what, by] :
       Edits{{"SHAPE_B", c.trans_b ? "(128, 256)" : "(256, 128)"},
             {"COPIES", c.bulk ? kBoxes : kCopies},
             {"INDEX_A", c.trans_a ? "vk, vi" : "vi, vk"},
             {"INDEX_B", c.trans_b ? "vj, vk" : "vk, vj"},
             {"TYPE_A", c.a},
             {"TYPE_B", c.b},
             {"TYPE_C", c.sum},
             {"INSTRUCTION", absl::StrCat(c.types, c.trans_a ? "_trans_a" : "", c.trans_b ? "_trans" : "")},
             {"COLUMNS", absl::StrCat(c.columns)},
             {"DEPTH", absl::StrCat(c.depth)},
             {"STEPS", absl::StrCat(c.step / c.depth)},
             {"CHUNK", bytes ? "16" : "8"},
             {"SUM", c.sum == "float32" ? "f32" : "s32"},
             {"LAYOUT_A", c.layout_a},
             {"LAYOUT_B", c.layout_b}}) {
    result = Replaced(result, what, by);
  }
  return result;
}
Function Product(const Case& c) { return Scheduled(Text(kProduct, c), Text(kSchedule, c) + c.pipeline); }

constexpr char kStages[] = R"(sch.annotate(k0, "software_pipeline_stage", [0, 0, 2])
sch.annotate(k0, "software_pipeline_order", [0, 1, 2])
sch.annotate(k0, "software_pipeline_async_stages", [0])
)";

Case Halves() {
  return {"f16f16f32", "float16", "float16", "float32", 64, 16, 64, false, false, "swizzle_128B", "swizzle_128B"};
}
Case Pipelined() {
  Case c = Halves();
  c.step = 32;
  c.layout_a = "swizzle_64B";
  c.pipeline = kStages;
  return c;
}

Case Bulk() {
  Case c = Halves();
  c.pipeline = kStages;
  c.bulk = true;
  return c;
}
Case BulkBytes() {
  return {"s8s8s32", "int8", "int8", "int32", 64, 32, 32, false, true, "swizzle_32B", "swizzle_32B", kStages, true};
}

// The copies are those of a warpgroup of its own.
Case Roles() {
  Case c = Bulk();
  c.pipeline += "sch.annotate(k0, \"software_pipeline_roles\", 1)\n";
  return c;
}

class Wgmma : public ::testing::TestWithParam<Case> {};
TEST_P(Wgmma, ComputesTheProduct) { EXPECT_EQ(Emulated(Product(GetParam()), kTarget), ""); }

TEST_P(Wgmma, CompilesWithoutSpills) {
  if (!cuda::NvrtcIsInstalled()) GTEST_SKIP() << "NVRTC is not installed";
  const std::string text = KernelText(Product(GetParam()), kTarget);
  const auto cubin = cuda::CompileWithNvrtc(cuda::PreambleFor(text) + text, "sm_90a");
  ASSERT_TRUE(cubin.ok()) << cubin.status();
  Counters counters = cuda::CountersOfLog(cubin->log);
  EXPECT_EQ(counters[kSpillBytesCounter], 0) << cubin->log;
  EXPECT_EQ(counters[kStackBytesCounter], 0) << cubin->log;
  EXPECT_EQ(counters[kPtxasWarningsCounter], 0) << cubin->log;
}

INSTANTIATE_TEST_SUITE_P(
    Types, Wgmma,
    ::testing::Values(
        Halves(), Pipelined(), Bulk(), BulkBytes(),
        Case{"f16f16f32", "float16", "float16", "float32", 128, 16, 32, false, true, "swizzle_64B", "swizzle_64B"},
        Case{"bf16bf16f32", "bfloat16", "bfloat16", "float32", 32, 16, 64, true, true, "swizzle_128B", "swizzle_128B"},
        Case{"bf16bf16f32", "bfloat16", "bfloat16", "float32", 32, 16, 16, true, false, "swizzle_32B", "swizzle_32B"},
        Case{"s8s8s32", "int8", "int8", "int32", 64, 32, 128, false, true, "swizzle_128B", "swizzle_128B"},
        Case{"u8s8s32", "uint8", "int8", "int32", 32, 32, 64, false, true, "swizzle_64B", "swizzle_64B", kStages},
        Case{"e4m3e5m2f32", "float8_e4m3fn", "float8_e5m2", "float32", 128, 32, 128, false, true, "swizzle_128B",
             "swizzle_128B", kStages, true},
        Case{"bf16bf16f32", "bfloat16", "bfloat16", "float32", 128, 16, 32, true, true, "swizzle_64B", "swizzle_64B",
             kStages, true}));

TEST(Wgmma, OrdersWhatIsAsynchronous) {
  const std::string text = KernelText(Product(Pipelined()), kTarget);
  EXPECT_THAT(text, HasSubstr("tw::cp_async<16>"));
  EXPECT_THAT(text, HasSubstr("tw::Acc<float, 32> "));
  EXPECT_THAT(text, HasSubstr("tw::wgmma_descriptor<tw::kSwizzle64>"));
  EXPECT_THAT(text, HasSubstr("tw::fence_proxy_async_shared();\n"));
}

// What the emulator reports when the text lacks or changes something.
struct Planted {
  const char* name;
  Edits edits;
  const char* report;
};
class PlantedInWgmma : public ::testing::TestWithParam<Planted> {};
TEST_P(PlantedInWgmma, IsFound) {
  EXPECT_THAT(Emulated(Product(Pipelined()), kTarget, GetParam().edits), HasSubstr(GetParam().report));
}
INSTANTIATE_TEST_SUITE_P(
    All, PlantedInWgmma,
    ::testing::Values(
        Planted{"barrier", {{"__syncthreads();", ""}}, "race: wgmma by thread 127 of block (0, 0, 0) at shared byte 0"},
        Planted{"copy_wait",
                {{"cp_async_wait<2>", "cp_async_wait<3>"}},
                "the other access: cp.async by cp.async of thread 0"},
        Planted{"swizzle", {{"kSwizzle64>", "kSwizzle128>"}}, "a read that is not ordered after a write"},
        Planted{"descriptor", {{", 16, 512)", ", 16, 256)"}}, "array 2 differs at "},
        Planted{"proxy_fence", {{"tw::fence_proxy_async_shared();", ""}}, "missing proxy fence: wgmma by thread 127"},
        Planted{"wgmma_fence",
                {{"tw::wgmma_fence(", "(void)("}},
                "no wgmma.fence stands between an access of the accumulator"},
        Planted{"wgmma_commit", {{"tw::wgmma_commit();", ""}}, "the other access: wgmma by wgmma of warpgroup 0"},
        Planted{"wgmma_wait", {{"tw::wgmma_wait<0>();", ""}}, "the other access: wgmma by wgmma of warpgroup 0"}),
    [](const auto& info) { return std::string(info.param.name); });

TEST(Bulk, CopiesBoxesAndWaitsForThem) {
  const std::string text = KernelText(Product(Bulk()), kTarget);
  EXPECT_THAT(text, HasSubstr("const __grid_constant__ TwTensorMap A_map"));
  EXPECT_THAT(text, HasSubstr("tw::tma_load("));
  EXPECT_THAT(text, HasSubstr("tw::mbarrier_expect_tx("));
  // Nothing is written by threads: no fence of the proxy.
  EXPECT_THAT(text, Not(HasSubstr("fence_proxy_async")));
}

class PlantedInBulk : public ::testing::TestWithParam<Planted> {};
TEST_P(PlantedInBulk, IsFound) {
  EXPECT_THAT(Emulated(Product(Bulk()), kTarget, GetParam().edits), HasSubstr(GetParam().report));
}
INSTANTIATE_TEST_SUITE_P(
    All, PlantedInBulk,
    ::testing::Values(
        Planted{"barrier", {{"__syncthreads();", ""}}, "the other access: mbarrier.init by thread 0"},
        Planted{"wait",
                {{"while (groups[1] + ", "while (groups[1] + 1u + "}},
                "the other access: bulk load by bulk copies"},
        Planted{"early_copy", {{"tw::wgmma_wait<0>();", "tw::wgmma_wait<1>();"}}, "race: bulk load by thread 0"},
        Planted{"swizzle", {{"kSwizzle128>", "kSwizzle64>"}}, "array 2 differs at "},
        Planted{"descriptor", {{", 16, 1024)", ", 16, 512)"}}, "array 2 differs at "},
        Planted{"few_bytes", {{", 16384);", ", 16368);"}}, "waits for 0 of 1 arrivals and -16 bytes"},
        Planted{"many_bytes", {{", 16384);", ", 16400);"}}, "waits for 0 of 1 arrivals and 16 bytes"},
        Planted{"parity", {{"/ 3u % 2u)", "/ 3u % 2u ^ 1u)"}}, "the other access: bulk load by bulk copies"}),
    [](const auto& info) { return std::string(info.param.name); });

TEST(Roles, AProducerCopies) {
  const std::string text = KernelText(Product(Roles()), kTarget);
  EXPECT_THAT(text, HasSubstr("__launch_bounds__(384, 1)"));
  EXPECT_THAT(text, HasSubstr("tw::setmaxnreg_dec<40>();"));
  EXPECT_THAT(text, HasSubstr("tw::setmaxnreg_inc<232>();"));
}

// One warpgroup computes: its threads have no dimension that could grow yet.
TEST(Roles, OneConsumer) {
  const Case c = Roles();
  const std::string schedule = Replaced(Text(kSchedule, c), "factors=[None, 2, 64]", "factors=[None, 1, 64]");
  EXPECT_EQ(Emulated(Scheduled(Text(kProduct, c), schedule + c.pipeline), kTarget), "");
}

constexpr char kFused[] = R"(
@T.prim_func
def main(A: T.Buffer((128, 128), "float16"), B: T.Buffer((128, 128), "float16"), bias: T.Buffer((128,), "float32"), D: T.Buffer((128, 128), "float16")):
    C = T.alloc_buffer((128, 128), "float32")
    for i, j, k in T.grid(128, 128, 128):
        with T.block("C"):
            vi, vj, vk = T.axis.remap("SSR", [i, j, k])
            with T.init():
                C[vi, vj] = T.float32(0)
            C[vi, vj] = C[vi, vj] + T.Cast("float32", A[vi, vk]) * T.Cast("float32", B[vk, vj])
    for i, j in T.grid(128, 128):
        with T.block("D"):
            vi, vj = T.axis.remap("SS", [i, j])
            D[vi, vj] = T.Cast("float16", T.max(C[vi, vj] + bias[vj], T.float32(0)))
)";
// Each lane finishes the sums that it holds.
constexpr char kEpilogue[] = R"(
D = sch.get_block("D")
sch.set_scope(C, 0, "wgmma.accumulator")
sch.reverse_compute_at(D, i1)
r, c = sch.get_loops(D)[-2], sch.get_loops(D)[-1]
w, h, g = sch.split(r, factors=[None, 2, 8])
n, t, p = sch.split(c, factors=[None, 4, 2])
sch.reorder(w, g, t, n, h, p)
sch.bind(sch.fuse(w, g, t), "threadIdx.x")
sch.vectorize(p)
)";
TEST(Epilogues, AreOfTheLanesThatHoldTheSums) {
  const Case c = Roles();
  std::string schedule = Replaced(Text(kSchedule, c), "CF = sch.cache_write(C, 0, \"wgmma.accumulator\")\n", kEpilogue);
  schedule = Replaced(schedule, "sch.reverse_compute_at(CF, i1)\n", "");
  schedule = Replaced(schedule, "sch.tensorize(sch.get_loops(CF)[-2], \"wgmma_store_64x64_f32_global\")\n", "");
  const Function fused = Scheduled(kFused, schedule + c.pipeline);
  EXPECT_EQ(Emulated(fused, kTarget), "");
  EXPECT_THAT(KernelText(fused, kTarget), HasSubstr("tw::Store(D + "));
}

// Extents that tiles do not divide: the engine fills up with zeros, and lanes store what there is.
constexpr char kOdd[] = R"(
@T.prim_func
def main(A: T.Buffer((100, 72), "float16"), B: T.Buffer((72, 88), "float16"), C: T.Buffer((100, 88), "float32")):
    for i, j, k in T.grid(100, 88, 72):
        with T.block("C"):
            vi, vj, vk = T.axis.remap("SSR", [i, j, k])
            with T.init():
                C[vi, vj] = T.float32(0)
            C[vi, vj] = C[vi, vj] + T.Cast("float32", A[vi, vk]) * T.Cast("float32", B[vk, vj])
)";
constexpr char kOddSchedule[] = R"(
C = sch.get_block("C")
sch.pad_einsum(C, [128, 64, 32])
AS = sch.get_block("A_pad")
BS = sch.get_block("B_pad")
D = sch.get_block("C_pad")
i, j, k = sch.get_loops(C)
i0, i1, i2 = sch.split(i, factors=[None, 2, 64])
j0, j1 = sch.split(j, factors=[None, 64])
k0, k1, k2 = sch.split(k, factors=[None, 2, 16])
sch.reorder(i0, j0, i1, k0, k1, i2, j1, k2)
sch.bind(i0, "blockIdx.y")
sch.bind(j0, "blockIdx.x")
sch.bind(i1, "threadIdx.y")
sch.set_scope(AS, 0, "shared.dyn")
sch.set_scope(BS, 0, "shared.dyn")
sch.compute_at(AS, k0)
sch.compute_at(BS, k0)
sch.bind(sch.add_unit_loop(sch.get_loops(AS)[-2]), "threadIdx.y")
sch.bind(sch.add_unit_loop(sch.get_loops(BS)[-2]), "threadIdx.y")
sch.set_layout(AS, 0, "swizzle_64B")
sch.set_layout(BS, 0, "swizzle_128B")
EPILOGUE
init = sch.decompose_reduction(C, k0)
sch.tensorize(sch.get_loops(init)[-2], "wgmma_fill_64x64_f32")
sch.tensorize(i2, "wgmma_sync_64x64x16_f16f16f32_dyn")
)";
TEST(Bulk, FillsUpWithZeros) {
  std::string epilogue = Replaced(kEpilogue, "D = sch.get_block(\"D\")\n", "");
  epilogue = Replaced(epilogue, "sch.vectorize(p)\n", "");
  const Function odd = Scheduled(kOdd, Replaced(kOddSchedule, "EPILOGUE", epilogue) + kStages);
  EXPECT_EQ(Emulated(odd, kTarget), "");
  const std::string text = KernelText(odd, kTarget);
  EXPECT_THAT(text, HasSubstr("tw::tma_load("));
  EXPECT_THAT(text, Not(HasSubstr("tw::cp_async<")));
}

class PlantedInRoles : public ::testing::TestWithParam<Planted> {};
TEST_P(PlantedInRoles, IsFound) {
  EXPECT_THAT(Emulated(Product(Roles()), kTarget, GetParam().edits), HasSubstr(GetParam().report));
}
INSTANTIATE_TEST_SUITE_P(
    All, PlantedInRoles,
    ::testing::Values(
        Planted{"empty_wait",
                {{"tw::mbarrier_wait(empty + groups[0] % 3u, (groups[0] / 3u + 1u) % 2u);", ""}},
                "race: bulk load by thread 256"},
        Planted{"early_release", {{"tw::wgmma_wait<1>();", "tw::wgmma_wait<2>();"}}, "race: bulk load by thread 256"},
        Planted{"release", {{"if (tx % 32 == 0)", "if (tx % 64 == 0)"}}, "deadlock: mbarrier wait"},
        Planted{"parity", {{"/ 3u + 1u) % 2u)", "/ 3u) % 2u)"}}, "race: bulk load by thread 256"},
        Planted{"barrier", {{"__syncthreads();", ""}}, "the other access: mbarrier.init by thread 0"}),
    [](const auto& info) { return std::string(info.param.name); });

TEST(Wgmma, RefusesLayoutsThatNoDescriptorDescribes) {
  Case c = Halves();
  std::string schedule = Text(kSchedule, c);
  const std::string plain = Replaced(schedule, "sch.set_layout(AS, 0, \"swizzle_128B\")\n", "");
  EXPECT_THAT(Emulated(Scheduled(Text(kProduct, c), plain), kTarget),
              HasSubstr("do not lie where an instruction finds tiles of 64 x 16 in it: its layout must be one of those "
                        "that set_layout names"));
  c.layout_a = "swizzle_64B";
  EXPECT_EQ(Emulated(Product(c), kTarget), "");
  c.step = 16;
  c.layout_a = "swizzle_128B";
  EXPECT_THAT(
      Emulated(Product(c), kTarget),
      HasSubstr("swizzle_128B needs rows of a multiple of 128 bytes, and a multiple of 8 of them, not 128 rows of "
                "32 bytes"));
}

}  // namespace
}  // namespace tilewright
