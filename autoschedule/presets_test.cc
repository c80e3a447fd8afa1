// Every preset of a target meets every operator and every example program: what comes out is a valid program that
// compiles, or a sentence that says why there is none.
#include <gtest/gtest.h>

#include <algorithm>
#include <filesystem>
#include <functional>
#include <string>
#include <utility>
#include <vector>

#include "autoschedule/sketch/auto_schedule.h"
#include "autoschedule/tune/list_candidates.h"
#include "base/files.h"
#include "codegen/backend.h"
#include "codegen/lower/pipeline.h"
#include "ir/ops/conv.h"
#include "ir/ops/conv_bn_relu.h"
#include "ir/ops/conv_transpose.h"
#include "ir/ops/depthwise.h"
#include "ir/ops/elementwise.h"
#include "ir/ops/matmul.h"
#include "ir/ops/normalization.h"
#include "ir/ops/pooling.h"
#include "ir/ops/requantize.h"
#include "ir/script/parser.h"
#include "schedule/layout/hoist_prepack.h"
#include "verify/verify.h"

namespace tilewright {
namespace {

using ops::OperandTypes;
using NamedModule = std::pair<std::string, Module>;

ops::ConvShape SmallConv(int dims, int64_t groups = 1) {
  return {.spatial = std::vector<Expr>(static_cast<size_t>(dims), Expr(9)),
          .in_channels = 8 * groups,
          .out_channels = 16 * groups,
          .windows = ops::Same({.kernel = 3, .stride = 1, .padding = 1}, dims),
          .groups = groups};
}

// Products and convolutions, with the second operand constant and not.
void AddContractions(const std::string& types_name, std::vector<NamedModule>& all) {
  const OperandTypes types = *OperandTypes::Parse(types_name);
  const ops::Window window = {.kernel = 3, .stride = 2, .padding = 1};
  const std::vector<std::pair<std::string, Function>> operators = {
      {"matmul", ops::Matmul(24, 40, 16, types)},
      {"batch_matmul", ops::BatchMatmul(2, 16, 16, 16, types)},
      {"attention", ops::TransposeBatchMatmul(1, 16, 2, 32, types)},
      {"conv_1d", ops::Conv(SmallConv(1), types)},
      {"conv_2d", ops::Conv(SmallConv(2), types)},
      {"conv_3d", ops::Conv(SmallConv(3), types)},
      {"grouped_conv", ops::Conv(SmallConv(2, 2), types)},
      {"conv_bn_relu", ops::ConvBnRelu(SmallConv(2), types)},
      {"conv_transpose", ops::ConvTranspose(1, 5, 4, 8, 16, window, types)},
      {"depthwise", ops::Depthwise(1, 9, 9, 24, window, 1, types)},
  };
  for (const auto& [name, function] : operators) {
    all.emplace_back(name + " " + types_name, Module(function));
    all.emplace_back(name + " " + types_name + " constant", Module(MarkConstant(function, {1})));
  }
}

std::vector<NamedModule> Operators() {
  std::vector<NamedModule> all;
  for (const char* types : {"f32", "f16", "bf16", "u8s8", "s8s8"}) AddContractions(types, all);
  all.emplace_back("requantized", Module(ops::WithRequantization(ops::Matmul(24, 40, 16, *OperandTypes::Parse("u8s8")),
                                                                 {.scale = 0.01})));
  all.emplace_back("add", Module(ops::Add({37, 131})));
  all.emplace_back("gelu", Module(ops::Gelu({33, 129})));
  all.emplace_back("bias_add", Module(ops::BiasAdd({3, 17, 19, 23})));
  all.emplace_back("softmax", Module(ops::Softmax(19, 133)));
  all.emplace_back("row_norm", Module(ops::RowNorm(37, 131)));
  all.emplace_back("layer_norm", Module(ops::LayerNorm(19, 128)));
  all.emplace_back("max_pool", Module(ops::MaxPool(2, 13, 11, 19, {.kernel = 3, .stride = 2, .padding = 1})));
  all.emplace_back("average_pool", Module(ops::AveragePool(1, 9, 9, 40, {.kernel = 2, .stride = 2})));
  all.emplace_back("global_average_pool", Module(ops::GlobalAveragePool(1, 7, 7, 133)));
  return all;
}

// The programs in a folder; schedules, intrinsics and programs that are wrong on purpose are other files.
void AddExamples(const std::string& folder, std::vector<NamedModule>& all) {
  const std::vector<std::string> others = {"_schedule", "_wrong", "_intrinsics"};
  for (const auto& entry : std::filesystem::directory_iterator(folder)) {
    const std::string stem = entry.path().stem();
    if (entry.path().extension() != ".py") continue;
    if (std::ranges::any_of(others, [&](const std::string& end) { return stem.ends_with(end); })) continue;
    const std::string text = *ReadFile(entry.path());
    script::ParseResult parsed = script::Parse(text, entry.path().string());
    ASSERT_TRUE(parsed.diagnostics.empty()) << parsed.diagnostics[0].ToString();
    all.emplace_back(stem, parsed.module);
  }
}

class Presets : public testing::TestWithParam<std::string> {
 protected:
  void ExpectAnswers(const std::vector<NamedModule>& programs) {
    const Target target = *NamedTarget(GetParam());
    // LLVM takes most of the time, so that each preset compiles one program in eight, another one than its neighbours.
    size_t number = std::hash<std::string>()(GetParam());
    for (const auto& [name, module] : programs) {
      SCOPED_TRACE(name);
      const bool compiles = target.is_gpu() || ++number % 8 == 0;
      IntrinRegistry intrins = IntrinRegistry::Builtin();
      EXPECT_NE(ListCandidates(module, target, &intrins), "");
      const AutoScheduled result = AutoSchedule(module, target, &intrins);
      for (const Function& function : result.schedule.module().functions()) {
        const VerifyResult verified = VerifyProgram(function, &target);
        EXPECT_NE(verified.verdict(), Verdict::kRefuted) << Render(verified, function);
      }
      const auto lowered = Lower(result.schedule.module(), target);
      EXPECT_TRUE(lowered.ok()) << lowered.status();
      if (!compiles) continue;
      const auto code = Compile(result.schedule.module(), target, {.format = target.is_gpu() ? "cu" : "s"});
      EXPECT_EQ(code.status(), lowered.status());
    }
  }
};

TEST_P(Presets, MeetEveryOperator) { ExpectAnswers(Operators()); }

TEST_P(Presets, MeetEveryExample) {
  std::vector<NamedModule> examples;
  AddExamples("examples/operators", examples);
  AddExamples("examples/schedules", examples);
  EXPECT_GT(examples.size(), 15u);
  ExpectAnswers(examples);
}

INSTANTIATE_TEST_SUITE_P(Targets, Presets, testing::ValuesIn(TargetNames()), [](const auto& info) {
  std::string name = info.param;
  std::erase(name, '-');
  return name;
});

}  // namespace
}  // namespace tilewright
