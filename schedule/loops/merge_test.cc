#include "schedule/loops/merge.h"

#include <gtest/gtest.h>

#include <string>
#include <string_view>

#include "ir/script/parse_or_die.h"
#include "schedule/program/loop_tree.h"
#include "schedule/testing/equivalence.h"
#include "schedule/testing/expect.h"
#include "schedule/testing/programs.h"

namespace tilewright {
namespace {

using testing::ExpectContains;
using testing::ExpectEquivalent;
using testing::LoopsOf;
using testing::ReasonOf;

TEST(Merge, MergesTheLoopsAndThoseAroundThem) {
  const Function f = testing::ElementwiseChain(6, 4);
  Outcome<MergeResult> result = Merge(f, {LoopsOf(f, "B")[1], LoopsOf(f, "C")[1]});
  ASSERT_TRUE(result.ok()) << ReasonOf(result, f);
  ExpectContains(result->function, R"(
      for i_m, j_m in T.grid(6, 4):
          with T.block("B"):
              vi, vj = T.axis.remap("SS", [i_m, j_m])
              T.reads(A[vi, vj])
              T.writes(B[vi, vj])
              B[vi, vj] = A[vi, vj] * T.float32(2)
          with T.block("C"):
              vi, vj = T.axis.remap("SS", [i_m, j_m])
              T.reads(B[vi, vj])
              T.writes(C[vi, vj])
              C[vi, vj] = B[vi, vj] + T.float32(1))");
  EXPECT_EQ(LoopsOf(result->function, "C")[1], result->loop);
  ExpectEquivalent(f, result->function);
  // Only the outer ones.
  result = Merge(f, {LoopsOf(f, "B")[0], LoopsOf(f, "C")[0]});
  ASSERT_TRUE(result.ok());
  EXPECT_EQ(testing::LoopNamesOf(result->function, "C"), (std::vector<std::string>{"i_m", "j"}));
  ExpectEquivalent(f, result->function);
}

TEST(Merge, LoopsOfOneThreadStayBound) {
  const auto nests = [](const char* first, const char* second) {
    std::string text = R"(
      @T.prim_func
      def main(A: T.Buffer((64, 32), "float32"), B: T.Buffer((64, 32), "float32"), C: T.Buffer((64, 32), "float32")):
          for i in T.thread_binding(64, "blockIdx.x"):
              for j in FIRST:
                  with T.block("B"):
                      vi, vj = T.axis.remap("SS", [i, j])
                      B[vi, vj] = A[vi, vj] * T.float32(2)
          for i in T.thread_binding(64, "blockIdx.x"):
              for j in SECOND:
                  with T.block("C"):
                      vi, vj = T.axis.remap("SS", [i, j])
                      C[vi, vj] = A[vi, vj] + T.float32(1))";
    text.replace(text.find("FIRST"), 5, first);
    text.replace(text.find("SECOND"), 6, second);
    return ParseFunctionOrDie(text);
  };
  const char* const thread = "T.thread_binding(32, \"threadIdx.x\")";
  const Function f = nests(thread, thread);
  const Outcome<MergeResult> whole = Merge(f, {LoopsOf(f, "B")[1], LoopsOf(f, "C")[1]});
  ASSERT_TRUE(whole.ok()) << ReasonOf(whole, f);
  const ForNode& merged = *FindLoop(whole->function, whole->loop);
  EXPECT_EQ(merged.kind, ForKind::kThreadBound);
  EXPECT_EQ(merged.thread_tag, "threadIdx.x");
  ExpectEquivalent(f, whole->function);
  const Outcome<MergeResult> blocks = Merge(f, {LoopsOf(f, "B")[0], LoopsOf(f, "C")[0]});
  ASSERT_TRUE(blocks.ok()) << ReasonOf(blocks, f);
  EXPECT_EQ(FindLoop(blocks->function, blocks->loop)->thread_tag, "blockIdx.x");
  ExpectEquivalent(f, blocks->function);
  const Function mixed = nests(thread, "range(32)"), other = nests(thread, "T.thread_binding(32, \"threadIdx.y\")");
  for (const Function& g : {mixed, other}) {
    EXPECT_EQ(ReasonOf(Merge(g, {LoopsOf(g, "B")[1], LoopsOf(g, "C")[1]}), g), "j is bound to threadIdx.x, j is not");
  }
}

TEST(Merge, MakesSerialLoops) {
  const Function f = ParseFunctionOrDie(R"(
      @T.prim_func
      def main(A: T.Buffer((8,), "float32"), B: T.Buffer((8,), "float32"), C: T.Buffer((8,), "float32")):
          for i in T.vectorized(8):
              with T.block("B"):
                  vi = T.axis.spatial(8, i)
                  B[vi] = A[vi]
          for i in range(8):
              with T.block("C"):
                  vi = T.axis.spatial(8, i)
                  C[vi] = B[vi])");
  Outcome<MergeResult> result = Merge(f, {LoopsOf(f, "B")[0], LoopsOf(f, "C")[0]});
  ASSERT_TRUE(result.ok()) << ReasonOf(result, f);
  EXPECT_EQ(FindLoop(result->function, result->loop)->kind, ForKind::kSerial);
  ExpectEquivalent(f, result->function);
}

constexpr char kTwoNests[] = R"(
@T.prim_func
def main(A: T.Buffer((8, 4), "float32"), D: T.Buffer((8, 4), "float32"), X: T.Buffer((8,), "float32")):
    B = T.alloc_buffer((8, 4))
    for o in range(1):
        for i, j in T.grid(8, 4):
            with T.block("B"):
                vi, vj = T.axis.remap("SS", [i, j])
                B[vi, vj] = A[vi, vj] + T.float32(1)
        for x in range(8):
            with T.block("X"):
                vx = T.axis.spatial(8, x)
                X[vx] = BETWEEN
        for i2 in range(EXTENT):
            for j2 in KIND:
                with T.block("D"):
                    vi, vj = T.axis.remap("SS", [i2, j2])
                    D[vi, vj] = READ * T.float32(2)
)";
Function TwoNests(std::string_view read, std::string_view between = "T.float32(1)", std::string_view extent = "8",
                  std::string_view kind = "range(4)") {
  std::string text = kTwoNests;
  for (auto [place, value] : {std::pair("READ", read), {"BETWEEN", between}, {"EXTENT", extent}, {"KIND", kind}}) {
    text.replace(text.find(place), std::string_view(place).size(), value);
  }
  return ParseFunctionOrDie(text);
}

// Tiles of T overlap between iterations, each of which fills what it uses.
constexpr char kOverlappingTiles[] = R"(
@T.prim_func
def main(A: T.Buffer((10,), "float32"), D: T.Buffer((4,), "float32")):
    T_1 = T.alloc_buffer((10,))
    B = T.alloc_buffer((4,))
    for i in range(4):
        for x in range(4):
            with T.block("T"):
                vx = T.axis.spatial(10, i * 2 + x)
                T_1[vx] = A[vx] * T.float32(2)
        with T.block("B"):
            vi = T.axis.spatial(4, i)
            T.reads(T_1[vi * 2:vi * 2 + 4])
            B[vi] = T_1[vi * 2] + T_1[vi * 2 + 3]
    for i in range(4):
        with T.block("D"):
            vi = T.axis.spatial(4, i)
            D[vi] = B[vi] + T.float32(1))";

TEST(Merge, TakesPrivateTilesThatOverlap) {
  const Function f = ParseFunctionOrDie(kOverlappingTiles);
  const Outcome<MergeResult> result = Merge(f, {LoopsOf(f, "B")[0], LoopsOf(f, "D")[0]});
  ASSERT_TRUE(result.ok()) << ReasonOf(result, f);
  ExpectEquivalent(f, result->function);
}

TEST(Merge, RefusesTilesThatOverlapAndAreUsedElsewhere) {
  const Function f = ParseFunctionOrDie(std::string(kOverlappingTiles) + R"(
    for i in range(4):
        with T.block("E"):
            vi = T.axis.spatial(4, i)
            D[vi] = D[vi] + T_1[vi])");
  const Outcome<MergeResult> result = Merge(f, {LoopsOf(f, "B")[0], LoopsOf(f, "D")[0]});
  ASSERT_FALSE(result.ok());
  EXPECT_EQ(ReasonOf(result, f), "the bindings of T are not affine");
}

TEST(Merge, MovesUpOverWhatIsIndependent) {
  const Function f = TwoNests("B[vi, vj]");
  Outcome<MergeResult> result = Merge(f, {LoopsOf(f, "B")[1], LoopsOf(f, "D")[1]});
  ASSERT_TRUE(result.ok()) << ReasonOf(result, f);
  EXPECT_EQ(testing::LoopNamesOf(result->function, "D"), (std::vector<std::string>{"o", "i_m", "j2"}));
  ExpectEquivalent(f, result->function);
}

// D cannot move up over Y, which it reads, so B moves down.
TEST(Merge, StandsWhereAllCanMove) {
  const std::string text = R"(
@T.prim_func
def main(A: T.Buffer((8,), "float32"), X: T.Buffer((8,), "float32"), D: T.Buffer((8,), "float32")):
    B = T.alloc_buffer((8,))
    Y = T.alloc_buffer((8,))
    for i in range(8):
        with T.block("B"):
            vi = T.axis.spatial(8, i)
            B[vi] = A[vi] * T.float32(2)
    for i in range(8):
        with T.block("Y"):
            vi = T.axis.spatial(8, i)
            Y[vi] = A[7 - vi]
    for i in range(8):
        with T.block("D"):
            vi = T.axis.spatial(8, i)
            D[vi] = B[vi] + Y[7 - vi]
    for i in range(8):
        with T.block("X"):
            vi = T.axis.spatial(8, i)
            X[vi] = D[vi] + B[7 - vi])";
  const Function f = ParseFunctionOrDie(text);
  const Outcome<MergeResult> down = Merge(f, {LoopsOf(f, "B")[0], LoopsOf(f, "D")[0]});
  ASSERT_TRUE(down.ok()) << ReasonOf(down, f);
  ExpectEquivalent(f, down->function);
  std::vector<std::string> order;
  for (const BlockRealizeNode* realize : BlocksBelow(cast<BlockRealizeNode>(down->function->body)->block->body)) {
    order.push_back(realize->block->name);
  }
  EXPECT_EQ(order, (std::vector<std::string>{"Y", "B", "D", "X"}));
  // Neither can pass what computes Y from B.
  std::string both = text;
  both.replace(both.find("Y[vi] = A[7 - vi]"), 17, "Y[vi] = B[7 - vi]");
  const Function g = ParseFunctionOrDie(both);
  const Outcome<MergeResult> stuck = Merge(g, {LoopsOf(g, "B")[0], LoopsOf(g, "D")[0]});
  ASSERT_FALSE(stuck.ok());
  EXPECT_EQ(ReasonOf(stuck, g), "Y, between the loops, and D touch the same buffer");
}

// Init and write-back of two sums: the later init comes before both, the earlier write-back behind them, with what
// reads it.
TEST(Merge, WhatStandsBetweenGoesToBothSides) {
  const Function f = ParseFunctionOrDie(R"(
      @T.prim_func
      def main(A: T.Buffer((8, 4), "float32"), X: T.Buffer((4,), "float32"), Y: T.Buffer((4,), "float32"),
               Z: T.Buffer((4,), "float32")):
          S = T.alloc_buffer((4,))
          Q = T.alloc_buffer((4,))
          C = T.alloc_buffer((4,))
          for j in range(4):
              with T.block("S_init"):
                  vj = T.axis.spatial(4, j)
                  S[vj] = T.float32(0)
          for k in range(8):
              for j in range(4):
                  with T.block("S"):
                      vj, vk = T.axis.remap("SR", [j, k])
                      S[vj] = S[vj] + A[vk, vj]
          for j in range(4):
              with T.block("X"):
                  vj = T.axis.spatial(4, j)
                  X[vj] = S[vj]
          for j in range(4):
              with T.block("Z"):
                  vj = T.axis.spatial(4, j)
                  Z[vj] = X[3 - vj]
          for j in range(4):
              with T.block("C"):
                  vj = T.axis.spatial(4, j)
                  C[vj] = A[0, vj]
          for j in range(4):
              with T.block("Q_init"):
                  vj = T.axis.spatial(4, j)
                  Q[vj] = C[3 - vj]
          for k in range(8):
              for j in range(4):
                  with T.block("Q"):
                      vj, vk = T.axis.remap("SR", [j, k])
                      Q[vj] = Q[vj] + A[vk, vj] * A[vk, vj]
          for j in range(4):
              with T.block("Y"):
                  vj = T.axis.spatial(4, j)
                  Y[vj] = Q[vj])");
  const Outcome<MergeResult> result = Merge(f, {LoopsOf(f, "S")[0], LoopsOf(f, "Q")[0]});
  ASSERT_TRUE(result.ok()) << ReasonOf(result, f);
  ExpectEquivalent(f, result->function);
  std::vector<std::string> order;
  for (const BlockRealizeNode* realize : BlocksBelow(cast<BlockRealizeNode>(result->function->body)->block->body)) {
    order.push_back(realize->block->name);
  }
  EXPECT_EQ(order, (std::vector<std::string>{"S_init", "C", "Q_init", "S", "Q", "X", "Z", "Y"}));
}

TEST(Merge, Refuses) {
  const auto reason = [](const Function& f, size_t b = 1, size_t d = 1) {
    return ReasonOf(Merge(f, {LoopsOf(f, "B")[b], LoopsOf(f, "D")[d]}), f);
  };
  EXPECT_EQ(reason(TwoNests("B[7 - vi, vj]")), "D may use elements of B that B writes in another iteration of i");
  EXPECT_EQ(reason(TwoNests("B[vi, 3 - vj]")), "accepted");
  EXPECT_EQ(reason(TwoNests("B[vi, 3 - vj]"), 2, 2), "D may use elements of B that B writes in another iteration of i");
  EXPECT_EQ(reason(TwoNests("X[vi]", "B[vx, 0]")), "X, between the loops, and D touch the same buffer");
  EXPECT_EQ(reason(TwoNests("A[vi, vj]", "T.float32(1)", "7")), "the extents of i and i2 are 8 and 7");
  EXPECT_EQ(reason(TwoNests("A[vi, vj]", "T.float32(1)", "8", "T.vectorized(4)"), 2, 2), "accepted");
  EXPECT_EQ(reason(TwoNests("A[vi, vj]", "T.float32(1)", "8", "T.thread_binding(4, thread=\"threadIdx.x\")"), 2, 2),
            "j2 is bound to threadIdx.x");
  const Function f = TwoNests("A[vi, vj]");
  EXPECT_EQ(reason(f, 2, 1), "j is 2 loops below what holds both, i2 1");
  EXPECT_EQ(ReasonOf(Merge(f, {LoopsOf(f, "B")[1]}), f), "there are fewer than two loops");
  EXPECT_EQ(ReasonOf(Merge(f, {LoopsOf(f, "D")[1], LoopsOf(f, "B")[1]}), f), "i comes before i2 in the program");
  EXPECT_EQ(ReasonOf(Merge(f, {LoopsOf(f, "B")[1], LoopsOf(f, "B")[2]}), f), "i holds the others, or is given twice");
  EXPECT_EQ(ReasonOf(Merge(f, {LoopsOf(f, "B")[1], LoopsOf(f, "B")[1]}), f), "i holds the others, or is given twice");
  const Function nested = ParseFunctionOrDie(R"(
      @T.prim_func
      def main(A: T.Buffer((8,), "float32"), B: T.Buffer((8,), "float32")):
          for i in range(8):
              with T.block("A"):
                  vi = T.axis.spatial(8, i)
                  A[vi] = T.float32(1)
          with T.block("outer"):
              for j in range(8):
                  with T.block("B"):
                      vj = T.axis.spatial(8, j)
                      B[vj] = T.float32(1))");
  EXPECT_EQ(ReasonOf(Merge(nested, {LoopsOf(nested, "A")[0], LoopsOf(nested, "B")[0]}), nested),
            "i and j are not in the same scope");
}

TEST(Merge, RefusesTheLoopOfAReductionWithWhatUsesItsResult) {
  const Function f = ParseFunctionOrDie(R"(
      @T.prim_func
      def main(A: T.Buffer((4, 8), "float32"), B: T.Buffer((4, 8), "float32")):
          S = T.alloc_buffer((4,))
          for i, k in T.grid(4, 8):
              with T.block("S"):
                  vi, vk = T.axis.remap("SR", [i, k])
                  with T.init():
                      S[vi] = T.float32(0)
                  S[vi] = S[vi] + A[vi, vk]
          for i, j in T.grid(4, 8):
              with T.block("B"):
                  vi, vj = T.axis.remap("SS", [i, j])
                  B[vi, vj] = A[vi, vj] * S[vi])");
  EXPECT_EQ(ReasonOf(Merge(f, {LoopsOf(f, "S")[1], LoopsOf(f, "B")[1]}), f),
            "k carries the reduction of S, whose result B uses");
  EXPECT_EQ(ReasonOf(Merge(f, {LoopsOf(f, "S")[0], LoopsOf(f, "B")[0]}), f), "accepted");
}

TEST(Merge, RefusesWhatRunsAgainBetweenItsUses) {
  const Function f = ParseFunctionOrDie(R"(
      @T.prim_func
      def main(A: T.Buffer((4, 6), "float32"), B: T.Buffer((4,), "float32")):
          for f in range(24):
              with T.block("init"):
                  vi = T.axis.spatial(4, f // 6)
                  B[vi] = T.float32(0)
          for g in range(24):
              with T.block("update"):
                  vi = T.axis.spatial(4, g // 6)
                  vk = T.axis.reduce(6, g % 6)
                  B[vi] = B[vi] + A[vi, vk])");
  EXPECT_EQ(ReasonOf(Merge(f, {LoopsOf(f, "init")[0], LoopsOf(f, "update")[0]}), f),
            "f repeats instances of init, which would fall between those of update");
  // The same with extents that are not known.
  const Function g = ParseFunctionOrDie(R"(
      @T.prim_func
      def main(a: T.handle, B: T.Buffer((4,), "float32"), n: T.int32):
          A = T.match_buffer(a, (4, n), "float32")
          for f in range(4 * n):
              with T.block("init"):
                  vi = T.axis.spatial(4, f // n)
                  B[vi] = T.float32(0)
          for g in range(4 * n):
              with T.block("update"):
                  vi = T.axis.spatial(4, g // n)
                  vk = T.axis.reduce(n, g % n)
                  B[vi] = B[vi] + A[vi, vk])");
  EXPECT_EQ(ReasonOf(Merge(g, {LoopsOf(g, "init")[0], LoopsOf(g, "update")[0]}), g),
            "f repeats instances of init, which would fall between those of update");
}

}  // namespace
}  // namespace tilewright
