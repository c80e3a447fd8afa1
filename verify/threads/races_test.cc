#include "verify/threads/races.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <string>

#include "absl/strings/substitute.h"
#include "verify/threads/races_testing.h"

namespace tilewright {
namespace {

using ::testing::ElementsAre;
using ::testing::HasSubstr;
using ::testing::IsEmpty;
using ::testing::Not;
using testing::Races;
using testing::Replaced;

// n copies, one after the other; that in the middle writes at `write`.
std::string ManyCopies(int n, const std::string& write) {
  std::string text = "\n@T.prim_func\ndef main(A: T.Buffer((8,), \"float32\")):\n", body;
  for (int k = 0; k < n; ++k) {
    const std::string name = "T" + std::to_string(k), from = k == 0 ? "A" : "T" + std::to_string(k - 1);
    text += "    " + name + " = T.alloc_buffer((8,))\n";
    body += "    for i" + std::to_string(k) + " in T.parallel(8):\n        " + name + "[" +
            (k == n / 2 ? write : "i" + std::to_string(k)) + "] = " + from + "[i" + std::to_string(k) + "]\n";
  }
  return text + body;
}

// What stands in nests of their own is compared nest by nest, however many there are.
TEST(Races, ProgramsOfManyNests) {
  constexpr int kNests = 1500;
  const std::string loop = "i" + std::to_string(kNests / 2);
  EXPECT_THAT(Races(ManyCopies(kNests, loop)), IsEmpty());
  EXPECT_THAT(Races(ManyCopies(kNests, loop + " // 2")),
              ElementsAre(HasSubstr("iterations of the parallel loop " + loop)));
}

// Iterations have copies of registers that lie outside of their loop.
TEST(Races, ReadsOfWhatOtherIterationsWroteToTheirCopies) {
  const std::string sums = R"(
@T.prim_func
def main(A: T.Buffer((4, 8), "float32"), C: T.Buffer((4, 9), "float32")):
    S = T.alloc_buffer((4, 9), "float32", scope="local")
    for i, j in T.grid(4, 9):
        with T.block("S0"):
            vi, vj = T.axis.remap("SS", [i, j])
            S[vi, vj] = T.float32(0)
    for i in T.serial(4):
        for k in T.parallel(8):
            with T.block("S"):
                vi, vk = T.axis.remap("SS", [i, k])
                S[vi, vk + 1] = S[vi, vk] + A[vi, vk]
    for i, j in T.grid(4, 9):
        with T.block("C"):
            vi, vj = T.axis.remap("SS", [i, j])
            C[vi, vj] = S[vi, vj]
)";
  EXPECT_THAT(Races(sums), ElementsAre(HasSubstr("block S reads what other iterations write")));
  EXPECT_THAT(Races(Replaced(sums, "S[vi, vk + 1] = S[vi, vk]", "S[vi, vk] = S[vi, vk]")), IsEmpty());
}

// Rows of a matrix are digits that its tiles of 16 do not divide.
TEST(Races, DigitsOfTilesAreToldApart) {
  const std::string rows = R"(
@T.prim_func
def main(A: T.Buffer((60000, 16), "float32"), C: T.Buffer((30, 40, 50, 16), "float32")):
    for a in T.thread_binding(3750, thread="blockIdx.x"):
        for b in T.thread_binding(8, thread="threadIdx.y"):
            for d in T.thread_binding(16, thread="threadIdx.x"):
                for c in range(2):
                    with T.block("C"):
                        v = T.axis.spatial(60000, a * 16 + b * 2 + c)
                        w = T.axis.spatial(16, d)
                        C[v // 2000, v % 2000 // 50, v % 50, w] = A[v, w]
)";
  EXPECT_THAT(Races(rows), IsEmpty());
  EXPECT_THAT(Races(Replaced(rows, "C[v // 2000, v % 2000 // 50, v % 50, w]", "C[v // 2000, v % 2000 // 50, 0, w]")),
              Not(IsEmpty()));
  // Each element is one of two, by the loop over parts.
  const std::string parts = Replaced(Replaced(rows, "(30, 40, 50, 16)", "(30, 80, 50, 8)"), "v % 2000 // 50, v % 50, w",
                                     "v % 2000 // 50 * 2 + w // 8, v % 50, w % 8");
  EXPECT_THAT(Races(parts), IsEmpty());
}

// Neither can be enumerated. What B reads is what C writes in the next iteration.
TEST(Races, BlocksOfDifferentIterationsMeet) {
  const auto program = [](const std::string& loop, const std::string& index) {
    std::string text = R"(
@T.prim_func
def main(x: T.handle, y: T.handle, n: T.int32):
    X = T.match_buffer(x, (n + 1,), "float32")
    Y = T.match_buffer(y, (n,), "float32")
    for i in LOOP:
        with T.block("B"):
            vi = T.axis.spatial(n, i)
            Y[vi] = X[INDEX]
        with T.block("C"):
            vi = T.axis.spatial(n, i)
            X[vi] = T.float32(0)
)";
    text = Replaced(Replaced(text, "LOOP", loop), "INDEX", index);
    if (loop.find("(n)") != std::string::npos) return Races(text);
    for (size_t at; (at = text.find("spatial(n")) != std::string::npos;) text.replace(at, 9, "spatial(1000000");
    text = Replaced(Replaced(text, "(n + 1,)", "(1000001,)"), "(n,)", "(1000000,)");
    return Races(text);
  };
  for (const std::string extent : {"(n)", "(1000000)"}) {
    for (const std::string kind : {"parallel", "vectorized"}) {
      EXPECT_THAT(program("T." + kind + extent, "vi"), IsEmpty());
      EXPECT_THAT(program("T." + kind + extent, "vi + 1"),
                  ElementsAre("iterations of the " + kind +
                              " loop i may touch the same element at the same time: a read of X[i + 1] in block B, a "
                              "write of X[i] in block C"));
    }
  }
}

// Iterations that run instances of others write the same elements, whatever the signature says.
TEST(Races, InstancesOfSeveralIterations) {
  const auto program = [](const std::string& tile) {
    return Races(Replaced(R"(
@T.prim_func
def main(A: T.Buffer((1000008,), "float32"), B: T.Buffer((1000008,), "float32")):
    for i in T.parallel(250000):
        for j in range(TILE):
            with T.block("B"):
                vi = T.axis.spatial(1000008, i * 4 + j)
                B[vi] = A[vi]
)",
                          "TILE", tile));
  };
  EXPECT_THAT(program("4"), IsEmpty());
  EXPECT_THAT(program("6"), ElementsAre("iterations of the parallel loop i may touch the same element at the same "
                                        "time: a write of B[i * 4 + j] in block B"));
}

// Tiles of a fused loop: the init and the update of one iteration touch the same tile.
TEST(Races, TilesOfAFusedLoop) {
  const auto program = [](const std::string& column) {
    return Races(Replaced(R"(
@T.prim_func
def main(A: T.Buffer((1024, 1024), "float32"), B: T.Buffer((1024, 1024), "float32"), C: T.Buffer((1024, 1024), "float32")):
    for f in T.parallel(256):
        for i, j in T.grid(64, 64):
            with T.block("init"):
                vi = T.axis.spatial(1024, f // 16 * 64 + i)
                vj = T.axis.spatial(1024, COLUMN * 64 + j)
                C[vi, vj] = T.float32(0)
        for k, i, j in T.grid(1024, 64, 64):
            with T.block("update"):
                vi = T.axis.spatial(1024, f // 16 * 64 + i)
                vj = T.axis.spatial(1024, f % 16 * 64 + j)
                vk = T.axis.reduce(1024, k)
                C[vi, vj] = C[vi, vj] + A[vi, vk] * B[vk, vj]
)",
                          "COLUMN", column));
  };
  EXPECT_THAT(program("f % 16"), IsEmpty());
  EXPECT_THAT(program("(f + 1) % 16").size(), 1u);
}

// Rows in tiles of a fused loop, of which every second one is cut short. Init and update have loops of their own, which
// may be tiled otherwise.
TEST(Races, TilesOfAFusedLoopAreCutShort) {
  const auto program = [](const char* loops, const char* row) {
    return Races(absl::Substitute(R"(
@T.prim_func
def main(A: T.Buffer((3, 83, 16384), "float32"), C: T.Buffer((3, 83), "float32")):
    for f in T.parallel(6):
        for i_init in T.vectorized(64):
            with T.block("C_init"):
                vb = T.axis.spatial(3, f // 2)
                vi = T.axis.spatial(83, f % 2 * 64 + i_init)
                T.where(f % 2 * 64 + i_init < 83)
                C[vb, vi] = T.float32(0)
        for $0:
            for i in T.vectorized(16):
                with T.block("C_update"):
                    vb = T.axis.spatial(3, f // 2)
                    vi = T.axis.spatial(83, $1)
                    vk = T.axis.reduce(16384, k)
                    T.where($1 < 83)
                    C[vb, vi] = C[vb, vi] + A[vb, vi, vk]
)",
                                  loops, row));
  };
  EXPECT_THAT(program("j, k in T.grid(4, 16384)", "f % 2 * 64 + j * 16 + i"), IsEmpty());
  EXPECT_THAT(program("k in T.serial(16384)", "f % 2 * 64 + i"), IsEmpty());
  EXPECT_THAT(program("j, k in T.grid(4, 16384)", "f % 2 * 48 + j * 16 + i"), Not(IsEmpty()));
}

constexpr char kHalo[] = R"(
@T.prim_func
def main(A: T.Buffer((66,), "float32"), B: T.Buffer((66,), "float32")):
    for i in T.parallel(16):
        for j in range(6):
            with T.block("B"):
                vi = T.axis.spatial(66, i * 4 + j)
                B[vi] = A[vi]
)";

// Small enough to enumerate: neighbours write the same halo.
TEST(Races, ParallelTilesThatOverlap) {
  EXPECT_THAT(Races(kHalo),
              ElementsAre("iterations of the parallel loop i may touch the same element at the same time: "
                          "a write of B[i * 4 + j] in block B"));
  EXPECT_THAT(Races(Replaced(kHalo, "i * 4 + j", "i * 4 + j % 4")), IsEmpty());
}

// What is touched of a matched part is touched in the buffer it is a part of, no more.
TEST(Races, IterationsOfAMatchedPart) {
  constexpr char kCopy[] = R"(
@T.prim_func
def main(A: T.Buffer((65536, 2, 16), "float32"), B: T.Buffer((65536, 2, 16), "float32")):
    for i in T.parallel(65536):
        with T.block("B"):
            vi = T.axis.spatial(65536, i)
            T.reads(A[vi, 0:2, 0:16])
            T.writes(B[vi, 0:2, 0:16])
            P = T.match_buffer(B[vi, 0:2, 0:16], (2, 16), offset_factor=1)
            for k in range(2):
                for l in T.vectorized(16):
                    P[k, l] = A[vi, k, l]
)";
  EXPECT_THAT(Races(kCopy), IsEmpty());
  // The types of the part's sizes may be others than those of the whole.
  EXPECT_THAT(Races(Replaced(kCopy, "B[vi, 0:2, 0:16], (2, 16)", "B[vi, 0:2, 0:16], (T.int64(2), T.int64(16))")),
              IsEmpty());
  EXPECT_THAT(Races(Replaced(kCopy, "P[k, l]", "P[k, 0]")),
              ElementsAre(HasSubstr("iterations of the vectorized loop l may touch the same element")));
}

TEST(Races, BuffersOfOneIterationAreItsOwn) {
  EXPECT_THAT(Races(R"(
@T.prim_func
def main(A: T.Buffer((66,), "float32"), C: T.Buffer((64,), "float32")):
    B = T.alloc_buffer((66,), "float32")
    for i in T.parallel(16):
        for j in range(6):
            with T.block("B"):
                vi = T.axis.spatial(66, i * 4 + j)
                B[vi] = A[vi]
        for j in range(4):
            with T.block("C"):
                vi = T.axis.spatial(64, i * 4 + j)
                C[vi] = B[vi] + B[vi + 2]
)"),
              IsEmpty());
}

// The extents are not known, so nothing is enumerated.
TEST(Races, WhatAllIterationsWrite) {
  EXPECT_THAT(
      Races(R"(
@T.prim_func
def main(a: T.handle, c: T.handle, n: T.int32):
    A = T.match_buffer(a, (n,), "float32")
    C = T.match_buffer(c, (n, 6), "float32")
    S = T.alloc_buffer((n,), "float32")
    for i in range(n):
        for j in T.vectorized(6):
            with T.block("S"):
                vi = T.axis.spatial(n, i)
                S[vi] = A[vi]
            with T.block("C"):
                vi, vj = T.axis.remap("SS", [i, j])
                C[vi, vj] = S[vi]
)"),
      ElementsAre(HasSubstr("iterations of the vectorized loop j may touch the same element at the same time: a "
                            "write of S[i] in block S")));
}

TEST(Races, ReadingWhatAnotherIterationWrites) {
  EXPECT_THAT(Races(R"(
@T.prim_func
def main(A: T.Buffer((17,), "float32")):
    for i in T.parallel(16):
        with T.block("A"):
            vi = T.axis.spatial(16, i)
            A[vi] = A[vi + 1]
)"),
              ElementsAre("iterations of the parallel loop i may touch the same element at the same time: a read of "
                          "A[i + 1] in block A, a write of A[i] in block A"));
}

// Somebody declared that each iteration reads all rows.
TEST(Races, DeclaredWiderThanRead) {
  const std::string wide = R"(
@T.prim_func
def main(A: T.Buffer((n,), "float32"), C: T.Buffer((n,), "float32"), n: T.int32):
    for i in T.parallel(n):
        with T.block("C"):
            vi = T.axis.spatial(n, i)
            T.reads(C[0:n], A[vi])
            T.writes(C[vi])
            T.block_attr({"explicit_read_region": [0]})
            C[vi] = C[vi] + A[vi]
)";
  EXPECT_THAT(Races(wide), IsEmpty());
  EXPECT_THAT(Races(Replaced(wide, "= C[vi] +", "= C[0] +")), Not(IsEmpty()));
}

// A signature names all elements, of which the body touches those of its row.
TEST(Races, DeclaredWiderThanTouched) {
  const std::string wide = R"(
@T.prim_func
def main(A: T.Buffer((4, 64), "float32"), Y: T.Buffer((9, 4, 64), "float32"), at: T.Buffer((4,), "int32")):
    for t in range(8):
        for i in T.vectorized(4):
            for j in range(64):
                with T.block("step"):
                    vt = T.axis.opaque(8, t)
                    vi, vj = T.axis.remap("OO", [i, j])
                    T.reads(A[vi, vj], Y[0:9, 0:4, 0:64], at[0:4])
                    T.writes(Y[0:9, 0:4, 0:64])
                    Y[vt + 1, vi, vj] = A[vi, vj] + Y[vt, vi, vj]
)";
  EXPECT_THAT(Races(wide), IsEmpty());
  EXPECT_THAT(Races(Replaced(wide, "Y[vt + 1, vi, vj] =", "Y[vt + 1, vi // 2, vj] =")), Not(IsEmpty()));
  EXPECT_THAT(Races(Replaced(wide, "Y[vt, vi, vj]\n", "Y[vt + 1, (vi + 1) % 4, vj]\n")), Not(IsEmpty()));
  // What memory decides is as wide as declared, and the other dimensions are not.
  EXPECT_THAT(Races(Replaced(wide, "Y[vt + 1, vi, vj] =", "Y[at[vi], vi, vj] =")), IsEmpty());
  EXPECT_THAT(Races(Replaced(wide, "Y[vt + 1, vi, vj] =", "Y[vt, at[vi], vj] =")), Not(IsEmpty()));
}

// What a step reads the step before wrote, in the other one of two rows.
TEST(Races, StepsThatReadTheOneBefore) {
  const std::string steps = R"(
@T.prim_func
def main(A: T.Buffer((2, 66), "float32")):
    for t in range(8):
        for i in T.parallel(64):
            with T.block("A"):
                vt = T.axis.opaque(8, t)
                vi = T.axis.spatial(64, i)
                A[(vt + 1) % 2, vi + 1] = A[vt % 2, vi] + A[vt % 2, vi + 2]
)";
  EXPECT_THAT(Races(steps), IsEmpty());
  EXPECT_THAT(Races(Replaced(steps, "(vt + 1) % 2", "(vt + 2) % 2")), Not(IsEmpty()));
  EXPECT_THAT(Races(Replaced(steps, "T.parallel(64)", "T.thread_binding(64, thread=\"blockIdx.x\")")), IsEmpty());
}

// Elements below row k and right of column k, by those of row k and column k.
TEST(Races, PredicatesKeepWhatIsReadApart) {
  const std::string update = R"(
@T.prim_func
def main(A: T.Buffer((16, 16), "float32")):
    for k in range(16):
        for i, j in T.grid(16, 16):
            with T.block("A"):
                vk = T.axis.opaque(16, k)
                vi, vj = T.axis.remap("SS", [i, j])
                T.where(i > k and j > k)
                A[vi, vj] = A[vi, vj] - A[vi, vk] * A[vk, vj]
)";
  const auto rows = [&](const std::string& condition) {
    const std::string text = Replaced(update, "i > k and j > k", condition);
    return Races(
        Replaced(text, "for i, j in T.grid(16, 16):", "for i in T.parallel(16):\n          for j in range(16):"));
  };
  EXPECT_THAT(rows("i > k and j > k"), IsEmpty());
  EXPECT_THAT(rows("i > k"), IsEmpty());
  EXPECT_THAT(rows("j > k"), Not(IsEmpty()));
  EXPECT_THAT(rows("i >= k and j > k"), Not(IsEmpty()));
}

}  // namespace
}  // namespace tilewright
