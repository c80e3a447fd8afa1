// What the rules make of operators of random shapes is valid, for every preset of a target.
#include <gtest/gtest.h>

#include <algorithm>
#include <string>
#include <vector>

#include "autoschedule/random_operators.h"
#include "autoschedule/sketch/auto_schedule.h"
#include "ir/script/printer.h"
#include "verify/verify.h"

namespace tilewright {
namespace {

constexpr int kShapes = 250;  // for each target, others for each

class RandomShapes : public testing::TestWithParam<std::string> {};

TEST_P(RandomShapes, SchedulesAreValid) {
  Target target = *NamedTarget(GetParam());
  target.cores = 2;
  IntrinRegistry intrins = IntrinRegistry::Builtin();
  const std::vector<std::string> names = TargetNames();
  RandomOperators operators(20261125 + static_cast<uint32_t>(std::ranges::find(names, GetParam()) - names.begin()),
                            kLargeOperators);
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
