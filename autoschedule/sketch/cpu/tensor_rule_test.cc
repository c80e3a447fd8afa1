#include "autoschedule/sketch/cpu/tensor_rule.h"

#include <gtest/gtest.h>

#include "absl/strings/substitute.h"
#include "intrin/registry.h"
#include "ir/ops/conv.h"
#include "ir/ops/matmul.h"
#include "ir/script/printer.h"
#include "schedule/testing/equivalence.h"
#include "verify/verify.h"

namespace tilewright {
namespace {

// An accelerator that multiplies M x N x K tiles in memories of its own, or in plain memory without `scopes`.
std::string Accelerator(int m, int n, int k, bool scopes) {
  static constexpr absl::string_view kText = R"(
@T.prim_func
def tile_desc(a: T.handle, b: T.handle, c: T.handle):
    A = T.match_buffer(a, ($0, $2), "float32", offset_factor=1$3)
    B = T.match_buffer(b, ($1, $2), "float32", offset_factor=1$4)
    C = T.match_buffer(c, ($0, $1), "float32", offset_factor=1$5)
    with T.block("root"):
        T.reads(C[0:$0, 0:$1], A[0:$0, 0:$2], B[0:$1, 0:$2])
        T.writes(C[0:$0, 0:$1])
        for i, j, k in T.grid($0, $1, $2):
            with T.block("tile"):
                vi, vj, vk = T.axis.remap("SSR", [i, j, k])
                C[vi, vj] = C[vi, vj] + A[vi, vk] * B[vj, vk]

@T.prim_func
def tile_impl(a: T.handle, b: T.handle, c: T.handle):
    sa = T.int32()
    sb = T.int32()
    sc = T.int32()
    A = T.match_buffer(a, ($0, $2), "float32", offset_factor=1, strides=[sa, 1]$3)
    B = T.match_buffer(b, ($1, $2), "float32", offset_factor=1, strides=[sb, 1]$4)
    C = T.match_buffer(c, ($0, $1), "float32", offset_factor=1, strides=[sc, 1]$5)
    with T.block("root"):
        T.reads(C[0:$0, 0:$1], A[0:$0, 0:$2], B[0:$1, 0:$2])
        T.writes(C[0:$0, 0:$1])
        for k in range($2):
            for i, j in T.grid($0, $1):
                C[i, j] = C[i, j] + A[i, k] * B[j, k]
)";
  return absl::Substitute(kText, m, n, k, scopes ? R"(, scope="global.A_reg")" : "",
                          scopes ? R"(, scope="global.B_reg")" : "", scopes ? R"(, scope="global.accumulator")" : "");
}

// Schedules the block of that name in every way that some seeds draw; all results must be those of the program.
void ExpectRight(const Function& op, const std::string& block_name, const std::string& accelerator, int seeds) {
  IntrinRegistry intrins;
  ASSERT_TRUE(intrins.LoadScript(accelerator, "accelerator.py").ok());
  const Target target = *NamedTarget("x86-znver4");
  for (int seed = 0; seed < seeds; ++seed) {
    Schedule sch(Module(op), {.intrins = &intrins});
    const BlockRv block = *sch.GetBlock(block_name);
    const BlockNode& node = *FindBlock(op, sch.Get(block).As<BlockRef>()->id)->block;
    const TensorMappings mappings = FindTensorMappings(node, *intrins.Find("tile"));
    ASSERT_FALSE(mappings.found.empty()) << mappings.refusal;
    Choices choices = seed == 0 ? Choices::Preferred() : Choices::Drawn(static_cast<uint64_t>(seed));
    const Outcome<std::monostate> done = ScheduleTensorized(sch, block, mappings.found, target, choices);
    ASSERT_TRUE(done.ok()) << Render(done.refusal(), sch.refused_function());
    const Function result = sch.module().Main();
    const VerifyResult verified = VerifyProgram(result);
    EXPECT_NE(verified.verdict(), Verdict::kRefuted) << Render(verified, result);
    EXPECT_TRUE(testing::SameResults(op, result)) << Print(result);
  }
}

TEST(TensorRule, Matmul) {
  ExpectRight(ops::Matmul(16, 24, 8), "C", Accelerator(4, 8, 4, true), 6);
  ExpectRight(ops::Matmul(16, 24, 8), "C", Accelerator(4, 8, 4, false), 6);
}

TEST(TensorRule, PadsWhatDoesNotDivide) {
  ExpectRight(ops::Matmul(13, 9, 7), "C", Accelerator(4, 8, 4, true), 6);
  ExpectRight(ops::BatchMatmul(2, 5, 9, 7), "C", Accelerator(4, 8, 4, false), 6);
}

TEST(TensorRule, ConvolutionAsMatmul) {
  const Function conv =
      ops::Conv({.spatial = {5, 6}, .in_channels = 4, .out_channels = 8, .windows = ops::Same({3, 1, 1}, 2)});
  ExpectRight(conv, "conv2d_nhwc", Accelerator(6, 8, 4, true), 12);
}

}  // namespace
}  // namespace tilewright
