#include "autoschedule/sketch/cpu/winograd_rule.h"

#include <gtest/gtest.h>

#include <algorithm>

#include "autoschedule/program/sizes.h"
#include "autoschedule/sketch/auto_schedule.h"
#include "codegen/testing/equivalence.h"
#include "ir/annotations.h"
#include "ir/functor.h"
#include "ir/interp/interp.h"
#include "ir/ndarray.h"
#include "ir/ops/conv.h"
#include "ir/ops/conv_bn_relu.h"
#include "ir/script/printer.h"
#include "schedule/layout/hoist_prepack.h"
#include "schedule/script/trace_text.h"
#include "verify/verify.h"

namespace tilewright {
namespace {

// The part of the sum of the products' magnitudes that errors may be (docs/numerics.md), of small sums.
constexpr double kTolerance = 2e-5;

bool Uses(const Trace& trace, std::string_view primitive) {
  return std::ranges::any_of(trace.instructions,
                             [&](const Instruction& step) { return step.primitive->name == primitive; });
}

// The choice of the tile's outputs given, or the preferred one.
AutoScheduled Scheduled(const Function& op, const Target& target, std::optional<int64_t> outputs) {
  IntrinRegistry intrins = IntrinRegistry::Builtin();
  Choices choices = Choices::Preferred();
  if (outputs) {
    std::string block;
    PreOrder(op->body, [&](const Stmt& s) {
      const auto* realize = dyn_cast<BlockRealizeNode>(s);
      if (realize != nullptr && realize->block->init) block = realize->block->name;
      return true;
    });
    choices = Choices::GivenOrPreferred({Choice::Of(block + ".sketch", "winograd"),
                                         {.name = block + ".winograd", .value = *outputs, .candidates = {}}});
  }
  return AutoSchedule(Module(op), target, &intrins, choices);
}

std::vector<interp::Argument> ArgumentsOf(const Function& function) {
  std::vector<interp::Argument> arguments;
  for (size_t i = 0; i < function->params.size(); ++i) {
    const Buffer& buffer = function->params[i].buffer;
    std::vector<int64_t> shape;
    for (const Expr& extent : buffer->shape) shape.push_back(*AsInt(extent));
    NDArray array(buffer->dtype, std::move(shape));
    FillUniform(array, i);
    arguments.emplace_back(std::move(array));
  }
  return arguments;
}

void Run(const Function& function, const std::vector<interp::Argument>& arguments) {
  absl::StatusOr<interp::Program> program = interp::Compile(function, interp::CompileOptions::AllChecks());
  ASSERT_TRUE(program.ok()) << program.status();
  const absl::Status status = program->Run(arguments);
  ASSERT_TRUE(status.ok()) << status;
}

// `op`: with constant weights, its second parameter; the last one is the output. `main`, `prepack`: its schedule.
void ExpectSame(const Function& op, const Function& main, const Function& prepack) {
  const std::vector<interp::Argument> before = ArgumentsOf(op);
  std::vector<interp::Argument> after = ArgumentsOf(op), packed = ArgumentsOf(prepack);
  packed[0] = before[1];
  after[1] = packed[1];
  after.back() = ArgumentsOf(main).back();
  Run(op, before);
  Run(prepack, packed);
  Run(main, after);
  // Terms are at most 1 each.
  double terms = 1;
  for (size_t d = 0; d + 1 < op->params[1].buffer->shape.size(); ++d) {
    terms *= static_cast<double>(*AsInt(op->params[1].buffer->shape[d]));
  }
  EXPECT_LT(MaxError(before.back().array, after.back().array).max_abs, kTolerance * terms);
}

void ExpectRight(const Function& op, std::optional<int64_t> outputs = {}) {
  for (const char* name : {"x86-znver4", "x86-haswell"}) {
    SCOPED_TRACE(name);
    const AutoScheduled result = Scheduled(op, *NamedTarget(name), outputs);
    ASSERT_TRUE(Uses(result.schedule.trace(), "winograd"));
    const Function main = result.schedule.module().Find("main"),
                   prepack = result.schedule.module().Find("main_prepack");
    ASSERT_TRUE(prepack);
    const VerifyResult verified = VerifyProgram(main);
    ASSERT_NE(verified.verdict(), Verdict::kRefuted) << Render(verified, main);
    ExpectSame(op, main, prepack);
  }
  const AutoScheduled host = Scheduled(op, HostTarget(), outputs);
  EXPECT_EQ(testing::CompareWithInterpreter(host.schedule.module(), {.tolerance = 1e-3, .parallel = true}), "");
}

Function ConstantConv(const ops::ConvShape& shape) { return MarkConstant(ops::Conv(shape), {1}); }

TEST(WinogradRule, TakesConvolutionsInOneToThreeDimensions) {
  ExpectRight(ConstantConv({.spatial = {36}, .in_channels = 96, .out_channels = 48, .windows = {{3, 1, 1}}}));
  ExpectRight(ConstantConv(
      {.batch = 2, .spatial = {17, 14}, .in_channels = 24, .out_channels = 32, .windows = ops::Same({3, 1, 1}, 2)}));
  ExpectRight(
      ConstantConv({.spatial = {6, 7, 5}, .in_channels = 16, .out_channels = 32, .windows = ops::Same({3, 1, 1}, 3)}));
}

TEST(WinogradRule, TakesTilesOfAnySize) {
  const Function op =
      ConstantConv({.spatial = {13, 12}, .in_channels = 32, .out_channels = 40, .windows = ops::Same({3, 1, 1}, 2)});
  for (int64_t outputs : {2, 4, 6, 22, 24, 42, 44}) ExpectRight(op, outputs);
}

TEST(WinogradRule, TakesDilatedAndUnpaddedWindows) {
  ExpectRight(ConstantConv({.spatial = {14, 14},
                            .in_channels = 32,
                            .out_channels = 32,
                            .windows = ops::Same({.kernel = 3, .padding = 2, .dilation = 2}, 2)}));
  ExpectRight(ConstantConv({.spatial = {20, 11}, .in_channels = 16, .out_channels = 32, .windows = ops::Same({5}, 2)}));
  // Windows along one dimension only.
  ExpectRight(
      ConstantConv({.spatial = {24, 9}, .in_channels = 64, .out_channels = 32, .windows = {{3, 1, 1}, {1, 1, 0}}}));
}

// Transforms of two elements cost no more than reading them: they stay stages of their own.
TEST(WinogradRule, TakesWindowsOfTwo) {
  const Function op =
      ConstantConv({.spatial = {5, 7, 6}, .in_channels = 32, .out_channels = 48, .windows = ops::Same({2, 1, 1}, 3)});
  for (int64_t outputs : {2, 4, 22}) ExpectRight(op, outputs);
}

// Tiles along a dilated iterator are few and lie apart: rows of several are one, so that they fill the instruction's.
TEST(WinogradRule, FillsTilesWithRowsOfDilatedWindows) {
  const Function op = ConstantConv({.spatial = {14, 14},
                                    .in_channels = 64,
                                    .out_channels = 32,
                                    .windows = ops::Same({.kernel = 3, .padding = 2, .dilation = 2}, 2)});
  Target target = *NamedTarget("x86-znver4");
  target.cores = 2;
  const Trace trace = Scheduled(op, target, 4).schedule.trace();
  ASSERT_TRUE(Uses(trace, "tensorize"));
  EXPECT_EQ(ToText(trace).find("fma_f32_2x"), std::string::npos) << ToText(trace);
  ExpectRight(op, 4);
}

// One schedule for every size: the tiles at the edges compute what nobody stores.
TEST(WinogradRule, TakesImagesOfSymbolicSizes) {
  const Var h("h", DataType::Int(64)), w("w", DataType::Int(64));
  const Function op = MarkConstant(
      ops::ConvBnRelu({.spatial = {h, w}, .in_channels = 32, .out_channels = 40, .windows = ops::Same({3, 1, 1}, 2)}),
      {1});
  for (const std::optional<int64_t> outputs : {std::optional<int64_t>(), std::optional<int64_t>(24)}) {
    const AutoScheduled result = Scheduled(op, *NamedTarget("x86-znver4"), outputs);
    ASSERT_TRUE(Uses(result.schedule.trace(), "winograd"));
    const Function main = result.schedule.module().Find("main"),
                   prepack = result.schedule.module().Find("main_prepack");
    const VerifyResult verified = VerifyProgram(main);
    ASSERT_NE(verified.verdict(), Verdict::kRefuted) << Render(verified, main);
    for (const int64_t height : {1, 4, 9}) {
      for (const int64_t width : {1, 8, 11}) {
        const std::map<std::string, int64_t> sizes = {{"h", height}, {"w", width}};
        ExpectSame(AtSizes(op, sizes), AtSizes(main, sizes), prepack);
      }
    }
  }
}

TEST(WinogradRule, TakesGroups) {
  ExpectRight(ConstantConv(
      {.spatial = {15, 14}, .in_channels = 64, .out_channels = 64, .windows = ops::Same({3, 1, 1}, 2), .groups = 2}));
}

TEST(WinogradRule, ComputesWhatFollowsInTheOutputsTransform) {
  const Function op = MarkConstant(
      ops::ConvBnRelu({.spatial = {18, 16}, .in_channels = 32, .out_channels = 32, .windows = ops::Same({3, 1, 1}, 2)}),
      {1});
  ExpectRight(op);
  const AutoScheduled result = Scheduled(op, *NamedTarget("x86-znver4"), {});
  const std::string text = Print(result.schedule.module().Find("main"));
  for (const char* block : {"bias_add", "bn_mul", "bn_add"}) {
    EXPECT_EQ(text.find(std::string("T.block(\"") + block), std::string::npos) << text;
  }
}

TEST(WinogradRule, LeavesOthersAlone) {
  const Target target = *NamedTarget("x86-znver4");
  const auto uses = [&](const Function& op) { return Uses(Scheduled(op, target, {}).schedule.trace(), "winograd"); };
  const ops::ConvShape shape = {
      .spatial = {28, 28}, .in_channels = 64, .out_channels = 64, .windows = ops::Same({3, 1, 1}, 2)};
  EXPECT_TRUE(uses(ConstantConv(shape)));
  // The weights are not constant.
  EXPECT_FALSE(uses(ops::Conv(shape)));
  ops::ConvShape strided = shape, pointwise = shape, shallow = shape, padded = shape;
  strided.windows = ops::Same({3, 2, 1}, 2);
  EXPECT_FALSE(uses(ConstantConv(strided)));
  pointwise.windows = ops::Same({1, 1, 0}, 2);
  EXPECT_FALSE(uses(ConstantConv(pointwise)));
  shallow.in_channels = 3;
  EXPECT_FALSE(uses(ConstantConv(shallow)));
  // Windows that lie outside of the image: their sums are zero, and stay that.
  padded.windows = ops::Same({3, 1, 2}, 2);
  EXPECT_FALSE(uses(ConstantConv(padded)));
  EXPECT_FALSE(
      uses(MarkConstant(ops::Conv(shape, {DataType::BFloat16(), DataType::BFloat16(), DataType::Float(32)}), {1})));
}

TEST(WinogradRule, AsksTheFunction) {
  const Function op =
      ConstantConv({.spatial = {28, 28}, .in_channels = 64, .out_channels = 64, .windows = ops::Same({3, 1, 1}, 2)});
  FunctionNode::Fields fields = op->fields();
  fields.attrs[kWinograd] = MakeAnnotation(False());
  const Function without(new FunctionNode(std::move(fields)));
  EXPECT_FALSE(Uses(Scheduled(without, *NamedTarget("x86-znver4"), {}).schedule.trace(), "winograd"));
}

}  // namespace
}  // namespace tilewright
