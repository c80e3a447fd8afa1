// Scales at the ends of the range: models with and without optimizations give the same numbers.
#include "graph/fusion/fold_scales.h"

#include <algorithm>
#include <cmath>
#include <optional>
#include <random>

#include "absl/strings/str_cat.h"
#include "graph/executor/onnx_model.h"
#include "graph/fusion/scale_range.h"
#include "graph/onnx/testing.h"
#include "gtest/gtest.h"

namespace tilewright::graph {
namespace {

using onnx::TensorProto;
using Floats = std::vector<float>;

constexpr int64_t kChannels = 4;

// x, multiplied by weights where there are any, then scaled by steps: an operator and the number of each channel.
struct Chain {
  float x = 0;
  std::optional<float> weight;
  std::vector<std::pair<const char*, float>> steps;
};

float ResultOf(const Chain& chain, int level) {
  ModelWriter m(17);
  m.Input("x", TensorProto::FLOAT, {2, static_cast<int>(kChannels)});
  std::string last = "x";
  if (chain.weight) {
    Floats weights(kChannels * kChannels, 0);
    for (size_t i = 0; i < kChannels; ++i) weights[i * kChannels + i] = *chain.weight;
    m.Floats("w", {kChannels, kChannels}, weights);
    m.Node("MatMul", {"x", "w"}, {"p"});
    last = "p";
  }
  for (size_t i = 0; i < chain.steps.size(); ++i) {
    const std::string constant = absl::StrCat("c", i), next = absl::StrCat("s", i);
    m.Floats(constant, {kChannels}, Floats(kChannels, chain.steps[i].second));
    m.Node(chain.steps[i].first, {last, constant}, {next});
    last = next;
  }
  m.Output(last);
  NDArray x(DataType::Float(32), {2, kChannels});
  for (int64_t i = 0; i < x.size(); ++i) x.Set(i, chain.x);
  const OnnxModel::Inputs inputs = {{"x", {Item::Kind::kTensor, {x}}}};
  OnnxModel::LoadOptions options{.inputs = &inputs, .executor = {.interpret = true}};
  options.passes.opt_level = level;
  const auto model = OnnxModel::Load(*m.File(), options);
  EXPECT_TRUE(model.ok()) << model.status();
  const auto outputs = (*model)->Run(inputs);
  EXPECT_TRUE(outputs.ok()) << outputs.status();
  return static_cast<float>((*outputs)[0].arrays[0].Get(0));
}

// The result without a limit of range.
double ExactOf(const Chain& chain) {
  double value = chain.x;
  if (chain.weight) value *= *chain.weight;
  for (const auto& [op, by] : chain.steps) {
    const std::string name = op;
    value = name == "Add" ? value + by : name == "Sub" ? value - by : name == "Mul" ? value * by : value / by;
  }
  return value;
}

TEST(FoldScales, ExtremeScalesStayApart) {
  const Chain chains[] = {
      {.x = 0, .steps = {{"Div", 1e-30f}, {"Div", 1e-30f}}},
      {.x = 1e30f, .steps = {{"Mul", 1e-30f}, {"Mul", 1e-30f}}},
      {.x = 0, .steps = {{"Mul", 1e30f}, {"Mul", 1e30f}, {"Add", 3}}},
      {.x = 0, .weight = 1e30f, .steps = {{"Mul", 1e30f}}},
      {.x = 1e30f, .weight = 1e-30f, .steps = {{"Mul", 1e-30f}}},
      {.x = 0, .weight = 1e30f, .steps = {{"Add", 1e30f}, {"Mul", 1e-30f}, {"Add", 2}}},
      {.x = -1, .weight = 1, .steps = {{"Sub", 1e38f}, {"Mul", 1e-20f}, {"Mul", 1e-20f}}},
      // Ordinary ones.
      {.x = 3, .weight = 0.5f, .steps = {{"Sub", 2}, {"Mul", 4}, {"Add", 1}}},
      {.x = 3, .weight = 0, .steps = {{"Mul", 0}, {"Add", 1}}},
  };
  for (size_t i = 0; i < std::size(chains); ++i) {
    const float plain = ResultOf(chains[i], 0), folded = ResultOf(chains[i], 3);
    EXPECT_NEAR(folded, plain, 1e-6f * std::abs(plain)) << i;
  }
}

// Drawn chains. One that overflows step by step says nothing, and one that underflows may come out exact.
TEST(FoldScales, RandomScales) {
  std::mt19937 random(3);
  int finite = 0;
  for (int round = 0; round < 60; ++round) {
    const auto number = [&] {
      const int exponent = static_cast<int>(random() % 9) * 10 - 40;
      return random() % 8 == 0 ? 0.0f : static_cast<float>(std::pow(10.0, exponent % 38));
    };
    Chain chain{.x = number()};
    if (random() % 2 == 0) chain.weight = number();
    for (size_t left = 1 + random() % 3; left > 0; --left) {
      const bool is_sum = random() % 4 == 0, is_quotient = random() % 3 == 0;
      const float by = number();
      chain.steps.emplace_back(is_sum ? "Add" : is_quotient && by != 0 ? "Div" : "Mul", by);
    }
    const float plain = ResultOf(chain, 0), folded = ResultOf(chain, 3);
    if (!std::isfinite(plain)) continue;
    ++finite;
    const auto error = [&](double wanted) { return std::abs(folded - wanted) - 1e-5 * std::abs(wanted); };
    EXPECT_LT(std::min(error(plain), error(ExactOf(chain))), 1e-36) << "round " << round;
  }
  EXPECT_GT(finite, 20);
}

TEST(FoldScales, LargestWeightsDecide) {
  NDArray weights(DataType::Float(32), {2, 3}), factors(DataType::Float(32), {3});
  // Channels: ordinary, with a small weight beside an ordinary one, below the normal numbers as a whole.
  const double values[] = {1, 1, 1e-40, 2, 1e-35, 1e-41};
  for (int64_t i = 0; i < 6; ++i) weights.Set(i, values[i]);
  const auto stay = [&](double a, double b, double c) {
    factors.Set(0, a);
    factors.Set(1, b);
    factors.Set(2, c);
    return WeightsStayNormal(*Constant(weights), 1, factors);
  };
  EXPECT_TRUE(stay(1, 1e-10, 0.5));
  EXPECT_TRUE(stay(0, -3, 1e30));
  EXPECT_FALSE(stay(3e38, 1, 1));
  EXPECT_FALSE(stay(1, -1e-38, 1));
}

}  // namespace
}  // namespace tilewright::graph
