#include "schedule/algebra/winograd.h"

#include <gtest/gtest.h>

#include "absl/strings/str_replace.h"
#include "ir/script/parse_or_die.h"
#include "schedule/recorder/schedule.h"
#include "schedule/testing/equivalence.h"

namespace tilewright {
namespace {

constexpr const char* kConvolution = R"(
@T.prim_func
def main(X: T.Buffer((10, 7, 3), "float32"), W: T.Buffer((3, 3, 3, 4), "float32"), Y: T.Buffer((8, 5, 4), "float32")):
    for h, w, o, r, s, c in T.grid(8, 5, 4, 3, 3, 3):
        with T.block("Y"):
            vh, vw, vo, vr, vs, vc = T.axis.remap("SSSRRR", [h, w, o, r, s, c])
            with T.init():
                Y[vh, vw, vo] = T.float32(0)
            Y[vh, vw, vo] = Y[vh, vw, vo] + X[vh + vr, vw + vs, vc] * W[vr, vs, vc, vo]
)";

Outcome<std::vector<Rv>> Apply(Schedule& sch, int64_t iterator, int64_t reduction, int64_t outputs) {
  return sch.Apply("winograd", {*sch.GetBlock("Y"), Value(iterator), Value(reduction), Value(outputs)});
}

// Compares in float64, with errors up to a part of what small integers in float32 could hide.
void ExpectSame(const std::string& program, int64_t iterator, int64_t reduction, int64_t outputs) {
  Schedule sch{Module(ParseOrDie(absl::StrReplaceAll(program, {{"float32", "float64"}})))};
  const Module before = sch.module();
  const auto result = Apply(sch, iterator, reduction, outputs);
  ASSERT_TRUE(result.ok()) << RenderLine(result.refusal(), sch.refused_function());
  EXPECT_EQ(result->size(), 4u);
  testing::ExpectEquivalent(before.Main(), sch.module().Main(), {.max_error = 1e-9});
}

std::string Refused(const std::string& program, int64_t iterator, int64_t reduction, int64_t outputs) {
  Schedule sch{Module(ParseOrDie(program))};
  const auto result = Apply(sch, iterator, reduction, outputs);
  return result.ok() ? "" : RenderLine(result.refusal(), sch.refused_function());
}

// Coefficients of four products are powers of two: sums of small integers are exact.
TEST(Winograd, IsExactWhereCoefficientsAre) {
  Schedule sch{Module(ParseOrDie(kConvolution))};
  const Module before = sch.module();
  const BlockRv block = *sch.GetBlock("Y");
  const auto result = sch.Winograd(block, 0, 3, 2);
  ASSERT_TRUE(result.ok());
  testing::ExpectEquivalent(before.Main(), sch.module().Main());
  // The block multiplies: 4 products for each 2 rows, and sums over s and c.
  EXPECT_EQ(sch.GetLoops(block)->size(), 6u);
  EXPECT_EQ(sch.GetProducers(block)->size(), 2u);
  EXPECT_EQ(sch.GetConsumers(block)->size(), 1u);
}

TEST(Winograd, TakesEitherWindowAndAnyTile) {
  for (int64_t outputs = 2; outputs <= 6; ++outputs) {
    ExpectSame(kConvolution, 0, 3, outputs);
    ExpectSame(kConvolution, 1, 4, outputs);
  }
}

TEST(Winograd, TakesTwoWindowsOneAfterTheOther) {
  Schedule sch{Module(ParseOrDie(kConvolution))};
  const Module before = sch.module();
  ASSERT_TRUE(Apply(sch, 0, 3, 2).ok());
  // Now: x, t, w, o and s, c.
  const auto result = Apply(sch, 2, 4, 2);
  ASSERT_TRUE(result.ok()) << RenderLine(result.refusal(), sch.refused_function());
  testing::ExpectEquivalent(before.Main(), sch.module().Main());
}

// The last tile is cut off where the extent is not a multiple of its outputs.
TEST(Winograd, TakesOutputsOfSymbolicExtents) {
  const std::string text = R"(
@T.prim_func
def main(x: T.handle, W: T.Buffer((3, 3, 3, 4), "float64"), y: T.handle):
    n = T.int64()
    m = T.int64()
    X = T.match_buffer(x, (n + 2, m + 2, 3), "float64")
    Y = T.match_buffer(y, (n, m, 4), "float64")
    for h, w, o, r, s, c in T.grid(n, m, 4, 3, 3, 3):
        with T.block("Y"):
            vh, vw, vo, vr, vs, vc = T.axis.remap("SSSRRR", [h, w, o, r, s, c])
            with T.init():
                Y[vh, vw, vo] = T.float64(0)
            Y[vh, vw, vo] = Y[vh, vw, vo] + X[vh + vr, vw + vs, vc] * W[vr, vs, vc, vo]
)";
  Schedule sch{Module(ParseOrDie(text))};
  const Module before = sch.module();
  ASSERT_TRUE(Apply(sch, 0, 3, 4).ok());
  const auto result = Apply(sch, 2, 4, 2);
  ASSERT_TRUE(result.ok()) << RenderLine(result.refusal(), sch.refused_function());
  for (const int64_t n : {1, 4, 7}) {
    testing::ExpectEquivalent(before.Main(), sch.module().Main(),
                              {.dims = {{"n", n}, {"m", n + 1}}, .max_error = 1e-9});
  }
}

TEST(Winograd, TakesDilatedWindowsByPhases) {
  constexpr const char* kDilated = R"(
@T.prim_func
def main(X: T.Buffer((13, 3), "float32"), W: T.Buffer((3, 3, 4), "float32"), Y: T.Buffer((7, 4), "float32")):
    for h, o, r, c in T.grid(7, 4, 3, 3):
        with T.block("Y"):
            vh, vo, vr, vc = T.axis.remap("SSRR", [h, o, r, c])
            with T.init():
                Y[vh, vo] = T.float32(0)
            Y[vh, vo] = Y[vh, vo] + W[vr, vc, vo] * X[vh + vr * 3, vc]
)";
  for (int64_t outputs = 2; outputs <= 6; ++outputs) ExpectSame(kDilated, 0, 2, outputs);
}

TEST(Winograd, TakesGroupsAndWindowsThatBeginLater) {
  ExpectSame(R"(
@T.prim_func
def main(X: T.Buffer((2, 11, 6), "float32"), W: T.Buffer((2, 3, 8), "float32"), Y: T.Buffer((2, 8, 8), "float32")):
    for n, g, h, o, r, c in T.grid(2, 2, 8, 4, 2, 3):
        with T.block("Y"):
            vn, vg, vh, vo, vr, vc = T.axis.remap("SSSSRR", [n, g, h, o, r, c])
            with T.init():
                Y[vn, vh, vg * 4 + vo] = T.float32(0)
            Y[vn, vh, vg * 4 + vo] = Y[vn, vh, vg * 4 + vo] + X[vn, vh + vr + 2, vg * 3 + vc] * W[vr, vc, vg * 4 + vo]
)",
             2, 4, 3);
}

TEST(Winograd, RefusesWhatIsNoSumOfFloatingPointProducts) {
  const std::string no_sum =
      "winograd: block Y is not a sum from zero of products of two elements, all float32 or float64";
  EXPECT_EQ(Refused(absl::StrReplaceAll(kConvolution, {{"float32", "float16"}}), 0, 3, 2), no_sum);
  EXPECT_EQ(Refused(absl::StrReplaceAll(kConvolution, {{"T.float32(0)", "T.float32(1)"}}), 0, 3, 2), no_sum);
}

TEST(Winograd, RefusesWhatIsNoWindow) {
  EXPECT_EQ(Refused(kConvolution, 3, 0, 2),
            "winograd: 3 and 0 are not a spatial iterator of block Y and a reduce iterator of constant extent");
  EXPECT_EQ(Refused(kConvolution, 0, 4, 2),
            "winograd: the iterators 0 and 4 of block Y are not that of an output and of a window along it");
  EXPECT_EQ(Refused(absl::StrReplaceAll(kConvolution, {{"(10, 7", "(18, 7"}, {"X[vh", "X[vh * 2"}}), 0, 3, 2),
            "winograd: the iterators 0 and 3 of block Y are not that of an output and of a window along it");
  EXPECT_EQ(Refused(absl::StrReplaceAll(kConvolution, {{"vr, vs", "vr, vs"}, {"(10, 7", "(10, 9"}}), 0, 3, 2),
            "winograd: block Y does not read all of its operands");
}

TEST(Winograd, RefusesTilesWithoutCoefficients) {
  EXPECT_EQ(Refused(kConvolution, 0, 3, 1),
            "winograd: tiles of 1 outputs of windows of 3 in block Y: each is 2 or more, and their sum 9 at most");
  EXPECT_EQ(Refused(kConvolution, 0, 3, 7),
            "winograd: tiles of 7 outputs of windows of 3 in block Y: each is 2 or more, and their sum 9 at most");
}

}  // namespace
}  // namespace tilewright
