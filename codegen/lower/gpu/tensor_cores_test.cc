// Products scheduled for tensor cores by intrinsics' names, through the passes for GPUs.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "absl/strings/str_cat.h"
#include "base/check.h"
#include "codegen/lower/gpu/testing/kernel_testing.h"
#include "codegen/lower/gpu/testing/tensor_core_products.h"
#include "intrin/instructions.h"
#include "ir/script/printer.h"

namespace tilewright {
namespace {

using testing::CompareLowered;
using ::testing::HasSubstr;
using testing::LoweredTo;
using testing::M16n8k8Schedule;
using testing::MmaSchedule;
using testing::ProgramOf;
using testing::Scheduled;
using testing::TensorCoreProduct;
using testing::WmmaSchedule;

// The row of `types`, and what else makes a product.
struct Case {
  const char* types;
  bool a_by_columns, b_by_columns;
  const char* scope = "shared";
  const char* pipeline = "";
};
TensorCoreProduct ProductOf(const Case& c, std::string_view suffix = {}) {
  const MachineInstruction* row = InstructionNamed("mma", c.types, suffix);
  TW_CHECK(row != nullptr) << c.types;
  return {row, c.a_by_columns, c.b_by_columns, c.scope, c.pipeline};
}

class Wmma : public ::testing::TestWithParam<Case> {};
TEST_P(Wmma, ComputesTheProduct) {
  const bool bytes = GetParam().types[1] == '8';
  const TensorCoreProduct product = ProductOf(GetParam(), bytes ? "k16" : "");
  const Function scheduled = Scheduled(ProgramOf(product), WmmaSchedule(product));
  EXPECT_EQ(CompareLowered(scheduled), absl::OkStatus());
  const auto lowered = LoweredTo(scheduled, "lower_warp_memory");
  ASSERT_TRUE(lowered.ok()) << lowered.status();
  const std::string text = Print(*lowered);
  EXPECT_THAT(text, HasSubstr("mma_m16n8k16_"));
  // ldmatrix does not transpose bytes.
  if (!bytes || !product.a_by_columns || product.b_by_columns) EXPECT_THAT(text, HasSubstr("ldmatrix_x"));
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

INSTANTIATE_TEST_SUITE_P(Types, Wmma,
                         ::testing::Values(Case{"f16f16f32", false, false},
                                           Case{"f16f16f32", false, true, "shared.dyn"},
                                           Case{"f16f16f16", false, false, "shared.dyn"},
                                           Case{"bf16bf16f32", false, false}, Case{"s8s8s32", false, true},
                                           Case{"s8s8s32", false, false}, Case{"u8s8s32", false, true},
                                           Case{"f16f16f32", true, false}, Case{"f16f16f16", true, true, "shared.dyn"},
                                           Case{"s8s8s32", true, false}, Case{"s8u8s32", true, true, "shared.dyn"},
                                           Case{"f16f16f32", false, false, "shared.dyn", kFourStages},
                                           Case{"f16f16f32", false, true, "shared.dyn", kTwoStages},
                                           Case{"s8s8s32", false, true, "shared.dyn", kFourStages}));

class Mma : public ::testing::TestWithParam<Case> {};
TEST_P(Mma, ComputesTheProduct) {
  const TensorCoreProduct product = ProductOf(GetParam());
  const Function scheduled = Scheduled(ProgramOf(product), MmaSchedule(product));
  EXPECT_EQ(CompareLowered(scheduled), absl::OkStatus());
  const auto lowered = LoweredTo(scheduled, "lower_warp_memory");
  ASSERT_TRUE(lowered.ok()) << lowered.status();
  EXPECT_THAT(Print(*lowered), HasSubstr(absl::StrCat("mma_m16n8k", product.row->k)));
}
INSTANTIATE_TEST_SUITE_P(Types, Mma,
                         ::testing::Values(Case{"f16f16f32", false, false}, Case{"f16f16f32", false, true},
                                           Case{"f16f16f16", false, false}, Case{"f16f16f32", true, false},
                                           Case{"f16f16f16", true, true, "shared.dyn"}, Case{"s8s8s32", false, true},
                                           Case{"s8s8s32", false, false, "shared.dyn"},
                                           Case{"bf16bf16f32", false, false}, Case{"e4m3e4m3f32", false, true},
                                           Case{"e4m3e4m3f32", false, false}, Case{"e5m2e5m2f32", false, true},
                                           Case{"e5m2e5m2f32", false, false}));

TEST(M16n8k8, ComputesTheProduct) {
  for (const char* types : {"f16f16f32", "f16f16f16", "bf16bf16f32"}) {
    const TensorCoreProduct product = ProductOf({types, false, false, "shared.dyn"}, "k8");
    const Function scheduled = Scheduled(ProgramOf(product), M16n8k8Schedule(product));
    EXPECT_EQ(CompareLowered(scheduled), absl::OkStatus()) << types;
    EXPECT_THAT(Print(*LoweredTo(scheduled, "lower_warp_memory")), HasSubstr("mma_m16n8k8_")) << types;
  }
}

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
