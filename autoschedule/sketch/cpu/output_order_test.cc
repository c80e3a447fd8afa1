#include "autoschedule/sketch/cpu/output_order.h"

#include <gtest/gtest.h>

#include <string>
#include <utility>

#include "absl/strings/substitute.h"
#include "autoschedule/sketch/auto_schedule.h"
#include "autoschedule/sketch/cpu/packed_testing.h"
#include "intrin/registry.h"
#include "ir/script/parse_or_die.h"
#include "ir/script/printer.h"

namespace tilewright {
namespace {

// A product with rows of places (y, x), which is stored with its columns first, as bytes or as the sums.
Function ColumnsFirst(int height, int width, int columns, int depth, bool bytes) {
  const char* value = bytes ? "T.Cast(\"uint8\", T.max(T.min(S[vy, vx, vo], 255), 0))" : "S[vy, vx, vo]";
  return ParseFunctionOrDie(absl::Substitute(R"(
@T.prim_func
def main(A: T.Buffer(($0, $1, $3), "uint8"), B: T.Buffer(($3, $2), "int8"), C: T.Buffer(($2, $0, $1), "$4")):
    S = T.alloc_buffer(($0, $1, $2), "int32")
    for y, x, o, k in T.grid($0, $1, $2, $3):
        with T.block("S"):
            vy, vx, vo, vk = T.axis.remap("SSSR", [y, x, o, k])
            with T.init():
                S[vy, vx, vo] = 0
            S[vy, vx, vo] += T.Cast("int32", A[vy, vx, vk]) * T.Cast("int32", B[vk, vo])
    for o, y, x in T.grid($2, $0, $1):
        with T.block("C"):
            vo, vy, vx = T.axis.remap("SSS", [o, y, x])
            C[vo, vy, vx] = $5
)",
                                             height, width, columns, depth, bytes ? "uint8" : "int32", value));
}

struct Scheduled {
  Module module;
  std::string order;  // S.output; empty where there was no choice
};
Scheduled Schedule(const Function& program, const Target& target, Choices choices = Choices::Preferred()) {
  IntrinRegistry intrins = IntrinRegistry::Builtin();
  const AutoScheduled result = AutoSchedule(Module(program), target, &intrins, choices);
  EXPECT_TRUE(result.left_alone.empty());
  return {result.schedule.module(), std::string(testing::Chosen(choices, "S.output"))};
}

TEST(OutputOrder, RightScatteredAndCopied) {
  const auto fill = [](const Buffer& buffer, const NDArray& array) { FillIntegers(array, buffer->name[0], 20); };
  for (const bool bytes : {true, false}) {
    for (const auto& [height, width] : {std::pair(5, 7), {3, 16}, {1, 9}}) {
      const Function program = ColumnsFirst(height, width, 24, 8, bytes);
      for (const char* order : {"scattered", "copied"}) {
        SCOPED_TRACE(absl::Substitute("$0 x $1, $2", height, width, order));
        const Choices given = Choices::GivenOrPreferred({Choice::Of("S.output", order)});
        const Scheduled scheduled = Schedule(program, testing::TestedTarget(), given);
        EXPECT_EQ(scheduled.order, order);
        EXPECT_EQ(testing::WhatIsWrong(program, scheduled.module, fill), "") << Print(scheduled.module.Find("main"));
      }
    }
  }
}

TEST(OutputOrder, CopiesManyBytes) {
  const Target target = *NamedTarget("x86-znver4");
  EXPECT_EQ(Schedule(ColumnsFirst(28, 28, 256, 64, true), target).order, "copied");
  EXPECT_EQ(Schedule(ColumnsFirst(28, 28, 256, 64, false), target).order, "scattered");
  EXPECT_EQ(Schedule(ColumnsFirst(2, 4, 32, 64, true), target).order, "scattered");
}

TEST(OutputOrder, RowsHaveNoChoice) {
  const Function program = ParseFunctionOrDie(R"(
@T.prim_func
def main(A: T.Buffer((64, 64), "uint8"), B: T.Buffer((64, 64), "int8"), S: T.Buffer((64, 64), "int32")):
    for i, j, k in T.grid(64, 64, 64):
        with T.block("S"):
            vi, vj, vk = T.axis.remap("SSR", [i, j, k])
            with T.init():
                S[vi, vj] = 0
            S[vi, vj] += T.Cast("int32", A[vi, vk]) * T.Cast("int32", B[vk, vj])
)");
  EXPECT_EQ(Schedule(program, *NamedTarget("x86-znver4")).order, "");
}

}  // namespace
}  // namespace tilewright
