// The walk-through gives the modules in steps/, and all of them compute what the first does.
#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>

#include "base/golden.h"
#include "examples/graph_mlp/mlp.h"
#include "graph/ir/basic_ops.h"
#include "graph/ir/parser.h"
#include "graph/ir/printer.h"
#include "graph/ir/structural.h"
#include "graph/rewrite/basic_lowering.h"
#include "graph/rewrite/interpreter.h"
#include "graph/rewrite/standard_rules.h"

namespace tilewright::graph {
namespace {

NDArray Random(std::vector<int64_t> shape, uint64_t seed) {
  const NDArray array(DataType::Float(32), std::move(shape));
  FillUniform(array, seed);
  return array;
}

// The constants of the model, in the order in which it reads them.
std::vector<NDArray> WeightsOf(const GraphModule& module) {
  std::vector<NDArray> weights;
  for (const Constant& constant : Print(module).constants) weights.push_back(constant->ToNDArray());
  return weights;
}

class WalkthroughTest : public testing::Test {
 protected:
  WalkthroughTest() {
    AddBasicOps(&ops_);
    AddBasicLowerings(&lowerings_);
    absl::StatusOr<std::vector<Step>> steps = Walkthrough(ops_, lowerings_);
    EXPECT_TRUE(steps.ok()) << steps.status().message();
    if (steps.ok()) steps_ = *std::move(steps);
  }
  NDArray Run(const GraphModule& module, const std::vector<RuntimeValue>& args) {
    const absl::StatusOr<RuntimeValue> result = LegalizeAndRun(module, ops_, lowerings_, "main", args);
    EXPECT_TRUE(result.ok()) << result.status().message();
    return result.ok() ? result->tensor : NDArray(DataType::Float(32), {});
  }

  OpTable ops_;
  LoweringTable lowerings_;
  std::vector<Step> steps_;
};

TEST_F(WalkthroughTest, GivesTheModulesOfEachStep) {
  ASSERT_EQ(steps_.size(), 6u);
  for (const Step& step : steps_) {
    const GraphText text = Print(step.module);
    EXPECT_TRUE(MatchesGolden("examples/graph_mlp/steps/" + step.file, text.text));
    const absl::StatusOr<GraphModule> back = ParseGraphModule(text.text, step.file, ops_, text.constants);
    ASSERT_TRUE(back.ok()) << back.status().message();
    std::string why;
    EXPECT_TRUE(StructuralEqual(step.module, *back, &why)) << step.file << why;
  }
}

TEST_F(WalkthroughTest, RuleAndMutatorAgree) {
  const absl::StatusOr<GraphModule> by_mutator = RewriteByMutator(steps_[0].module, ops_);
  ASSERT_TRUE(by_mutator.ok()) << by_mutator.status().message();
  EXPECT_TRUE(StructuralEqual(*by_mutator, steps_[1].module)) << Print(*by_mutator).text;
  const NDArray x = Random({3, 4}, 1), y = Random({3, 4}, 2);
  EXPECT_TRUE(BitEqual(Run(steps_[0].module, {x, y}), Run(steps_[1].module, {x, y})));
}

TEST_F(WalkthroughTest, EveryStepComputesTheModel) {
  const NDArray x = Random({1, 784}, 7);
  const NDArray expected = Run(steps_[2].module, {x});
  for (size_t i = 3; i < steps_.size(); ++i) EXPECT_TRUE(BitEqual(Run(steps_[i].module, {x}), expected)) << i;

  // The same by loops over doubles.
  const std::vector<NDArray> w = WeightsOf(steps_[2].module);
  ASSERT_EQ(w.size(), 3u);  // the last bias has few enough elements to stand in the text
  std::vector<double> hidden(128);
  for (int64_t j = 0; j < 128; ++j) {
    double sum = w[1].Get(j);
    for (int64_t k = 0; k < 784; ++k) sum += x.Get(k) * w[0].Get(k * 128 + j);
    hidden[static_cast<size_t>(j)] = std::max(sum, 0.0);
  }
  const NDArray bias(DataType::Float(32), {10});
  FillUniform(bias, 4, -0.1, 0.1);
  for (int64_t j = 0; j < 10; ++j) {
    double sum = bias.Get(j);
    for (int64_t k = 0; k < 128; ++k) sum += hidden[static_cast<size_t>(k)] * w[2].Get(k * 10 + j);
    EXPECT_NEAR(expected.Get(j), sum, 1e-5 * std::max(1.0, std::abs(sum))) << j;
  }
}

TEST_F(WalkthroughTest, TheRulesHoldOnTheirExamples) {
  for (const RewriteRule& rule : {MultiplyAddRule(), FuseDenseAddRule()}) {
    const absl::Status status = CheckRule(rule, ops_, lowerings_, 1, 50);
    EXPECT_TRUE(status.ok()) << status.message();
  }
}

}  // namespace
}  // namespace tilewright::graph
