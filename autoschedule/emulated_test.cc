// Programs that the rules schedule for machines of another architecture: compiled, run in an emulator, and compared
// with the interpreter. Skipped where the emulator is not installed.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <fstream>
#include <string>
#include <utility>

#include "autoschedule/sketch/auto_schedule.h"
#include "base/files.h"
#include "codegen/remote/launcher.h"
#include "codegen/testing/equivalence.h"
#include "ir/ops/conv.h"
#include "ir/ops/conv_bn_relu.h"
#include "ir/ops/conv_transpose.h"
#include "ir/ops/depthwise.h"
#include "ir/ops/elementwise.h"
#include "ir/ops/matmul.h"
#include "ir/ops/normalization.h"
#include "ir/ops/requantize.h"
#include "ir/script/printer.h"
#include "schedule/script/trace_text.h"
#include "verify/verify.h"

namespace tilewright {
namespace {

using ::testing::HasSubstr;
using ::testing::Not;

ops::ConvShape Conv2d(int64_t size, int64_t in, int64_t out, ops::Window window, int64_t groups = 1) {
  return {.spatial = {size, size},
          .in_channels = in,
          .out_channels = out,
          .windows = ops::Same(window, 2),
          .groups = groups};
}

struct Case {
  const char* name;
  Function (*make)(const ops::OperandTypes& types);
};
const Case kContractions[] = {
    {"Matmul", [](const ops::OperandTypes& t) { return ops::Matmul(23, 37, 13, t); }},
    {"MatmulWhole", [](const ops::OperandTypes& t) { return ops::Matmul(24, 32, 16, t); }},
    {"MatmulOneRow", [](const ops::OperandTypes& t) { return ops::Matmul(1, 50, 7, t); }},
    {"MatmulTransposed", [](const ops::OperandTypes& t) { return ops::Matmul(20, 40, 18, t, true); }},
    {"BatchMatmul", [](const ops::OperandTypes& t) { return ops::BatchMatmul(2, 9, 33, 10, t, true); }},
    {"ThreeChannels", [](const ops::OperandTypes& t) { return ops::Conv(Conv2d(9, 3, 20, {7, 2, 3}), t); }},
    {"Window3x3", [](const ops::OperandTypes& t) { return ops::Conv(Conv2d(7, 8, 19, {3, 1, 1}), t); }},
    {"Window1x1", [](const ops::OperandTypes& t) { return ops::Conv(Conv2d(7, 12, 40, {1, 2}), t); }},
    {"Grouped", [](const ops::OperandTypes& t) { return ops::Conv(Conv2d(5, 24, 12, {3, 1, 1}, 3), t); }},
    {"Depthwise",
     [](const ops::OperandTypes& t) { return ops::Depthwise(1, 7, 6, 19, {.kernel = 3, .padding = 1}, 1, t); }},
    {"Transposed",
     [](const ops::OperandTypes& t) {
       return ops::ConvTranspose(1, 5, 4, 6, 20, {.kernel = 4, .stride = 2, .padding = 1}, t);
     }},
    {"ConvBnRelu", [](const ops::OperandTypes& t) { return ops::ConvBnRelu(Conv2d(6, 5, 9, {3, 1, 1}), t); }},
    {"Attention", [](const ops::OperandTypes& t) { return ops::TransposeBatchMatmul(1, 17, 2, 8, t); }},
};

// A machine and the types of operands.
using Machine = std::pair<const char*, const char*>;

class Emulated : public ::testing::TestWithParam<Machine> {
 protected:
  void SetUp() override {
    target_ = *NamedTarget(std::string("arm-") + GetParam().first);
    target_.cores = 2;
    if (const auto command = remote::WorkerCommand(target_, ""); !command.ok()) {
      GTEST_SKIP() << command.status().message();
    }
  }
  void ExpectRight(const Function& function, double tolerance) {
    IntrinRegistry intrins = IntrinRegistry::Builtin();
    const AutoScheduled scheduled = AutoSchedule(Module(function), target_, &intrins);
    for (const Function& part : scheduled.schedule.module().functions()) {
      const VerifyResult verified = VerifyProgram(part, &target_);
      EXPECT_NE(verified.verdict(), Verdict::kRefuted) << Render(verified, part);
    }
    EXPECT_EQ(testing::CompareWithInterpreter(scheduled.schedule.module(),
                                              {.target = target_, .tolerance = tolerance, .parallel = true}),
              "")
        << Print(function);
  }

  Target target_;
};

TEST_P(Emulated, ContractionsAreRight) {
  const auto types = *ops::OperandTypes::Parse(GetParam().second);
  for (const Case& contraction : kContractions) {
    SCOPED_TRACE(contraction.name);
    // Sums of up to 147 products of f16, each of them rounded, or not where it is fused.
    ExpectRight(contraction.make(types), types.output.bits() == 16 ? 8e-2 : 1e-4);
  }
  if (types.output.is_integer()) {
    const ops::Requantization how = {.scale = 0.01, .zero_point = 3, .to = DataType::UInt(8)};
    ExpectRight(ops::MatmulRequantize(9, 21, 18, types, how), 0);
    ExpectRight(ops::ConvRequantize(Conv2d(7, 6, 9, {3, 1, 1}), types, how), 0);
  }
}

class EmulatedRows : public Emulated {};

TEST_P(EmulatedRows, AreRight) {
  ExpectRight(ops::Softmax(5, 37), 1e-5);
  ExpectRight(ops::LayerNorm(5, 37), 1e-4);
  ExpectRight(ops::Gelu({3, 37}), 1e-5);
}

// What the machine multiplies by differs: nothing but FMA, dot products, products of two rows by two columns.
constexpr Machine kMachines[] = {{"cortex-a72", "f32"},   {"cortex-a72", "bf16"},  {"cortex-a72", "u8s8"},
                                 {"neoverse-n1", "f32"},  {"neoverse-n1", "f16"},  {"neoverse-n1", "u8s8"},
                                 {"neoverse-n1", "s8s8"}, {"neoverse-v1", "bf16"}, {"neoverse-v1", "u8s8"},
                                 {"neoverse-v2", "s8s8"}};

std::string NameOf(const ::testing::TestParamInfo<Machine>& test) {
  std::string name = std::string(test.param.first) + "_" + test.param.second;
  std::ranges::replace(name, '-', '_');
  return name;
}
INSTANTIATE_TEST_SUITE_P(Arm, Emulated, ::testing::ValuesIn(kMachines), NameOf);
INSTANTIATE_TEST_SUITE_P(Arm, EmulatedRows, ::testing::Values(Machine("neoverse-n1", "f32")), NameOf);

// The instruction that multiplies most of a shape is the preferred one, and every other one is a choice.
TEST(MatrixInstructions, AreTakenWhereTheyAreFaster) {
  const Target target = *NamedTarget("arm-neoverse-v1");
  const auto scheduled = [&](const Function& program) {
    IntrinRegistry intrins = IntrinRegistry::Builtin();
    return ToText(AutoSchedule(Module(program), target, &intrins).schedule.trace());
  };
  for (const auto& [types, instruction] :
       {std::pair("u8s8", "mmla_u8s8_"), {"s8s8", "mmla_s8s8_"}, {"bf16", "mmla_bf16_"}}) {
    const auto operands = *ops::OperandTypes::Parse(types);
    EXPECT_THAT(scheduled(ops::Matmul(96, 96, 96, operands)), HasSubstr(instruction));
    // One row alone would be half of what is multiplied; a depth that is not a multiple of the groups would be masked.
    EXPECT_THAT(scheduled(ops::Matmul(1, 96, 96, operands)), Not(HasSubstr("mmla_")));
    EXPECT_THAT(scheduled(ops::Matmul(96, 96, 93, operands)), Not(HasSubstr("mmla_")));
  }
}

// The machine that docs/targets.md makes up.
TEST(MadeUpMachine, IsADescriptionAndNothingElse) {
  const std::string text = *ReadFile("docs/targets.md");
  constexpr std::string_view kBegin = "```json\n";
  const size_t begin = text.find(kBegin), end = text.find("```\n", begin + 1);
  ASSERT_NE(begin, text.npos);
  const std::string path = ::testing::TempDir() + "/board.json";
  std::ofstream(path) << text.substr(begin + kBegin.size(), end - begin - kBegin.size());
  const auto board = NamedTarget(path);
  ASSERT_TRUE(board.ok()) << board.status();
  EXPECT_EQ(board->name, "arm-board");

  IntrinRegistry intrins = IntrinRegistry::Builtin();
  for (const auto& [types, instruction] : {std::pair("f32", "_neon"), {"u8s8", "_dotprod"}, {"s8s8", "_dotprod"}}) {
    const Module program(ops::Matmul(23, 37, 13, *ops::OperandTypes::Parse(types)));
    const AutoScheduled scheduled = AutoSchedule(program, *board, &intrins);
    EXPECT_NE(ToText(scheduled.schedule.trace()).find(instruction), std::string::npos) << types;
    if (!remote::WorkerCommand(*board, "").ok()) continue;
    EXPECT_EQ(testing::CompareWithInterpreter(scheduled.schedule.module(), {.target = *board, .tolerance = 1e-4}), "");
  }
}

}  // namespace
}  // namespace tilewright
