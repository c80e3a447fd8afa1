// Instances that write elements of their own, or the same values.
#include "verify/structure/spatial_iterators.h"

#include <gtest/gtest.h>

#include "ir/script/parse_or_die.h"

namespace tilewright {
namespace {

// A block over f below `extent`, run where `where` holds.
bool Differ(const std::string& extent, const std::string& where, const std::string& statement) {
  return CheckSpatialIterators(ParseFunctionOrDie(R"(
@T.prim_func
def main(A: T.Buffer((64,), "float32"), C: T.Buffer((64,), "float32")):
    for f in range()" + extent + R"():
        with T.block("C"):
            v = T.axis.spatial()" + extent + R"(, f)
            T.where()" + where + R"()
            )" + statement + "\n"))
      .empty();
}

TEST(SpatialIterators, FusedLoopsWithGaps) {
  EXPECT_TRUE(Differ("30", "f % 3 < 2", "C[v // 3 * 2 + v % 3] = A[v]"));
  EXPECT_TRUE(Differ("30", "f % 3 <= 1 and f < 29", "C[v // 3 * 2 + v % 3] = A[v]"));
  EXPECT_TRUE(Differ("30", "f % 3 < 1", "C[v // 3] = A[v]"));
  EXPECT_TRUE(Differ("30", "f % 5 < 5", "C[(v // 5 * 5 + 2) % 6 * 5 + v % 5] = A[v]"));
  // The gaps are wider than what is left out.
  EXPECT_FALSE(Differ("30", "f % 3 < 3", "C[v // 3 * 2 + v % 3] = A[v]"));
  EXPECT_FALSE(Differ("30", "f % 4 < 2", "C[v // 3 * 2 + v % 3] = A[v]"));
  EXPECT_FALSE(Differ("30", "f % 3 < 2", "C[v // 3] = A[v]"));
  EXPECT_FALSE(Differ("30", "f % 5 < 5", "C[(v // 5 * 3 + 2) % 6 * 5 + v % 5] = A[v]"));
}

// The predicate is about loops of which the iterator is a sum.
TEST(SpatialIterators, GapsOfSplitLoops) {
  const auto differ = [](const std::string& binding, const std::string& where) {
    return CheckSpatialIterators(ParseFunctionOrDie(R"(
@T.prim_func
def main(A: T.Buffer((64,), "float32"), C: T.Buffer((64,), "float32")):
    for a, b in T.grid(8, 3):
        with T.block("C"):
            v = T.axis.spatial(24, )" + binding + R"()
            T.where()" + where + R"()
            C[v // 4 * 2 + v % 4] = A[v]
)"))
        .empty();
  };
  EXPECT_TRUE(differ("a * 3 + b", "(b + a * 3) % 4 < 2"));
  EXPECT_TRUE(differ("a * 3 + b", "(a * 3 + b) % 4 < 2 and a * 3 + b < 23"));
  EXPECT_FALSE(differ("a * 3 + b", "(a * 3 + b) % 4 < 3"));
  EXPECT_FALSE(differ("a * 3 + b", "(a * 3 + b) % 4 != 1"));
}

// Fields of two colours, one colour in each sweep: the row says by how much its columns are moved.
TEST(SpatialIterators, SweepsOfOneColour) {
  const auto differ = [](const std::string& place, const std::string& rows, const std::string& columns) {
    return CheckSpatialIterators(ParseFunctionOrDie(R"(
@T.prim_func
def main(n: T.int32, m: T.int32, A: T.Buffer((n + 4096, m * 8 + 4096), "float32")):
    for c in range(2):
        for y, x in T.grid()" + rows + ", " + columns +
                                                    R"():
            with T.block("C"):
                vc = T.axis.opaque(2, c)
                vy = T.axis.spatial()" + rows + R"(, y)
                vx = T.axis.spatial()" + columns + R"(, x)
                A[)" + place + R"(] = T.Cast("float32", vy * 7 + vx)
)"))
        .empty();
  };
  for (const auto& [rows, columns] : {std::pair("10", "5"), {"2000", "2000"}, {"n", "64"}, {"n", "m"}}) {
    EXPECT_TRUE(differ("vy + 1, vx * 2 + (vy + vc) % 2 + 1", rows, columns)) << rows;
    EXPECT_TRUE(differ("vy + 1, vx + (vy + vc) % 2 + 1", rows, columns)) << rows;
    EXPECT_FALSE(differ("vy // 3, vx * 2 + (vy + vc) % 2 + 1", rows, columns)) << rows;
    EXPECT_FALSE(differ("vy + 1, vx // 2 * 2 + (vy + vc) % 2 + 1", rows, columns)) << rows;
    EXPECT_FALSE(differ("(vy + vc) % 2, vx * 2 + (vy + vc) % 2 + 1", rows, columns)) << rows;
  }
}

// What is rotated by a number that is the same for all instances, modulo a size.
TEST(SpatialIterators, RotationsBySymbolicDistances) {
  const auto differ = [](const std::string& place) {
    return CheckSpatialIterators(ParseFunctionOrDie(R"(
@T.prim_func
def main(a: T.handle, c: T.handle, P: T.Buffer((8,), "int32"), s: T.int32):
    n = T.int32()
    m = T.int32()
    A = T.match_buffer(a, (n, 16), "float32")
    C = T.match_buffer(c, (n, m), "float32")
    for i, j in T.grid(n, 16):
        with T.block("C"):
            vi, vj = T.axis.remap("SS", [i, j])
            C[)" + place + R"(] = A[vi, vj]
)"))
        .empty();
  };
  EXPECT_TRUE(differ("(vi + s) % n, vj"));
  EXPECT_TRUE(differ("(s - vi) % n, (vj * 3 + s + 2) % 48"));
  EXPECT_TRUE(differ("(vi + m * s - 1) % n, (vj - s) % 16"));
  EXPECT_FALSE(differ("(vi + s) % m, vj"));
  EXPECT_FALSE(differ("(vi + vj + s) % n, 0"));
  EXPECT_FALSE(differ("(vi + vi + s) % n, vj"));
  EXPECT_FALSE(differ("(vi + P[vi]) % n, vj"));
}

TEST(SpatialIterators, FewInstancesAreCounted) {
  EXPECT_TRUE(Differ("23", "f % 2 < 1", "C[v // 8 * 4 + v % 8 // 2] = A[v]"));
  EXPECT_TRUE(Differ("6", "True", "C[(v * 5 + 2) % 6 // 2 * 2 + v % 2] = A[v]"));
  EXPECT_TRUE(Differ("60", "8 <= f and f < 58 and f + 2 == (f + 2) // 5 * 5", "C[(v + 2) // 5 - 2] = A[v]"));
  EXPECT_FALSE(Differ("23", "f % 2 < 2", "C[v // 8 * 4 + v % 8 // 2] = A[v]"));
  EXPECT_FALSE(Differ("6", "True", "C[(v * 3 + 2) % 6 // 2 * 2 + v % 2] = A[v]"));
  EXPECT_FALSE(Differ("60", "8 <= f and f < 58", "C[(v + 2) // 5 - 2] = A[v]"));
}

// Two dimensions tell the number that they are digits of.
TEST(SpatialIterators, EqualValuesAtEqualDigits) {
  const auto agree = [](const std::string& quotient, const std::string& remainder, const std::string& value) {
    return CheckSpatialIterators(ParseFunctionOrDie(R"(
@T.prim_func
def main(A: T.Buffer((64,), "float32"), C: T.Buffer((8, 8), "float32")):
    for i, r in T.grid(12, 3):
        with T.block("C"):
            v, x = T.axis.remap("SS", [i, r])
            C[)" + quotient + ", " + remainder + "] = A[" +
                                                    value + "]\n"))
        .empty();
  };
  EXPECT_TRUE(agree("(v + x) // 2", "(v + x) % 2", "v + x"));
  EXPECT_TRUE(agree("(v + x) // 2", "(v + x) % 2", "v * 2 + x * 2 + 1"));
  EXPECT_TRUE(agree("(v + x + 1) // 2", "0", "T.if_then_else(1 <= (v + x + 1) // 2, 3, 4)"));
  EXPECT_FALSE(agree("(v + x + 1) // 2", "0", "T.if_then_else(2 <= v + x, 3, 4)"));
  EXPECT_FALSE(agree("(v + x) // 2", "(v + x) % 2", "v"));
  EXPECT_FALSE(agree("(v + x) // 2", "(v + x) % 3", "v + x"));
  EXPECT_FALSE(agree("(v + x) // 2", "v % 2", "v + x"));
}

// Tiles that overlap, copied to another layout: `index` and `value` of v, and of i below 3 and j below 2.
bool Agree(const std::string& index, const std::string& value) {
  return CheckSpatialIterators(ParseFunctionOrDie(R"(
@T.prim_func
def main(A: T.Buffer((64,), "float32"), C: T.Buffer((64,), "float32")):
    for f in range(10):
        with T.block("C"):
            v = T.axis.spatial(10, f)
            u = T.axis.spatial(1, 0)
            T.reads(A[0:64])
            T.writes(C[0:64])
            for i, j in T.grid(3, 2):
                C[)" + index + "] = A[" + value + "]\n"))
      .empty();
}

TEST(SpatialIterators, EqualValuesAtEqualElements) {
  EXPECT_TRUE(Agree("v + i", "v + i"));
  EXPECT_TRUE(Agree("v + i", "v * 6 + i * 6"));
  EXPECT_TRUE(Agree("v + i", "u * 32 + v + i"));
  // Digits of the index.
  EXPECT_TRUE(Agree("v * 2 + i * 2 + j", "(v + i) * 3 + j"));
  EXPECT_TRUE(Agree("v * 2 + i * 2 + j", "j"));
  EXPECT_TRUE(Agree("(v + i) * 2 + j", "(v + i) // 2 * 4 + (v + i) % 2"));
  // Quotients and remainders.
  EXPECT_TRUE(Agree("v // 3 * 5 + i + v % 3", "v // 3 * 5 + v % 3 + i"));
  EXPECT_TRUE(Agree("(v + i) // 2 + j", "(v + i) // 2 + 4 + j"));
  EXPECT_TRUE(Agree("(v + 1) // 2 + i", "(v + 1 + i * 2) // 2"));
  EXPECT_TRUE(Agree("(v + i * 2 + 5) // 2", "(v - 1) // 2 + i"));
  EXPECT_TRUE(Agree("(v + i * 3) % 3", "v % 3"));
  EXPECT_FALSE(Agree("(v + 1) // 2 + i", "v // 2 + i"));
  EXPECT_FALSE(Agree("(v + i * 2) % 3", "v % 3"));
  EXPECT_FALSE(Agree("v // 3 * 5 + i + v % 3", "v // 3 * 5 + i"));
  EXPECT_FALSE(Agree("(v + i) // 2 + j", "v + i"));
  EXPECT_FALSE(Agree("(v + i) % 2 * 8 + j", "v + i"));
  EXPECT_FALSE(Agree("v + i", "v"));
  EXPECT_FALSE(Agree("v + i", "v + i * 2"));
  EXPECT_FALSE(Agree("v + i", "v + i + j"));
  EXPECT_FALSE(Agree("v * 2 + i * 2 + j", "v * 2 + j"));
  // The digit does not fit.
  EXPECT_FALSE(Agree("v + i + j", "v + i"));
  EXPECT_FALSE(Agree("v * 2 + i + j * 2", "v + j"));
}

// Bits and cases of few instances, and instances of each other iterator by themselves.
TEST(SpatialIterators, PermutationsAreCounted) {
  EXPECT_TRUE(Differ("16", "f < 16", "C[v ^ 5] = A[v]"));
  EXPECT_TRUE(Differ("16", "f < 16", "C[(v << 1 | v >> 3) & 15] = A[v]"));
  EXPECT_TRUE(Differ("16", "f < 16", "C[T.if_then_else(v < 8, v * 2, v * 2 - 15)] = A[v]"));
  EXPECT_FALSE(Differ("16", "f < 16", "C[v & 14] = A[v]"));
  EXPECT_FALSE(Differ("16", "f < 16", "C[v | 1] = A[v]"));
  EXPECT_FALSE(Differ("16", "f < 16", "C[T.if_then_else(v < 8, v * 2, v * 2 - 16)] = A[v]"));
  const auto sweeps = [](const std::string& column) {
    return CheckSpatialIterators(ParseFunctionOrDie(R"(
@T.prim_func
def main(A: T.Buffer((10, 12), "float32")):
    for c, y, x in T.grid(2, 10, 5):
        with T.block("S"):
            vc = T.axis.opaque(2, c)
            vy, vx = T.axis.remap("SS", [y, x])
            A[vy, )" + column + R"(] = T.Cast("float32", vx)
)"))
        .empty();
  };
  EXPECT_TRUE(sweeps("vx * 2 + (vy + vc) % 2"));
  EXPECT_FALSE(sweeps("vx // 2 + (vy + vc) % 2"));
}

}  // namespace
}  // namespace tilewright
