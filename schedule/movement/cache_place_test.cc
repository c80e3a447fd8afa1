// Places of the copies of cache_read, cache_write and reindex_cache_write, and what they would copy there.
#include <gtest/gtest.h>

#include <string>
#include <vector>

#include "ir/script/parse_or_die.h"
#include "schedule/layout/reindex.h"
#include "schedule/movement/cache_read.h"
#include "schedule/movement/cache_write.h"
#include "schedule/testing/equivalence.h"
#include "schedule/testing/expect.h"
#include "schedule/testing/programs.h"

namespace tilewright {
namespace {

using testing::BlockNamed;
using testing::ExpectContains;
using testing::ExpectEquivalent;
using testing::ReasonOf;

Function Written(const Function& f, const char* block, int index = 0) {
  const Outcome<CacheWriteResult> result = CacheWrite(f, BlockNamed(f, block), index, "local");
  EXPECT_TRUE(result.ok()) << ReasonOf(result, f);
  return result.ok() ? result->function : f;
}

std::string WhyNotWritten(const Function& f, const char* block, const std::vector<const char*>& consumers = {}) {
  std::vector<uint32_t> ids;
  for (const char* consumer : consumers) ids.push_back(BlockNamed(f, consumer));
  return ReasonOf(CacheWrite(f, BlockNamed(f, block), 0, "local", ids), f);
}

// A block with two outputs: the second copy goes before the first, which uses an output of the block.
constexpr char kTwoSums[] = R"(
@T.prim_func
def main(A: T.Buffer((8, 4), "float32"), D: T.Buffer((8,), "float32")):
    X = T.alloc_buffer((8,), "float32")
    Y = T.alloc_buffer((8,), "float32")
    for i, k in T.grid(8, 4):
        with T.block("sums"):
            vi, vk = T.axis.remap("SR", [i, k])
            with T.init():
                X[vi] = T.float32(0)
                Y[vi] = T.float32(0)
            X[vi] = X[vi] + A[vi, vk]
            Y[vi] = Y[vi] + A[vi, vk] * A[vi, vk]
    for i in range(8):
        with T.block("D"):
            vi = T.axis.spatial(8, i)
            D[vi] = Y[vi] - X[vi]
)";

TEST(CacheWrite, GoesBeforeTheFirstUseOfAnyOutput) {
  const Function f = ParseFunctionOrDie(kTwoSums);
  const Function g = Written(Written(f, "sums", 1), "sums", 0);
  ExpectContains(g, R"(
      for ax0 in range(8):
          with T.block("X_local"):
              v0 = T.axis.spatial(8, ax0)
              T.reads(X_local[v0])
              T.writes(X[v0])
              X[v0] = X_local[v0]
      for ax0 in range(8):
          with T.block("Y_local"):)");
  ExpectEquivalent(f, g);
}

TEST(ReindexCacheWrite, GoesBeforeTheFirstUseOfAnyOutput) {
  const Function f = ParseFunctionOrDie(kTwoSums);
  const Var i("i"), k("k");
  const IndexMap map({i, k}, {FloorDiv(i, 2), FloorMod(i, 2)});
  Outcome<ReindexResult> second = ReindexCacheWrite(f, BlockNamed(f, "sums"), 1, "local", map);
  ASSERT_TRUE(second.ok()) << ReasonOf(second, f);
  Outcome<ReindexResult> first =
      ReindexCacheWrite(second->function, BlockNamed(second->function, "sums"), 0, "local", map);
  ASSERT_TRUE(first.ok()) << ReasonOf(first, second->function);
  ExpectContains(first->function, R"(
      for i in range(8):
          with T.block("X_local"):
              vi = T.axis.spatial(8, i)
              T.reads(X_local[vi // 2, vi % 2])
              T.writes(X[vi])
              X[vi] = X_local[vi // 2, vi % 2]
      for i in range(8):
          with T.block("Y_local"):)");
  ExpectEquivalent(f, first->function);
}

TEST(CacheRead, GoesBeforeTheFirstUseOfAnyOutput) {
  const Function f = ParseFunctionOrDie(R"(
@T.prim_func
def main(A: T.Buffer((8,), "float32"), C: T.Buffer((8,), "float32"), D: T.Buffer((8,), "float32")):
    X = T.alloc_buffer((8,), "float32")
    Y = T.alloc_buffer((8,), "float32")
    for i in range(8):
        with T.block("both"):
            vi = T.axis.spatial(8, i)
            X[vi] = A[vi]
            Y[vi] = A[vi] + T.float32(1)
    for i in range(8):
        with T.block("C"):
            vi = T.axis.spatial(8, i)
            C[vi] = X[vi]
    for i in range(8):
        with T.block("D"):
            vi = T.axis.spatial(8, i)
            D[vi] = Y[vi]
)");
  const Outcome<CacheReadResult> result = CacheRead(f, BlockNamed(f, "D"), 0, "local");
  ASSERT_TRUE(result.ok()) << ReasonOf(result, f);
  ExpectContains(result->function, R"(
      for ax0 in range(8):
          with T.block("Y_local"):
              v0 = T.axis.spatial(8, ax0)
              T.reads(Y[v0])
              T.writes(Y_local[v0])
              Y_local[v0] = Y[v0]
      for i in range(8):
          with T.block("C"):)");
  ExpectEquivalent(f, result->function);
}

// An update in place goes on to read what it updates.
TEST(CacheRead, LeavesTheWriterAlone) {
  const Function f = ParseFunctionOrDie(R"(
@T.prim_func
def main(A: T.Buffer((8,), "float32"), B: T.Buffer((8,), "float32")):
    for i in range(8):
        with T.block("A"):
            vi = T.axis.spatial(8, i)
            A[vi] = A[vi] * T.float32(2)
    for i in range(8):
        with T.block("B"):
            vi = T.axis.spatial(8, i)
            B[vi] = A[vi]
)");
  const Outcome<CacheReadResult> result = CacheRead(f, BlockNamed(f, "B"), 0, "local");
  ASSERT_TRUE(result.ok()) << ReasonOf(result, f);
  ExpectContains(result->function, "A[vi] = A[vi] * T.float32(2)");
  ExpectContains(result->function, "B[vi] = A_local[vi]");
  ExpectEquivalent(f, result->function);
  EXPECT_EQ(ReasonOf(CacheRead(f, BlockNamed(f, "A"), 0, "local"), f), "A also writes A");
  const std::vector<uint32_t> both = {BlockNamed(f, "A"), BlockNamed(f, "B")};
  EXPECT_EQ(ReasonOf(CacheRead(f, BlockNamed(f, "B"), 0, "local", both), f), "A also writes A");
}

// What comes before the writer reads the values from before it.
TEST(CacheWrite, LeavesEarlierReadersAlone) {
  const Function f = ParseFunctionOrDie(R"(
@T.prim_func
def main(A: T.Buffer((8,), "float32"), C: T.Buffer((8,), "float32"), D: T.Buffer((8,), "float32")):
    for i in range(8):
        with T.block("C"):
            vi = T.axis.spatial(8, i)
            C[vi] = A[vi] * T.float32(2)
    for i in range(8):
        with T.block("A"):
            vi = T.axis.spatial(8, i)
            A[vi] = D[vi]
)");
  const Function g = Written(f, "A");
  ExpectContains(g, R"(
      for i in range(8):
          with T.block("A"):
              vi = T.axis.spatial(8, i)
              T.reads(D[vi])
              T.writes(A_local[vi])
              A_local[vi] = D[vi]
      for ax0 in range(8):
          with T.block("A_local"):)");
  ExpectEquivalent(f, g);
  EXPECT_EQ(WhyNotWritten(f, "A", {"C"}), "C reads A before A writes it");
}

TEST(CacheWrite, RefusesReadersOfTheIterationBefore) {
  const Function f = ParseFunctionOrDie(R"(
@T.prim_func
def main(C: T.Buffer((8,), "float32"), D: T.Buffer((8,), "float32"), A: T.Buffer((9,), "float32")):
    for i in range(8):
        with T.block("C"):
            vi = T.axis.opaque(8, i)
            C[vi] = A[vi]
        with T.block("A"):
            vi = T.axis.opaque(8, i)
            A[vi + 1] = D[vi]
)");
  EXPECT_EQ(WhyNotWritten(f, "A"), "C reads A before A, below a loop of it");
}

// Eight elements of rows of six: the box around them is not written in the iteration that copies it.
TEST(CacheReadAndWrite, RefusePartsThatAnIterationDoesNotWrite) {
  const Function f = ParseFunctionOrDie(R"(
@T.prim_func
def main(A: T.Buffer((64, 6), "float32"), C: T.Buffer((64, 6), "float32")):
    B = T.alloc_buffer((64, 6), "float32")
    for i in range(48):
        for k in range(8):
            with T.block("B"):
                vi = T.axis.spatial(64, (i * 8 + k) // 6)
                vj = T.axis.spatial(6, (i * 8 + k) % 6)
                B[vi, vj] = A[vi, vj] * T.float32(2)
        for k in range(8):
            with T.block("C"):
                vi = T.axis.spatial(64, (i * 8 + k) // 6)
                vj = T.axis.spatial(6, (i * 8 + k) % 6)
                C[vi, vj] = B[vi, vj] + T.float32(1)
)");
  const std::string reason = "B may not write all elements of B that are copied in each iteration of i";
  EXPECT_EQ(WhyNotWritten(f, "B"), reason);
  EXPECT_EQ(ReasonOf(CacheRead(f, BlockNamed(f, "C"), 0, "local"), f), reason);
}

// Tiles that do not divide are written as far as the iterator's domain goes, and no further.
TEST(CacheWrite, KnowsWhatPredicatesLeaveOut) {
  const auto program = [](const char* predicate, int elements) {
    return ParseFunctionOrDie(R"(
@T.prim_func
def main(A: T.Buffer((16,), "float32"), B: T.Buffer((16,), "float32"), C: T.Buffer((16,), "float32")):
    for o in range(2):
        for i in range(8):
            with T.block("B"):
                v = T.axis.spatial()" +
                              std::to_string(elements) + R"(, o * 8 + i)
                T.where()" + predicate +
                              R"()
                B[v] = A[v]
    for i in range(16):
        with T.block("C"):
            vi = T.axis.spatial(16, i)
            C[vi] = B[vi])");
  };
  EXPECT_EQ(WhyNotWritten(program("o * 8 + i < 10", 10), "B"),
            "B may not write all elements of B that a copy of its output would overwrite");
  EXPECT_EQ(WhyNotWritten(program("o * 8 + i < 10", 16), "B"),
            "B may not write all elements of B that a copy of its output would overwrite");
  const Function all = program("o * 8 + i < 16", 16);
  ExpectEquivalent(all, Written(all, "B"));
  const Function tiles = ParseFunctionOrDie(R"(
@T.prim_func
def main(A: T.Buffer((10,), "float32"), C: T.Buffer((10,), "float32")):
    B = T.alloc_buffer((10,), "float32")
    for o in range(2):
        for i in range(8):
            with T.block("B"):
                v = T.axis.spatial(10, o * 8 + i)
                T.where(o * 8 + i < 10)
                B[v] = A[v]
        for i in range(8):
            with T.block("C"):
                v = T.axis.spatial(10, o * 8 + i)
                T.where(o * 8 + i < 10)
                C[v] = B[v]
)");
  ExpectEquivalent(tiles, Written(tiles, "B"));
}

TEST(CacheWrite, RefusesConsumersOfMore) {
  const Function f = ParseFunctionOrDie(R"(
@T.prim_func
def main(A: T.Buffer((8,), "float32"), B: T.Buffer((16,), "float32"), C: T.Buffer((16,), "float32")):
    for i in range(8):
        with T.block("B"):
            vi = T.axis.spatial(8, i)
            B[vi] = A[vi]
    for i in range(16):
        with T.block("C"):
            vi = T.axis.spatial(16, i)
            C[vi] = B[vi]
)");
  EXPECT_EQ(WhyNotWritten(f, "B", {"C"}), "C may read elements of B that B does not write");
  EXPECT_EQ(WhyNotWritten(f, "B"), "accepted");
}

// A tile of a nested scope is written as a whole, though not all that the iterators' domains allow.
TEST(CacheWrite, TakesTilesOfNestedScopes) {
  const Function f = ParseFunctionOrDie(R"(
@T.prim_func
def main(A: T.Buffer((16,), "float32"), B: T.Buffer((16,), "float32")):
    for i in range(4):
        with T.block("outer"):
            vi = T.axis.spatial(4, i)
            T.reads(A[vi * 4:vi * 4 + 4])
            T.writes(B[vi * 4:vi * 4 + 4])
            for x in range(4):
                with T.block("inner"):
                    vx = T.axis.spatial(16, vi * 4 + x)
                    B[vx] = A[vx] * T.float32(2)
)");
  const Function g = Written(f, "inner");
  ExpectContains(g, "B[vi * 4 + v0] = B_local[v0]");
  ExpectEquivalent(f, g);
  const Var x("x");
  const IndexMap map({x}, {FloorDiv(x, 2), FloorMod(x, 2)});
  const Outcome<ReindexResult> reindexed = ReindexCacheWrite(f, BlockNamed(f, "inner"), 0, "local", map);
  ASSERT_TRUE(reindexed.ok()) << ReasonOf(reindexed, f);
  ExpectContains(reindexed->function, "B[vx] = B_local[vx // 2, vx % 2]");
  ExpectEquivalent(f, reindexed->function);
}

// An iterator of one value is an index of the copy, so that it is one of copies of that.
TEST(ReindexCacheRead, KeepsIteratorsOfOneValue) {
  const Function f = ParseFunctionOrDie(R"(
@T.prim_func
def main(A: T.Buffer((1, 8), "float32"), C: T.Buffer((1, 8), "float32")):
    for a, i in T.grid(1, 8):
        with T.block("C"):
            va, vi = T.axis.remap("SS", [a, i])
            C[va, vi] = A[va, vi]
)");
  const Var a("a"), i("i");
  const IndexMap map({a, i}, {i, a});
  const Outcome<ReindexResult> result = ReindexCacheRead(f, BlockNamed(f, "C"), 0, "local", map);
  ASSERT_TRUE(result.ok()) << ReasonOf(result, f);
  ExpectContains(result->function, "C[va, vi] = A_local[vi, va]");
  ExpectEquivalent(f, result->function);
}

}  // namespace
}  // namespace tilewright
