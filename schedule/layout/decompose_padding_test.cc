#include "schedule/layout/decompose_padding.h"

#include <gtest/gtest.h>

#include <string>
#include <string_view>

#include "ir/script/parse_or_die.h"
#include "schedule/loops/fuse.h"
#include "schedule/loops/split.h"
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

Function Pad(std::string_view value) {
  std::string text = R"(
@T.prim_func
def main(X: T.Buffer((16, 10), "float32"), Y: T.Buffer((20, 12), "float32")):
    for i, j in T.grid(20, 12):
        with T.block("Y"):
            vi, vj = T.axis.remap("SS", [i, j])
            Y[vi, vj] = VALUE
)";
  text.replace(text.find("VALUE"), 5, value);
  return ParseFunctionOrDie(text);
}
constexpr char kPlain[] =
    "T.if_then_else(vi >= 3 and vi < 19 and 1 <= vj and 11 > vj, X[vi - 3, vj - 1], T.float32(0))";

Function Decomposed(const Function& f, size_t loop) {
  Outcome<DecomposePaddingResult> result = DecomposePadding(f, BlockNamed(f, "Y"), LoopsOf(f, "Y")[loop]);
  EXPECT_TRUE(result.ok()) << ReasonOf(result, f);
  if (!result.ok()) return f;
  EXPECT_EQ(BlockNamed(result->function, "Y_pad_const"), result->block);
  EXPECT_EQ(BlockNamed(result->function, "Y"), BlockNamed(f, "Y"));
  return result->function;
}

// Iterators of loops outside that run once are bound to 0.
TEST(DecomposePadding, SimplifiesBindingsOverTheLoopsOutside) {
  const Function f = ParseFunctionOrDie(R"(
      @T.prim_func
      def main(X: T.Buffer((1, 16), "float32"), Y: T.Buffer((1, 20), "float32")):
          for n, i in T.grid(1, 20):
              with T.block("Y"):
                  vn, vi = T.axis.remap("SS", [n, i])
                  Y[vn, vi] = T.if_then_else(vi < 16, X[vn, vi], T.float32(0)))");
  const Function g = Decomposed(f, 1);
  ExpectContains(g, R"(
              with T.block("Y_pad_const"):
                  vn = T.axis.spatial(1, 0))");
  ExpectEquivalent(f, g);
}

TEST(DecomposePadding, FillsThenCopiesWithoutConditions) {
  const Function f = Pad(kPlain);
  const Function g = Decomposed(f, 0);
  testing::ExpectProgram(g, R"(
      @T.prim_func
      def main(X: T.Buffer((16, 10), "float32"), Y: T.Buffer((20, 12), "float32")):
          for i, j in T.grid(20, 12):
              with T.block("Y_pad_const"):
                  vi, vj = T.axis.remap("SS", [i, j])
                  T.reads()
                  T.writes(Y[vi, vj])
                  Y[vi, vj] = T.float32(0)
          for i, j in T.grid(16, 10):
              with T.block("Y"):
                  vi, vj = T.axis.remap("SS", [i, j])
                  T.reads(X[vi, vj])
                  T.writes(Y[vi + 3, vj + 1])
                  Y[vi + 3, vj + 1] = X[vi, vj])");
  ExpectEquivalent(f, g);
}

TEST(DecomposePadding, FillsInParallelLikeTheBlockWithoutItsAnnotations) {
  const Function f = ParseFunctionOrDie(R"(
      @T.prim_func
      def main(X: T.Buffer((8, 4), "float32"), P: T.Buffer((9, 4), "float32")):
          for i in T.parallel(9, annotations={"k": 1}):
              for c in T.unroll(4):
                  with T.block("P"):
                      vi, vc = T.axis.remap("SS", [i, c])
                      T.block_attr({"buffer_dim_align": [[0, 0, 8, 4]]})
                      P[vi, vc] = T.if_then_else(1 <= vi, X[vi - 1, vc], T.float32(0)))");
  const Outcome<DecomposePaddingResult> result =
      DecomposePadding(f, testing::BlockNamed(f, "P"), testing::LoopsOf(f, "P")[0]);
  ASSERT_TRUE(result.ok()) << testing::ReasonOf(result, f);
  testing::ExpectContains(result->function, R"(
      for i in T.parallel(9):
          for c in range(4):
              with T.block("P_pad_const"):
                  vi, vc = T.axis.remap("SS", [i, c])
                  T.reads()
                  T.writes(P[vi, vc])
                  P[vi, vc] = T.float32(0)
      for i in T.parallel(8, annotations={"k": 1}):
          for c in T.unroll(4):)");
  ExpectEquivalent(f, result->function);
}

TEST(DecomposePadding, KeepsConditionsOfLoopsOutside) {
  const Function f = Pad(kPlain);
  const Function g = Decomposed(f, 1);
  ExpectContains(g, R"(
      for i in range(20):
          for j in range(12):
              with T.block("Y_pad_const"):
                  vi, vj = T.axis.remap("SS", [i, j])
                  T.reads()
                  T.writes(Y[vi, vj])
                  Y[vi, vj] = T.float32(0)
          for j in range(10):
              with T.block("Y"):
                  vi = T.axis.spatial(16, i - 3)
                  vj = T.axis.spatial(10, j)
                  T.where(3 <= i and i < 19)
                  T.reads(X[vi, vj])
                  T.writes(Y[vi + 3, vj + 1])
                  Y[vi + 3, vj + 1] = X[vi, vj])");
  ExpectEquivalent(f, g);
}

TEST(DecomposePadding, WorksBelowSplitAndFusedLoops) {
  const Function f = Pad(kPlain);
  const Function split = Split(f, LoopsOf(f, "Y")[0], {Expr(), 8})->function;
  for (size_t loop : {0, 1, 2}) ExpectEquivalent(f, Decomposed(split, loop));
  const Function fused = Fuse(f, LoopsOf(f, "Y"))->function;
  ExpectEquivalent(f, Decomposed(fused, 0));
}

TEST(DecomposePadding, SolvesOtherConditions) {
  const Function f = Pad("T.if_then_else(vi * 2 < 33 and vj + 1 > 4, X[T.min(vi, 15), vj - 3], T.float32(7))");
  const Function g = Decomposed(f, 0);
  ExpectContains(g, "for i, j in T.grid(17, 8):");
  ExpectEquivalent(f, g);
}

TEST(DecomposePadding, Refuses) {
  const auto reason = [](const Function& f, size_t loop = 0) {
    return ReasonOf(DecomposePadding(f, BlockNamed(f, "Y"), LoopsOf(f, "Y")[loop]), f);
  };
  EXPECT_EQ(reason(Pad("X[0, 0]")), "Y does not store one value that is constant unless a condition holds");
  EXPECT_EQ(reason(Pad("T.if_then_else(vi < 3, T.float32(0), X[0, 0])")),
            "Y does not store one value that is constant unless a condition holds");
  EXPECT_EQ(reason(Pad("T.if_then_else(vi + vj < 3, X[0, 0], T.float32(0))")),
            "the condition vi + vj < 3 of Y bounds no single iterator");
  EXPECT_EQ(reason(Pad("T.if_then_else(vi % 2 == 0, X[0, 0], T.float32(0))")),
            "the condition vi % 2 == 0 of Y bounds no single iterator");
  EXPECT_EQ(reason(Pad("T.if_then_else(vi < 3 and vi > 5, X[0, 0], T.float32(0))")),
            "the condition vi < 3 and vi > 5 of Y may never hold");
  const Function f = Pad(kPlain);
  EXPECT_EQ(ReasonOf(DecomposePadding(f, 1, LoopsOf(f, "Y")[0]), f), "root is the root block");
  const Function reads = ParseFunctionOrDie(R"(
      @T.prim_func
      def main(X: T.Buffer((4,), "float32"), Y: T.Buffer((6,), "float32"), Z: T.Buffer((6,), "float32")):
          for i in range(6):
              for u in range(1):
                  with T.block("Y"):
                      vi = T.axis.spatial(6, i)
                      Y[vi] = T.if_then_else(vi < 4, X[vi], T.float32(0))
              with T.block("Z"):
                  vi = T.axis.spatial(6, i)
                  Z[vi] = Y[5 - vi]
          for u in range(1):
              with T.block("W"):
                  T.evaluate(0))");
  EXPECT_EQ(reason(reads, 0), "Z is also below i and uses Y");
  EXPECT_EQ(reason(reads, 1), "accepted");
  const Function used_at_once = ParseFunctionOrDie(R"(
      @T.prim_func
      def main(X: T.Buffer((4,), "float32"), Y: T.Buffer((6,), "float32"), Z: T.Buffer((6,), "float32")):
          for i in range(6):
              with T.block("Y"):
                  vi = T.axis.spatial(6, i)
                  Y[vi] = T.if_then_else(vi < 4, X[vi], T.float32(0))
              with T.block("Z"):
                  vi = T.axis.spatial(6, i)
                  Z[vi] = Y[vi])");
  ExpectEquivalent(used_at_once, Decomposed(used_at_once, 0));
  EXPECT_EQ(ReasonOf(DecomposePadding(reads, BlockNamed(reads, "Y"), LoopsOf(reads, "W")[0]), reads),
            "u is not above Y");
  const Function reduces = testing::Matmul(2, 2, 2);
  EXPECT_EQ(ReasonOf(DecomposePadding(reduces, BlockNamed(reduces, "C"), LoopsOf(reduces, "C")[0]), reduces),
            "C is not a complete block: its iterator vk is reduce, not spatial");
}

}  // namespace
}  // namespace tilewright
