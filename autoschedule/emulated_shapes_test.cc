// Operators of random small shapes on presets of another architecture: what the rules make of them, and candidates of
// the search, compiled, run in an emulator and compared. Skipped where it is not installed.
//
//   TILEWRIGHT_SHAPES=500 TILEWRIGHT_SEED=7 bazel-bin/autoschedule/emulated_shapes_test
#include <gtest/gtest.h>

#include <algorithm>
#include <string>
#include <utility>
#include <vector>

#include "autoschedule/random_operators.h"
#include "autoschedule/sketch/space.h"
#include "codegen/remote/launcher.h"
#include "codegen/testing/equivalence.h"
#include "ir/script/printer.h"
#include "schedule/script/trace_text.h"

namespace tilewright {
namespace {

std::vector<std::string> ArmTargets() {
  std::vector<std::string> names = TargetNames();
  std::erase_if(names, [](const std::string& name) { return !name.starts_with("arm-"); });
  return names;
}

class EmulatedShapes : public ::testing::TestWithParam<std::string> {};

TEST_P(EmulatedShapes, SchedulesComputeTheSame) {
  Target target = *NamedTarget(GetParam());
  target.cores = 2;
  if (const auto command = remote::WorkerCommand(target, ""); !command.ok()) GTEST_SKIP() << command.status().message();
  const std::vector<std::string> names = ArmTargets();
  const auto place = static_cast<uint64_t>(std::ranges::find(names, GetParam()) - names.begin());
  const uint64_t seed = testing::FromEnvironment("TILEWRIGHT_SEED", 20261127) + 1000 * place;
  RandomOperators operators(static_cast<uint32_t>(seed), kSmallOperators);
  const uint64_t shapes = testing::FromEnvironment("TILEWRIGHT_SHAPES", 40);
  testing::Batch batch;
  for (uint64_t i = 0; i < shapes; ++i) {
    // What is packed ahead of time has parameters of its own: it is compared with itself, the rest with the operator.
    const bool constants = i % 4 == 0;
    const Function op = operators.Next(constants);
    IntrinRegistry intrins = IntrinRegistry::Builtin();
    const Space space(Module(op), target, &intrins);
    // Every second one as the search draws it; choices may exclude each other.
    Outcome<Candidate> candidate = space.Make(i % 2 == 0 ? Choices::Preferred() : Choices::Drawn(seed + i));
    if (!candidate.ok()) candidate = space.Make(Choices::Preferred());
    ASSERT_TRUE(candidate.ok()) << Print(op);
    testing::ComparisonOptions options = {.target = target, .seed = i + 1, .tolerance = 1e-3, .parallel = i % 3 == 0};
    // Long sums in float16 depend on their order, unless they are exact.
    if (op->params.back().buffer->dtype == DataType::Float(16)) options.integers = 2;
    if (!constants) options.original = op;
    batch.Add({candidate->schedule.module().Main(), options}, Print(op) + ToText(candidate->schedule.trace()));
  }
  batch.Compare();
}

INSTANTIATE_TEST_SUITE_P(Targets, EmulatedShapes, ::testing::ValuesIn(ArmTargets()), [](const auto& info) {
  std::string name = info.param;
  std::erase(name, '-');
  return name;
});

}  // namespace
}  // namespace tilewright
