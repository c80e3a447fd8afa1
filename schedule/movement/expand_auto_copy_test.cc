#include "schedule/movement/expand_auto_copy.h"

#include <gtest/gtest.h>

#include <string>
#include <string_view>

#include "ir/script/parse_or_die.h"
#include "schedule/loops/reorder.h"
#include "schedule/loops/split.h"
#include "schedule/movement/auto_copy.h"
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

// The loops i_0, j_0, k_0, i_1, j_1, k_1 of a matmul, tiled by 4.
Function TiledMatmul(int m, int n, int l) {
  Function f = testing::Matmul(m, n, l);
  for (size_t i = 0; i < 3; ++i) f = Split(f, LoopsOf(f, "C")[2 * i], {Expr(), 4})->function;
  const std::vector<uint32_t> loops = LoopsOf(f, "C");
  return Reorder(f, {loops[0], loops[2], loops[4], loops[1], loops[3], loops[5]})->function;
}

Function Expand(const Function& f, uint32_t block) {
  const Outcome<Function> expanded = ExpandAutoCopy(f, block);
  EXPECT_TRUE(expanded.ok()) << ReasonOf(expanded, f);
  return expanded.ok() ? *expanded : f;
}
Function Read(const Function& f, size_t loop, int index, std::string_view scope = "shared") {
  const Outcome<AutoCopyResult> copy = ReadAt(f, LoopsOf(f, "C")[loop], BlockNamed(f, "C"), index, scope);
  EXPECT_TRUE(copy.ok()) << ReasonOf(copy, f);
  return copy.ok() ? Expand(copy->function, copy->block) : f;
}

TEST(ExpandAutoCopy, MakesLoopsOfWhatIsRead) {
  const Function f = TiledMatmul(8, 12, 16);
  const Function g = Read(f, 2, 0);
  ExpectContains(g, R"(
            for ax0, ax1 in T.grid(4, 4):
                with T.block("A_shared"):
                    v0 = T.axis.spatial(8, i_0 * 4 + ax0)
                    v1 = T.axis.spatial(16, k_0 * 4 + ax1)
                    T.reads(A[v0, v1])
                    T.writes(A_shared[v0, v1])
                    A_shared[v0, v1] = A[v0, v1])");
  ExpectEquivalent(f, g);
}

TEST(ExpandAutoCopy, ConditionsBecomeThePredicate) {
  const Function f = TiledMatmul(6, 9, 13);
  const Function g = Read(f, 2, 0);
  ExpectContains(g, "T.where(i_0 * 4 + ax0 < 6 and k_0 * 4 + ax1 < 13)");
  ExpectEquivalent(f, g);
}

TEST(ExpandAutoCopy, DimensionsOfOneElementHaveNoLoop) {
  const Function f = TiledMatmul(8, 12, 16);
  const Function g = Read(f, 3, 0, "local");
  ExpectContains(g, R"(
                for ax0 in range(4):
                    with T.block("A_local"):
                        v0 = T.axis.spatial(8, i_0 * 4 + i_1)
                        v1 = T.axis.spatial(16, k_0 * 4 + ax0))");
  ExpectEquivalent(f, g);
  ExpectEquivalent(f, Read(f, 5, 0, "local"));
}

TEST(ExpandAutoCopy, MakesLoopsOfWhatIsWritten) {
  const Function f = TiledMatmul(6, 12, 16);
  const Outcome<AutoCopyResult> copy = WriteAt(f, LoopsOf(f, "C")[1], BlockNamed(f, "C"), 0, "local");
  ASSERT_TRUE(copy.ok()) << ReasonOf(copy, f);
  const Function g = Expand(copy->function, copy->block);
  ExpectContains(g, R"(
            for ax0, ax1 in T.grid(4, 4):
                with T.block("C_local"):
                    v0 = T.axis.spatial(6, i_0 * 4 + ax0)
                    v1 = T.axis.spatial(12, j_0 * 4 + ax1)
                    T.where(i_0 * 4 + ax0 < 6)
                    T.reads(C_local[v0, v1])
                    T.writes(C[v0, v1])
                    C[v0, v1] = C_local[v0, v1])");
  ExpectEquivalent(f, g);
}

// All threads of a block need what each of them reads of memory that they share.
TEST(ExpandAutoCopy, ThreadsThatShareMemoryCopyForAll) {
  const Function f = ParseFunctionOrDie(R"(
      @T.prim_func
      def main(A: T.Buffer((64,), "float32"), C: T.Buffer((64,), "float32")):
          for b in T.thread_binding(4, "blockIdx.x"):
              for t in T.thread_binding(8, "threadIdx.x"):
                  for i in range(2):
                      with T.block("C"):
                          vi = T.axis.spatial(64, b * 16 + t * 2 + i)
                          C[vi] = A[vi] + T.float32(1))");
  ExpectContains(Read(f, 1, 0), R"(
                for ax0 in range(16):
                    with T.block("A_shared"):
                        v0 = T.axis.spatial(64, b * 16 + ax0))");
  ExpectContains(Read(f, 1, 0, "local"), "for ax0 in range(2):");
}

TEST(ExpandAutoCopy, Refuses) {
  const Function f = TiledMatmul(8, 12, 16);
  EXPECT_EQ(ReasonOf(ExpandAutoCopy(f, 9999), f), "the block no longer exists");
  EXPECT_EQ(ReasonOf(ExpandAutoCopy(f, BlockNamed(f, "C")), f), "C is not an AutoCopy block");
  // Two indices of one loop, and another element than the one that is stored.
  for (const std::string_view body : {"B[v0 * 4 + a, a] = A[v0 * 4 + a, a]", "B[v0 * 4 + a, b] = A[v0 * 4 + a, 0]"}) {
    const Function other = ParseFunctionOrDie(R"(
      @T.prim_func
      def main(A: T.Buffer((16, 4), "float32"), B: T.Buffer((16, 4), "float32")):
          for i in range(4):
              with T.block("B"):
                  v0 = T.axis.spatial(4, i)
                  T.reads(A[v0 * 4:v0 * 4 + 4, 0:4])
                  T.writes(B[v0 * 4:v0 * 4 + 4, 0:4])
                  T.block_attr({"auto_copy": True})
                  for a, b in T.grid(4, 4):
                      )" + std::string(body));
    EXPECT_EQ(ReasonOf(ExpandAutoCopy(other, BlockNamed(other, "B")), other),
              "B does not copy a box in the way of read_at and write_at");
  }
}

}  // namespace
}  // namespace tilewright
