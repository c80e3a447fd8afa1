// Loops of symbolic extents: what they are cut into, and that they compute the same.
#include "codegen/lower/cpu/symbolic_edges.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "absl/strings/str_replace.h"
#include "codegen/lower/common/pass_testing.h"

namespace tilewright {
namespace {

using ::testing::HasSubstr;
using ::testing::Not;

// A loop over tiles of 3 rows.
constexpr char kTiles[] = R"(
@T.prim_func
def main(a: T.handle, b: T.handle):
    n = T.int32()
    A = T.match_buffer(a, (n,), "int32")
    B = T.match_buffer(b, (n,), "int32")
    for i0 in KIND((n + 2) // 3):
        for i1 in INNER(3):
            if i0 * 3 + i1 < n:
                B[i0 * 3 + i1] = A[i0 * 3 + i1] * 5
)";

std::string Tiles(std::string text, const std::string& kind, const std::string& inner) {
  text.replace(text.find("KIND"), 4, kind);
  text.replace(text.find("INNER"), 5, inner);
  return text;
}

void ExpectSame(const Function& before) { testing::ExpectSameAtAllSizes(before, CutSymbolicEdges(before)); }

TEST(SymbolicEdges, OneBodyForEachNumberOfRows) {
  const Function before = testing::Opaque(Tiles(kTiles, "range", "T.unroll"));
  const std::string after = testing::Body(CutSymbolicEdges(before));
  EXPECT_THAT(after, HasSubstr("for i0 in range(i0_full):\n"
                               "        for i1 in T.unroll(3):\n"
                               "            B[i0 * 3 + i1]"))
      << after;
  EXPECT_THAT(after, HasSubstr("if i1 < 1"));
  EXPECT_THAT(after, HasSubstr("if i1 < 2"));
  EXPECT_THAT(after, Not(HasSubstr("< n"))) << after;
  ExpectSame(before);
  std::string wide = Tiles(kTiles, "range", "T.unroll");
  wide.replace(wide.find("T.int32()"), 9, "T.int64()");
  ExpectSame(testing::Opaque(wide));
}

TEST(SymbolicEdges, VectorsAreMasked) {
  const Function before = testing::Opaque(Tiles(kTiles, "range", "T.vectorized"));
  const std::string after = testing::Body(CutSymbolicEdges(before));
  EXPECT_THAT(after, HasSubstr("i0_left")) << after;
  EXPECT_THAT(after, Not(HasSubstr("if i1 < 1"))) << after;
  ExpectSame(before);
}

TEST(SymbolicEdges, ParallelLoopsBranch) {
  const Function before = testing::Opaque(Tiles(kTiles, "T.parallel", "T.unroll"));
  const std::string after = testing::Body(CutSymbolicEdges(before));
  EXPECT_THAT(after, HasSubstr("if i0 < i0_full:")) << after;
  EXPECT_THAT(after, HasSubstr("if i1 < 2")) << after;
  ExpectSame(before);
}

// The loops over rows and columns were made one.
TEST(SymbolicEdges, FusedLoopsBranchOverTheirParts) {
  for (const char* rows : {"f // 4", "f % ((n + 2) // 3)"}) {
    std::string text = R"(
@T.prim_func
def main(a: T.handle, b: T.handle):
    n = T.int32()
    A = T.match_buffer(a, (n, 4), "int32")
    B = T.match_buffer(b, (n, 4), "int32")
    for f in T.parallel((n + 2) // 3 * 4):
        for i1 in T.unroll(3):
            if ROWS * 3 + i1 < n:
                B[ROWS * 3 + i1, COLUMN] = A[ROWS * 3 + i1, COLUMN] * 5
)";
    const std::string column = std::string(rows) == "f // 4" ? "f % 4" : "f // ((n + 2) // 3)";
    for (const auto& [from, to] : {std::pair<std::string, std::string>("ROWS", std::string("(") + rows + ")"),
                                   std::pair<std::string, std::string>("COLUMN", column)}) {
      for (size_t at = text.find(from); at != std::string::npos; at = text.find(from))
        text.replace(at, from.size(), to);
    }
    const Function before = testing::Opaque(text);
    const std::string after = testing::Body(CutSymbolicEdges(before));
    EXPECT_THAT(after, HasSubstr("if i1 < 2")) << after;
    ExpectSame(before);
  }
}

// Windows that reach beyond both ends.
TEST(SymbolicEdges, ImagesHaveABeginningAMiddleAndAnEnd) {
  const Function before = testing::Opaque(R"(
@T.prim_func
def main(a: T.handle, b: T.handle):
    n = T.int32()
    A = T.match_buffer(a, (n,), "int32")
    B = T.match_buffer(b, (n,), "int32")
    for i in range(n):
        B[i] = 0
        for r in range(3):
            B[i] = B[i] + T.if_then_else(1 <= i + r and i + r < n + 1, A[i + r - 1], 0)
)");
  const std::string after = testing::Body(CutSymbolicEdges(before));
  EXPECT_THAT(after, HasSubstr("B[i] = B[i] + A[i + r - 1]")) << after;
  ExpectSame(before);
}

// Tiles of strides that may not run twice: both ends keep iterations of their own.
TEST(SymbolicEdges, StridesThatMayNotRunTwice) {
  const Function before = testing::Opaque(R"(
@T.prim_func
def main(a: T.handle, b: T.handle):
    n = T.int32()
    A = T.match_buffer(a, (n,), "int32")
    B = T.match_buffer(b, (n,), "int32")
    for i0 in range(((n + 1) // 2 + 3) // 4):
        for r in T.unroll(3):
            for i1 in T.unroll(4):
                if i0 * 4 + i1 < (n + 1) // 2:
                    B[i0 * 4 + i1] = B[i0 * 4 + i1] * 2 + T.if_then_else(1 <= i0 * 8 + i1 * 2 + r and i0 * 8 + i1 * 2 + r <= n, A[i0 * 8 + i1 * 2 + r - 1], 0)
)");
  const std::string after = testing::Body(CutSymbolicEdges(before));
  EXPECT_THAT(after, Not(HasSubstr("i0_place"))) << after;
  EXPECT_THAT(after, HasSubstr("i0_left")) << after;
  ExpectSame(before);
}

// Tiles of 4 places of such an image.
constexpr char kWindows[] = R"(
@T.prim_func
def main(a: T.handle, b: T.handle):
    n = T.int32()
    m = T.int32()
    A = T.match_buffer(a, (n, m), "int32")
    B = T.match_buffer(b, (n, m), "int32")
    for i in T.parallel(n):
        for j0 in range((m + 3) // 4):
            S = T.decl_buffer((4,), "int32", scope="register")
            for j1 in T.unroll(4):
                S[j1] = 0
            for r, s in T.grid(3, 3):
                for j1 in T.unroll(4):
                    S[j1] = S[j1] + T.if_then_else(1 <= i + r and i + r < n + 1 and 1 <= j0 * 4 + j1 + s and j0 * 4 + j1 + s < m + 1, A[i + r - 1, j0 * 4 + j1 + s - 1], 0)
            for j1 in T.unroll(4):
                if j0 * 4 + j1 < m:
                    B[i, j0 * 4 + j1] = S[j1] VALUE
)";

TEST(SymbolicEdges, TilesOfImagesOverlap) {
  std::string text = kWindows;
  text.replace(text.find("VALUE"), 5, "");
  const Function before = testing::Opaque(text);
  const std::string after = testing::Body(CutSymbolicEdges(before));
  EXPECT_THAT(after, HasSubstr("j0_place: T.int32 = T.min(j0 * 4, m - 8)")) << after;
  // In the last tile as in the first one, what the window misses is known.
  EXPECT_THAT(after, HasSubstr("s + j1 < 5")) << after;
  EXPECT_THAT(after, HasSubstr("i + 1 == n")) << after;
  ExpectSame(before);
}

// A window that moves by several places gives fewer places: the image's size follows from theirs up to a remainder.
TEST(SymbolicEdges, WindowsThatMoveByStrides) {
  constexpr char kStrides[] = R"(
@T.prim_func
def main(a: T.handle, b: T.handle):
    n = T.int32()
    A = T.match_buffer(a, (n,), "int32")
    B = T.match_buffer(b, (n,), "int32")
    for j0 in range((PLACES + 3) // 4):
        S = T.decl_buffer((4,), "int32", scope="register")
        for j1 in T.unroll(4):
            S[j1] = 0
        for s in T.unroll(3):
            for j1 in T.unroll(4):
                if j0 * 4 + j1 < PLACES:
                    S[j1] = S[j1] + T.if_then_else(1 <= (j0 * 4 + j1) * STRIDE + s and (j0 * 4 + j1) * STRIDE + s < n + 1, A[(j0 * 4 + j1) * STRIDE + s - 1], 0)
        for j1 in T.unroll(4):
            if j0 * 4 + j1 < PLACES:
                B[j0 * 4 + j1] = S[j1]
)";
  for (const int stride : {1, 2, 3, 5}) {
    const std::string places = "((n - 1) // " + std::to_string(stride) + " + 1)";
    const std::string text = absl::StrReplaceAll(kStrides, {{"PLACES", places}, {"STRIDE", std::to_string(stride)}});
    const Function before = testing::Opaque(text);
    const std::string after = testing::Body(CutSymbolicEdges(before));
    EXPECT_THAT(after, HasSubstr("j0_place")) << stride;
    // Too few places for tiles: no register depends on the window's loop, which is not written out.
    const std::string few = after.substr(after.find("else:"));
    EXPECT_THAT(few, HasSubstr("for s in range(3)")) << few;
    EXPECT_THAT(few, HasSubstr("for j1 in T.unroll(4)")) << few;
    ExpectSame(before);
  }
}

// Adding to what is there must not happen twice.
TEST(SymbolicEdges, TilesThatMayNotRunTwice) {
  std::string text = kWindows;
  text.replace(text.find("VALUE"), 5, "+ B[i, j0 * 4 + j1]");
  const Function before = testing::Opaque(text);
  EXPECT_THAT(testing::Body(CutSymbolicEdges(before)), Not(HasSubstr("j0_place")));
  ExpectSame(before);
}

// Conditions that a constant extent's loop has are loop_partition's; data decides others.
TEST(SymbolicEdges, LeavesOthersAlone) {
  for (const char* text : {R"(
@T.prim_func
def main(A: T.Buffer((8,), "int32"), B: T.Buffer((8,), "int32")):
    for i in range(8):
        if i < 5:
            B[i] = A[i]
)",
                           R"(
@T.prim_func
def main(a: T.handle, b: T.handle):
    n = T.int32()
    A = T.match_buffer(a, (n,), "int32")
    B = T.match_buffer(b, (n,), "int32")
    for i in range(n):
        if i < A[i]:
            B[i] = A[i]
)"}) {
    const Function before = testing::Opaque(text);
    EXPECT_TRUE(CutSymbolicEdges(before).same_as(before)) << testing::Body(CutSymbolicEdges(before));
  }
}

}  // namespace
}  // namespace tilewright
