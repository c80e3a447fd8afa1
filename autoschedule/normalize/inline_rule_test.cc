// Which elementwise blocks are computed where they are used.
#include "autoschedule/normalize/inline_rule.h"

#include <gtest/gtest.h>

#include "autoschedule/program/block_loops.h"
#include "ir/ops/conv.h"
#include "ir/script/parse_or_die.h"

namespace tilewright {
namespace {

// Names of the blocks that are left.
std::vector<std::string> Left(const Function& function) {
  Schedule sch{Module(function)};
  InlineElementwise(sch, "main");
  std::vector<std::string> names;
  for (const BlockRv& block : BlocksInRoot(sch, "main")) names.push_back(RealizeOf(sch, block).block->name);
  return names;
}

// B = `value` of A, then C of `uses` of B.
Function Chain(const std::string& value, const std::string& uses) {
  return ParseFunctionOrDie(R"(
@T.prim_func
def main(A: T.Buffer((64,), "float32"), C: T.Buffer((64,), "float32")):
    B = T.alloc_buffer((64,))
    for i in range(64):
        with T.block("B"):
            vi = T.axis.spatial(64, i)
            B[vi] = )" + value +
                            R"(
    for i in range(64):
        with T.block("C"):
            vi = T.axis.spatial(64, i)
            C[vi] = )" + uses);
}

using Names = std::vector<std::string>;

TEST(InlineRule, ComputesWhatIsCheapWhereItIsUsed) {
  EXPECT_EQ(Left(Chain("A[vi] + T.float32(1)", "B[vi] * B[vi]")), Names({"C"}));
}

TEST(InlineRule, KeepsWhatIsDearAndUsedTwice) {
  EXPECT_EQ(Left(Chain("T.exp(A[vi])", "B[vi] * T.float32(2)")), Names({"C"}));
  EXPECT_EQ(Left(Chain("T.exp(A[vi])", "B[vi] + B[63 - vi]")), Names({"B", "C"}));
}

TEST(InlineRule, KeepsWhatContractionsRead) {
  const Names left =
      Left(ops::Conv({.spatial = {8, 8}, .in_channels = 4, .out_channels = 16, .windows = ops::Same({3, 1, 1}, 2)}));
  EXPECT_EQ(left, Names({"pad_temp", "conv2d_nhwc"}));
}

}  // namespace
}  // namespace tilewright
