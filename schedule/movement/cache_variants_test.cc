// Caches other than those of cache_read and cache_write: with a layout of their own, in place, of indices.
#include <gtest/gtest.h>

#include <string>
#include <string_view>

#include "ir/script/parse_or_die.h"
#include "schedule/layout/reindex.h"
#include "schedule/movement/cache_index.h"
#include "schedule/movement/cache_inplace.h"
#include "schedule/testing/equivalence.h"
#include "schedule/testing/expect.h"
#include "schedule/testing/programs.h"

namespace tilewright {
namespace {

using testing::BlockNamed;
using testing::ExpectContains;
using testing::ExpectEquivalent;
using testing::ExpectProgram;
using testing::ReasonOf;

Function Conv() {
  return ParseFunctionOrDie(R"(
      @T.prim_func
      def main(P: T.Buffer((12, 4), "float32"), W: T.Buffer((3, 4, 8), "float32"), C: T.Buffer((10, 8), "float32")):
          for i, o, r, c in T.grid(10, 8, 3, 4):
              with T.block("C"):
                  vi, vo, vr, vc = T.axis.remap("SSRR", [i, o, r, c])
                  with T.init():
                      C[vi, vo] = T.float32(0)
                  C[vi, vo] = C[vi, vo] + P[vi + vr, vc] * W[vr, vc, vo])");
}
const Var vi("vi"), vo("vo"), vr("vr"), vc("vc");
IndexMap Map(std::vector<Expr> outputs) { return IndexMap({vi, vo, vr, vc}, std::move(outputs)); }

TEST(ReindexCacheRead, CopiesIntoALayoutOfOnesChoice) {
  const Function f = Conv();
  Outcome<ReindexResult> g = ReindexCacheRead(f, BlockNamed(f, "C"), 0, "shared", Map({vi, vr * 4 + vc}));
  ASSERT_TRUE(g.ok()) << ReasonOf(g, f);
  ExpectProgram(g->function, R"(
      @T.prim_func
      def main(P: T.Buffer((12, 4), "float32"), W: T.Buffer((3, 4, 8), "float32"), C: T.Buffer((10, 8), "float32")):
          P_shared = T.alloc_buffer((10, 12), scope="shared")
          for i, r, c in T.grid(10, 3, 4):
              with T.block("P_shared"):
                  vi, vr, vc = T.axis.remap("SSS", [i, r, c])
                  P_shared[vi, vr * 4 + vc] = P[vi + vr, vc]
          for i, o, r, c in T.grid(10, 8, 3, 4):
              with T.block("C"):
                  vi, vo, vr, vc = T.axis.remap("SSRR", [i, o, r, c])
                  with T.init():
                      C[vi, vo] = T.float32(0)
                  C[vi, vo] = C[vi, vo] + P_shared[vi, vr * 4 + vc] * W[vr, vc, vo])");
  EXPECT_EQ(BlockNamed(g->function, "P_shared"), g->block);
  ExpectEquivalent(f, g->function);
  // As the buffer is indexed: elements that instances share are shared in the copy.
  g = ReindexCacheRead(f, BlockNamed(f, "C"), 0, "local", Map({vi + vr, vc}));
  ASSERT_TRUE(g.ok()) << ReasonOf(g, f);
  ExpectContains(g->function, "P_local = T.alloc_buffer((12, 4), scope=\"local\")");
  ExpectEquivalent(f, g->function);
}

TEST(ReindexCacheWrite, CopiesBack) {
  const Function f = Conv();
  Outcome<ReindexResult> g =
      ReindexCacheWrite(f, BlockNamed(f, "C"), 0, "shared", Map({FloorDiv(vo, 4), vi, FloorMod(vo, 4)}));
  ASSERT_TRUE(g.ok()) << ReasonOf(g, f);
  ExpectContains(g->function, "C_shared = T.alloc_buffer((2, 10, 4), scope=\"shared\")");
  ExpectContains(g->function, R"(
      for i, o in T.grid(10, 8):
          with T.block("C_shared"):
              vi, vo = T.axis.remap("SS", [i, o])
              T.reads(C_shared[vo // 4, vi, vo % 4])
              T.writes(C[vi, vo])
              C[vi, vo] = C_shared[vo // 4, vi, vo % 4])");
  ExpectEquivalent(f, g->function);
}

// Below a loop that reader and writer share, the copy moves what the iteration makes, in the loops of the block.
TEST(ReindexCache, CopiesInsideOfCommonLoops) {
  const Function f = ParseFunctionOrDie(R"(
      @T.prim_func
      def main(A: T.Buffer((32,), "float32"), C: T.Buffer((32,), "float32")):
          B = T.alloc_buffer((32,))
          for o in range(8):
              for x in range(4):
                  with T.block("B"):
                      v = T.axis.spatial(32, o * 4 + x)
                      B[v] = A[v]
              for x in range(4):
                  with T.block("C"):
                      v = T.axis.spatial(32, o * 4 + x)
                      C[v] = B[v])");
  const Var v("v");
  const IndexMap map({v}, {FloorMod(v, 2), FloorDiv(v, 2)});
  Outcome<ReindexResult> g = ReindexCacheRead(f, BlockNamed(f, "C"), 0, "local", map);
  ASSERT_TRUE(g.ok()) << ReasonOf(g, f);
  ExpectContains(g->function, R"(
          for x in range(4):
              with T.block("B_local"):
                  v = T.axis.spatial(32, o * 4 + x)
                  T.reads(B[v])
                  T.writes(B_local[v % 2, v // 2])
                  B_local[v % 2, v // 2] = B[v])");
  ExpectEquivalent(f, g->function);
  g = ReindexCacheWrite(f, BlockNamed(f, "B"), 0, "local", map);
  ASSERT_TRUE(g.ok()) << ReasonOf(g, f);
  ExpectEquivalent(f, g->function);
  // What nobody in the scope reads is copied back at its end.
  g = ReindexCacheWrite(f, BlockNamed(f, "C"), 0, "local", map);
  ASSERT_TRUE(g.ok()) << ReasonOf(g, f);
  ExpectContains(g->function, R"(
      for o, x in T.grid(8, 4):
          with T.block("C_local"):)");
  ExpectEquivalent(f, g->function);
}

TEST(ReindexCache, TakesIteratorsOfOneValueAndOf64Bits) {
  const Function f = ParseFunctionOrDie(R"(
      @T.prim_func
      def main(A: T.Buffer((T.int64(1), T.int64(8)), "float32"), B: T.Buffer((T.int64(1), T.int64(8)), "float32")):
          for n, i in T.grid(T.int64(1), T.int64(8)):
              with T.block("B"):
                  vn, vi = T.axis.remap("SS", [n, i])
                  B[vn, vi] = A[vn, vi])");
  const Var n("n"), i("i");
  const IndexMap map({n, i}, {FloorDiv(n, 2), FloorDiv(i, 4), FloorMod(i, 4)});
  Outcome<ReindexResult> g = ReindexCacheRead(f, BlockNamed(f, "B"), 0, "local", map);
  ASSERT_TRUE(g.ok()) << ReasonOf(g, f);
  ExpectContains(g->function, "A_local = T.alloc_buffer((T.int64(1), T.int64(2), T.int64(4)), scope=\"local\")");
  ExpectEquivalent(f, g->function);
  g = ReindexCacheRead(f, BlockNamed(f, "B"), 0, "local", IndexMap({n, i}, {i, n}));
  ASSERT_TRUE(g.ok()) << ReasonOf(g, f);
  ExpectContains(g->function, "A_local[vi, vn] = A[vn, vi]");
  ExpectContains(g->function, "B[vn, vi] = A_local[vi, vn]");
}

TEST(ReindexCache, TakesTheIndicesInAnotherOrder) {
  const Function f = Conv();
  Outcome<ReindexResult> g = ReindexCacheRead(f, BlockNamed(f, "C"), 0, "local", Map({vc, vi + vr}));
  ASSERT_TRUE(g.ok()) << ReasonOf(g, f);
  ExpectContains(g->function, "P_local[vc, vi + vr] = P[vi + vr, vc]");
  ExpectEquivalent(f, g->function);
}

TEST(ReindexCache, Refuses) {
  const Function f = Conv();
  const auto read = [&](const IndexMap& map, int index = 0, std::string_view scope = "shared") {
    return ReasonOf(ReindexCacheRead(f, BlockNamed(f, "C"), index, scope, map), f);
  };
  EXPECT_EQ(read(Map({vi, vc})), "the indices of P use the iterator vr of C, the map does not");
  EXPECT_EQ(read(Map({vi, vr, vc, vo})), "the map uses the iterator vo of C, the indices of P do not");
  EXPECT_EQ(read(IndexMap({vi, vr}, {vi, vr})), "the map takes 2 indices, C has 4 iterators");
  EXPECT_EQ(read(Map({vi + vr + vc})), "the map may give elements of P that C tells apart the same place");
  EXPECT_EQ(read(Map({vi, vr, vc}), 2), "C reads 2 regions, there is no number 2");
  EXPECT_EQ(read(Map({vi, vr, vc}), 0, "no scope"), "\"no scope\" is not a storage scope");
  EXPECT_EQ(ReasonOf(ReindexCacheWrite(f, BlockNamed(f, "C"), 0, "shared", Map({vo, vi, vr})), f),
            "the map uses the iterator vr of C, the indices of C do not");
}

Function InPlace(std::string_view after = "T.evaluate(0)") {
  std::string text = R"(
@T.prim_func
def main(A: T.Buffer((8, 8), "float32"), X: T.Buffer((8,), "float32")):
    for i in range(6):
        for j in range(8):
            with T.block("B"):
                vi, vj = T.axis.remap("SS", [i, j])
                A[vi, vj] = A[vi, vj] * T.float32(2)
        AFTER
)";
  text.replace(text.find("AFTER"), 5, after);
  return ParseFunctionOrDie(text);
}

TEST(CacheInplace, CopiesInAndBack) {
  const Function f = InPlace();
  Outcome<CacheInplaceResult> g = CacheInplace(f, BlockNamed(f, "B"), 0, "local");
  ASSERT_TRUE(g.ok()) << ReasonOf(g, f);
  ExpectContains(g->function, "A_local = T.alloc_buffer((6, 8), scope=\"local\")");
  ExpectContains(g->function, "A_local[vi, vj] = A_local[vi, vj] * T.float32(2)");
  EXPECT_NE(g->read_block, g->write_block);
  EXPECT_EQ(FindBlock(g->function, g->write_block)->block->writes[0].buffer->name, "A");
  ExpectEquivalent(f, g->function);
}

TEST(CacheInplace, LetsOthersWriteBeforeAndAfter) {
  const Function f = ParseFunctionOrDie(R"(
      @T.prim_func
      def main(A: T.Buffer((8,), "float32")):
          for i in range(8):
              with T.block("first"):
                  v = T.axis.spatial(8, i)
                  A[v] = A[v] * T.float32(2)
          for i in range(8):
              with T.block("second"):
                  v = T.axis.spatial(8, i)
                  A[v] = A[v] + T.float32(1))");
  for (const char* name : {"first", "second"}) {
    Outcome<CacheInplaceResult> g = CacheInplace(f, BlockNamed(f, name), 0, "local");
    ASSERT_TRUE(g.ok()) << ReasonOf(g, f);
    ExpectEquivalent(f, g->function);
  }
}

TEST(CacheInplace, CopiesBesideABlockWithoutIterators) {
  const Function f = ParseFunctionOrDie(R"(
      @T.prim_func
      def main(A: T.Buffer((8,), "float32")):
          for x in range(3):
              with T.block("B"):
                  T.reads(A[0:8])
                  T.writes(A[0:8])
                  for i in range(8):
                      A[i] = A[i] + T.float32(1))");
  Outcome<CacheInplaceResult> g = CacheInplace(f, BlockNamed(f, "B"), 0, "local");
  ASSERT_TRUE(g.ok()) << ReasonOf(g, f);
  ExpectContains(g->function, R"(
      for x in range(3):
          for ax0 in range(8):
              with T.block("A_local"):)");
  ExpectEquivalent(f, g->function);
}

TEST(CacheInplace, Refuses) {
  const Function conv = Conv();
  EXPECT_EQ(ReasonOf(CacheInplace(conv, BlockNamed(conv, "C"), 0, "local"), conv), "C reads P and does not write it");
  const Function f = InPlace("with T.block(\"X\"):\n            v = T.axis.spatial(8, i)\n            X[v] = A[v, 0]");
  EXPECT_EQ(ReasonOf(CacheInplace(f, BlockNamed(f, "B"), 0, "local"), f), "X reads A below i, a loop of B");
  const Function g = InPlace("with T.block(\"X\"):\n            v = T.axis.spatial(8, i)\n            A[v, 0] = X[v]");
  EXPECT_EQ(ReasonOf(CacheInplace(g, BlockNamed(g, "B"), 0, "local"), g), "X also writes A below i, a loop of B");
}

TEST(CacheIndex, MakesTables) {
  const Function f = ParseFunctionOrDie(R"(
      @T.prim_func
      def main(A: T.Buffer((3, 40, 40), "float32"), B: T.Buffer((3, 16, 80), "float32")):
          for c, i, j in T.grid(3, 16, 80):
              with T.block("B"):
                  vc, vi, vj = T.axis.remap("SSS", [c, i, j])
                  B[vc, vi, vj] = A[vc, vi // 4 + vj // 4, vj // 2] + A[vc, 0, vj // 2])");
  Outcome<CacheIndexResult> g = CacheIndex(f, BlockNamed(f, "B"), "global", 0);
  ASSERT_TRUE(g.ok()) << ReasonOf(g, f);
  EXPECT_EQ(g->blocks.size(), 2u);
  ExpectContains(g->function, "index_var_0 = T.alloc_buffer((16, 80), \"int32\")");
  ExpectContains(g->function, R"(
      for ax0, ax1 in T.grid(16, 80):
          with T.block("index_0"):
              v0, v1 = T.axis.remap("SS", [ax0, ax1])
              T.reads()
              T.writes(index_var_0[v0, v1])
              index_var_0[v0, v1] = v0 // 4 + v1 // 4)");
  ExpectContains(g->function,
                 "B[vc, vi, vj] = A[vc, index_var_0[vi, vj], index_var_1[vj]] + A[vc, 0, index_var_1[vj]]");
  ExpectEquivalent(f, g->function);
  // Only what occurs twice.
  g = CacheIndex(f, BlockNamed(f, "B"), "global", 2);
  ASSERT_TRUE(g.ok());
  EXPECT_EQ(g->blocks.size(), 1u);
  ExpectContains(g->function, "B[vc, vi, vj] = A[vc, vi // 4 + vj // 4, index_var_0[vj]] + A[vc, 0, index_var_0[vj]]");
  ExpectEquivalent(f, g->function);
}

TEST(CacheIndex, MakesTablesOfConditions) {
  const Function f = ParseFunctionOrDie(R"(
      @T.prim_func
      def main(A: T.Buffer((8,), "float32"), B: T.Buffer((20,), "float32")):
          for i in range(20):
              with T.block("B"):
                  vi = T.axis.spatial(20, i)
                  B[vi] = T.if_then_else(vi % 2 == 0 and vi < 16, A[vi // 2], T.float32(0)))");
  Outcome<CacheIndexResult> g = CacheIndex(f, BlockNamed(f, "B"), "global", 0);
  ASSERT_TRUE(g.ok()) << ReasonOf(g, f);
  ExpectContains(g->function, "index_var_0 = T.alloc_buffer((20,), \"bool\")");
  ExpectContains(g->function, "B[vi] = T.if_then_else(index_var_0[vi], A[index_var_1[vi]], T.float32(0))");
  ExpectEquivalent(f, g->function);
}

TEST(CacheIndex, Refuses) {
  const Function chain = testing::ElementwiseChain(4, 6);
  EXPECT_EQ(ReasonOf(CacheIndex(chain, BlockNamed(chain, "C"), "global", 0), chain),
            "C loads at no index that takes computing");
  const Function f = Conv();
  EXPECT_EQ(ReasonOf(CacheIndex(f, BlockNamed(f, "C"), "global", 2), f), "C loads at no index that takes computing");
  EXPECT_EQ(ReasonOf(CacheIndex(f, BlockNamed(f, "C"), "no scope", 0), f), "\"no scope\" is not a storage scope");
}

}  // namespace
}  // namespace tilewright
