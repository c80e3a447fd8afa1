// Products scheduled for tensor cores by intrinsics' names, through the passes for GPUs.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "codegen/lower/gpu/kernel_testing.h"
#include "intrin/registry.h"
#include "ir/script/parse_or_die.h"
#include "ir/script/printer.h"
#include "schedule/script/schedule_script.h"

namespace tilewright {
namespace {

using testing::CompareLowered;
using ::testing::HasSubstr;
using testing::LoweredTo;

Function Scheduled(const std::string& program, const std::string& script) {
  IntrinRegistry intrins = IntrinRegistry::Builtin();
  Schedule schedule(Module{ParseFunctionOrDie(program)}, {.intrins = &intrins});
  const auto error = ApplyScheduleScript(script, "schedule", &schedule);
  EXPECT_FALSE(error) << error->diagnostic.ToString();
  return schedule.module().Main();
}

std::string Replaced(std::string text, const std::string& what, const std::string& by) {
  for (size_t at = text.find(what); at != std::string::npos; at = text.find(what, at + by.size())) {
    text.replace(at, what.size(), by);
  }
  return text;
}

// The schedule that users of wmma write: tiles of 32 x 32 by 2 x 2 warps, operands staged in shared memory.
constexpr char kProduct[] = R"(
@T.prim_func
def main(A: T.Buffer((64, 64), "TYPE_A"), B: T.Buffer((64, 64), "TYPE_B"), C: T.Buffer((64, 64), "TYPE_C")):
    for i, j, k in T.grid(64, 64, 64):
        with T.block("C"):
            vi, vj, vk = T.axis.remap("SSR", [i, j, k])
            with T.init():
                C[vi, vj] = T.Cast("TYPE_C", 0)
            C[vi, vj] = C[vi, vj] + T.Cast("TYPE_C", A[vi, vk]) * T.Cast("TYPE_C", B[INDEX_B])
)";
constexpr char kSchedule[] = R"(
C = sch.get_block("C")
i, j, k = sch.get_loops(C)
i0, i1, i2 = sch.split(i, factors=[None, 2, 16])
j0, j1, j2 = sch.split(j, factors=[None, 2, 16])
k0, k1, k2 = sch.split(k, factors=[None, 1, 16])
sch.reorder(i0, j0, i1, j1, k0, k1, i2, j2, k2)
sch.bind(i0, "blockIdx.y")
sch.bind(j0, "blockIdx.x")
sch.bind(i1, "threadIdx.y")
sch.bind(j1, "threadIdx.z")
CF = sch.cache_write(C, 0, "wmma.accumulator")
sch.reverse_compute_at(CF, j1)
for operand in [0, 1]:
    pass
AS = sch.cache_read(C, 0, "SCOPE")
BS = sch.cache_read(C, 1, "SCOPE")
AF = sch.cache_read(C, 0, "wmma.matrix_a")
BF = sch.cache_read(C, 1, "wmma.matrix_b")
sch.compute_at(AF, k1)
sch.compute_at(BF, k1)
sch.compute_at(AS, k0)
sch.compute_at(BS, k0)
a = sch.fuse(sch.get_loops(AS)[-2], sch.get_loops(AS)[-1])
a0, a1, a2, a3, a4 = sch.split(a, factors=[None, 2, 2, 32, 4])
sch.bind(a1, "threadIdx.y")
sch.bind(a2, "threadIdx.z")
sch.bind(a3, "threadIdx.x")
sch.vectorize(a4)
sch.storage_align(AS, 0, -2, 16, 8)
b = sch.fuse(sch.get_loops(BS)[-2], sch.get_loops(BS)[-1])
b0, b1, b2, b3, b4 = sch.split(b, factors=[None, 2, 2, 32, 4])
sch.bind(b1, "threadIdx.y")
sch.bind(b2, "threadIdx.z")
sch.bind(b3, "threadIdx.x")
sch.vectorize(b4)
PIPELINEinit = sch.decompose_reduction(C, k0)
sch.tensorize(sch.get_loops(init)[-2], "wmma_fill_16x16x16_SUM")
sch.tensorize(sch.get_loops(AF)[-2], "wmma_load_16x16x16_IN_A_a_PLACE")
sch.tensorize(sch.get_loops(BF)[-2], "wmma_load_16x16x16_IN_B_bTRANS_PLACE")
sch.tensorize(i2, "wmma_sync_16x16x16_IN_AIN_BSUMTRANS")
sch.tensorize(sch.get_loops(CF)[-2], "wmma_store_16x16x16_SUM_global")
)";

struct Case {
  const char *a, *b, *sum;
  bool trans;
  const char* scope;
  const char* pipeline = "";
};
std::string TypeOf(const std::string& name) {
  if (name == "f16") return "float16";
  if (name == "bf16") return "bfloat16";
  if (name == "e4m3") return "float8_e4m3fn";
  if (name == "e5m2") return "float8_e5m2";
  if (name == "s8") return "int8";
  if (name == "u8") return "uint8";
  return name == "f32" ? "float32" : "int32";
}
std::string ProgramOf(const Case& c) {
  std::string text = Replaced(kProduct, "TYPE_A", TypeOf(c.a));
  text = Replaced(Replaced(text, "TYPE_B", TypeOf(c.b)), "TYPE_C", TypeOf(c.sum));
  return Replaced(text, "INDEX_B", c.trans ? "vj, vk" : "vk, vj");
}
std::string ScheduleOf(const Case& c) {
  std::string text = Replaced(Replaced(kSchedule, "IN_A", c.a), "IN_B", c.b);
  text = Replaced(Replaced(text, "SUM", c.sum), "TRANS", c.trans ? "_trans" : "");
  text = Replaced(text, "for operand in [0, 1]:\n    pass\n", "");
  const bool dyn = std::string(c.scope) == "shared.dyn";
  text = Replaced(text, "PIPELINE", c.pipeline);
  return Replaced(Replaced(text, "SCOPE", c.scope), "PLACE", dyn ? "shared_dyn" : "shared");
}

class Wmma : public ::testing::TestWithParam<Case> {};
TEST_P(Wmma, ComputesTheProduct) {
  const Function scheduled = Scheduled(ProgramOf(GetParam()), ScheduleOf(GetParam()));
  EXPECT_EQ(CompareLowered(scheduled), absl::OkStatus());
  const auto lowered = LoweredTo(scheduled, "lower_warp_memory");
  ASSERT_TRUE(lowered.ok()) << lowered.status();
  const std::string text = Print(*lowered);
  EXPECT_THAT(text, HasSubstr("mma_m16n8k16_"));
  EXPECT_THAT(text, HasSubstr("ldmatrix_x"));
  if (*GetParam().pipeline == 0) return;
  EXPECT_THAT(text, HasSubstr("cp_async"));
  EXPECT_THAT(text, HasSubstr("T.ptx_wait_group"));
}

constexpr char kFourStages[] = R"(sch.annotate(k0, "software_pipeline_stage", [0, 0, 3])
sch.annotate(k0, "software_pipeline_order", [0, 1, 2])
sch.annotate(k0, "software_pipeline_async_stages", [0])
)";
constexpr char kTwoStages[] = R"(sch.annotate(k0, "software_pipeline_stage", [0, 0, 1])
sch.annotate(k0, "software_pipeline_order", [1, 2, 0])
sch.annotate(k0, "software_pipeline_async_stages", [0])
)";

INSTANTIATE_TEST_SUITE_P(
    Types, Wmma,
    ::testing::Values(Case{"f16", "f16", "f32", false, "shared"}, Case{"f16", "f16", "f32", true, "shared.dyn"},
                      Case{"f16", "f16", "f16", false, "shared.dyn"}, Case{"bf16", "bf16", "f32", false, "shared"},
                      Case{"s8", "s8", "s32", true, "shared"}, Case{"s8", "s8", "s32", false, "shared"},
                      Case{"u8", "s8", "s32", true, "shared"},
                      Case{"f16", "f16", "f32", false, "shared.dyn", kFourStages},
                      Case{"f16", "f16", "f32", true, "shared.dyn", kTwoStages},
                      Case{"s8", "s8", "s32", true, "shared.dyn", kFourStages}));

// The same with operands in memory of the warp, whose layout is that of the intrinsics.
constexpr char kWarpSchedule[] = R"(
C = sch.get_block("C")
i, j, k = sch.get_loops(C)
i0, i1, i2 = sch.split(i, factors=[None, 2, 16])
j0, j1, j2 = sch.split(j, factors=[None, 2, 16])
k0, k1 = sch.split(k, factors=[None, DEPTH])
sch.reorder(i0, j0, i1, j1, k0, i2, j2, k1)
sch.bind(i0, "blockIdx.y")
sch.bind(j0, "blockIdx.x")
sch.bind(i1, "threadIdx.y")
sch.bind(j1, "threadIdx.z")
CW = sch.cache_write(C, 0, "warp")
sch.reverse_compute_at(CW, j1)
AS = sch.cache_read(C, 0, "shared")
BS = sch.cache_read(C, 1, "shared")
AW = sch.cache_read(C, 0, "warp")
BW = sch.cache_read(C, 1, "warp")
sch.compute_at(AW, k0)
sch.compute_at(BW, k0)
sch.compute_at(AS, k0)
sch.compute_at(BS, k0)
a = sch.fuse(sch.get_loops(AS)[-2], sch.get_loops(AS)[-1])
a0, a1, a2, a3, a4 = sch.split(a, factors=[None, 2, 2, 32, 4])
sch.bind(a1, "threadIdx.y")
sch.bind(a2, "threadIdx.z")
sch.bind(a3, "threadIdx.x")
sch.vectorize(a4)
b = sch.fuse(sch.get_loops(BS)[-2], sch.get_loops(BS)[-1])
b0, b1, b2, b3, b4 = sch.split(b, factors=[None, 2, 2, 32, 4])
sch.bind(b1, "threadIdx.y")
sch.bind(b2, "threadIdx.z")
sch.bind(b3, "threadIdx.x")
sch.vectorize(b4)
init = sch.decompose_reduction(C, k0)
sch.transform_layout(AW, ("write", 0), lambda i, j: (i // 16, j // DEPTH, 4 * (i % 8) + j % WIDE // RUN, 2 * RUN * (j % DEPTH // WIDE) + i % 16 // 8 * RUN + j % RUN))
sch.transform_layout(BW, ("write", 0), lambda i, j: (i // 16, j // DEPTH, 4 * (i % 8) + j % WIDE // RUN, 2 * RUN * (j % DEPTH // WIDE) + i % 16 // 8 * RUN + j % RUN))
sch.transform_layout(CW, ("read", 0), lambda i, j: (i // 16, j // 16, 4 * (i % 8) + j % 8 // 2, 4 * (j % 16 // 8) + i % 16 // 8 * 2 + j % 2))
sch.tensorize(sch.get_loops(init)[-2], "mma_fill_16x16_SUM")
sch.tensorize(sch.get_loops(AW)[-2], "mma_ldmatrix_IN_a")
sch.tensorize(sch.get_loops(BW)[-2], "mma_ldmatrix_IN_bLOAD_TRANS")
sch.tensorize(i2, "mma_ININSUMTRANS")
sch.tensorize(sch.get_loops(CW)[-2], "mma_store_16x16_SUM_global_")
)";

class Mma : public ::testing::TestWithParam<Case> {};
TEST_P(Mma, ComputesTheProduct) {
  const std::string type = GetParam().a;
  const bool integers = type == "s8", bytes = integers || type[0] == 'e';
  std::string text = Replaced(Replaced(kWarpSchedule, "DEPTH", bytes ? "32" : "16"), "WIDE", bytes ? "16" : "8");
  text = Replaced(Replaced(text, "RUN", bytes ? "4" : "2"), "SUM", integers ? "i32" : GetParam().sum);
  text = Replaced(text, "LOAD_TRANS", GetParam().trans ? "_trans" : "");
  text = Replaced(Replaced(text, "TRANS", GetParam().trans ? "_trans_b" : ""), "IN", integers ? "i8" : type);
  const Function scheduled = Scheduled(ProgramOf(GetParam()), text);
  EXPECT_EQ(CompareLowered(scheduled), absl::OkStatus());
  const auto lowered = LoweredTo(scheduled, "lower_warp_memory");
  ASSERT_TRUE(lowered.ok()) << lowered.status();
  EXPECT_THAT(Print(*lowered), HasSubstr(integers ? "mma_m16n8k32_s32_s8s8"
                                         : bytes  ? "mma_m16n8k32_f32_" + type + type
                                                  : "mma_m16n8k16_"));
}
INSTANTIATE_TEST_SUITE_P(
    Types, Mma,
    ::testing::Values(Case{"f16", "f16", "f32", false, "shared"}, Case{"f16", "f16", "f32", true, "shared"},
                      Case{"f16", "f16", "f16", false, "shared"}, Case{"s8", "s8", "s32", true, "shared"},
                      Case{"bf16", "bf16", "f32", false, "shared"}, Case{"e4m3", "e4m3", "f32", true, "shared"},
                      Case{"e5m2", "e5m2", "f32", true, "shared"}));

TEST(Dp4a, ComputesTheProduct) {
  const Function scheduled = Scheduled(R"(
@T.prim_func
def main(A: T.Buffer((32, 16), "int8"), B: T.Buffer((8, 16), "int8"), C: T.Buffer((32, 8), "int32")):
    for i, j, k in T.grid(32, 8, 16):
        with T.block("C"):
            vi, vj, vk = T.axis.remap("SSR", [i, j, k])
            with T.init():
                C[vi, vj] = 0
            C[vi, vj] = C[vi, vj] + T.Cast("int32", A[vi, vk]) * T.Cast("int32", B[vj, vk])
)",
                                       R"(
C = sch.get_block("C")
i, j, k = sch.get_loops(C)
k0, k1 = sch.split(k, factors=[None, 4])
i0, i1 = sch.split(i, factors=[None, 16])
sch.bind(i0, "blockIdx.x")
sch.bind(i1, "threadIdx.x")
CL = sch.cache_write(C, 0, "local")
sch.reverse_compute_at(CL, j)
AS = sch.cache_read(C, 0, "shared")
BS = sch.cache_read(C, 1, "shared")
sch.compute_at(AS, i0)
sch.compute_at(BS, i0)
a0, a1 = sch.split(sch.fuse(sch.get_loops(AS)[-2], sch.get_loops(AS)[-1]), factors=[None, 16])
sch.bind(a1, "threadIdx.x")
b0, b1 = sch.split(sch.fuse(sch.get_loops(BS)[-2], sch.get_loops(BS)[-1]), factors=[None, 16])
sch.bind(b1, "threadIdx.x")
init = sch.decompose_reduction(C, k0)
sch.tensorize(k1, "dp4a_s8s8s32")
)");
  EXPECT_EQ(CompareLowered(scheduled), absl::OkStatus());
  EXPECT_THAT(Print(*LoweredTo(scheduled, "lower_warp_memory")), HasSubstr("cuda.dp4a"));
}

}  // namespace
}  // namespace tilewright
