#include "schedule/algebra/join_windows.h"

#include <gtest/gtest.h>

#include <string>

#include "ir/script/parse_or_die.h"
#include "schedule/recorder/schedule.h"
#include "schedule/testing/equivalence.h"

namespace tilewright {
namespace {

struct Program {
  std::string params = R"(X: T.Buffer((8, 3), "float32"), W: T.Buffer((2, 2, 3), "float32"))";
  std::string output = R"(Y: T.Buffer((4, 2), "float32"))";
  std::string extents = "4, 2, 2, 3";
  std::string at = "vh, vp";
  std::string term = "X[vh + vp + vr, vc] * W[vp, vr, vc]";
};

std::string Text(const Program& p) {
  const std::string y = "Y[" + p.at + "]";
  return "@T.prim_func\ndef main(" + p.params + ", " + p.output + "):\n    for h, p, r, c in T.grid(" + p.extents +
         "):\n        with T.block(\"Y\"):\n" +
         "            vh, vp, vr, vc = T.axis.remap(\"SSRR\", [h, p, r, c])\n            with T.init():\n              "
         "  " +
         y + " = T.float32(0)\n            " + y + " = " + y + " + " + p.term + "\n";
}

std::string Refused(const std::string& text, int64_t iterator = 1, int64_t reduction = 2) {
  Schedule sch{Module(ParseOrDie(text))};
  const auto result = sch.Apply("join_windows", {*sch.GetBlock("Y"), Value(iterator), Value(reduction)});
  return result.ok() ? "" : RenderLine(result.refusal(), sch.refused_function());
}

// `taps`: what the joined reduction runs over.
void ExpectJoined(const std::string& text, int64_t reduction, int64_t taps) {
  Schedule sch{Module(ParseOrDie(text))};
  const Module before = sch.module();
  const auto result = sch.Apply("join_windows", {*sch.GetBlock("Y"), Value(int64_t{1}), Value(reduction)});
  ASSERT_TRUE(result.ok()) << RenderLine(result.refusal(), sch.refused_function());
  const uint32_t id = sch.Get(*sch.GetBlock("Y")).As<BlockRef>()->id;
  const Function function = sch.module().Main();
  EXPECT_EQ(AsInt(FindBlock(function, id)->block->iter_vars[2].domain.extent), taps);
  testing::ExpectEquivalent(before.Main(), function);
}

TEST(JoinWindows, JoinsWhatAnIteratorShifts) {
  ExpectJoined(Text({}), 2, 3);
  ExpectJoined(Text({.term = "W[vp, vr, vc] * X[vh + vr + (1 - vp), vc]"}), 2, 3);
  ExpectJoined(Text({.term = "X[vh + vr + (vp + (vp + 1) % 2 + 1) // 2, vc] * W[vp, vr, vc]"}), 2, 2);
  // Three values that shift unevenly.
  ExpectJoined(Text({.params = R"(X: T.Buffer((8, 3), "float32"), W: T.Buffer((3, 2, 3), "float32"))",
                     .output = R"(Y: T.Buffer((4, 3), "float32"))",
                     .extents = "4, 3, 2, 3",
                     .term = "X[vh + vr + (vp + 1) // 2, vc] * W[vp, vr, vc]"}),
               2, 3);
}

// Windows of a transposed convolution with a kernel of 3 and stride 2, filled up: phase 1 has one weight.
TEST(JoinWindows, MovesConditionsOfTheWindowToTheOtherFactor) {
  ExpectJoined(Text({.term = "T.if_then_else(vr * 2 + vp < 3, X[vh + vr, vc], T.float32(0)) * W[vp, vr, vc]"}), 2, 2);
  ExpectJoined(
      Text({.term = "T.if_then_else(vr * 2 + vp < 3 and vh + vr + vp < 4, X[vh + vr + vp, vc], T.float32(0)) * "
                    "W[vp, vr, vc]"}),
      2, 2);
}

TEST(JoinWindows, TakesSingleElements) {
  ExpectJoined(Text({.term = "T.if_then_else(vp < 1, X[vh + vp // 2, vc], T.float32(0)) * W[vp, 0, vc]"}), -1, 2);
}

constexpr const char* kCut = R"(
@T.prim_func
def main(X: T.Buffer((EXTENT,), "float32"), W: T.Buffer((2, 2), "float32"), Y: T.Buffer((7,), "float32")):
    Y_all = T.alloc_buffer((8,), "float32")
    for h, p, r in T.grid(4, 2, 2):
        with T.block("Y"):
            vh, vp, vr = T.axis.remap("SSR", [h, p, r])
            with T.init():
                Y_all[vh * 2 + vp] = T.float32(0)
            Y_all[vh * 2 + vp] = Y_all[vh * 2 + vp] + T.if_then_else(vh * 2 + vp < 7, X[vh + vp + vr], T.float32(0)) * W[vp, vr]
    for h in range(READ):
        with T.block("cut"):
            vh = T.axis.spatial(READ, h)
            Y[vh % 7] = Y_all[vh]
)";

std::string Cut(const char* extent, const char* read) {
  std::string text = kCut;
  for (auto [from, to] : {std::pair("EXTENT", extent), std::pair("READ", read), std::pair("READ", read)}) {
    text.replace(text.find(from), std::string(from).size(), to);
  }
  return text;
}

TEST(JoinWindows, DropsWhatLeavesOutUnreadElements) {
  ExpectJoined(Cut("6", "7"), 2, 3);
  EXPECT_EQ(Refused(Cut("5", "7")),
            "join_windows: conditions of block Y that leave out what nobody reads guard an access");
  // What is stored beyond the constant is read.
  EXPECT_EQ(Refused(Cut("6", "8")),
            "join_windows: vp shifts no factor of block Y along the reduction, and nothing else");
}

TEST(JoinWindows, Refuses) {
  EXPECT_EQ(Refused(Text({.term = "X[vh + vp * 3 + vr, vc] * W[vp, vr, vc]"})),
            "join_windows: there are gaps between the windows of block Y");
  EXPECT_EQ(Refused(Text({.term = "X[vh + vp + vr, vc] * W[vp, vr, vc] * W[0, 0, vc]"})),
            "join_windows: block Y does not add products of two factors");
  const std::string no_shift = "join_windows: vp shifts no factor of block Y along the reduction, and nothing else";
  EXPECT_EQ(Refused(Text({.term = "X[vh + vr, vc] * W[vp, vr, vc]"})), no_shift);
  EXPECT_EQ(Refused(Text({.term = "X[vh + vp + vr * 2, vc] * W[vp, vr, vc]"})), no_shift);
  EXPECT_EQ(Refused(Text({.term = "X[vh + vp + vr, (vc + vp) % 3] * W[vp, vr, vc]"})), no_shift);
  EXPECT_EQ(Refused(Text({}), 1, -1), no_shift);
  const char* iterators =
      "join_windows: 0 and 1 are not a spatial and a reduce iterator of block Y that count up to 64 from 0";
  EXPECT_EQ(Refused(Text({}), 0, 1), iterators);
  EXPECT_EQ(Refused(R"(
@T.prim_func
def main(X: T.Buffer((4,), "float32"), Y: T.Buffer((4,), "float32")):
    for h in range(4):
        with T.block("Y"):
            vh = T.axis.spatial(4, h)
            Y[vh] = X[vh]
)"),
            "join_windows: block Y is not a reduction: it has no init");
}

}  // namespace
}  // namespace tilewright
