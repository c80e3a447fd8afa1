#include "autoschedule/gpu_testing.h"

#include <gtest/gtest.h>

#include "autoschedule/sketch/auto_schedule.h"
#include "codegen/testing/equivalence.h"
#include "ir/functor.h"
#include "ir/script/printer.h"
#include "verify/verify.h"

namespace tilewright::testing {

bool HasThreads(const Function& function) {
  bool found = false;
  PreOrder(function->body, [&](const Stmt& s) {
    const auto* loop = dyn_cast<ForNode>(s);
    found |= loop != nullptr && loop->kind == ForKind::kThreadBound;
    return !found;
  });
  return found;
}

void ExpectRightOnGpus(const Function& function, const GpuExpectation& expected) {
  for (const char* target_name : {"cuda-sm80", "cuda-sm90a"}) {
    const Target target = *NamedTarget(target_name);
    IntrinRegistry intrins = IntrinRegistry::Builtin();
    const AutoScheduled result = AutoSchedule(Module(function), target, &intrins);
    for (const RuleRefusal& refusal : result.left_alone) {
      if (expected.threads) ADD_FAILURE() << refusal.ToString();
    }
    const Function main = result.schedule.module().Main();
    const VerifyResult verified = VerifyProgram(main, &target);
    EXPECT_NE(verified.verdict(), Verdict::kRefuted) << Render(verified, main);
    EXPECT_EQ(HasThreads(main), expected.threads);
    const std::string difference = CompareWithInterpreter(
        result.schedule.module(),
        {.target = target, .original = function, .tolerance = expected.tolerance, .variables = expected.variables});
    EXPECT_EQ(difference, "") << target_name << "\n" << Print(main);
  }
}

int ExpectRightWhereDrawn(const Function& function, uint64_t first_seed, int count, double tolerance) {
  const Target target = *NamedTarget("cuda-sm80");
  int ran = 0;
  for (uint64_t seed = first_seed; seed < first_seed + static_cast<uint64_t>(count); ++seed) {
    IntrinRegistry intrins = IntrinRegistry::Builtin();
    Choices choices = Choices::Drawn(seed);
    const AutoScheduled result = AutoSchedule(Module(function), target, &intrins, choices);
    const Function main = result.schedule.module().Main();
    if (VerifyProgram(main, &target).verdict() == Verdict::kRefuted) continue;
    ++ran;
    EXPECT_EQ(CompareWithInterpreter(result.schedule.module(),
                                     {.target = target, .original = function, .tolerance = tolerance}),
              "")
        << "seed " << seed << "\n"
        << Print(main);
  }
  return ran;
}

std::string SketchOfBlock(const Function& function, const std::string& block) {
  IntrinRegistry intrins = IntrinRegistry::Builtin();
  Choices choices = Choices::Preferred();
  const AutoScheduled result = AutoSchedule(Module(function), *NamedTarget("cuda-sm80"), &intrins, choices);
  for (const Choice& choice : choices.made()) {
    if (choice.name == block + ".sketch") return std::string(choice.label());
  }
  return "";
}

}  // namespace tilewright::testing
