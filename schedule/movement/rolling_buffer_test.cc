#include "schedule/movement/rolling_buffer.h"

#include <gtest/gtest.h>

#include <string>
#include <string_view>
#include <tuple>

#include "ir/script/parse_or_die.h"
#include "ir/script/printer.h"
#include "ir/structural.h"
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

// Tiles of B of `size` elements that begin at `start`, of which C reads `read`.
Function Tiles(const std::string& start, int size, const std::string& read, const std::string& where = "True",
               const std::string& offset = "ax0") {
  return ParseFunctionOrDie(R"(
@T.prim_func
def main(A: T.Buffer((64,), "float32"), C: T.Buffer((24,), "float32")):
    B = T.alloc_buffer((64,))
    for i0 in range(6):
        for ax0 in range()" +
                            std::to_string(size) +
                            R"():
            with T.block("B"):
                vi = T.axis.spatial(64, )" +
                            start + " + " + offset + R"()
                T.where()" + where +
                            R"()
                B[vi] = A[vi]
        for i1, r in T.grid(4, 3):
            with T.block("C"):
                vi = T.axis.spatial(24, i0 * 4 + i1)
                vr = T.axis.reduce(3, r)
                with T.init():
                    C[vi] = T.float32(0)
                C[vi] = C[vi] + )" +
                            read + "\n");
}

// The first elements of tiles of an enlarged output: two tiles have four or five elements of seven in common.
TEST(RollingBuffer, RollsByUnevenSteps) {
  const Function f = Tiles("i0 * 5 // 2", 7, "B[vi * 5 // 8 + vr]", "i0 * 5 // 2 + ax0 < 64");
  const Function g = Rolled(f);
  ExpectContains(g, "B = T.alloc_buffer((7,))");
  ExpectContains(g, "T.where(i0 * 5 // 2 + ax0 < 64 and (i0 < 1 or 4 <= ax0))");
  ExpectEquivalent(f, g);
  const Function halves = Tiles("i0 // 2", 4, "B[vi // 8 + vr]");
  ExpectContains(Rolled(halves), "T.where(i0 < 1 or 3 <= ax0)");
  ExpectEquivalent(halves, Rolled(halves));
  const auto reason = [](const Function& refused) {
    return ReasonOf(RollingBuffer(refused, BlockNamed(refused, "B"), 0), refused);
  };
  // Some steps are as long as the tile; the start goes back; it is not a sum of quotients.
  EXPECT_EQ(reason(Tiles("i0 * 9 // 4", 3, "B[i0 * 9 // 4 + vr]")), "no tile of B overlaps the next one");
  EXPECT_EQ(reason(Tiles("(20 - i0 * 2)", 6, "B[20 - vi // 4 * 2 + vr]")), "no tile of B overlaps the next one");
  EXPECT_EQ(reason(Tiles("i0 % 3", 6, "B[vi // 4 % 3 + vr]")), "no tile of B overlaps the next one");
}

// What is not computed again has to be there still.
TEST(RollingBuffer, RefusesWhatTilesDoNotHold) {
  const auto reason = [](const Function& f) { return ReasonOf(RollingBuffer(f, BlockNamed(f, "B"), 0), f); };
  EXPECT_EQ(reason(Tiles("i0 * 2", 6, "B[vi // 4 * 2 + vr]")), "accepted");
  EXPECT_EQ(reason(Tiles("i0 * 2", 6, "B[vi // 4 + vr]")),
            "C may read elements of B that the tile of an iteration does not hold");
  EXPECT_EQ(reason(Tiles("i0 * 3", 4, "B[vi // 4 * 3 + vr * 2]", "True", "ax0 * 2")), "a tile of B may have gaps");
  EXPECT_EQ(reason(Tiles("i0 * 2", 6, "B[vi // 4 * 2 + vr]", "ax0 != 3")),
            "the predicate ax0 != 3 of B says more than that its iterators are inside of their domains");
}

// Windows of three over windows of three, four elements of D at a time; the producers named in `roll` roll in turn.
Function Windows(int stages, const std::string& text) {
  Function f = ParseFunctionOrDie(text);
  const std::vector<uint32_t> loops = LoopsOf(f, "D");
  f = Split(f, loops[0], {Expr(), 4})->function;
  for (int stage = stages; stage-- > 0;) {
    const std::string name(1, static_cast<char>('C' - (stages - 1 - stage)));
    const auto moved = ComputeAt(f, BlockNamed(f, name), LoopsOf(f, "D")[0], false, -1);
    EXPECT_TRUE(moved.ok()) << ReasonOf(moved, f);
    f = moved->function;
  }
  return f;
}

constexpr char kCascade[] = R"(
@T.prim_func
def main(X: T.Buffer((22,), "float32"), D: T.Buffer((16,), "float32")):
    A = T.alloc_buffer((20,))
    B = T.alloc_buffer((20,))
    C = T.alloc_buffer((18,))
    for i in range(20):
        with T.block("A"):
            vi = T.axis.spatial(20, i)
            A[vi] = X[vi] * T.float32(2)
    for i in range(20):
        with T.block("B"):
            vi = T.axis.spatial(20, i)
            B[vi] = A[vi] + X[vi + 2]
    for i, r in T.grid(18, 3):
        with T.block("C"):
            vi, vr = T.axis.remap("SR", [i, r])
            with T.init():
                C[vi] = T.float32(0)
            C[vi] = C[vi] + B[vi + vr]
    for i, r in T.grid(16, 3):
        with T.block("D"):
            vi, vr = T.axis.remap("SR", [i, r])
            with T.init():
                D[vi] = T.float32(0)
            D[vi] = D[vi] + C[vi + vr]
)";

TEST(RollingBuffer, RollsCascadesInAnyOrder) {
  const Function original = ParseFunctionOrDie(kCascade);
  const Function f = Windows(3, kCascade);
  const auto roll = [&](std::string_view order) {
    Function g = f;
    for (const char name : order) {
      Outcome<Function> rolled = RollingBuffer(g, BlockNamed(g, std::string(1, name)), 0);
      EXPECT_TRUE(rolled.ok()) << order << ReasonOf(rolled, g);
      if (rolled.ok()) g = *rolled;
    }
    ExpectEquivalent(original, g);
    return g;
  };
  const Function consumers_first = roll("CBA");
  ExpectContains(consumers_first, "C = T.alloc_buffer((6,))");
  ExpectContains(consumers_first, "B = T.alloc_buffer((8,))");
  for (const char* order : {"ABC", "BCA", "BAC", "ACB", "CAB"}) {
    EXPECT_TRUE(StructuralEqual(roll(order), consumers_first)) << order;
  }
}

// A condition that rolling did not write: what B leaves out, nobody knows.
TEST(RollingBuffer, RefusesAboveBuffersThatDoNotRoll) {
  Function f = Rolled(Windows(3, kCascade));
  std::string text = Print(f);
  const std::string condition = "i_0 < 1 or 4 <= ax0";
  ASSERT_NE(text.find(condition), std::string::npos) << text;
  text.replace(text.find(condition), condition.size(), "i_0 < 1 or 5 <= ax0");
  f = ParseFunctionOrDie(text);
  EXPECT_EQ(ReasonOf(RollingBuffer(f, BlockNamed(f, "C"), 0), f),
            "C is not a complete block: its iterator vi is opaque, not spatial");
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
