// Reads of what no box holds, or of places that may lie outside.
#include "verify/regions/region_cover.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <string>

#include "ir/script/parse_or_die.h"

namespace tilewright {
namespace {

using ::testing::ElementsAre;
using ::testing::HasSubstr;
using ::testing::IsEmpty;
using ::testing::Not;

std::vector<std::string> Reasons(const std::string& text) {
  std::vector<std::string> reasons;
  for (const Diagnostic& d : CheckRegionCover(ParseFunctionOrDie(text))) reasons.push_back(d.reason);
  return reasons;
}

std::string Replaced(std::string text, const std::string& from, const std::string& to) {
  return text.replace(text.find(from), from.size(), to);
}

// n may be odd: what is written is not a box.
constexpr char kDigits[] = R"(
@T.prim_func
def main(A: T.Buffer((n, 6), "float32"), C: T.Buffer((n, 6), "float32"), n: T.int32):
    B = T.alloc_buffer(((n + 1) // 2, 6, 2))
    for i, j in T.grid(n, 6):
        with T.block("B"):
            vi, vj = T.axis.remap("SS", [i, j])
            B[vi // 2, vj, vi % 2] = A[vi, vj]
    for i, j in T.grid(n, 6):
        with T.block("C"):
            vi, vj = T.axis.remap("SS", [i, j])
            C[vi, vj] = B[vi // 2, vj, vi % 2]
)";

TEST(RegionCover, InstancesThatWroteWhatIsRead) {
  EXPECT_THAT(Reasons(kDigits), IsEmpty());
  EXPECT_THAT(Reasons(Replaced(kDigits, "B = T.alloc_buffer(((n + 1) // 2, 6, 2))",
                               "B = T.alloc_buffer(((n + 1) // 2, 6, 2), scope=\"local\")")),
              IsEmpty());
}

// Iterators of one value say nothing of the place, on either side.
TEST(RegionCover, InstancesWithUnitIterators) {
  std::string units = kDigits;
  for (const char* value : {"A[vi, vj]", "B[vi // 2, vj, vi % 2]"}) {
    units = Replaced(units,
                     std::string("vi, vj = T.axis.remap(\"SS\", [i, j])\n            ") +
                         (value[0] == 'A' ? "B[vi // 2, vj, vi % 2] = " : "C[vi, vj] = ") + value,
                     std::string("vi, vj = T.axis.remap(\"SS\", [i, j])\n            vu = T.axis.spatial(1, 0)\n") +
                         "            " +
                         (value[0] == 'A' ? "B[(vi + vu) // 2, vj, (vi + vu) % 2] = " : "C[vi, vj] = ") + value);
  }
  EXPECT_THAT(Reasons(units), IsEmpty());
  EXPECT_THAT(Reasons(Replaced(units, "(vi + vu) // 2, vj, (vi + vu) % 2", "(vi + vu) // 2, vj, vu")),
              ElementsAre(HasSubstr("which is not all written before")));
}

TEST(RegionCover, InstancesThatDidNotRun) {
  const auto missing = ElementsAre(HasSubstr("which is not all written before"));
  // The digits of one more.
  EXPECT_THAT(Reasons(Replaced(kDigits, "C[vi, vj] = B[vi // 2, vj, vi % 2]",
                               "C[vi, vj] = B[(vi + 1) // 2, vj, (vi + 1) % 2]")),
              missing);
  EXPECT_THAT(Reasons(Replaced(kDigits, "C[vi, vj] = B[vi // 2, vj, vi % 2]", "C[vi, vj] = B[vi // 2, vj, vj % 2]")),
              missing);
  // Not all instances ran.
  const std::string binding = "vi, vj = T.axis.remap(\"SS\", [i, j])\n";
  EXPECT_THAT(Reasons(Replaced(kDigits, binding, binding + "            T.where(i < n - 1)\n")), missing);
  EXPECT_THAT(Reasons(Replaced(kDigits, "for i, j in T.grid(n, 6):", "for i, j in T.grid(n - 1, 6):")), missing);
  // One that ran need not have written.
  EXPECT_THAT(Reasons(Replaced(kDigits, "            B[vi // 2, vj, vi % 2] = A[vi, vj]",
                               "            T.writes(B[vi // 2, vj, vi % 2])\n"
                               "            if A[vi, vj] > T.float32(0):\n"
                               "                B[vi // 2, vj, vi % 2] = A[vi, vj]")),
              missing);
}

// Outside of the buffer there is nothing to write or to read; elsewhere the condition holds.
constexpr char kPlace[] = R"(
@T.prim_func
def main(A: T.Buffer((9, 6), "float32"), C: T.Buffer((6,), "float32"), source: T.int64):
    B = T.alloc_buffer((9, 6))
    for j in range(6):
        with T.block("B"):
            vj = T.axis.spatial(6, j)
            T.writes(B[source, vj])
            if T.int64(0) <= source and source < T.int64(9):
                B[source, vj] = A[source, vj]
        with T.block("C"):
            vj = T.axis.spatial(6, j)
            C[vj] = B[source, vj]
)";

TEST(RegionCover, PlacesAreInside) {
  EXPECT_THAT(Reasons(kPlace), IsEmpty());
  const auto missing = ElementsAre(HasSubstr("need not write all of B[source, vj]"));
  EXPECT_THAT(Reasons(Replaced(kPlace, "source < T.int64(9)", "source < T.int64(8)")), missing);
  EXPECT_THAT(Reasons(Replaced(kPlace, "T.int64(0) <= source", "T.int64(1) <= source")), missing);
  EXPECT_THAT(Reasons(Replaced(kPlace, "source < T.int64(9)", "vj < 5")), missing);
}

// A block of blocks declares the box; those inside write what they write.
TEST(RegionCover, BlocksInsideOfBlocks) {
  const std::string nested = R"(
@T.prim_func
def main(A: T.Buffer((n, 6), "float32"), C: T.Buffer((n, 6), "float32"), n: T.int32):
    B = T.alloc_buffer(((n + 1) // 2, 6, 2))
    with T.block("B_o"):
        vo = T.axis.spatial(1, 0)
        T.reads(A[0:n, 0:6])
        T.writes(B[0:(n + 1) // 2, 0:6, 0:2])
        for i, j in T.grid(n, 6):
            with T.block("B"):
                vi, vj = T.axis.remap("SS", [i, j])
                B[vi // 2, vj, vi % 2] = A[vi, vj]
    for i in range(n):
        with T.block("C_o"):
            vi = T.axis.spatial(n, i)
            T.reads(B[vi // 2, 0:6, vi % 2])
            T.writes(C[vi, 0:6])
            for j in range(6):
                with T.block("C"):
                    vj = T.axis.spatial(6, j)
                    C[vi, vj] = B[vi // 2, vj, vi % 2]
)";
  EXPECT_THAT(Reasons(nested), IsEmpty());
  const auto missing = ElementsAre(HasSubstr("which is not all written before"));
  EXPECT_THAT(Reasons(Replaced(nested, "for i, j in T.grid(n, 6)", "for i, j in T.grid(n - 1, 6)")), missing);
  EXPECT_THAT(
      Reasons(Replaced(nested, "vo = T.axis.spatial(1, 0)\n", "vo = T.axis.spatial(1, 0)\n        T.where(n < 7)\n")),
      missing);
  EXPECT_THAT(Reasons(Replaced(nested, "C[vi, vj] = B[vi // 2, vj, vi % 2]", "C[vi, vj] = B[vi // 2, vj, 1]")),
              missing);
}

// Somebody declared more than the block reads.
TEST(RegionCover, DeclaredWiderThanRead) {
  const std::string wide = R"(
@T.prim_func
def main(A: T.Buffer((n, 6), "float32"), C: T.Buffer((n, 6), "float32"), n: T.int32):
    B = T.alloc_buffer((n, 6))
    for i, j in T.grid(n, 6):
        with T.block("B"):
            vi, vj = T.axis.remap("SS", [i, j])
            B[vi, vj] = A[vi, vj]
        with T.block("C"):
            vi, vj = T.axis.remap("SS", [i, j])
            T.reads(B[0:n, 0:6])
            T.writes(C[vi, vj])
            C[vi, vj] = B[vi, vj]
)";
  EXPECT_THAT(Reasons(wide), IsEmpty());
  EXPECT_THAT(Reasons(Replaced(wide, "= B[vi, vj]", "= B[n - 1, vj]")),
              ElementsAre(HasSubstr("dimension 0: from i is provided, 0 is needed")));
  EXPECT_THAT(Reasons(Replaced(wide, "= B[vi, vj]", "= T.call_extern(\"float32\", \"f\", B[vi, vj])")),
              ElementsAre(HasSubstr("dimension 0: from i is provided, 0 is needed")));
}

// The reader runs where there is a k below; so far the writer runs.
TEST(RegionCover, TilesThatAReaderVisits) {
  const std::string tiles = R"(
@T.prim_func
def main(A: T.Buffer((n, 6), "float32"), C: T.Buffer((n, 6), "float32"), n: T.int32):
    B = T.alloc_buffer((n, 6))
    for i, a, b in T.grid(n, 2, 2):
        for k in range(2):
            with T.block("B"):
                vi = T.axis.spatial(n, i)
                vj = T.axis.spatial(6, a * 4 + b * 2 + k)
                T.where(a * 2 + b < 3)
                B[vi, vj] = A[vi, vj]
        for k in range(2):
            with T.block("C"):
                vi = T.axis.spatial(n, i)
                vj = T.axis.spatial(6, a * 4 + b * 2 + k)
                T.where((a * 2 + b) * 2 + k < 6)
                C[vi, vj] = B[vi, vj]
)";
  EXPECT_THAT(Reasons(tiles), IsEmpty());
  EXPECT_THAT(Reasons(Replaced(tiles, "T.where(a * 2 + b < 3)", "T.where(a * 2 + b < 2)")),
              ElementsAre(HasSubstr("which is not all written before")));
}

// Scalars that statements set between blocks.
constexpr char kScalars[] = R"(
@T.prim_func
def main(A: T.Buffer((8,), "int32"), C: T.Buffer((8,), "int32"), n: T.int32):
    with T.block("scope"):
        T.reads(A[0:8])
        T.writes(C[0:8])
        s = T.alloc_buffer((2,), "int32")
        s[0] = A[0]
        s[1] = A[1]
        for i in range(8):
            if i < n:
                with T.block("C"):
                    vi = T.axis.spatial(8, i)
                    C[vi] = A[vi] + s[0]
)";

TEST(RegionCover, StatementsBetweenBlocksWrite) {
  const std::string scalars = kScalars;
  EXPECT_THAT(Reasons(scalars), IsEmpty());
  EXPECT_THAT(Reasons(Replaced(scalars, "        s[0] = A[0]\n", "")),
              ElementsAre(HasSubstr("not all written before")));
  EXPECT_THAT(Reasons(Replaced(scalars, "        s[0] = A[0]\n", "        if A[2] > 0:\n            s[0] = A[0]\n")),
              ElementsAre(HasSubstr("runs under a condition")));
  EXPECT_THAT(Reasons(Replaced(scalars, "        s[0] = A[0]\n", "        while A[2] > 0:\n            s[0] = A[0]\n")),
              ElementsAre(HasSubstr("runs under a condition")));
  // What is written where the reader runs too.
  const std::string inside = Replaced(scalars, "        s[0] = A[0]\n", "");
  EXPECT_THAT(
      Reasons(Replaced(inside, "            if i < n:\n", "            if i < n:\n                s[0] = A[0]\n")),
      IsEmpty());
  EXPECT_THAT(Reasons(Replaced(inside, "            if i < n:\n",
                               "            if i < n - 1:\n                s[0] = A[i]\n            if i < n:\n")),
              ElementsAre(HasSubstr("not all written before")));
  EXPECT_THAT(Reasons(Replaced(inside, "            if i < n:\n",
                               "            if i < n + 1:\n                s[0] = A[i]\n            if i < n:\n")),
              IsEmpty());
}

// A block that reads under a condition, and one that writes first what it reads.
TEST(RegionCover, ReadsInsideOfABlock) {
  const std::string half = R"(
@T.prim_func
def main(A: T.Buffer((8,), "float32"), C: T.Buffer((8,), "float32"), n: T.int32):
    B = T.alloc_buffer((8,), "float32")
    for i in range(8):
        with T.block("B"):
            vi = T.axis.spatial(8, i)
            T.where(i < 4)
            B[vi] = A[vi]
    for i in range(8):
        with T.block("C"):
            vi = T.axis.spatial(8, i)
            T.reads(B[vi])
            T.writes(C[vi])
            if vi < 4:
                C[vi] = B[vi]
)";
  EXPECT_THAT(Reasons(half), IsEmpty());
  EXPECT_THAT(Reasons(Replaced(half, "if vi < 4:", "if vi < 5:")), ElementsAre(HasSubstr("not all written before")));
  const std::string own = R"(
@T.prim_func
def main(A: T.Buffer((8,), "float32"), C: T.Buffer((8,), "float32")):
    B = T.alloc_buffer((8,), "float32")
    for i in range(8):
        with T.block("C"):
            vi = T.axis.spatial(8, i)
            T.reads(A[vi], B[vi])
            T.writes(B[vi], C[vi])
            B[vi] = A[vi]
            C[vi] = B[vi]
)";
  EXPECT_THAT(Reasons(own), IsEmpty());
  EXPECT_THAT(Reasons(Replaced(own, "C[vi] = B[vi]", "C[vi] = B[7 - vi]")),
              ElementsAre(HasSubstr("not all written before")));
}

// Rows of memory that outlives the block, each filled, counted and read by one instance.
TEST(RegionCover, ScratchRowsOfOneBlock) {
  const std::string rows = R"(
@T.prim_func
def main(X: T.Buffer((4096, 32), "float32"), Y: T.Buffer((4096, 32), "float32")):
    S = T.alloc_buffer((4096, 32), "float32")
    R = T.alloc_buffer((4096, 32), "int32")
    for i in range(4096):
        with T.block("row"):
            vi = T.axis.spatial(4096, i)
            T.reads(X[vi, 0:32], S[vi, 0:32], R[vi, 0:32])
            T.writes(S[vi, 0:32], R[vi, 0:32], Y[vi, 0:32])
            for j in range(32):
                S[vi, j] = X[vi, j]
                R[vi, j] = 0
            for j, k in T.grid(32, 32):
                if S[vi, k] > S[vi, j]:
                    R[vi, j] = R[vi, j] + 1
            for j in range(32):
                Y[vi, j] = S[vi, T.min(R[vi, j], 31)] + S[vi, 31 - j]
)";
  EXPECT_THAT(Reasons(rows), IsEmpty());
  const auto missing = testing::Contains(HasSubstr("which is not all written before"));
  EXPECT_THAT(
      Reasons(Replaced(rows, "for j in range(32):\n                S", "for j in range(31):\n                S")),
      missing);
  EXPECT_THAT(Reasons(Replaced(rows, "S[vi, j] = X[vi, j]", "S[vi, j // 2] = X[vi, j]")), missing);
  EXPECT_THAT(Reasons(Replaced(rows, "+ S[vi, 31 - j]", "+ S[4095 - vi, j]")), missing);
  EXPECT_THAT(
      Reasons(Replaced(rows, "                S[vi, j] = X[vi, j]\n",
                       "                if X[vi, j] > T.float32(0):\n                    S[vi, j] = X[vi, j]\n")),
      missing);
}

// All threads of a block run what its scope holds, each for its own indices.
TEST(RegionCover, ThreadsTogetherWriteWhatTheyShare) {
  const std::string shared = R"(
@T.prim_func
def main(A: T.Buffer((32,), "float32"), C: T.Buffer((32,), "float32")):
    for t in T.thread_binding(32, thread="threadIdx.x"):
        with T.block("k"):
            vt = T.axis.spatial(32, t)
            T.reads(A[0:32])
            T.writes(C[0:32])
            S = T.alloc_buffer((32,), "float32", scope="shared")
            if vt < 32:
                S[vt] = A[vt]
            T.tvm_storage_sync("shared")
            with T.block("C"):
                T.reads(S[0:32])
                T.writes(C[0:32])
                C[vt] = S[31 - vt]
)";
  EXPECT_THAT(Reasons(shared), IsEmpty());
  EXPECT_THAT(Reasons(Replaced(shared, "if vt < 32:", "if vt < 31:")),
              ElementsAre(HasSubstr("not all written before")));
  EXPECT_THAT(Reasons(Replaced(shared, "S[vt] = A[vt]", "S[vt // 2] = A[vt]")),
              ElementsAre(HasSubstr("not all written before")));
  EXPECT_THAT(Reasons(Replaced(shared, "scope=\"shared\"", "scope=\"local\"")),
              ElementsAre(HasSubstr("not all written before")));
}

// The rows are written in two parts, or in tiles of a block, and read by number or by digits.
TEST(RegionCover, DimensionsThatAreDigitsOfANumber) {
  const auto reasons = [](const std::string& write, const std::string& read) {
    return Reasons(R"(
@T.prim_func
def main(A: T.Buffer((n, 6), "float32"), C: T.Buffer((n + 1, 6), "float32"), n: T.int32):
    B = T.alloc_buffer(((n + 1) // 2, 6, 2))
)" + write + read);
  };
  const auto part = [](const std::string& name, const std::string& columns, const std::string& rows = "n") {
    return "    for i, j in T.grid(" + rows + ", 3):\n        with T.block(\"" + name +
           "\"):\n            vi = T.axis.spatial(n, i)\n            vj = T.axis.spatial(6, " + columns +
           ")\n            B[vi // 2, vj, vi % 2] = A[vi, vj]\n";
  };
  const std::string tiles = R"(
    for i, j in T.grid(n, 2):
        with T.block("B_o"):
            vi, vj = T.axis.remap("SS", [i, j])
            T.reads(A[vi, vj * 3:vj * 3 + 3])
            T.writes(B[vi // 2, vj * 3:vj * 3 + 3, vi % 2])
            for k in range(3):
                with T.block("B"):
                    vk = T.axis.spatial(3, k)
                    B[vi // 2, vj * 3 + vk, vi % 2] = A[vi, vj * 3 + vk]
)";
  const std::string by_number = R"(
    for i, j in T.grid(n, 6):
        with T.block("C"):
            vi, vj = T.axis.remap("SS", [i, j])
            C[vi, vj] = B[vi // 2, vj, vi % 2]
)";
  const std::string by_digits = R"(
    for a, j, b in T.grid((n + 1) // 2, 6, 2):
        with T.block("C"):
            va, vj, vb = T.axis.remap("SSS", [a, j, b])
            T.where(a * 2 + b < n)
            C[va * 2 + vb, vj] = B[va, vj, vb]
)";
  const std::string beyond = R"(
    for i, j in T.grid(n + 1, 6):
        with T.block("C"):
            vi, vj = T.axis.remap("SS", [i, j])
            C[vi, vj] = B[vi // 2, vj, vi % 2]
)";
  const std::string both = part("B0", "j") + part("B1", "j + 3");
  for (const std::string& read : {by_number, by_digits}) {
    EXPECT_THAT(reasons(both, read), IsEmpty());
    EXPECT_THAT(reasons(tiles, read), IsEmpty());
    EXPECT_EQ(reasons(part("B0", "j") + part("B1", "j + 2"), read).size(), 1U);
    EXPECT_EQ(reasons(part("B0", "j") + part("B1", "j + 3", "n - 1"), read).size(), 1U);
    EXPECT_EQ(reasons(Replaced(tiles, "T.grid(n, 2)", "T.grid(n - 1, 2)"), read).size(), 1U);
  }
  EXPECT_EQ(reasons(both, beyond).size(), 1U);
  // A part of the quotients with one of the remainders is not a range of numbers.
  EXPECT_EQ(reasons(both,
                    "    with T.block(\"C\"):\n        T.reads(B[0:(n + 1) // 2, 0:6, 1])\n        T.writes(C[0, 0])\n"
                    "        for a in range((n + 1) // 2):\n            C[0, 0] = B[a, 0, 1]\n")
                .size(),
            1U);
  EXPECT_EQ(reasons(both, Replaced(by_digits, "a * 2 + b < n", "a * 2 + b < n + 1")).size(), 1U);
  EXPECT_EQ(reasons(both, Replaced(by_number, "B[vi // 2, vj, vi % 2]", "B[vi // 2, vj, 1]")).size(), 1U);
}

// No box holds what a triangle writes; the instance that wrote what is read ran.
TEST(RegionCover, TrianglesOfAnySize) {
  const auto reasons = [](const std::string& written, const std::string& read, const std::string& place = "vi, vk",
                          const std::string& loops = "k in range(n)", const std::string& bound = "k") {
    return Reasons(
        "@T.prim_func\ndef main(n: T.int32, A: T.Buffer((n + 1,), \"float32\"), B: T.Buffer((n,), \"float32\")):"
        R"(
    W = T.alloc_buffer((n + 1, n + 1))
    for i in range(n):
      for )" +
        loops + R"(:
        with T.block("W"):
            vi = T.axis.spatial(n, i)
            vk = T.axis.spatial(n, )" +
        bound + R"()
            T.where()" +
        written + R"()
            W[vi, vk] = A[vk]
    for i, k in T.grid(n, n):
        with T.block("B"):
            vi, vk = T.axis.remap("SR", [i, k])
            T.where()" +
        read + R"()
            with T.init():
                B[vi] = T.float32(0)
            B[vi] = B[vi] + W[)" +
        place + "]\n");
  };
  EXPECT_THAT(reasons("k <= i", "k <= i"), IsEmpty());
  EXPECT_THAT(reasons("k <= i", "k < i"), IsEmpty());
  EXPECT_THAT(reasons("k <= i and 0 <= i", "k + 3 <= i"), IsEmpty());
  EXPECT_THAT(reasons("i <= k", "k <= i", "vk, vi"), IsEmpty());
  EXPECT_THAT(reasons("True", "k <= i", "vi, vk", "k in range(i + 1)"), IsEmpty());
  const std::string split = "a, b in T.grid((n + 3) // 4, 4)", number = "a * 4 + b", inside = number + " < n and ";
  EXPECT_THAT(reasons(inside + number + " <= i", "k <= i", "vi, vk", split, number), IsEmpty());
  EXPECT_THAT(reasons(inside + number + " < i", "k <= i", "vi, vk", split, number), Not(IsEmpty()));
  EXPECT_THAT(reasons(inside + "a <= i", "k <= i * 4", "vi, vk", split, number), IsEmpty());
  EXPECT_THAT(reasons(inside + "b <= i", "k <= i", "vi, vk", "a, b in T.grid(n // 4, 4)", number), Not(IsEmpty()));
  EXPECT_THAT(reasons("True", "k < i", "vi - vk, vk", "k in range(i + 1)"), Not(IsEmpty()));
  EXPECT_THAT(reasons("k <= i", "True"), Not(IsEmpty()));
  EXPECT_THAT(reasons("k < i", "k <= i"), Not(IsEmpty()));
  EXPECT_THAT(reasons("k <= i", "k <= i", "vi, vk + 1"), Not(IsEmpty()));
  EXPECT_THAT(reasons("k <= i", "k <= i", "vi + 1, vk"), Not(IsEmpty()));
  EXPECT_THAT(reasons("k <= i", "k <= i", "vk, vi"), Not(IsEmpty()));
  EXPECT_THAT(reasons("True", "k <= i", "vi, vk", "k in range(n - 1)"), Not(IsEmpty()));
  EXPECT_THAT(reasons("k <= i and A[i] > T.float32(0)", "k <= i and A[i] > T.float32(0)"), Not(IsEmpty()));
}

// A block inside of another sets what it then adds to, as many times as memory says.
TEST(RegionCover, SumsThatABlockInsideBegins) {
  const auto reasons = [](const std::string& first) {
    return Reasons(R"(
@T.prim_func
def main(L: T.Buffer((6,), "int32"), A: T.Buffer((6, 9), "float32"), S: T.Buffer((6,), "float32")):
    W = T.alloc_buffer((6,))
    with T.block("W_o"):
        T.reads(L[0:6], W[0:6], A[0:6, 0:9])
        T.writes(W[0:6])
        for i in range(6):
            with T.block("W"):
                v = T.axis.spatial(6, i)
                T.reads(L[v], W[v], A[v, 0:L[v] + 4])
                T.writes(W[v])
)" + first + R"(
                for t in range(L[v] + 4):
                    W[v] = W[v] + A[v, t]
    for i in range(6):
        with T.block("S"):
            v = T.axis.spatial(6, i)
            S[v] = W[v]
)");
  };
  EXPECT_THAT(reasons("                W[v] = T.float32(0)"), IsEmpty());
  EXPECT_THAT(reasons("                if L[v] > 0:\n                    W[v] = T.float32(0)"), Not(IsEmpty()));
  EXPECT_THAT(reasons("                S[v] = T.float32(0)"), Not(IsEmpty()));
  EXPECT_THAT(reasons("                if v < 5:\n                    W[v] = T.float32(0)"), Not(IsEmpty()));
}

}  // namespace
}  // namespace tilewright
