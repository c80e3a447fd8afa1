// Which elementwise blocks are computed where they are used.
#include "autoschedule/normalize/inline_rule.h"

#include <gtest/gtest.h>

#include "absl/strings/str_replace.h"
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

// A matrix by one vector uses each element once, by several vectors again.
TEST(InlineRule, ComputesWhatAProductUsesOnceThere) {
  const auto product = [](const std::string& vectors) {
    return ParseFunctionOrDie(R"(
@T.prim_func
def main(A: T.Buffer((8, 16), "float32"), x: T.Buffer(()" +
                              vectors + R"(, 16), "float32"), y: T.Buffer(()" + vectors +
                              R"(, 8), "float32")):
    B = T.alloc_buffer((8, 16))
    for i, k in T.grid(8, 16):
        with T.block("B"):
            vi, vk = T.axis.remap("SS", [i, k])
            B[vi, vk] = A[vi, vk] * T.float32(2)
    for n, i, k in T.grid()" + vectors +
                              R"(, 8, 16):
        with T.block("y"):
            vn, vi, vk = T.axis.remap("SSR", [n, i, k])
            with T.init():
                y[vn, vi] = T.float32(0)
            y[vn, vi] = y[vn, vi] + B[vi, vk] * x[vn, vk]
)");
  };
  EXPECT_EQ(Left(product("1")), Names({"y"}));
  EXPECT_EQ(Left(product("2")), Names({"B", "y"}));
}

// Residual and norm after a product: the sum is read by the mean and by the result.
TEST(InlineRule, KeepsAnEpilogueThatSeveralBlocksRead) {
  const Names left = Left(ParseFunctionOrDie(R"(
@T.prim_func
def main(A: T.Buffer((8, 16), "float32"), B: T.Buffer((16, 32), "float32"), R: T.Buffer((8, 32), "float32"), D: T.Buffer((8, 32), "float32")):
    C = T.alloc_buffer((8, 32))
    S = T.alloc_buffer((8, 32))
    M = T.alloc_buffer((8,))
    for i, j, k in T.grid(8, 32, 16):
        with T.block("C"):
            vi, vj, vk = T.axis.remap("SSR", [i, j, k])
            with T.init():
                C[vi, vj] = T.float32(0)
            C[vi, vj] = C[vi, vj] + A[vi, vk] * B[vk, vj]
    for i, j in T.grid(8, 32):
        with T.block("S"):
            vi, vj = T.axis.remap("SS", [i, j])
            S[vi, vj] = C[vi, vj] + R[vi, vj]
    for i, j in T.grid(8, 32):
        with T.block("M"):
            vi, vj = T.axis.remap("SR", [i, j])
            with T.init():
                M[vi] = T.float32(0)
            M[vi] = M[vi] + S[vi, vj]
    for i, j in T.grid(8, 32):
        with T.block("D"):
            vi, vj = T.axis.remap("SS", [i, j])
            D[vi, vj] = S[vi, vj] - M[vi]
)"));
  EXPECT_EQ(left, Names({"C", "S", "M", "D"}));
}

// What gathers read again and again is stored once, in an order that vectors may follow.
TEST(InlineRule, KeepsWhatGathersReadAgain) {
  const auto gathered = [](const std::string& times) {
    return Left(ParseFunctionOrDie(absl::StrReplaceAll(R"(
@T.prim_func
def main(A: T.Buffer((4, 16), "float32"), P: T.Buffer(($n,), "int32"), C: T.Buffer(($n, 4), "float32")):
    B = T.alloc_buffer((16, 4))
    for i, j in T.grid(16, 4):
        with T.block("B"):
            vi, vj = T.axis.remap("SS", [i, j])
            B[vi, vj] = A[vj, vi]
    for i, j in T.grid($n, 4):
        with T.block("C"):
            vi, vj = T.axis.remap("SS", [i, j])
            C[vi, vj] = B[T.max(T.min(P[vi], 15), 0), vj]
)",
                                                       {{"$n", times}})));
  };
  EXPECT_EQ(gathered("64"), Names({"B", "C"}));
  EXPECT_EQ(gathered("8"), Names({"C"}));
}

}  // namespace
}  // namespace tilewright
