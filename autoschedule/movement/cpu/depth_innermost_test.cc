#include "autoschedule/movement/cpu/depth_innermost.h"

#include <gtest/gtest.h>

#include <string>
#include <vector>

#include "absl/strings/substitute.h"
#include "autoschedule/program/block_loops.h"
#include "ir/script/parse_or_die.h"
#include "schedule/testing/equivalence.h"
#include "verify/verify.h"

namespace tilewright {
namespace {

using Shape = std::vector<int64_t>;

// The shape of what copies rows in groups of four; empty where nothing does, and nothing is changed.
Shape Copied(const std::string& text) {
  const Function before = ParseFunctionOrDie(text);
  Schedule sch{Module(before)};
  const std::optional<BlockRv> copy = CopyDepthInnermost(sch, *sch.GetBlock("C"), 4);
  const Function after = sch.module().Main();
  if (!copy) {
    EXPECT_TRUE(after.same_as(before));
    return {};
  }
  testing::ExpectEquivalent(before, after);
  EXPECT_EQ(VerifyProgram(after).diagnostics.size(), 0u) << Render(VerifyProgram(after), after);
  Shape shape;
  for (const Expr& extent : RealizeOf(sch, *copy).block->writes[0].buffer->shape) shape.push_back(*AsInt(extent));
  return shape;
}

// A convolution of an image of 6 x 5 places with 3 x 3 windows; `padded`: what writes P, and how the sum reads it.
std::string Convolution(const std::string& image, const std::string& padded, const std::string& read) {
  return absl::Substitute(R"(
@T.prim_func
def main(X: T.Buffer($0, "uint8"), F: T.Buffer((3, 3, 8, 7), "int8"), C: T.Buffer((4, 3, 7), "int32")):
$1
    for y, x, o, r, s, k in T.grid(4, 3, 7, 3, 3, 8):
        with T.block("C"):
            vy, vx, vo, vr, vs, vk = T.axis.remap("SSSRRR", [y, x, o, r, s, k])
            with T.init():
                C[vy, vx, vo] = 0
            C[vy, vx, vo] += T.Cast("int32", $2) * T.Cast("int32", F[vr, vs, vk, vo])
)",
                          image, padded, read);
}

// What writes P of the given shape at (y, x, k), as `value`.
std::string Writer(const std::string& shape, const std::string& at, const std::string& value) {
  return absl::Substitute(R"(    P = T.alloc_buffer($0, "uint8")
    for y, x, k in T.grid(6, 5, 8):
        with T.block("P"):
            vy, vx, vk = T.axis.remap("SSS", [y, x, k])
            P[$1] = $2)",
                          shape, at, value);
}

constexpr const char* kInside = "T.if_then_else(1 <= vy and vy < 5 and 1 <= vx and vx < 4, $0, T.uint8(128))";

TEST(DepthInnermost, CopiesWhatPaddingReads) {
  const std::string value = absl::Substitute(kInside, "X[vk, vy - 1, vx - 1]");
  EXPECT_EQ(Copied(Convolution("(8, 4, 3)", Writer("(6, 5, 8)", "vy, vx, vk", value), "P[vy + vr, vx + vs, vk]")),
            Shape({12, 8}));
}

TEST(DepthInnermost, CopiesRowsWithoutAWriter) {
  EXPECT_EQ(Copied(Convolution("(8, 6, 5)", "", "X[vk, vy + vr, vx + vs]")), Shape({30, 8}));
  EXPECT_EQ(Copied(Convolution("(6, 8, 5)", "", "X[vy + vr, vk, vx + vs]")), Shape({6, 5, 8}));
}

TEST(DepthInnermost, WritersWithoutConditionsAreTheCopy) {
  const std::string flipped = "T.flip_sign_bit(X[vk, vy, vx])";
  EXPECT_EQ(Copied(Convolution("(8, 6, 5)", Writer("(6, 5, 8)", "vy, vx, vk", flipped), "P[vy + vr, vx + vs, vk]")),
            Shape({30, 8}));
}

TEST(DepthInnermost, LeavesNeighboursThatLieSideBySide) {
  EXPECT_EQ(Copied(Convolution("(6, 5, 8)", "", "X[vy + vr, vx + vs, vk]")), Shape());
  const std::string value = absl::Substitute(kInside, "X[vy - 1, vx - 1, vk]");
  EXPECT_EQ(Copied(Convolution("(4, 3, 8)", Writer("(6, 5, 8)", "vy, vx, vk", value), "P[vy + vr, vx + vs, vk]")),
            Shape());
}

TEST(DepthInnermost, LeavesRowsWithoutADepthOfTheirOwn) {
  EXPECT_EQ(Copied(R"(
@T.prim_func
def main(X: T.Buffer((10,), "uint8"), F: T.Buffer((3, 7), "int8"), C: T.Buffer((8, 7), "int32")):
    for x, o, s in T.grid(8, 7, 3):
        with T.block("C"):
            vx, vo, vs = T.axis.remap("SSR", [x, o, s])
            with T.init():
                C[vx, vo] = 0
            C[vx, vo] += T.Cast("int32", X[vx + vs]) * T.Cast("int32", F[vs, vo])
)"),
            Shape());
}

TEST(DepthInnermost, LeavesWhatIsNoContraction) {
  EXPECT_EQ(Copied(R"(
@T.prim_func
def main(X: T.Buffer((8, 10), "int32"), C: T.Buffer((10,), "int32")):
    for x, k in T.grid(10, 8):
        with T.block("C"):
            vx, vk = T.axis.remap("SR", [x, k])
            with T.init():
                C[vx] = 0
            C[vx] += X[vk, vx]
)"),
            Shape());
}

}  // namespace
}  // namespace tilewright
