#include "schedule/reduction/compose_reduction.h"

#include <gtest/gtest.h>

#include <string>
#include <string_view>

#include "ir/script/parse_or_die.h"
#include "ir/structural.h"
#include "schedule/loops/split.h"
#include "schedule/reduction/decompose_reduction.h"
#include "schedule/testing/equivalence.h"
#include "schedule/testing/expect.h"
#include "schedule/testing/programs.h"

namespace tilewright {
namespace {

using testing::BlockNamed;
using testing::ExpectContains;
using testing::ExpectEquivalent;
using testing::LoopsOf;
using testing::ReasonOf;

Function Composed(const Function& f, std::string_view init, std::string_view update) {
  Outcome<Function> result = ComposeReduction(f, BlockNamed(f, init), BlockNamed(f, update));
  EXPECT_TRUE(result.ok()) << ReasonOf(result, f);
  return result.ok() ? *result : f;
}

TEST(ComposeReduction, UndoesDecomposeReduction) {
  const Function f = testing::Matmul(4, 6, 8);
  for (size_t loop : {0, 1, 2}) {
    const Function apart = DecomposeReduction(f, BlockNamed(f, "C"), LoopsOf(f, "C")[loop])->function;
    const Function g = Composed(apart, "C_init", "C_update");
    EXPECT_TRUE(StructuralEqual(f, g)) << loop;
    EXPECT_EQ(BlockNamed(g, "C"), BlockNamed(f, "C"));
  }
  const Function tiled = Split(f, LoopsOf(f, "C")[1], {Expr(), 4})->function;
  const Function apart = DecomposeReduction(tiled, BlockNamed(f, "C"), LoopsOf(tiled, "C")[1])->function;
  EXPECT_TRUE(StructuralEqual(tiled, Composed(apart, "C_init", "C_update")));
}

// A row sum with what is between the two blocks, and what the update is.
Function RowSum(std::string_view between, std::string_view k = "k", std::string_view start = "T.float32(0)") {
  std::string text = R"(
@T.prim_func
def main(A: T.Buffer((4, 8), "float32"), C: T.Buffer((4,), "float32"), X: T.Buffer((4,), "float32")):
    for i in range(4):
        with T.block("start"):
            v = T.axis.spatial(4, i)
            C[v] = START
    BETWEEN
    for i, k in T.grid(4, 8):
        with T.block("sum"):
            vi = T.axis.spatial(4, i)
            vk = T.axis.reduce(8, K)
            C[vi] = C[vi] + A[vi, vk]
)";
  for (auto [place, value] : {std::pair("START", start), {"BETWEEN", between}, {"K\n", k}}) {
    const bool line = std::string_view(place) == "K\n";
    text.replace(line ? text.find("K)") : text.find(place), line ? 1 : std::string_view(place).size(), value);
  }
  return ParseFunctionOrDie(text);
}

TEST(ComposeReduction, JoinsBlocksWithOtherNamesAndStarts) {
  const Function f = RowSum("T.evaluate(0)", "k", "X[v] * T.float32(2)");
  const Function g = Composed(f, "start", "sum");
  ExpectContains(g, R"(
      with T.block("sum"):
          vi, vk = T.axis.remap("SR", [i, k])
          T.reads(X[vi], A[vi, vk])
          T.writes(C[vi])
          with T.init():
              C[vi] = X[vi] * T.float32(2)
          C[vi] = C[vi] + A[vi, vk])");
  ExpectEquivalent(f, g);
}

TEST(ComposeReduction, Refuses) {
  const auto reason = [](const Function& f) {
    return ReasonOf(ComposeReduction(f, BlockNamed(f, "start"), BlockNamed(f, "sum")), f);
  };
  const auto block = [](std::string_view body) {
    return "for i in range(4):\n        with T.block(\"X\"):\n            vi = T.axis.spatial(4, i)\n            " +
           std::string(body);
  };
  EXPECT_EQ(reason(RowSum(block("X[vi] = C[vi]"))), "X, between start and sum, uses C");
  EXPECT_EQ(reason(RowSum(block("X[vi] = T.float32(1)"), "k", "X[v]")), "X writes X, which start reads");
  EXPECT_EQ(reason(RowSum(block("X[vi] = T.float32(1)"))), "accepted");
  EXPECT_NE(reason(RowSum("T.evaluate(0)", "7 - k")), "accepted");
  EXPECT_EQ(reason(RowSum("T.evaluate(0)", "k", "C[v] * T.float32(2)")), "start reads C");
  const Function f = RowSum("T.evaluate(0)");
  EXPECT_EQ(ReasonOf(ComposeReduction(f, BlockNamed(f, "sum"), BlockNamed(f, "start")), f),
            "sum does not come before start in one scope");
  EXPECT_EQ(ReasonOf(ComposeReduction(f, 1, BlockNamed(f, "sum")), f), "root is the root block");
  const Function chain = testing::ElementwiseChain(4, 6);
  EXPECT_EQ(ReasonOf(ComposeReduction(chain, BlockNamed(chain, "B"), BlockNamed(chain, "C")), chain),
            "B does not store to C");
  const Function outer = ParseFunctionOrDie(R"(
      @T.prim_func
      def main(A: T.Buffer((4, 8), "float32"), C: T.Buffer((4,), "float32")):
          for k in range(8):
              for i in range(4):
                  with T.block("start"):
                      v = T.axis.spatial(4, i)
                      C[v] = T.float32(0)
              for i in range(4):
                  with T.block("sum"):
                      vi, vk = T.axis.remap("SR", [i, k])
                      C[vi] = C[vi] + A[vi, vk])");
  EXPECT_EQ(reason(outer), "k, above both blocks, takes part in the reduction of sum");
  const Function part = ParseFunctionOrDie(R"(
      @T.prim_func
      def main(A: T.Buffer((4, 8), "float32"), C: T.Buffer((4,), "float32")):
          for i in range(4):
              with T.block("start"):
                  v = T.axis.spatial(4, i)
                  C[v] = T.float32(0)
          for i, k in T.grid(3, 8):
              with T.block("sum"):
                  vi, vk = T.axis.remap("SR", [i, k])
                  C[vi] = C[vi] + A[vi, vk])");
  EXPECT_EQ(reason(part), "start and sum may write different elements of C");
}

// An init inside of a reduction without terms would set nothing.
TEST(ComposeReduction, RefusesReductionsThatMayHaveNoTerms) {
  const Function f = ParseFunctionOrDie(R"(
@T.prim_func
def main(a: T.handle, C: T.Buffer((4,), "float32")):
    n = T.int32()
    A = T.match_buffer(a, (4, n), "float32")
    for i in range(4):
        with T.block("start"):
            v = T.axis.spatial(4, i)
            C[v] = T.float32(0)
    for i, k in T.grid(4, n):
        with T.block("sum"):
            vi, vk = T.axis.remap("SR", [i, k])
            C[vi] = C[vi] + A[vi, vk]
)");
  EXPECT_EQ(ReasonOf(ComposeReduction(f, BlockNamed(f, "start"), BlockNamed(f, "sum")), f),
            "the iterator vk of sum may have no value, and then nothing would set the outputs");
}

}  // namespace
}  // namespace tilewright
