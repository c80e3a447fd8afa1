#include "schedule/algebra/skip_zero_terms.h"

#include <gtest/gtest.h>

#include <numeric>
#include <string>

#include "absl/strings/str_cat.h"
#include "absl/strings/substitute.h"
#include "ir/script/parse_or_die.h"
#include "schedule/recorder/schedule.h"
#include "schedule/testing/equivalence.h"

namespace tilewright {
namespace {

// A transposed convolution of stride 2 with a window of 4, its positions and window split by the stride.
constexpr const char* kPhases = R"(
@T.prim_func
def main(X: T.Buffer((5, 3), "float32"), W: T.Buffer((4, 3), "float32"), Y: T.Buffer((6,), "float32")):
    for h0, h1, r0, r1, c in T.grid(3, 2, 2, 2, 3):
        with T.block("Y"):
            vh0, vh1, vr0, vr1, vc = T.axis.remap("SSRRR", [h0, h1, r0, r1, c])
            with T.init():
                Y[vh0 * 2 + vh1] = T.float32(0)
            Y[vh0 * 2 + vh1] = Y[vh0 * 2 + vh1] + T.if_then_else((vh0 * 2 + vh1 + (vr0 * 2 + vr1) + 1) % 2 == 0, X[(vh0 * 2 + vh1 + (vr0 * 2 + vr1) + 1) // 2, vc], T.float32(0)) * W[3 - (vr0 * 2 + vr1), vc]
)";

std::string Refused(const char* program) {
  Schedule sch{Module(ParseOrDie(program))};
  const auto result = sch.Apply("skip_zero_terms", {*sch.GetBlock("Y")});
  return result.ok() ? "" : RenderLine(result.refusal(), sch.refused_function());
}

TEST(SkipZeroTerms, LeavesOneValueOfAnIterator) {
  Schedule sch{Module(ParseOrDie(kPhases))};
  const Module before = sch.module();
  ASSERT_TRUE(sch.Apply("skip_zero_terms", {*sch.GetBlock("Y")}).ok());
  EXPECT_EQ(sch.GetLoops(*sch.GetBlock("Y"))->size(), 4u);
  testing::ExpectEquivalent(before.Main(), sch.module().Main());
}

// Conditions that are not periodic stay, those around as well.
TEST(SkipZeroTerms, KeepsOtherConditions) {
  Schedule sch{Module(ParseOrDie(R"(
@T.prim_func
def main(X: T.Buffer((3,), "float32"), W: T.Buffer((4,), "float32"), Y: T.Buffer((4,), "float32")):
    for h0, h1, r0, r1 in T.grid(2, 2, 2, 2):
        with T.block("Y"):
            vh0, vh1, vr0, vr1 = T.axis.remap("SSRR", [h0, h1, r0, r1])
            with T.init():
                Y[vh0 * 2 + vh1] = T.float32(0)
            Y[vh0 * 2 + vh1] = Y[vh0 * 2 + vh1] + T.if_then_else(vr0 * 2 + vr1 < 3, T.if_then_else((vh0 * 2 + vh1 + (vr0 * 2 + vr1)) % 2 == 0, X[(vh0 * 2 + vh1 + (vr0 * 2 + vr1)) // 2], T.float32(0)), T.float32(0)) * W[vr0 * 2 + vr1]
)"))};
  const Module before = sch.module();
  ASSERT_TRUE(sch.Apply("skip_zero_terms", {*sch.GetBlock("Y")}).ok());
  EXPECT_EQ(sch.GetLoops(*sch.GetBlock("Y"))->size(), 3u);
  testing::ExpectEquivalent(before.Main(), sch.module().Main());
}

// A window whose elements lie apart, from the front or the back: an element is met by those outputs alone that lie a
// multiple of the common divisor of stride and distance before or behind it.
TEST(SkipZeroTerms, SolvesAnyCoefficient) {
  for (int stride = 2; stride <= 6; ++stride) {
    for (int distance = -5; distance <= 7; ++distance) {
      const int period = stride / std::gcd(stride, distance);
      const std::string place = absl::StrCat("vh + (vr0 * ", period, " + vr1) * ", distance, " + 60");
      const std::string text = absl::Substitute(R"(
@T.prim_func
def main(X: T.Buffer((80,), "float32"), W: T.Buffer(($1,), "float32"), Y: T.Buffer(($2,), "float32")):
    for h, r0, r1 in T.grid($2, 2, $0):
        with T.block("Y"):
            vh, vr0, vr1 = T.axis.remap("SRR", [h, r0, r1])
            with T.init():
                Y[vh] = T.float32(0)
            Y[vh] = Y[vh] + T.if_then_else(($3) % $4 == 0, X[($3) // $4], T.float32(0)) * W[vr0 * $0 + vr1]
)",
                                                period, 2 * period, 2 * stride, place, stride);
      Schedule sch{Module(ParseOrDie(text))};
      const Module before = sch.module();
      const bool skipped = sch.Apply("skip_zero_terms", {*sch.GetBlock("Y")}).ok();
      EXPECT_EQ(skipped, period > 1) << text;
      testing::ExpectEquivalent(before.Main(), sch.module().Main());
    }
  }
}

// What is added need not be a product; where one term is left there is no sum.
TEST(SkipZeroTerms, LeavesOneTermOfASum) {
  for (const char* init : {"0", "2"}) {
    const std::string text = absl::Substitute(R"(
@T.prim_func
def main(X: T.Buffer((3, 6), "float32"), Y: T.Buffer((12,), "float32")):
    for h, r in T.grid(12, 3):
        with T.block("Y"):
            vh, vr = T.axis.remap("SR", [h, r])
            with T.init():
                Y[vh] = T.float32($0)
            Y[vh] = Y[vh] + T.if_then_else((vh + vr * 2) % 3 == 0, X[vr, (vh + vr * 2) // 3], T.float32(0))
)",
                                              init);
    Schedule sch{Module(ParseOrDie(text))};
    const Module before = sch.module();
    ASSERT_TRUE(sch.Apply("skip_zero_terms", {*sch.GetBlock("Y")}).ok());
    EXPECT_EQ(sch.GetLoops(*sch.GetBlock("Y"))->size(), 1u);
    testing::ExpectEquivalent(before.Main(), sch.module().Main());
  }
}

TEST(SkipZeroTerms, RefusesOtherForms) {
  EXPECT_EQ(Refused(R"(
@T.prim_func
def main(X: T.Buffer((4, 3), "float32"), Y: T.Buffer((4,), "float32")):
    for h, r in T.grid(4, 3):
        with T.block("Y"):
            vh, vr = T.axis.remap("SR", [h, r])
            with T.init():
                Y[vh] = T.float32(0)
            Y[vh] = Y[vh] + X[vh, vr]
)"),
            "skip_zero_terms: block Y adds nothing that a condition makes zero");
  EXPECT_EQ(Refused(R"(
@T.prim_func
def main(X: T.Buffer((3, 6), "float32"), Y: T.Buffer((12,), "float32")):
    for h, r in T.grid(12, 3):
        with T.block("Y"):
            vh, vr = T.axis.remap("SR", [h, r])
            with T.init():
                if vh < 5:
                    Y[vh] = T.float32(0)
            Y[vh] = Y[vh] + T.if_then_else((vh + vr * 2) % 3 == 0, X[vr, (vh + vr * 2) // 3], T.float32(0))
)"),
            "skip_zero_terms: the term that is left of block Y is not added to what its init stores");
  // The window is not a multiple of the stride: vr takes more than one period.
  EXPECT_EQ(Refused(R"(
@T.prim_func
def main(X: T.Buffer((4,), "float32"), W: T.Buffer((3,), "float32"), Y: T.Buffer((4,), "float32")):
    for h, r in T.grid(4, 3):
        with T.block("Y"):
            vh, vr = T.axis.remap("SR", [h, r])
            with T.init():
                Y[vh] = T.float32(0)
            Y[vh] = Y[vh] + T.if_then_else((vh + vr) % 2 == 0, X[vh], T.float32(0)) * W[vr]
)"),
            "skip_zero_terms: (vh + vr) % 2 == 0 does not leave one value of a reduce iterator of block Y");
}

}  // namespace
}  // namespace tilewright
