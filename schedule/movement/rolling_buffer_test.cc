#include "schedule/movement/rolling_buffer.h"

#include <gtest/gtest.h>

#include <string>
#include <string_view>
#include <tuple>

#include "ir/script/parse_or_die.h"
#include "schedule/loops/loop_kind.h"
#include "schedule/loops/reorder.h"
#include "schedule/loops/split.h"
#include "schedule/movement/compute_at.h"
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

Function Stencil(std::string_view read = "B[vi, vj] + B[vi + 2, vj + 2]") {
  std::string text = R"(
@T.prim_func
def main(A: T.Buffer((12, 12), "float32"), C: T.Buffer((8, 8), "float32")):
    B = T.alloc_buffer((10, 10))
    for i, j in T.grid(10, 10):
        with T.block("B"):
            vi, vj = T.axis.remap("SS", [i, j])
            B[vi, vj] = T.max(A[vi, vj], A[vi + 1, vj + 1])
    for i, j in T.grid(8, 8):
        with T.block("C"):
            vi, vj = T.axis.remap("SS", [i, j])
            C[vi, vj] = READ
)";
  text.replace(text.find("READ"), 4, read);
  return ParseFunctionOrDie(text);
}

// C's loops split by the factors and reordered, outer ones first; B computed at the loop of that number.
Function Tiled(const Function& f, int rows, int columns, size_t at, bool columns_first = false) {
  Function g = Split(f, LoopsOf(f, "C")[0], {Expr(), rows})->function;
  g = Split(g, LoopsOf(g, "C")[2], {Expr(), columns})->function;
  const std::vector<uint32_t> l = LoopsOf(g, "C");
  Outcome<ReorderResult> reordered = Reorder(
      g, columns_first ? std::vector<uint32_t>{l[2], l[0], l[1], l[3]} : std::vector<uint32_t>{l[0], l[2], l[1], l[3]});
  EXPECT_TRUE(reordered.ok());
  g = reordered->function;
  Outcome<ComputeAtResult> moved = ComputeAt(g, BlockNamed(g, "B"), LoopsOf(g, "C")[at], false, -1);
  EXPECT_TRUE(moved.ok()) << ReasonOf(moved, g);
  return moved.ok() ? moved->function : g;
}

Function Rolled(const Function& f) {
  Outcome<Function> result = RollingBuffer(f, BlockNamed(f, "B"), 0);
  EXPECT_TRUE(result.ok()) << ReasonOf(result, f);
  return result.ok() ? *result : f;
}

TEST(RollingBuffer, RollsAlongTheOutermostLoop) {
  const Function f = Stencil();
  const Function tiled = Tiled(f, 2, 2, 1);
  const Function g = Rolled(tiled);
  ExpectContains(g, "B = T.alloc_buffer((4, 10))");
  ExpectContains(g, R"(
      with T.block("B"):
          vi = T.axis.opaque(10, i_0 * 2 + ax0)
          vj = T.axis.spatial(10, j_0 * 2 + ax1)
          T.where((i_0 < 1 or 2 <= ax0) and (j_0 < 1 or 2 <= ax1)))");
  ExpectContains(g, "B[vi % 4, vj] = T.max(A[vi, vj], A[vi + 1, vj + 1])");
  ExpectContains(g, "C[vi, vj] = B[vi % 4, vj] + B[(vi + 2) % 4, vj + 2]");
  ExpectEquivalent(f, g);
}

TEST(RollingBuffer, WorksForOtherTilings) {
  const Function f = Stencil();
  for (const auto& [rows, columns, at] : {std::tuple(2, 4, 0), {3, 8, 0}, {1, 1, 1}, {4, 1, 1}, {1, 3, 1}}) {
    ExpectEquivalent(f, Rolled(Tiled(f, rows, columns, at)));
  }
  const Function columns = Rolled(Tiled(f, 2, 2, 0, /*columns_first=*/true));
  ExpectContains(columns, "B = T.alloc_buffer((10, 4))");
  ExpectEquivalent(f, columns);
  ExpectEquivalent(f, Rolled(Tiled(f, 2, 2, 1, /*columns_first=*/true)));
}

// Strips of four rows, each of which begins anew.
TEST(RollingBuffer, RollsInStrips) {
  const Function f = Stencil();
  const auto strips = [&](bool parallel, const char* thread = nullptr) {
    Function g = Split(f, LoopsOf(f, "C")[0], {Expr(), 4})->function;
    g = ComputeAt(g, BlockNamed(g, "B"), LoopsOf(g, "C")[1], false, -1)->function;
    if (thread != nullptr) return *Bind(g, LoopsOf(g, "C")[0], thread);
    return parallel ? *Parallel(g, LoopsOf(g, "C")[0]) : g;
  };
  const Function serial = Rolled(strips(false));
  ExpectContains(serial, "B = T.alloc_buffer((3, 10))");
  ExpectContains(serial, R"(
                vi = T.axis.opaque(10, i_0 * 4 + i_1 + ax0)
                vj = T.axis.spatial(10, ax1)
                T.where(i_1 < 1 or 2 <= ax0))");
  ExpectEquivalent(f, serial);
  ExpectEquivalent(f, Rolled(strips(true)));
  // Blocks of threads would share the rows.
  const Function blocks = strips(false, "blockIdx.x");
  EXPECT_EQ(ReasonOf(RollingBuffer(blocks, BlockNamed(blocks, "B"), 0), blocks), "no tile of B overlaps the next one");
}

// The sums of rows of four, in windows of eight that move by four, below loops with those heads.
Function Sums(const std::string& outer, const std::string& inner, const std::string& init) {
  return ParseFunctionOrDie(R"(
@T.prim_func
def main(A: T.Buffer((20, 4), "float32"), D: T.Buffer((16,), "float32")):
    B = T.alloc_buffer((20,))
    for )" + outer + R"(:
        for )" + inner + R"(:
            with T.block("B"):
                vi = T.axis.spatial(20, o * 4 + i)
                vk = T.axis.reduce(4, k)
)" + init + R"(
                B[vi] = B[vi] + A[vi, vk]
        for i in range(4):
            with T.block("D"):
                vi = T.axis.spatial(16, o * 4 + i)
                D[vi] = B[vi] + B[vi + 4]
)");
}
constexpr char kInit[] = R"(                with T.init():
                    B[vi] = T.float32(0))";

TEST(RollingBuffer, KeepsFinishedSums) {
  const Function f = Sums("o in range(4)", "i, k in T.grid(8, 4)", kInit);
  const Function g = Rolled(f);
  ExpectContains(g, "B = T.alloc_buffer((8,))");
  ExpectContains(g, R"(
                vi = T.axis.opaque(20, o * 4 + i)
                vk = T.axis.reduce(4, k)
                T.where(o < 1 or 4 <= i))");
  ExpectContains(g, "B[vi % 8] = T.float32(0)");
  ExpectContains(g, "B[vi % 8] = B[vi % 8] + A[vi, vk]");
  ExpectEquivalent(f, g);
}

TEST(RollingBuffer, Refuses) {
  const auto reason = [](const Function& f, std::string_view block = "B") {
    return ReasonOf(RollingBuffer(f, BlockNamed(f, block), 0), f);
  };
  const Function f = Stencil();
  EXPECT_EQ(reason(f), "no loop is around all uses of B");
  EXPECT_EQ(reason(f, "C"), "C is not allocated by the scope of C");
  EXPECT_EQ(ReasonOf(RollingBuffer(f, BlockNamed(f, "B"), 1), f), "B writes 1 regions, there is no number 1");
  EXPECT_EQ(reason(Tiled(Stencil("B[vi, vj] * T.float32(2)"), 2, 2, 1)), "no tile of B overlaps the next one");
  EXPECT_EQ(reason(Sums("o, k in T.grid(4, 4)", "i in range(8)", kInit)),
            "B reduces over k, which is around all uses of B");
  EXPECT_EQ(reason(Sums("o in range(4)", "i, k in T.grid(8, 4)", "")),
            "B is not a complete block: its iterator vk is reduce, not spatial");
}

}  // namespace
}  // namespace tilewright
