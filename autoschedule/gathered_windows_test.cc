// Transposed convolutions to few channels, whose sums are gathered: results are those of the program as it was written.
#include <gtest/gtest.h>

#include <string>
#include <vector>

#include "absl/strings/str_cat.h"
#include "absl/strings/str_join.h"
#include "autoschedule/program/choices.h"
#include "autoschedule/sketch/auto_schedule.h"
#include "codegen/testing/equivalence.h"
#include "ir/builder.h"
#include "ir/ops/window_nd.h"
#include "target/target.h"

namespace tilewright {
namespace {

struct Case {
  std::vector<int64_t> image;  // extents
  std::vector<ops::Window> windows;
  int64_t inputs = 16, outputs = 3, groups = 1;
  int64_t output_padding = 0;  // along the last dimension
  bool symbolic = false;       // the batch
};

std::string Text(const Case& c) {
  std::string text = absl::StrCat(absl::StrJoin(c.image, "x"), " groups ", c.groups);
  for (const ops::Window& w : c.windows) {
    absl::StrAppend(&text, ", ", w.kernel, " by ", w.stride, " dilated ", w.dilation, " pads ", w.padding, " ",
                    w.padding_after());
  }
  return text;
}

Function Transposed(const Case& c) {
  FunctionBuilder f;
  std::vector<Expr> shape = {c.symbolic ? Expr(Var("n", DataType::Int(64))) : Expr(2), Expr(c.inputs)};
  std::vector<Expr> weights = {Expr(c.inputs), Expr(c.outputs / c.groups)}, outputs;
  for (size_t i = 0; i < c.image.size(); ++i) {
    const ops::Window& window = c.windows[i];
    const int64_t more = i + 1 == c.image.size() ? c.output_padding : 0;
    shape.emplace_back(c.image[i]);
    weights.emplace_back(window.kernel);
    outputs.emplace_back((c.image[i] - 1) * window.stride + window.reach() - window.padding - window.padding_after() +
                         more);
  }
  const Buffer x = f.Input("x", shape, DataType::Float(32)), w = f.Input("w", weights, DataType::Float(32));
  const ops::ConvOptions options{
      .windows = c.windows, .groups = c.groups, .type = DataType::Float(32), .block = "conv_transpose"};
  const Buffer y = ops::ConvTransposeNd(f, x, w, options, outputs);
  return f.Build({y});
}

void ExpectRight(const Case& c, bool gathered = true) {
  SCOPED_TRACE(Text(c));
  IntrinRegistry intrins = IntrinRegistry::Builtin();
  const Function before = Transposed(c);
  Choices choices = Choices::Preferred();
  const AutoScheduled result = AutoSchedule(Module(before), HostTarget(), &intrins, choices);
  EXPECT_TRUE(result.left_alone.empty());
  std::string made;
  for (const Choice& choice : choices.made()) {
    if (choice.name == "conv_transpose.window") made = choice.label();
  }
  EXPECT_EQ(made, gathered ? "gathered" : made);
  EXPECT_EQ(
      testing::CompareWithInterpreter(result.schedule.module(), {.original = before, .integers = 4, .variables = {3}}),
      "");
}

TEST(GatheredWindows, OfTwoDimensions) {
  ExpectRight({.image = {7, 14}, .windows = {{4, 2, 1}, {4, 2, 1}}});
  ExpectRight({.image = {7, 9}, .windows = {{4, 2, 1}, {6, 3, 2, 1, 1}}});
  ExpectRight({.image = {5, 6}, .windows = {{16, 8, 4}, {16, 8, 4}}});
  // A side alone has a stride.
  ExpectRight({.image = {5, 13}, .windows = {{3, 1, 1}, {4, 2, 1}}});
}

// The stride divides neither the windows nor the outputs.
TEST(GatheredWindows, OfOddSizes) {
  ExpectRight({.image = {7, 9}, .windows = {{3, 2, 1}, {3, 2, 1}}});
  ExpectRight({.image = {7, 9}, .windows = {{5, 2, 2}, {5, 2, 2}}, .output_padding = 1});
  ExpectRight({.image = {6, 17}, .windows = {{4, 2, 0, 1, 1}, {7, 4, 2, 1, 1}}, .output_padding = 2});
}

// Each row of the output meets one of the kernel's rows: windows reach across columns alone.
TEST(GatheredWindows, OfUnequalStrides) {
  ExpectRight({.image = {7, 9}, .windows = {{3, 3, 0, 1, 1}, {3, 2, 1, 1, 0}}, .outputs = 17}, /*gathered=*/false);
  ExpectRight({.image = {1, 5}, .windows = {{3, 3, 0, 1, 1}, {3, 2, 1, 1, 0}}, .outputs = 5}, /*gathered=*/false);
  ExpectRight({.image = {7, 9}, .windows = {{3, 2, 1}, {3, 3, 0, 1, 1}}}, /*gathered=*/false);
}

TEST(GatheredWindows, OfDilatedWindows) {
  ExpectRight({.image = {7, 9}, .windows = {{3, 1, 1, 2}, {3, 1, 2, 3}}});
  ExpectRight({.image = {7, 9}, .windows = {{4, 2, 1, 3}, {4, 2, 1, 2}}}, /*gathered=*/false);
}

TEST(GatheredWindows, OfOtherDimensions) {
  ExpectRight({.image = {37}, .windows = {{16, 8, 4}}, .outputs = 1});
  ExpectRight({.image = {20}, .windows = {{10, 5, 2, 1, 3}}, .outputs = 2});
  ExpectRight({.image = {3, 4, 9}, .windows = {{4, 2, 1}, {4, 2, 1}, {4, 2, 1}}, .outputs = 1});
}

TEST(GatheredWindows, OfGroups) {
  ExpectRight({.image = {7, 14}, .windows = {{4, 2, 1}, {4, 2, 1}}, .inputs = 32, .outputs = 2, .groups = 2});
}

TEST(GatheredWindows, OfSymbolicBatches) {
  ExpectRight({.image = {7, 14}, .windows = {{4, 2, 1}, {4, 2, 1}}, .symbolic = true});
}

}  // namespace
}  // namespace tilewright
