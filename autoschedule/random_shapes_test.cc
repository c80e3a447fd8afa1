// What the rules make of operators of random shapes is valid, for every preset of a target.
#include <gtest/gtest.h>

#include <algorithm>
#include <random>
#include <string>
#include <vector>

#include "autoschedule/sketch/auto_schedule.h"
#include "ir/ops/conv.h"
#include "ir/ops/conv_transpose.h"
#include "ir/ops/depthwise.h"
#include "ir/ops/matmul.h"
#include "ir/script/printer.h"
#include "schedule/layout/hoist_prepack.h"
#include "verify/verify.h"

namespace tilewright {
namespace {

constexpr int kShapes = 250;  // for each target, others for each

// Odd images, windows that reach over the borders, channels that are no multiples of vectors, batches, groups.
class RandomOperators {
 public:
  explicit RandomOperators(uint32_t seed) : random_(seed) {}

  Function Next() {
    const ops::OperandTypes types = Types();
    switch (Pick({0, 0, 0, 0, 1, 2, 3, 4})) {
      case 1:
        return MarkConstant(ops::BatchMatmul(Pick({1, 3}), Up(200), Up(200), Up(200), types), {1});
      case 2:
        return ops::TransposeBatchMatmul(Up(2), Up(100), Up(8), Up(100), types);
      case 3:
        return MarkConstant(ops::ConvTranspose(Up(2), Size(2), Size(2), Channels(), Channels(), Upsampling(), types),
                            {1});
      case 4: {
        const ops::Window window = SomeWindow();
        return MarkConstant(ops::Depthwise(Up(3), Size(window.kernel), Size(window.kernel), Channels(), window), {1});
      }
      default:
        return MarkConstant(ops::Conv(Convolution(), types), {1});
    }
  }

 private:
  int64_t Up(int64_t most) { return std::uniform_int_distribution<int64_t>(1, most)(random_); }
  int64_t Pick(const std::vector<int64_t>& values) {
    return values[static_cast<size_t>(Up(static_cast<int64_t>(values.size())) - 1)];
  }
  int64_t Channels() { return Pick({1, 3, 4, 7, 16, 17, 24, 32, 48, 64, 80, 96, 128, 130, 256}); }
  int64_t Size(int64_t least) { return std::max(least, Up(40)); }

  ops::OperandTypes Types() {
    const DataType s8 = DataType::Int(8);
    switch (Up(4)) {
      case 1:
        return {DataType::BFloat16(), DataType::BFloat16(), DataType::Float(32)};
      case 2:
        return {DataType::UInt(8), s8, DataType::Int(32)};
      case 3:
        return {s8, s8, DataType::Int(32)};
      default:
        return ops::OperandTypes::Float32();
    }
  }

  ops::Window SomeWindow() {
    const int64_t kernel = Pick({1, 2, 3, 3, 3, 4, 5, 7});
    return {.kernel = kernel, .stride = Pick({1, 1, 1, 2, 3}), .padding = Pick({0, kernel / 2})};
  }
  ops::Window Upsampling() {
    const int64_t kernel = Pick({2, 3, 4, 5});
    return {.kernel = kernel, .stride = Pick({1, 2, 3}), .padding = Pick({0, 1})};
  }

  ops::ConvShape Convolution() {
    const auto dims = static_cast<int>(Pick({1, 2, 2, 2, 3}));
    ops::ConvShape shape{.batch = Pick({1, 1, 2, 5}), .in_channels = Channels(), .out_channels = Channels()};
    if (dims == 2 && Up(4) == 1) {
      shape.groups = Pick({2, 3, 8});
      shape.in_channels *= shape.groups;
      shape.out_channels *= shape.groups;
    }
    ops::Window window = SomeWindow();
    if (dims == 2 && Up(5) == 1) window.dilation = Pick({2, 3});
    shape.windows = ops::Same(window, dims);
    for (int d = 0; d < dims; ++d) shape.spatial.emplace_back(Size((window.kernel - 1) * window.dilation + 1));
    return shape;
  }

  std::mt19937 random_;
};

class RandomShapes : public testing::TestWithParam<std::string> {};

TEST_P(RandomShapes, SchedulesAreValid) {
  Target target = *NamedTarget(GetParam());
  target.cores = 2;
  IntrinRegistry intrins = IntrinRegistry::Builtin();
  const std::vector<std::string> names = TargetNames();
  RandomOperators operators(20261125 + static_cast<uint32_t>(std::ranges::find(names, GetParam()) - names.begin()));
  for (int i = 0; i < kShapes; ++i) {
    const Function op = operators.Next();
    SCOPED_TRACE(Print(op));
    const AutoScheduled result = AutoSchedule(Module(op), target, &intrins);
    for (const Function& function : result.schedule.module().functions()) {
      const VerifyResult verified = VerifyProgram(function, &target);
      EXPECT_NE(verified.verdict(), Verdict::kRefuted) << Render(verified, function);
    }
  }
}

INSTANTIATE_TEST_SUITE_P(Targets, RandomShapes, testing::ValuesIn(TargetNames()), [](const auto& info) {
  std::string name = info.param;
  std::erase(name, '-');
  return name;
});

}  // namespace
}  // namespace tilewright
