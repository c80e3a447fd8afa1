// Every example verifies, runs, and computes what its reference does; its wrong variant is refused for its reason.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <map>
#include <string>

#include "base/files.h"
#include "intrin/registry.h"
#include "ir/interp/interp.h"
#include "ir/ndarray.h"
#include "ir/script/parse_or_die.h"
#include "ir/script/printer.h"
#include "schedule/script/schedule_script.h"
#include "target/target.h"
#include "verify/verify.h"

namespace tilewright {
namespace {

using ::testing::HasSubstr;

struct Example {
  const char* name;
  const char* target;   // whose limits count
  double tolerance;     // relative; 0: the same bits
  const char* refusal;  // part of why the wrong schedule is refused
};

constexpr Example kExamples[] = {
    {"goto_matmul", "x86-znver4", 0,
     "parallel: the iterator vk of block C, which depends on loop k_0, is reduce, not spatial"},
    {"implicit_convolution", "x86-znver4", 0, "mixes iterators of block Y of different kinds"},
    {"shared_matmul", "cuda-sm80", 0,
     "races: iterations of the threadIdx.y loop i_1 may touch the same element at the same time"},
    {"pipelined_matmul", "cuda-sm80", 0,
     "races: iterations of the threadIdx.x loop j_2 may touch the same element at the same time"},
    {"wmma_matmul", "cuda-sm80", 0, "buffer C is in the scope global, described is wmma.accumulator"},
    {"thread_gemv", "cuda-sm80", 0, "the iterator vk of block S, which depends on loop k_0, is reduce, not spatial"},
    {"thread_softmax", "cuda-sm80", 1e-5,
     "the iterator vk of block S, which depends on loop ax0_1, is reduce, not spatial"},
    {"line_buffer", "x86-znver4", 0, "parallel: the iterator vh of block P is opaque, neither spatial nor reduce"},
    {"split_k", "x86-znver4", 0, "the iterator vk of block C, which depends on loop k_0, is reduce, not spatial"},
    {"two_stage_softmax", "x86-znver4", 1e-5,
     "loop k carries the reduction of block M, whose values are not final in it"},
    {"winograd", "x86-znver4", 0, "loop c carries the reduction of block M, whose values are not final in it"},
    {"flash_attention", "x86-znver4", 1e-5, "block O writes a buffer that outlives its scope"},
};

// Winograd's transforms for tiles of 2 x 2 outputs and windows of 3 x 3.
const std::map<std::string, std::vector<double>> kConstants = {
    {"BT", {1, 0, -1, 0, 0, 1, 1, 0, 0, -1, 1, 0, 0, 1, 0, -1}},
    {"G", {1, 0, 0, 0.5, 0.5, 0.5, 0.5, -0.5, 0.5, 0, 0, 1}},
    {"AT", {1, 1, 1, 0, 0, 1, -1, -1}},
};

// Empty where there is no such file.
std::string Script(const std::string& name) { return ReadFile("examples/schedules/" + name).value_or(""); }

class Schedules : public ::testing::TestWithParam<Example> {
 protected:
  Schedules() {
    const std::string text = Script(std::string(GetParam().name) + "_intrinsics.py");
    if (!text.empty()) EXPECT_TRUE(intrins_.LoadScript(text, "intrinsics").ok());
    program_ = ParseFunctionOrDie(Script(std::string(GetParam().name) + ".py"));
    target_ = *NamedTarget(GetParam().target);
  }

  // Why the schedule in the file, or its result, is refused; empty when it is not.
  std::string Apply(const std::string& file, Function* result) {
    Schedule schedule(Module{program_}, {.intrins = &intrins_});
    if (const auto error = ApplyScheduleScript(Script(file), file, &schedule)) return error->diagnostic.ToString();
    *result = schedule.module().Main();
    return Verify(*result);
  }
  std::string Verify(const Function& function) const {
    const VerifyResult verified = VerifyProgram(function, &target_);
    return verified.verdict() == Verdict::kRefuted ? Render(verified, function) : "";
  }

  IntrinRegistry intrins_ = IntrinRegistry::Builtin();
  Function program_;
  Target target_;
};

std::vector<interp::Argument> RunProgram(const Function& function) {
  std::vector<interp::Argument> arguments;
  for (const Param& param : function->params) {
    std::vector<int64_t> shape;
    for (const Expr& extent : param.buffer->shape) shape.push_back(*AsInt(extent));
    NDArray array(param.buffer->dtype, shape);
    FillIntegers(array, arguments.size() + 1);
    if (const auto constant = kConstants.find(param.buffer->name); constant != kConstants.end()) {
      for (size_t i = 0; i < constant->second.size(); ++i) array.Set(static_cast<int64_t>(i), constant->second[i]);
    }
    arguments.emplace_back(std::move(array));
  }
  const auto program = interp::Compile(function, interp::CompileOptions::AllChecks());
  EXPECT_TRUE(program.ok()) << program.status().ToString();
  if (!program.ok()) return arguments;
  const absl::Status status = program->Run(arguments);
  EXPECT_TRUE(status.ok()) << status.ToString() << "\n" << Print(function);
  return arguments;
}

TEST_P(Schedules, VerifiesAndComputesTheSame) {
  const std::string name = GetParam().name;
  EXPECT_EQ(Verify(program_), "");
  Function scheduled;
  ASSERT_EQ(Apply(name + "_schedule.py", &scheduled), "");
  const std::string reference = Script(name + "_reference.py");
  const auto expected = RunProgram(reference.empty() ? program_ : ParseFunctionOrDie(reference)),
             actual = RunProgram(scheduled);
  for (size_t i = 0; i < expected.size(); ++i) {
    const ArrayError error = MaxError(expected[i].array, actual[i].array);
    EXPECT_LE(error.max_rel, GetParam().tolerance) << program_->params[i].buffer->name << "[" << error.position << "]";
  }
}

TEST_P(Schedules, RefusesTheWrongVariant) {
  Function scheduled;
  const std::string refusal = Apply(std::string(GetParam().name) + "_wrong.py", &scheduled);
  ASSERT_FALSE(refusal.empty());
  EXPECT_THAT(refusal, HasSubstr(GetParam().refusal));
}

INSTANTIATE_TEST_SUITE_P(All, Schedules, ::testing::ValuesIn(kExamples),
                         [](const auto& info) { return std::string(info.param.name); });

}  // namespace
}  // namespace tilewright
