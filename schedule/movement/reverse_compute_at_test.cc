// reverse_compute_at.
#include <gtest/gtest.h>

#include <string>

#include "ir/script/parse_or_die.h"
#include "schedule/movement/compute_at.h"
#include "schedule/movement/compute_at_testing.h"
#include "schedule/testing/equivalence.h"
#include "schedule/testing/expect.h"
#include "schedule/testing/programs.h"

namespace tilewright {
namespace {

using testing::Apply;
using testing::BlockNamed;
using testing::ExpectContains;
using testing::ExpectEquivalent;
using testing::Flat;
using testing::kMatmul;
using testing::LoopsOf;
using testing::PartialCopy;
using testing::ReasonOf;
using testing::Stencil;

TEST(ReverseComputeAt, FollowsTheProducersTile) {
  const std::string reordered = [] {
    std::string text = kMatmul;
    text.replace(text.find("i_0, j_0, k_0, i_1, j_1, k_1 in T.grid(4, 4, 3, 8, 8, 8)"), 56,
                 "i_0, j_0, i_1, j_1, k_0, k_1 in T.grid(4, 4, 8, 8, 3, 8)");
    return text;
  }();
  ExpectContains(Apply(kMatmul, "C", "C2", 1, ReverseComputeAt), R"(
for ax0, ax1 in T.grid(8, 8):
    with T.block("C"):
        vi = T.axis.spatial(30, i_0 * 8 + ax0)
        vj = T.axis.spatial(26, j_0 * 8 + ax1)
        T.where(i_0 * 8 + ax0 < 30 and j_0 * 8 + ax1 < 26)
)");
  ExpectContains(Apply(reordered, "C", "C2", 3, ReverseComputeAt), R"(
with T.block("C"):
    vi = T.axis.spatial(30, i_0 * 8 + i_1)
    vj = T.axis.spatial(26, j_0 * 8 + j_1)
    T.where(i_0 * 8 + i_1 < 30 and j_0 * 8 + j_1 < 26)
)");
  ExpectContains(Apply(Flat(16, 64), "C", "B", 0, ReverseComputeAt), R"(
for ax0 in range(64):
    with T.block("C"):
        v = T.axis.spatial(1024, i * 64 + ax0)
)");
}

TEST(ReverseComputeAt, MovesReductionsWholeOrSpread) {
  // Whole below a loop over rows of A2, spread over k below tiles of A2.
  ExpectContains(Apply(kMatmul, "C2", "A2", 0, ReverseComputeAt), R"(
for ax0, ax1 in T.grid(26, 20):
    with T.block("C2"):
        vi, vj, vk = T.axis.remap("SSR", [i, ax0, ax1])
)");
  ExpectContains(Apply(kMatmul, "C2", "A2", 1, ReverseComputeAt), R"(
for ax0 in range(26):
    with T.block("C2"):
        vi, vj, vk = T.axis.remap("SSR", [i, ax0, j])
)");
}

// Sums by lanes of rows whose length is not a multiple of the lanes.
TEST(ReverseComputeAt, KeepsAPredicateThatLeavesOutLastSteps) {
  const std::string sums = R"(
@T.prim_func
def main(A: T.Buffer((8, 13), "float32"), S: T.Buffer((8, 4), "float32")):
    E = T.alloc_buffer((8, 13))
    for i, j in T.grid(8, 13):
        with T.block("E"):
            vi, vj = T.axis.remap("SS", [i, j])
            E[vi, vj] = A[vi, vj] * T.float32(2)
    for l, i, k in T.grid(4, 8, 4):
        with T.block("S"):
            vl, vi, vk = T.axis.remap("SSR", [l, i, k])
            T.where(k * 4 + l < 13)
            with T.init():
                S[vi, vl] = T.float32(0)
            S[vi, vl] = S[vi, vl] + E[vi, vk * 4 + vl]
)";
  ExpectContains(Apply(sums, "S", "E", 0, ReverseComputeAt), R"(
for ax0, ax1 in T.grid(4, 4):
    with T.block("S"):
        vl, vi, vk = T.axis.remap("SSR", [ax0, i, ax1])
        T.where(ax1 * 4 + ax0 < 13)
)");
  // One that leaves out first steps, and one of loops that are not iterators.
  for (const char* predicate : {"3 <= k * 4 + l", "k * 4 + l < 13 and i % 2 == 0"}) {
    std::string other = sums;
    other.replace(other.find("k * 4 + l < 13"), 14, predicate);
    const Function f = ParseFunctionOrDie(other);
    EXPECT_EQ(ReasonOf(ReverseComputeAt(f, BlockNamed(f, "S"), LoopsOf(f, "E")[0]), f),
              std::string("the predicate ") + predicate +
                  " of S says more than that its iterators are inside of their domains");
  }
}

TEST(ReverseComputeAt, KeepsAPredicateOfACompleteBlock) {
  ExpectContains(Apply(R"(
@T.prim_func
def main(A: T.Buffer((26,), "float32"), Z: T.Buffer((4, 5), "float32")):
    Y = T.alloc_buffer((26,))
    for i, j in T.grid(4, 8):
        with T.block("Y"):
            vi = T.axis.spatial(26, i * 8 + j)
            T.where(i * 8 + j < 26)
            Y[vi] = A[vi] * T.float32(2)
    for i in range(26):
        with T.block("Z"):
            vi = T.axis.spatial(26, i)
            T.where(i % 7 < 5)
            Z[vi // 7, vi % 7] = Y[vi]
)",
                       "Z", "Y", 0, ReverseComputeAt),
                 R"(
for ax0 in range(8):
    with T.block("Z"):
        vi = T.axis.spatial(26, i * 8 + ax0)
        T.where(i * 8 + ax0 < 26 and (i * 8 + ax0) % 7 < 5)
)");
}

// A consumer of a few rows of eight, of which an iteration produces more, or one.
std::string FewRows(int rows, const std::string& read, int produced = 8) {
  return R"(
@T.prim_func
def main(A: T.Buffer((8, 4), "float32"), D: T.Buffer(()" +
         std::to_string(rows) + R"(, 4), "float32")):
    B = T.alloc_buffer((8, 4))
    for i_0, i_1, j in T.grid()" +
         std::to_string(produced / 4) + R"(, 4, 4):
        with T.block("B"):
            vi = T.axis.spatial(8, i_0 * 4 + i_1)
            vj = T.axis.spatial(4, j)
            B[vi, vj] = A[vi, vj] * T.float32(2)
    for i, j in T.grid()" +
         std::to_string(rows) + R"(, 4):
        with T.block("D"):
            vi, vj = T.axis.remap("SS", [i, j])
            D[vi, vj] = )" +
         read + "\n";
}

TEST(ReverseComputeAt, RunsWhereItsFewRowsAreProduced) {
  ExpectContains(Apply(FewRows(1, "B[vi, vj]"), "D", "B", 1, ReverseComputeAt), R"(
        vi = T.axis.spatial(1, i_0 * 4 + i_1)
        vj = T.axis.spatial(4, ax0)
        T.where(i_0 * 4 + i_1 < 1))");
  ExpectContains(Apply(FewRows(1, "B[vi + 3, vj]"), "D", "B", 1, ReverseComputeAt), R"(
        vi = T.axis.spatial(1, i_0 * 4 + i_1 - 3)
        vj = T.axis.spatial(4, ax0))");
  ExpectContains(Apply(FewRows(2, "B[vi + 1, vj]"), "D", "B", 0, ReverseComputeAt), R"(
for ax0, ax1 in T.grid(4, 4):
    with T.block("D"):
        vi = T.axis.spatial(2, i_0 * 4 + ax0 - 1)
        vj = T.axis.spatial(4, ax1)
        T.where(1 <= i_0 * 4 + ax0 and i_0 * 4 + ax0 < 3))");
  const Function never = ParseFunctionOrDie(FewRows(1, "B[vi + 5, vj]", 4));
  EXPECT_EQ(ReasonOf(ReverseComputeAt(never, BlockNamed(never, "D"), LoopsOf(never, "B")[1]), never),
            "below i_1 not all instances of D would run");
}

TEST(ReverseComputeAt, ReadsWhatIsDoneBefore) {
  const std::string text = R"(
@T.prim_func
def main(X: T.Buffer((8, 4), "float32"), O: T.Buffer((8, 4), "float32")):
    G = T.alloc_buffer((8, 4))
    U = T.alloc_buffer((8, 4))
    for i, j in T.grid(8, 4):
        with T.block("G"):
            vi, vj = T.axis.remap("SS", [i, j])
            G[vi, vj] = X[vi, vj] + T.float32(1)
    for i, j in T.grid(8, 4):
        with T.block("U"):
            vi, vj = T.axis.remap("SS", [i, j])
            U[vi, vj] = X[vi, vj] * T.float32(2)
    for i, j in T.grid(8, 4):
        with T.block("O"):
            vi, vj = T.axis.remap("SS", [i, j])
            O[vi, vj] = G[7 - vi, 3 - vj] * U[vi, vj]
)";
  const Function f = ParseFunctionOrDie(text);
  const auto result = ReverseComputeAt(f, BlockNamed(f, "O"), LoopsOf(f, "U")[0]);
  ASSERT_TRUE(result.ok()) << ReasonOf(result, f);
  ExpectEquivalent(f, result->function);
  EXPECT_EQ(ReasonOf(ReverseComputeAt(f, BlockNamed(f, "O"), LoopsOf(f, "G")[0]), f),
            "U produces what O consumes and is not below i");
}

TEST(ReverseComputeAt, Refuses) {
  auto reason = [](const std::string& text, const char* block, const char* loops_of, size_t loop) {
    const Function f = ParseFunctionOrDie(text);
    return ReasonOf(ReverseComputeAt(f, BlockNamed(f, block), LoopsOf(f, loops_of)[loop]), f);
  };
  EXPECT_EQ(reason(kMatmul, "C", "C2", 2), "k_0 carries the reduction of C2, whose values are not final in it");
  EXPECT_EQ(reason(kMatmul, "C", "A2", 0), "C2 produces what C consumes and is not below i");
  EXPECT_EQ(reason(kMatmul, "A2", "C2", 0), "A2 has no producer");
  // An element at a tile's end waits for the next tile.
  EXPECT_EQ(reason(Stencil("5, 16", "4, 16"), "C", "B", 0), "below i_0 not all instances of C would run");
  // Only the first half of D's elements is produced inside of the loop.
  EXPECT_EQ(reason(R"(
@T.prim_func
def main(A: T.Buffer((8,), "float32"), D: T.Buffer((16,), "float32")):
    B = T.alloc_buffer((16,))
    for i in range(8):
        with T.block("B"):
            v = T.axis.spatial(8, i)
            B[v] = A[v]
    for i in range(16):
        with T.block("D"):
            v = T.axis.spatial(16, i)
            D[v] = B[v]
)",
                   "D", "B", 0),
            "below i not all instances of D would run");
  // Each row of B is computed twice; a sum over rows would count them twice.
  EXPECT_EQ(reason(R"(
@T.prim_func
def main(A: T.Buffer((8,), "float32"), D: T.Buffer((1,), "float32")):
    B = T.alloc_buffer((8,))
    for i, again in T.grid(8, 2):
        with T.block("B"):
            v = T.axis.spatial(8, i)
            B[v] = A[v]
    for i in range(8):
        with T.block("D"):
            v = T.axis.reduce(8, i)
            with T.init():
                D[0] = T.float32(0)
            D[0] = D[0] + B[v]
)",
                   "D", "B", 1),
            "below again the reduction of D would be spread over iterations that repeat instances");
  // Iterations of these loops cannot add to one sum in turn.
  for (const std::string loop : {"T.parallel(8)", "T.vectorized(8)", "T.thread_binding(8, thread=\"blockIdx.x\")"}) {
    EXPECT_EQ(reason((R"(
@T.prim_func
def main(A: T.Buffer((8,), "float32"), D: T.Buffer((1,), "float32")):
    B = T.alloc_buffer((8,))
    for i in )" + loop +
                      R"(:
        with T.block("B"):
            v = T.axis.spatial(8, i)
            B[v] = A[v]
    for i in range(8):
        with T.block("D"):
            v = T.axis.reduce(8, i)
            with T.init():
                D[0] = T.float32(0)
            D[0] = D[0] + B[v]
)")
                         .c_str(),
                     "D", "B", 0),
              "i would carry the reduction of D, and its iterations run at the same time");
  }
}

// A triangle is copied; loops over what an iteration produces would fill all of C.
TEST(ReverseComputeAt, RefusesPartsThatLoopsLeaveOut) {
  const auto refused = [](const char* length) {
    const Function f = PartialCopy(length);
    const auto result = ReverseComputeAt(f, BlockNamed(f, "C"), LoopsOf(f, "B")[1]);
    return result.ok() ? "" : ReasonOf(result, f);
  };
  EXPECT_EQ(refused("8"), "");
  for (const char* length : {"i + 1", "8 - i", "7"}) {
    EXPECT_EQ(refused(length), "the loops of C may not run all instances that its domains allow") << length;
  }
}

TEST(ReverseComputeAt, RefusesAProducerThatSkipsInstances) {
  const Function f = ParseFunctionOrDie(R"(
      @T.prim_func
      def main(A: T.Buffer((10,), "float32"), C: T.Buffer((10,), "float32")):
          B = T.alloc_buffer((10,), "float32")
          for i_0, i_1, i_2 in T.grid(3, 2, 3):
              with T.block("B"):
                  vi = T.axis.spatial(10, i_0 * 4 + i_1 * 3 + i_2)
                  T.where(i_0 * 4 + i_1 * 3 + i_2 < 10 and i_1 * 3 + i_2 < 4)
                  B[vi] = A[vi]
          for i in range(10):
              with T.block("C"):
                  vi = T.axis.spatial(10, i)
                  C[vi] = B[vi])");
  EXPECT_EQ(
      ReasonOf(ReverseComputeAt(f, BlockNamed(f, "C"), LoopsOf(f, "B")[1]), f),
      "the predicate i_0 * 4 + i_1 * 3 + i_2 < 10 and i_1 * 3 + i_2 < 4 of the producer B says more than that its "
      "iterators are inside of their domains");
}

// An iteration of i_1 writes every fourth element: the hull of its tile is not the tile.
TEST(ReverseComputeAt, RefusesAProducerWithGaps) {
  const Function f = ParseFunctionOrDie(R"(
      @T.prim_func
      def main(A: T.Buffer((16,), "float32"), C: T.Buffer((16,), "float32")):
          B = T.alloc_buffer((16,), "float32")
          for i_1, i_0 in T.grid(4, 4):
              with T.block("B"):
                  vi = T.axis.spatial(16, i_0 * 4 + i_1)
                  B[vi] = A[vi]
          for i in range(16):
              with T.block("C"):
                  vi = T.axis.spatial(16, i)
                  C[vi] = B[vi])");
  EXPECT_EQ(ReasonOf(ReverseComputeAt(f, BlockNamed(f, "C"), LoopsOf(f, "B")[0]), f),
            "an iteration of i_1 produces B with gaps in between");
  EXPECT_EQ(ReasonOf(ReverseComputeAt(f, BlockNamed(f, "C"), LoopsOf(f, "B")[1]), f), "accepted");
}

// Groups of `length` elements, side by side in one dimension, whose producer runs over `tiles` by `lanes`.
std::string Groups(int length, int tiles, int lanes) {
  const std::string n = std::to_string(length), in_group = "t * " + std::to_string(lanes) + " + l";
  return R"(
      @T.prim_func
      def main(A: T.Buffer(()" +
         n + R"( * 4,), "float32"), C: T.Buffer(()" + n + R"( * 4,), "float32")):
          B = T.alloc_buffer(()" +
         n + R"( * 4,), "float32")
          for g, t, l in T.grid(4, )" +
         std::to_string(tiles) + ", " + std::to_string(lanes) + R"():
              with T.block("B"):
                  vg = T.axis.spatial(4, g)
                  vl = T.axis.spatial()" +
         n + ", " + in_group + R"()
                  T.where()" +
         in_group + " < " + n + R"()
                  B[vg * )" +
         n + R"( + vl] = A[vg * )" + n + R"( + vl]
          for i in range()" +
         n + R"( * 4):
              with T.block("C"):
                  vi = T.axis.spatial()" +
         n + R"( * 4, i)
                  C[vi] = B[vi] + T.float32(1))";
}

// What lies beyond the end of a group is the next one's, and not written yet.
TEST(ReverseComputeAt, TakesNothingBeyondAGroup) {
  for (int loop : {0, 1}) {
    const Function f = ParseFunctionOrDie(Groups(3, 1, 4));
    const auto moved = ReverseComputeAt(f, BlockNamed(f, "C"), LoopsOf(f, "B")[static_cast<size_t>(loop)]);
    ASSERT_TRUE(moved.ok());
    ExpectContains(moved->function, R"(
            for ax0 in range(3):
                with T.block("C"):
                    vi = T.axis.spatial(12, g * 3 + ax0))");
    ExpectEquivalent(f, moved->function);
  }
  const Function in_two = ParseFunctionOrDie(Groups(6, 2, 4));
  const auto moved = ReverseComputeAt(in_two, BlockNamed(in_two, "C"), LoopsOf(in_two, "B")[0]);
  ASSERT_TRUE(moved.ok());
  ExpectEquivalent(in_two, moved->function);
  EXPECT_EQ(ReasonOf(ReverseComputeAt(in_two, BlockNamed(in_two, "C"), LoopsOf(in_two, "B")[1]), in_two),
            "C may read elements of B that an iteration of t does not produce");
}

// Rows and columns out of one loop: what is beyond the last row is nobody's, though the columns are never beyond.
TEST(ReverseComputeAt, FollowsIteratorsOfOneLoop) {
  const Function f = ParseFunctionOrDie(R"(
      @T.prim_func
      def main(A: T.Buffer((15,), "float32"), C: T.Buffer((15,), "float32")):
          B = T.alloc_buffer((15,), "float32")
          for i_0, i_1 in T.grid(4, 4):
              with T.block("B"):
                  vi = T.axis.spatial(5, (i_0 * 4 + i_1) // 3)
                  vj = T.axis.spatial(3, (i_0 * 4 + i_1) % 3)
                  T.where(i_0 * 4 + i_1 < 15)
                  B[vi * 3 + vj] = A[vi * 3 + vj]
          for i in range(15):
              with T.block("C"):
                  vi = T.axis.spatial(15, i)
                  C[vi] = B[vi] + T.float32(1))");
  const auto moved = ReverseComputeAt(f, BlockNamed(f, "C"), LoopsOf(f, "B")[0]);
  ASSERT_TRUE(moved.ok());
  ExpectEquivalent(f, moved->function);
}

// Steps of a reduction that a predicate leaves out take nothing from what the producer writes.
TEST(ReverseComputeAt, FollowsReductionsWithoutTheirLastSteps) {
  const Function f = ParseFunctionOrDie(R"(
      @T.prim_func
      def main(A: T.Buffer((4, 10), "float32"), C: T.Buffer((4, 3), "float32")):
          B = T.alloc_buffer((4, 3), "float32")
          for i, k, l in T.grid(4, 4, 3):
              with T.block("B"):
                  vi, vl, vk = T.axis.remap("SSR", [i, l, k])
                  T.where(k * 3 + l < 10)
                  with T.init():
                      B[vi, vl] = T.float32(0)
                  B[vi, vl] = B[vi, vl] + A[vi, vk * 3 + vl]
          for i, l in T.grid(4, 3):
              with T.block("C"):
                  vi, vl = T.axis.remap("SS", [i, l])
                  C[vi, vl] = B[vi, vl])");
  const auto moved = ReverseComputeAt(f, BlockNamed(f, "C"), LoopsOf(f, "B")[0]);
  ASSERT_TRUE(moved.ok());
  testing::ExpectEquivalent(f, moved->function);
}

// Lanes of a symbolic length: what the last of them reach beyond it is not read. Where the producer makes a column
// less, they read one that no iteration makes.
TEST(ReverseComputeAt, LanesOfASymbolicLengthReadWhatThereIs) {
  for (const bool all : {true, false}) {
    const Function f = ParseFunctionOrDie(std::string(R"(
@T.prim_func
def main(X_: T.handle, R_: T.handle):
    n = T.int64()
    m = T.int64()
    X = T.match_buffer(X_, (n, m), "float32")
    R = T.match_buffer(R_, (n, T.int64(8)), "float32")
    E = T.alloc_buffer((n, m), "float32")
    for i, j in T.grid(n, )") + (all ? "m" : "m - T.int64(1)") +
                                          R"():
        with T.block("E"):
            vi, vj = T.axis.remap("SS", [i, j])
            E[vi, vj] = T.exp(X[vi, vj])
    for i, l, j in T.grid(n, T.int64(8), (m + T.int64(7)) // T.int64(8)):
        with T.block("R"):
            vi, vl, vj = T.axis.remap("SSR", [i, l, j])
            with T.init():
                R[vi, vl] = T.float32(0)
            R[vi, vl] = R[vi, vl] + T.if_then_else(vj * T.int64(8) + vl < m, E[vi, vj * T.int64(8) + vl], T.float32(0))
)");
    EXPECT_EQ(ReverseComputeAt(f, BlockNamed(f, "R"), LoopsOf(f, "E")[0]).ok(), all);
  }
}

TEST(ReverseComputeAt, RefusesWhereNoInstanceFitsIntoAnIteration) {
  const Function f = ParseFunctionOrDie(R"(
      @T.prim_func
      def main(A: T.Buffer((12,), "float32"), C: T.Buffer((10,), "float32")):
          B = T.alloc_buffer((12,), "float32")
          for i in range(12):
              with T.block("B"):
                  vi = T.axis.spatial(12, i)
                  B[vi] = A[vi]
          for i in range(10):
              with T.block("C"):
                  vi = T.axis.spatial(10, i)
                  T.reads(B[vi:vi + 3])
                  T.writes(C[vi])
                  C[vi] = B[vi] + B[vi + 1] + B[vi + 2])");
  for (bool preserve : {false, true}) {
    EXPECT_EQ(ReasonOf(ReverseComputeAt(f, BlockNamed(f, "C"), LoopsOf(f, "B")[0], preserve), f),
              "an iteration of i produces too little for any instance of C");
  }
}

}  // namespace
}  // namespace tilewright
