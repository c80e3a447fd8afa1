// Predicates that read what is cached: they are not reads that a block declares.
#include <gtest/gtest.h>

#include <string>

#include "ir/script/parse_or_die.h"
#include "ir/script/printer.h"
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

// G is computed where `condition` holds, of which no block knows.
Function Program(const std::string& condition, const std::string& value = "B[vi, vj] + 1") {
  return ParseFunctionOrDie(R"(
@T.prim_func
def main(A: T.Buffer((8, 8), "int32"), E: T.Buffer((8, 8), "int32"), G: T.Buffer((8, 8), "int32")):
    B = T.alloc_buffer((8, 8), "int32")
    for i, j in T.grid(8, 8):
        with T.block("B"):
            vi, vj = T.axis.remap("SS", [i, j])
            B[vi, vj] = A[vi, vj] * 3
    for i, j in T.grid(8, 8):
        with T.block("E"):
            vi, vj = T.axis.remap("SS", [i, j])
            E[vi, vj] = B[vi, vj] + B[vi, vj]
    for i, j in T.grid(8, 8):
        with T.block("G"):
            vi, vj = T.axis.remap("SS", [i, j])
            T.where()" + condition +
                            R"()
            G[vi, vj] = )" + value +
                            "\n");
}

TEST(CacheCondition, StillReadsTheBufferThatIsCopied) {
  const Function f = Program("B[i, j] < 1");
  const Outcome<CacheReadResult> read = CacheRead(f, BlockNamed(f, "G"), 0, "local");
  ASSERT_TRUE(read.ok()) << ReasonOf(read, f);
  ExpectContains(read->function, "T.where(B[i, j] < 1)");
  ExpectContains(read->function, "G[vi, vj] = B_local[vi, vj] + 1");
  ExpectEquivalent(f, read->function);
}

TEST(CacheCondition, ReadsWhatIsCopiedOnlyLater) {
  // The copy behind E, which reads B; and a copy at the end, since nobody declares to read B.
  for (const char* value : {"B[vi, vj] + 1", "A[vi, vj] + 1"}) {
    const Function f = Program("B[i, 7 - j] < 1", value);
    const Outcome<CacheWriteResult> write =
        CacheWrite(f, BlockNamed(f, "B"), 0, "local", std::vector<uint32_t>{BlockNamed(f, "E")});
    ASSERT_TRUE(write.ok()) << ReasonOf(write, f);
    ExpectContains(write->function, "T.where(B_local[i, 7 - j] < 1)");
    ExpectContains(write->function, "G[vi, vj] = " + std::string(value));
    ExpectEquivalent(f, write->function);
  }
}

TEST(CacheCondition, DoesNotGuardTheCopyOfAReindexedBuffer) {
  const Function f = Program("B[i, j] < 1 and i < 6");
  Var i("i"), j("j");
  const Outcome<ReindexResult> cached = ReindexCacheRead(f, BlockNamed(f, "G"), 0, "shared", IndexMap({i, j}, {j, i}));
  ASSERT_TRUE(cached.ok()) << ReasonOf(cached, f);
  ExpectContains(cached->function, "T.where(i < 6)");
  ExpectContains(cached->function, "B_shared[vj, vi] = B[vi, vj]");
  ExpectContains(cached->function, "T.where(B[i, j] < 1 and i < 6)");
  ExpectEquivalent(f, cached->function);
  const Outcome<ReindexResult> reindexed = Reindex(f, BlockNamed(f, "G"), BufferSelector::Read(0));
  ASSERT_TRUE(reindexed.ok()) << ReasonOf(reindexed, f);
  ExpectContains(reindexed->function, "T.where(B[i, j] < 1 and i < 6)");
  ExpectEquivalent(f, reindexed->function);
}

// `condition` reads C, which the caller has filled before `writer` writes it.
std::string WhyNotCached(const std::string& writer, const std::string& condition, const std::string& between = "") {
  const Function f = ParseFunctionOrDie(R"(
@T.prim_func
def main(A: T.Buffer((8,), "int32"), C: T.Buffer((9,), "int32"), G: T.Buffer((8,), "int32")):
    for i in range(8):
        with T.block("C"):
            vi = T.axis.spatial(8, i)
            C[)" + writer + R"(] = A[vi]
)" + between + R"(
        with T.block("G"):
            vi = T.axis.spatial(8, i)
            T.where()" + condition +
                                        R"()
            G[vi] = A[vi]
)");
  return ReasonOf(CacheWrite(f, BlockNamed(f, "C"), 0, "local"), f);
}

TEST(CacheCondition, IsRefusedWhereTheCacheDoesNotHoldWhatItReads) {
  EXPECT_EQ(WhyNotCached("vi", "C[i + 1] < 3", "    for i in range(8):"),
            "the predicate of G may read elements of C that C does not write");
  EXPECT_EQ(WhyNotCached("vi", "C[i + 1] < 3"), "the predicate of G reads C below a loop of C");
}

// Bounds of loops read the buffer too: the copy comes before them.
TEST(CacheCondition, BoundsAndBindingsAreReadBehindTheCopy) {
  const Function f = ParseFunctionOrDie(R"(
@T.prim_func
def main(L: T.Buffer((6,), "int32"), A: T.Buffer((6, 9), "int32"), C: T.Buffer((6, 9), "int32"), E: T.Buffer((6,), "int32")):
    N = T.alloc_buffer((6,), "int32")
    for i in range(6):
        with T.block("N"):
            vi = T.axis.spatial(6, i)
            N[vi] = L[vi] % 9
        for j in range(N[i]):
            with T.block("C"):
                vi, vj = T.axis.remap("SS", [i, j])
                T.reads(A[vi, vj])
                C[vi, vj] = A[vi, vj]
        with T.block("E"):
            vi = T.axis.spatial(6, i)
            E[vi] = N[vi]
)");
  const Outcome<CacheWriteResult> write = CacheWrite(f, BlockNamed(f, "N"), 0, "local", {});
  ASSERT_TRUE(write.ok()) << ReasonOf(write, f);
  const std::string text = Print(Module(write->function));
  EXPECT_LT(text.find("N[v0] = N_local[v0]"), text.find("in range(N[i])")) << text;
  ExpectEquivalent(f, write->function);
}

TEST(CacheCondition, BoundsOfALoopAroundTheWriterAreNotCached) {
  const Function f = ParseFunctionOrDie(R"(
@T.prim_func
def main(A: T.Buffer((6, 9), "int32"), N: T.Buffer((9,), "int32")):
    for i in range(6):
        for j in range(N[i] % 9):
            with T.block("N"):
                vi, vj = T.axis.remap("SS", [i, j])
                N[vj] = A[vi, vj]
)");
  EXPECT_EQ(ReasonOf(CacheWrite(f, BlockNamed(f, "N"), 0, "local", {}), f), "the bounds of j read N, which N writes");
}

}  // namespace
}  // namespace tilewright
