// Every sketch of every operator: each one that a block has is chosen at least once, and what comes out is verified and
// computes what the operator does.
#include <gtest/gtest.h>

#include <map>
#include <set>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "autoschedule/program/choices.h"
#include "autoschedule/sketch/auto_schedule.h"
#include "ir/interp/interp.h"
#include "ir/ndarray.h"
#include "ir/ops/conv.h"
#include "ir/ops/conv_bn_relu.h"
#include "ir/ops/conv_transpose.h"
#include "ir/ops/depthwise.h"
#include "ir/ops/elementwise.h"
#include "ir/ops/matmul.h"
#include "ir/ops/normalization.h"
#include "ir/ops/pooling.h"
#include "schedule/layout/hoist_prepack.h"
#include "verify/verify.h"

namespace tilewright {
namespace {

using ops::OperandTypes;

// Small numbers and sums of them: what reordered and transformed sums may differ by, and polynomials' last places.
constexpr double kTolerance = 1e-3;

NDArray ArrayFor(const Buffer& buffer, uint64_t seed) {
  std::vector<int64_t> shape;
  for (const Expr& extent : buffer->shape) shape.push_back(*AsInt(extent));
  NDArray array(buffer->dtype, std::move(shape));
  FillIntegers(array, seed);
  return array;
}

using Arrays = std::map<std::string, NDArray>;

// Runs the function on the arrays with the names of its parameters; those that are not there yet are made.
void Run(const Function& function, Arrays& arrays) {
  std::vector<interp::Argument> arguments;
  for (const Param& param : function->params) {
    const Buffer& buffer = param.buffer;
    arguments.emplace_back(arrays.try_emplace(buffer->name, ArrayFor(buffer, arrays.size())).first->second);
  }
  const absl::StatusOr<interp::Program> program = interp::Compile(function, interp::CompileOptions::AllChecks());
  ASSERT_TRUE(program.ok()) << program.status();
  const absl::Status status = program->Run(arguments);
  ASSERT_TRUE(status.ok()) << status;
}

using Names = std::set<std::string>;
// Labels of choices by what is chosen: "sketch", "rows", "depth", ...
using Chosen = std::map<std::string, Names>;

// Chooses each sketch of an operator in turn, and each candidate of other choices that have labels.
class SketchesOf {
 public:
  SketchesOf(Function op, Target target)
      : op_(std::move(op)), target_(std::move(target)), output_(op_->params.back().buffer) {
    Run(op_, expected_);
  }

  // The names of what was chosen: all that some block has.
  Chosen ChooseEach() {
    Chosen names;
    Choose(Choices::Preferred());
    while (!open_.empty() && !testing::Test::HasFailure()) {
      const auto [choice, sketch] = open_.extract(open_.begin()).value();
      SCOPED_TRACE(std::string(choice).append(" = ").append(sketch));
      Choose(Choices::GivenOrPreferred({Choice::Of(choice, sketch)}));
      const std::string kind = choice.substr(choice.find('.') + 1);
      names[kind.substr(0, kind.find('#'))].insert(sketch);
    }
    return names;
  }

 private:
  void Choose(Choices choices) {
    IntrinRegistry intrins = IntrinRegistry::Builtin();
    const AutoScheduled made = AutoSchedule(Module(op_), target_, &intrins, choices);
    for (const Choice& choice : choices.made()) {
      for (const Choice::Meaning& meaning : choice.meanings) {
        if (known_.emplace(choice.name, meaning.label).second) open_.emplace(choice.name, meaning.label);
      }
    }
    ExpectRight(made.schedule.module());
  }

  void ExpectRight(const Module& module) {
    for (const Function& function : module.functions()) {
      const VerifyResult verified = VerifyProgram(function, &target_);
      ASSERT_NE(verified.verdict(), Verdict::kRefuted) << Render(verified, function);
    }
    Arrays arrays = expected_;
    arrays.insert_or_assign(output_->name, ArrayFor(output_, 99));
    if (const Function prepack = module.Find("main_prepack")) Run(prepack, arrays);
    Run(module.Find("main"), arrays);
    const NDArray &want = expected_.at(output_->name), &got = arrays.at(output_->name);
    const auto error = MaxError(want, got);
    EXPECT_LT(error.max_abs, kTolerance) << error.position;
  }

  const Function op_;
  const Target target_;
  const Buffer output_;
  Arrays expected_;
  std::set<std::pair<std::string, std::string>> known_, open_;  // choices and labels
};

// With the second operand constant and not, on CPUs with vectors of each kind and with tiles; all that was found.
Chosen ChooseEach(const Function& op) {
  Chosen all;
  for (const char* name : {"x86-znver4", "x86-sapphirerapids", "arm-neoverse-n1"}) {
    for (const bool constant : {false, true}) {
      if (constant && op->params.size() < 3) continue;
      SCOPED_TRACE(std::string(name) + (constant ? ", constant" : ""));
      for (auto& [kind, names] : SketchesOf(constant ? MarkConstant(op, {1}) : op, *NamedTarget(name)).ChooseEach()) {
        all[kind].merge(names);
      }
      if (testing::Test::HasFailure()) return all;
    }
  }
  return all;
}

// The sketches of these.
Names ExpectEachRight(const Function& op) {
  Names sketches = ChooseEach(op)["sketch"];
  sketches.erase("given_loops");  // what is left of a chain when another block has been scheduled
  return sketches;
}

class EachSketch : public testing::TestWithParam<const char*> {
 protected:
  OperandTypes types() const { return *OperandTypes::Parse(GetParam()); }
  bool f32() const { return std::string_view(GetParam()) == "f32"; }
};

TEST_P(EachSketch, OfProducts) {
  EXPECT_EQ(ExpectEachRight(ops::Matmul(23, 40, 16, types())), (Names{"contraction", "plain"}));
  EXPECT_EQ(ExpectEachRight(ops::BatchMatmul(2, 7, 18, 12, types(), true)),
            (Names{"contraction", "plain", "product_rows"}));
  EXPECT_EQ(ExpectEachRight(ops::TransposeBatchMatmul(1, 9, 2, 20, types())), (Names{"contraction", "plain"}));
}

TEST_P(EachSketch, OfConvolutions) {
  for (int rank = 1; rank <= 3; ++rank) {
    const Names names = ExpectEachRight(ops::Conv({.spatial = std::vector<Expr>(static_cast<size_t>(rank), Expr(6)),
                                                   .in_channels = 5,
                                                   .out_channels = 20,
                                                   .windows = ops::Same({3, 2, 1}, rank)},
                                                  types()));
    EXPECT_EQ(names, (Names{"contraction", "plain"}));
  }
  const ops::ConvShape same = {.spatial = {9, 8},
                               .in_channels = f32() ? 24 : 5,
                               .out_channels = f32() ? 32 : 12,
                               .windows = ops::Same({3, 1, 1}, 2)};
  const Names expected = f32() ? Names{"contraction", "plain", "winograd"} : Names{"contraction", "plain"};
  EXPECT_EQ(ExpectEachRight(ops::Conv(same, types())), expected);
  EXPECT_EQ(ExpectEachRight(ops::ConvBnRelu(same, types())), expected);
  ops::ConvShape dilated = same;
  dilated.windows = ops::Same({.kernel = 3, .padding = 2, .dilation = 2}, 2);
  EXPECT_EQ(ExpectEachRight(ops::Conv(dilated, types())), expected);
  EXPECT_EQ(ExpectEachRight(ops::ConvTranspose(1, 5, 4, 8, 16, {.kernel = 4, .stride = 2, .padding = 1}, types())),
            (Names{"contraction", "plain"}));
}

TEST_P(EachSketch, OfGroups) {
  const ops::ConvShape shape = {
      .spatial = {4, 8}, .in_channels = 32, .out_channels = 32, .windows = ops::Same({3, 1, 1}, 2), .groups = 8};
  const Names expected = f32() ? Names{"contraction", "joined_groups", "plain"} : Names{"contraction", "plain"};
  EXPECT_EQ(ExpectEachRight(ops::Conv(shape, types())), expected);
  EXPECT_EQ(ExpectEachRight(ops::Depthwise(1, 9, 9, 24, {.kernel = 3, .stride = 2, .padding = 1}, 1, types())),
            (Names{"plain"}));
}

// Groups along the depth of few channels would be padded.
TEST_P(EachSketch, OfFirstLayers) {
  const Function op =
      ops::Conv({.spatial = {8, 8}, .in_channels = 3, .out_channels = 20, .windows = ops::Same({3, 1, 1}, 2)}, types());
  Chosen chosen = ChooseEach(op);
  EXPECT_EQ(chosen["depth"], f32() ? Names{} : (Names{"apart", "fused"}));
}

TEST_P(EachSketch, OfPhasesOfFewChannels) {
  const Function op = ops::ConvTranspose(1, 5, 4, 8, 3, {.kernel = 4, .stride = 2, .padding = 1}, types());
  EXPECT_EQ(ChooseEach(op)["phases"], (Names{"apart", "joined"}));
}

INSTANTIATE_TEST_SUITE_P(Types, EachSketch, testing::Values("f32", "bf16", "u8s8", "s8s8"),
                         [](const auto& info) { return std::string(info.param); });

TEST(SketchesOf, OfRows) {
  for (const Function& op : {ops::Softmax(7, 133), ops::RowNorm(7, 131), ops::LayerNorm(7, 128)}) {
    EXPECT_EQ(ExpectEachRight(op), (Names{"plain", "rows"}));
  }
}

TEST(SketchesOf, OfOthers) {
  EXPECT_EQ(ExpectEachRight(ops::Gelu({7, 129})), (Names{"plain"}));
  EXPECT_EQ(ExpectEachRight(ops::MaxPool(2, 9, 7, 19, {.kernel = 3, .stride = 2, .padding = 1})), (Names{"plain"}));
}

}  // namespace
}  // namespace tilewright
