// Memory that has several names: what one of them touches counts for all.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <string>

#include "ir/script/parse_or_die.h"
#include "verify/verify.h"

namespace tilewright {
namespace {

using ::testing::HasSubstr;

// The first thing that is refuted; empty where nothing is.
std::string Refuted(const std::string& program) {
  for (const Diagnostic& diagnostic : VerifyProgram(ParseFunctionOrDie(program)).diagnostics) {
    if (diagnostic.verdict == Verdict::kRefuted) return std::string(diagnostic.check) + ": " + diagnostic.reason;
  }
  return "";
}

TEST(Views, LieInsideOfTheirMemory) {
  const auto offset = [](int elements) {
    const std::string n = std::to_string(elements);
    return Refuted(R"(
@T.prim_func
def main(A: T.Buffer((16,), "float32")):
    B = T.decl_buffer(()" +
                   n + R"(,), "float32", data=A.data, elem_offset=8)
    for i in range()" +
                   n + R"():
        B[i] = T.float32(0)
)");
  };
  EXPECT_EQ(offset(8), "");
  EXPECT_THAT(offset(12), HasSubstr("B is another name of A"));
  const auto wider = [](int elements, const std::string& type) {
    const std::string n = std::to_string(elements);
    return Refuted(R"(
@T.prim_func
def main(A: T.Buffer((64,), "float32")):
    B = T.decl_buffer(()" +
                   n + ",), \"" + type + R"(", data=A.data)
    for i in range()" +
                   n + R"():
        with T.block("b"):
            v = T.axis.spatial()" +
                   n + R"(, i)
            B[v] = T.)" +
                   type + R"((7)
)");
  };
  EXPECT_EQ(wider(32, "int64"), "");
  EXPECT_EQ(wider(64, "int32"), "");
  EXPECT_EQ(wider(256, "int8"), "");
  EXPECT_THAT(wider(64, "int64"), HasSubstr("B is another name of A"));
  EXPECT_THAT(wider(257, "int8"), HasSubstr("B is another name of A"));
}

TEST(Views, RacesGoThroughThem) {
  const auto reads = [](const std::string& view, const std::string& value) {
    return Refuted(R"(
@T.prim_func
def main(A: T.Buffer((1024,), "float32")):
    B = T.decl_buffer()" +
                   view + R"(, data=A.data)
    for i in T.parallel(1023):
        with T.block("a"):
            v = T.axis.spatial(1023, i)
            A[v] = )" +
                   value + "\n");
  };
  EXPECT_EQ(reads("(1024,), \"float32\"", "B[v] + T.float32(1)"), "");
  EXPECT_THAT(reads("(1024,), \"float32\"", "B[v + 1] + T.float32(1)"), HasSubstr("races"));
  EXPECT_EQ(reads("(32, 32), \"float32\"", "B[v // 32, v % 32] + T.float32(1)"), "");
  EXPECT_THAT(reads("(32, 32), \"float32\"", "B[v % 32, v // 32] + T.float32(1)"), HasSubstr("races"));
  EXPECT_EQ(reads("(4096,), \"uint8\"", "T.Cast(\"float32\", B[v * 4 + 3])"), "");
  EXPECT_THAT(reads("(4096,), \"uint8\"", "T.Cast(\"float32\", B[v * 4 + 4])"), HasSubstr("races"));
}

TEST(Views, WritesOfOneNameAreReadByAnother) {
  const auto halves = [](int written, const std::string& view, const std::string& value) {
    const std::string n = std::to_string(written);
    return Refuted(R"(
@T.prim_func
def main(A: T.Buffer((256,), "float32"), O: T.Buffer((16, 16), "float32")):
    S = T.alloc_buffer((256,), "float32")
    V = T.decl_buffer()" +
                   view + R"(, data=S.data)
    for i in range()" +
                   n + R"():
        with T.block("w"):
            v = T.axis.spatial()" +
                   n + R"(, i)
            S[v] = A[v]
    for i, j in T.grid(16, 16):
        with T.block("o"):
            vi, vj = T.axis.remap("SS", [i, j])
            O[vi, vj] = )" +
                   value + "\n");
  };
  EXPECT_EQ(halves(256, "(16, 16), \"float32\"", "V[vi, vj]"), "");
  EXPECT_NE(halves(128, "(16, 16), \"float32\"", "V[vi, vj]"), "");
  EXPECT_EQ(halves(256, "(1024,), \"int8\"", "T.Cast(\"float32\", V[vi * 64 + vj * 4])"), "");
  EXPECT_NE(halves(255, "(1024,), \"int8\"", "T.Cast(\"float32\", V[vi * 64 + vj * 4])"), "");
  EXPECT_EQ(halves(256, "(128,), \"float64\"", "T.Cast(\"float32\", V[vi * 8 + vj // 2])"), "");
}

// Instances that write different elements of a buffer write the same place where its elements overlap.
TEST(Views, ElementsThatOverlap) {
  const auto rows = [](int stride) {
    return Refuted(R"(
@T.prim_func
def main(A: T.Buffer((8, 12), "float32"), O: T.Buffer((8, 12), "float32")):
    S = T.alloc_buffer((8, 12), "float32", strides=()" +
                   std::to_string(stride) + R"(, 1))
    for i in T.parallel(8):
        for j in range(12):
            with T.block("a"):
                vi, vj = T.axis.remap("SS", [i, j])
                S[vi, vj] = A[vi, vj]
    for i, j in T.grid(8, 12):
        with T.block("b"):
            vi, vj = T.axis.remap("SS", [i, j])
            O[vi, vj] = S[vi, vj]
)");
  };
  EXPECT_EQ(rows(12), "");
  EXPECT_EQ(rows(16), "");
  EXPECT_NE(rows(8), "");
}

// A row of a view, matched: what is written by it is written of the array.
TEST(Views, PartsOfThemAreFollowed) {
  const auto columns = [](const std::string& matched) {
    return Refuted(R"(
@T.prim_func
def main(A: T.Buffer((5, 2), "int64"), O: T.Buffer((5, 4), "uint32")):
    S = T.alloc_buffer((5, 4), "uint32")
    V = T.decl_buffer((5, 2), "int64", data=S.data)
    for i in range(5):
        with T.block("rows"):
            vi = T.axis.spatial(5, i)
            M = T.match_buffer(V[vi, 0:)" +
                   matched + "], (" + matched + R"(,), "int64", strides=("s",), offset_factor=1)
            for k in range()" +
                   matched + R"():
                M[k] = A[vi, k]
    for i, j in T.grid(5, 4):
        with T.block("O"):
            vi, vj = T.axis.remap("SS", [i, j])
            O[vi, vj] = S[vi, vj]
)");
  };
  EXPECT_EQ(columns("2"), "");
  EXPECT_THAT(columns("1"), HasSubstr("region cover"));
}

// What lowering refuses is not proven before.
TEST(Views, MatchedBuffersHaveTheShapeOfTheirPart) {
  const auto matched = [](const std::string& part, const std::string& shape, const std::string& element) {
    return Refuted(R"(
@T.prim_func
def main(A: T.Buffer((8, 32), "float32")):
    for i in range(8):
        with T.block("rows"):
            vi = T.axis.spatial(8, i)
            T.reads()
            T.writes(A[vi, 0:32])
            X = T.match_buffer(A[)" +
                   part + "], " + shape + R"(, "float32", offset_factor=1)
            for k in range(32):
                X[)" +
                   element + "] = T.float32(1)\n");
  };
  const std::string refused = "well-formedness: match_buffer X: its shape differs from the part of A";
  EXPECT_EQ(matched("vi, 0:32", "(32,)", "k"), "");
  EXPECT_EQ(matched("vi, 0:32", "(1, 32)", "0, k"), "");
  EXPECT_EQ(matched("vi, 0:32", "(1, 1, 32)", "0, 0, k"), "");
  EXPECT_EQ(matched("vi, 0:32", "(4, 8)", "k // 8, k % 8"), refused);
  EXPECT_EQ(matched("vi, 0:32", "(32, 1)", "k, 0"), refused);
  EXPECT_EQ(matched("vi, 0:32", "(2, 32)", "0, k"), refused);
  EXPECT_EQ(matched("vi, 0:32", "(16,)", "k // 2"), refused);
}

TEST(Views, PartsOfSymbolicExtentsAreFollowed) {
  const auto rows = [](const std::string& added) {
    return Refuted(R"(
@T.prim_func
def main(a: T.handle, d: T.handle):
    n = T.int32()
    A = T.match_buffer(a, (4, n), "int32")
    D = T.match_buffer(d, (4, n), "int32")
    for i in range(4):
        with T.block("row"):
            v = T.axis.spatial(4, i)
            T.reads(A[v, 0:n], D[v, 0:n])
            T.writes(D[v, 0:n])
            Y = T.match_buffer(D[v, 0:n], (n,), "int32", offset_factor=1)
            for j in T.parallel(n):
                with T.block("D"):
                    w = T.axis.spatial(n, j)
                    Y[w] = A[v, w] + )" +
                   added + "\n");
  };
  EXPECT_EQ(rows("Y[w]"), "");
  EXPECT_THAT(rows("Y[n - 1 - w]"), HasSubstr("races"));
  EXPECT_THAT(rows("D[v, n - 1 - w]"), HasSubstr("races"));
}

}  // namespace
}  // namespace tilewright
