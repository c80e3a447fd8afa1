#include "autoschedule/auto_schedule.h"

#include <gtest/gtest.h>

#include "ir/interp/interp.h"
#include "ir/ndarray.h"
#include "ir/ops/conv.h"
#include "ir/ops/matmul.h"
#include "ir/structural.h"
#include "schedule/hoist_prepack.h"
#include "verify/verify.h"

namespace tilewright {
namespace {

NDArray ArrayFor(const Buffer& buffer, uint64_t seed) {
  std::vector<int64_t> shape;
  for (const Expr& extent : buffer->shape) shape.push_back(*AsInt(extent));
  NDArray array(buffer->dtype, std::move(shape));
  FillIntegers(array, seed);
  return array;
}

void RunWithAllChecks(const Function& function, const std::vector<interp::Argument>& arguments) {
  absl::StatusOr<interp::Program> program = interp::Compile(function, interp::CompileOptions::AllChecks());
  ASSERT_TRUE(program.ok()) << program.status();
  const absl::Status status = program->Run(arguments);
  ASSERT_TRUE(status.ok()) << status;
}

// Schedules an operator over (activation, constant weight, output) and runs both forms on small integers.
void ExpectScheduledRight(const Function& op, const char* target_name) {
  const Target target = *NamedTarget(target_name);
  const Module module(MarkConstant(op, {1}));
  IntrinRegistry intrins = IntrinRegistry::Builtin();
  const AutoScheduled result = AutoSchedule(module, target, &intrins);
  ASSERT_TRUE(result.left_alone.empty()) << result.left_alone[0].ToString();
  const Function main = result.schedule.module().Find("main"), prepack = result.schedule.module().Find("main_prepack");
  ASSERT_TRUE(main);
  ASSERT_TRUE(prepack);
  for (const Function& function : {main, prepack}) {
    const VerifyResult verified = VerifyProgram(function);
    EXPECT_NE(verified.verdict(), Verdict::kRefuted) << Render(verified, function);
  }
  const NDArray activation = ArrayFor(op->params[0].buffer, 1), weight = ArrayFor(op->params[1].buffer, 2);
  const NDArray expected = ArrayFor(op->params[2].buffer, 3), actual = ArrayFor(op->params[2].buffer, 4);
  const NDArray packed = ArrayFor(prepack->params[1].buffer, 5);
  RunWithAllChecks(op, {activation, weight, expected});
  RunWithAllChecks(prepack, {weight, packed});
  RunWithAllChecks(main, {activation, packed, actual});
  EXPECT_TRUE(BitEqual(expected, actual));

  // The trace is an ordinary one: it gives the same program again.
  Schedule again(module, {.intrins = &intrins});
  ASSERT_TRUE(again.Replay(result.schedule.trace()).ok());
  EXPECT_EQ(StructuralHash(again.module()), StructuralHash(result.schedule.module()));
}

TEST(AutoSchedule, Matmul) {
  ExpectScheduledRight(ops::Matmul(24, 64, 10), "x86-znver5");
  ExpectScheduledRight(ops::Matmul(24, 64, 10), "x86-haswell");
  ExpectScheduledRight(ops::BatchMatmul(2, 12, 32, 5, ops::OperandTypes::Float32(), true), "x86-znver4");
}

TEST(AutoSchedule, Convolution) {
  ExpectScheduledRight(
      ops::Conv({.spatial = {8, 8}, .in_channels = 3, .out_channels = 32, .windows = ops::Same({3, 1, 1}, 2)}),
      "x86-znver5");
  ExpectScheduledRight(
      ops::Conv({.spatial = {9, 9}, .in_channels = 4, .out_channels = 16, .windows = ops::Same({1, 2}, 2)}),
      "x86-znver4");
  ExpectScheduledRight(ops::Conv({.spatial = {16}, .in_channels = 3, .out_channels = 16, .windows = {{3, 1, 1}}}),
                       "x86-haswell");
}

TEST(AutoSchedule, EdgesThatNoTileDivides) {
  ExpectScheduledRight(ops::Matmul(23, 37, 7), "x86-znver5");
  ExpectScheduledRight(ops::Matmul(27, 131, 5), "x86-znver4");
  ExpectScheduledRight(ops::BatchMatmul(3, 10, 50, 7), "x86-haswell");
  ExpectScheduledRight(
      ops::Conv(
          {.batch = 2, .spatial = {11, 13}, .in_channels = 3, .out_channels = 19, .windows = ops::Same({5, 2, 2}, 2)}),
      "x86-znver5");
}

TEST(AutoSchedule, LeavesAloneWhatCannotBeVectorized) {
  FunctionBuilder f("main");
  Buffer a = f.Input("A", {}, DataType::Float(32));
  Buffer b = f.Compute("B", {}, [&](const std::vector<Var>&) { return a.Load({}) + 1; });
  const Module module(f.Build({b}));
  IntrinRegistry intrins = IntrinRegistry::Builtin();
  const AutoScheduled result = AutoSchedule(module, *NamedTarget("x86-znver5"), &intrins);
  EXPECT_TRUE(result.left_alone.empty());
  EXPECT_TRUE(StructuralEqual(result.schedule.module(), module));
}

TEST(AutoSchedule, SaysWhyAContractionIsLeftAlone) {
  IntrinRegistry intrins = IntrinRegistry::Builtin();
  const Module module(ops::Matmul(24, 64, 10));
  const AutoScheduled result = AutoSchedule(module, *NamedTarget("arm-neoverse-n1"), &intrins);
  ASSERT_EQ(result.left_alone.size(), 1u);
  EXPECT_EQ(result.left_alone[0].ToString(), "contraction_rule: the target has no FMA tiles");
}

}  // namespace
}  // namespace tilewright
