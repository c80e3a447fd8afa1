#include "autoschedule/sketch/cpu/depth_choices.h"

#include <gtest/gtest.h>

#include <string>
#include <utility>

#include "absl/strings/substitute.h"
#include "autoschedule/sketch/auto_schedule.h"
#include "autoschedule/sketch/cpu/packed_testing.h"
#include "intrin/registry.h"
#include "ir/script/parse_or_die.h"
#include "ir/script/printer.h"
#include "target/costs.h"

namespace tilewright {
namespace {

struct Scheduled {
  Module module;
  std::string depth;  // what NAME.depth_lies of the sum was; empty where there was no choice
};
Scheduled Schedule(const Function& program, const Target& target, Choices choices = Choices::Preferred()) {
  IntrinRegistry intrins = IntrinRegistry::Builtin();
  AutoScheduled result = AutoSchedule(Module(program), target, &intrins, choices);
  EXPECT_TRUE(result.left_alone.empty());
  std::string depth(testing::Chosen(choices, "C.depth_lies"));
  return {result.schedule.module(), depth};
}

// A padded convolution of an image with `channels` first, as graphs leave it where results lie channels last.
Function Padded(int channels, int height, int width, int filters, const std::string& type, int stride = 1) {
  return ParseFunctionOrDie(absl::Substitute(R"(
@T.prim_func
def main(X: T.Buffer(($0, $1, $2), "$4"), F: T.Buffer((3, 3, $0, $3), "int8"), C: T.Buffer(($5, $6, $3), "int32")):
    T.func_attr({"tilewright.constant_params": [1]})
    P = T.alloc_buffer(($7, $8, $0), "$4")
    for y, x, k in T.grid($7, $8, $0):
        with T.block("P"):
            vy, vx, vk = T.axis.remap("SSS", [y, x, k])
            P[vy, vx, vk] = T.if_then_else(0 < vy and vy <= $1 and 0 < vx and vx <= $2, X[vk, vy - 1, vx - 1], T.$4(3))
)",
                                             channels, height, width, filters, type, (height - 1) / stride + 1,
                                             (width - 1) / stride + 1, height + 2, width + 2) +
                            absl::Substitute(R"(
    for y, x, o, r, s, k in T.grid($0, $1, $2, 3, 3, $3):
        with T.block("C"):
            vy, vx, vo, vr, vs, vk = T.axis.remap("SSSRRR", [y, x, o, r, s, k])
            with T.init():
                C[vy, vx, vo] = 0
            C[vy, vx, vo] += T.Cast("int32", P[vy * $4 + vr, vx * $4 + vs, vk]) * T.Cast("int32", F[vr, vs, vk, vo])
)",
                                             (height - 1) / stride + 1, (width - 1) / stride + 1, filters, channels,
                                             stride));
}

// C = A^T B, with the depth of A outermost.
Function Product(int depth, int rows, int columns, const std::string& type) {
  return ParseFunctionOrDie(absl::Substitute(R"(
@T.prim_func
def main(A: T.Buffer(($0, $1), "$3"), B: T.Buffer(($0, $2), "int8"), C: T.Buffer(($1, $2), "int32")):
    T.func_attr({"tilewright.constant_params": [1]})
    for i, j, k in T.grid($1, $2, $0):
        with T.block("C"):
            vi, vj, vk = T.axis.remap("SSR", [i, j, k])
            with T.init():
                C[vi, vj] = 0
            C[vi, vj] += T.Cast("int32", A[vk, vi]) * T.Cast("int32", B[vk, vj])
)",
                                             depth, rows, columns, type));
}

void Fill(const Buffer& buffer, const NDArray& array) { FillIntegers(array, buffer->name[0], 100); }

// Both ways, in the interpreter, and on this machine as machine code.
void ExpectRight(const Function& program) {
  for (const char* name : {"x86-znver4", "x86-haswell", "arm-neoverse-n1", ""}) {
    const Target target = *name == 0 ? testing::TestedTarget() : *NamedTarget(name);
    for (const char* way : {"in_place", "innermost"}) {
      SCOPED_TRACE(std::string(name) + " " + way);
      const Module module =
          Schedule(program, target, Choices::GivenOrPreferred({Choice::Of("C.depth_lies", way)})).module;
      testing::ArraysByName expected, found;
      testing::InterpretByName(program, Fill, expected);
      if (const Function prepack = module.Find("main_prepack")) testing::InterpretByName(prepack, Fill, found);
      testing::InterpretByName(module.Find("main"), Fill, found);
      EXPECT_TRUE(BitEqual(expected.at("C"), found.at("C"))) << Print(module.Find("main"));
      if (*name == 0) EXPECT_EQ(testing::CompareWithInterpreter(module, {.integers = 100}), "");
    }
  }
}

TEST(DepthLies, RightInPlaceAndInnermost) {
  for (const char* type : {"uint8", "int8"}) {
    ExpectRight(Padded(16, 5, 7, 16, type));
    ExpectRight(Padded(13, 6, 9, 5, type, 2));
    ExpectRight(Product(20, 37, 19, type));
    ExpectRight(Product(64, 3, 33, type));
  }
}

TEST(DepthLies, CopiesWhereItPays) {
  for (const char* name : {"x86-znver4", "x86-cascadelake", "arm-neoverse-n1"}) {
    const Target target = *NamedTarget(name);
    EXPECT_EQ(Schedule(Padded(64, 28, 28, 64, "uint8"), target).depth, "innermost") << name;
    EXPECT_EQ(Schedule(Product(256, 196, 256, "uint8"), target).depth, "innermost") << name;
  }
}

TEST(DepthLies, OthersHaveNoChoice) {
  // Tiles of AMX: NAME.rows.
  EXPECT_EQ(Schedule(Product(256, 196, 256, "uint8"), *NamedTarget("x86-sapphirerapids")).depth, "");
  const Function side_by_side = ParseFunctionOrDie(R"(
@T.prim_func
def main(A: T.Buffer((64, 64), "uint8"), B: T.Buffer((64, 64), "int8"), C: T.Buffer((64, 64), "int32")):
    for i, j, k in T.grid(64, 64, 64):
        with T.block("C"):
            vi, vj, vk = T.axis.remap("SSR", [i, j, k])
            with T.init():
                C[vi, vj] = 0
            C[vi, vj] += T.Cast("int32", A[vi, vk]) * T.Cast("int32", B[vk, vj])
)");
  EXPECT_EQ(Schedule(side_by_side, *NamedTarget("x86-znver4")).depth, "");
}

TEST(PreferredDepth, IsThatOfLoadedRowsElseOfPaddingElseShort) {
  const DataType kF32 = DataType::Float(32), kU8 = DataType::UInt(8), kI8 = DataType::Int(8), kI32 = DataType::Int(32);
  const Target target = *NamedTarget("x86-znver4");
  const auto bytes = FindTileInstruction(target, kU8, kI8, kI32);
  const auto floats = FindTileInstruction(target, kF32, kF32, kF32);
  ASSERT_TRUE(bytes && floats);
  const RegisterTile tile{.rows = 6, .vectors = 2};
  EXPECT_EQ(PreferredDepth(*bytes, tile, {4, 16, 64}, {}, 64, target), 2u);  // a row by the register
  EXPECT_EQ(PreferredDepth(*bytes, tile, {4, 8, 16}, {}, 0, target), 0u);    // one group
  EXPECT_EQ(PreferredDepth(*bytes, tile, {4, 8, 16}, 16, 0, target), 2u);    // all of a padded depth
  // The smallest depth that makes the body of the loop long enough, and the largest where none does.
  const double least = CpuCostsOf(target).short_body_cycles * floats->per_cycle / (tile.rows * tile.vectors);
  const std::vector<int64_t> depths = {1, 2, 4, 8, 16};
  const int64_t depth = depths[PreferredDepth(*floats, tile, depths, {}, 0, target)];
  EXPECT_TRUE(static_cast<double>(depth) >= least || depth == 16);
  EXPECT_TRUE(depth == 1 || static_cast<double>(depth) / 2 < least);
}

}  // namespace
}  // namespace tilewright
