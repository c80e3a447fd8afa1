#include "schedule/blocks/fuse_with_gaps.h"

#include <gtest/gtest.h>

#include <string>

#include "ir/script/parse_or_die.h"
#include "schedule/recorder/schedule.h"
#include "schedule/testing/equivalence.h"
#include "schedule/testing/expect.h"
#include "verify/verify.h"

namespace tilewright {
namespace {

constexpr char kProgram[] = R"(
@T.prim_func
def main(P: T.Buffer((2, 42, 3), "float32"), W: T.Buffer((3, 3, 3), "float32"), Y: T.Buffer((2, 4, 5), "float32")):
    P_rows = T.alloc_buffer((2, 42, 3), "float32")
    Y_rows = T.alloc_buffer((2, 4, 5), "float32")
    for n, y, c in T.grid(2, 42, 3):
        with T.block("P_rows"):
            vn, vy, vc = T.axis.remap("SSS", [n, y, c])
            P_rows[vn, vy, vc] = P[vn, vy, vc]
    for n, h, w, r, s, c in T.grid(2, 4, 5, 3, 3, 3):
        with T.block("Y_rows"):
            vn, vh, vw, vr, vs, vc = T.axis.remap("SSSRRR", [n, h, w, r, s, c])
            with T.init():
                Y_rows[vn, vh, vw] = T.float32(0)
            Y_rows[vn, vh, vw] += P_rows[vn, (vh + vr) * 7 + vw + vs, vc] * W[vr, vs, vc]
    for n, h, w in T.grid(2, 4, 5):
        with T.block("Y"):
            vn, vh, vw = T.axis.remap("SSS", [n, h, w])
            Y[vn, vh, vw] = Y_rows[vn, vh, vw] + T.float32(1)
)";

std::string Program(std::string_view from = "", std::string_view to = "") {
  std::string text(kProgram);
  if (!from.empty()) text.replace(text.find(from), from.size(), to);
  return text;
}

// What is said when the rows of `block` are not fused; empty when they are, and the program computes the same.
std::string Fuse(const std::string& text, const char* block, int outer, int inner, int pitch, bool run_in_gaps,
                 std::string_view contains = "") {
  Schedule sch{Module(ParseOrDie(text))};
  const Function before = sch.module().Main();
  const auto result = sch.FuseWithGaps(*sch.GetBlock(block), outer, inner, pitch, run_in_gaps);
  if (!result.ok()) return RenderLine(result.refusal(), sch.refused_function());
  const Function after = sch.module().Main();
  testing::ExpectContains(after, contains);
  testing::ExpectEquivalent(before, after);
  EXPECT_EQ(VerifyProgram(after).diagnostics.size(), 0u) << Render(VerifyProgram(after), after);
  return "";
}

TEST(FuseWithGaps, RunsInGaps) {
  EXPECT_EQ(Fuse(Program(), "Y_rows", 1, 2, 7, true,
                 "Y_rows[vn, vh_vw] = Y_rows[vn, vh_vw] + P_rows[vn, vr * 7 + vh_vw + vs, vc] * W[vr, vs, vc]"),
            "");
  // Windows that are dilated along both, a parameter that is read, extremes of converted elements.
  std::string text = Program("(vh + vr) * 7 + vw + vs, vc]", "(vh + vr) * 7 + vw + vs * 2, vc]");
  text.replace(text.find("T.grid(2, 4, 5, 3, 3, 3)"), 24, "T.grid(2, 4, 5, 3, 2, 3)");
  EXPECT_EQ(Fuse(text, "Y_rows", 1, 2, 7, true), "");
  EXPECT_EQ(Fuse(Program("+= P_rows[", "+= P["), "Y_rows", 1, 2, 7, true), "");
  EXPECT_EQ(
      Fuse(Program("* W[vr, vs, vc]", "* T.cast(T.cast(T.max(W[vr, vs, vc], T.float32(0)), \"float64\"), \"float32\")"),
           "Y_rows", 1, 2, 7, true),
      "");
}

TEST(FuseWithGaps, LeavesOutGaps) {
  EXPECT_EQ(Fuse(Program(), "Y", 1, 2, 7, false,
                 "Y[vn, vh_vw // 7, vh_vw % 7] = Y_rows[vn, vh_vw // 7, vh_vw % 7] + T.float32(1)"),
            "");
  EXPECT_EQ(Fuse(Program(), "Y", 1, 2, 7, false, "T.where(ax1 % 7 < 5)"), "");
  // Reductions fuse too, at another pitch, in another order, of iterators that are apart, without gaps.
  EXPECT_EQ(Fuse(Program(), "Y_rows", 1, 2, 6, false), "");
  EXPECT_EQ(Fuse(Program(), "Y_rows", 2, 1, 9, false), "");
  EXPECT_EQ(Fuse(Program(), "Y", 0, 2, 8, false), "");
  EXPECT_EQ(Fuse(Program(), "Y", 1, 2, 5, false), "");
}

TEST(FuseWithGaps, Refuses) {
  EXPECT_EQ(Fuse(Program(), "Y_rows", 1, 1, 7, true),
            "fuse_with_gaps: 1 and 1 are not two spatial iterators of block Y_rows of constant extents");
  EXPECT_EQ(Fuse(Program(), "Y_rows", 2, 3, 7, true),
            "fuse_with_gaps: 2 and 3 are not two spatial iterators of block Y_rows of constant extents");
  EXPECT_EQ(Fuse(Program(), "Y_rows", -1, 9, 7, true),
            "fuse_with_gaps: -1 and 9 are not two spatial iterators of block Y_rows of constant extents");
  EXPECT_EQ(Fuse(Program(), "Y_rows", 1, 2, 4, true),
            "fuse_with_gaps: rows of 5 values do not follow each other at the pitch 4");
  EXPECT_EQ(Fuse(Program(), "Y_rows", 1, 2, 1 << 30, true),
            "fuse_with_gaps: rows of 5 values do not follow each other at the pitch 1073741824");
}

// Updates of elements that steps move stay in the order of the steps, as they do not commute.
TEST(FuseWithGaps, KeepsTheOrderOfUpdates) {
  const auto steps = [](const std::string& loops, const std::string& iterators, const std::string& kinds) {
    return R"(
@T.prim_func
def main(A: T.Buffer((3, 4, 6), "float32"), C: T.Buffer((3, 6), "float32")):
    for )" +
           loops + R"(:
        with T.block("C"):
            )" +
           iterators + " = T.axis.remap(\"" + kinds + R"(", [r, k, i])
            C[vr, (vi + vk) % 6] = C[vr, (vi + vk) % 6] * T.float32(2) + A[vr, vk, vi]
)";
  };
  const std::string changed = "fuse_with_gaps: the updates of C by block C do not commute";
  EXPECT_EQ(Fuse(steps("r, k, i in T.grid(3, 4, 6)", "vr, vk, vi", "SRS"), "C", 0, 2, 8, false), changed);
  EXPECT_EQ(Fuse(steps("r, k, i in T.grid(3, 4, 6)", "vr, vk, vi", "SRS"), "C", 2, 0, 3, false), "");
  EXPECT_EQ(Fuse(steps("k, r, i in T.grid(4, 3, 6)", "vr, vk, vi", "SRS"), "C", 2, 0, 5, false), "");
}

TEST(FuseWithGaps, RefusesRangesOfLoops) {
  EXPECT_EQ(Fuse(R"(
@T.prim_func
def main(A: T.Buffer((4, 5, 6), "float32"), B: T.Buffer((4, 5, 6), "float32")):
    for i, j in T.grid(4, 5):
        for k in range(j + 1):
            with T.block("B"):
                vi = T.axis.spatial(4, i)
                vj = T.axis.spatial(5, j)
                vk = T.axis.spatial(j + 1, k)
                B[vi, vj, vk] = A[vi, vj, vk]
)",
                 "B", 0, 1, 7, false),
            "fuse_with_gaps: the range of vk of block B depends on loop j");
}

TEST(FuseWithGaps, RefusesToRunInGaps) {
  EXPECT_EQ(Fuse(Program(), "Y", 1, 2, 7, true),
            "fuse_with_gaps: Y is not allocated by the block around block Y, or others write it too");
  EXPECT_EQ(Fuse(Program(), "Y_rows", 1, 2, 8, true),
            "fuse_with_gaps: block Y_rows may read outside of P_rows in gaps");
  EXPECT_EQ(
      Fuse(Program("(vh + vr) * 7 + vw + vs, vc]", "(vh + vr) * 7 + (vw + vs) % 7, vc]"), "Y_rows", 1, 2, 7, true), "");
  EXPECT_EQ(Fuse(Program("W[vr, vs, vc]", "W[vr, vs, vc % (vw + 1)]"), "Y_rows", 1, 2, 7, true), "");
  EXPECT_EQ(Fuse(Program("W[vr, vs, vc]", "W[vr, vs, vw // 2]"), "Y_rows", 1, 2, 7, true),
            "fuse_with_gaps: block Y_rows may read outside of W in gaps");
  EXPECT_EQ(
      Fuse(Program("for n, y, c in T.grid(2, 42, 3)", "for n, y, c in T.grid(2, 41, 3)"), "Y_rows", 1, 2, 7, true),
      "fuse_with_gaps: block Y_rows may read elements of P_rows in gaps that have no value");
  EXPECT_EQ(
      Fuse(Program("Y[vn, vh, vw] = Y_rows[vn, vh, vw]", "Y[vn, vh, 4 - vw] = Y_rows[vn, vh, vw]"), "Y", 1, 2, 7, true),
      "fuse_with_gaps: block Y does not store into Y at the two iterators themselves");
  EXPECT_EQ(Fuse(Program("            Y[vn, vh, vw] = Y_rows",
                         "            Y[vn, vh, vw] = T.float32(0)\n            Y[vn, vh, vw] = Y_rows"),
                 "Y", 1, 2, 7, true),
            "fuse_with_gaps: block Y is not a single store");
  EXPECT_EQ(Fuse(Program("            Y[vn, vh, vw] = Y_rows",
                         "            T.evaluate(T.call_extern(\"int32\", \"touch\", T.address_of(Y_rows[0, 0, 0])))\n"
                         "            Y[vn, vh, vw] = Y_rows"),
                 "Y_rows", 1, 2, 7, true),
            "fuse_with_gaps: the address of Y_rows is taken");
  EXPECT_EQ(Fuse(Program("Y_rows[vn, vh, vw] = T.float32(0)", "Y_rows[vn, vh, vw] = W[0, 0, vw // 2]"), "Y_rows", 1, 2,
                 7, true),
            "fuse_with_gaps: block Y_rows may read outside of W in gaps");
  EXPECT_EQ(Fuse(Program("* W[vr, vs, vc]", "* T.exp(W[vr, vs, vc])"), "Y_rows", 1, 2, 7, true),
            "fuse_with_gaps: block Y_rows does more than store sums, products and extremes of elements");
}

}  // namespace
}  // namespace tilewright
