// Operators of random small shapes on presets of another architecture: what the rules make of them, and candidates of the
// search, compiled, run in an emulator and compared. Skipped where it is not installed.
//
//   TILEWRIGHT_SHAPES=500 TILEWRIGHT_SEED=7 bazel-bin/autoschedule/emulated_shapes_test
#include <gtest/gtest.h>

#include <algorithm>
#include <cstdlib>
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

uint32_t FromEnvironment(const char* name, uint32_t otherwise) {
  const char* text = std::getenv(name);
  return text == nullptr ? otherwise : static_cast<uint32_t>(std::strtoul(text, nullptr, 10));
}

std::vector<std::string> ArmTargets() {
  std::vector<std::string> names = TargetNames();
  std::erase_if(names, [](const std::string& name) { return !name.starts_with("arm-"); });
  return names;
}

// Programs that are compiled and loaded together: a process starts for each of these.
constexpr size_t kTogether = 25;

// Scheduled programs, and what to say of those that compute something else.
class Batch {
 public:
  void Add(testing::Compared compared, std::string text) {
    all_.push_back(std::move(compared));
    texts_.push_back(std::move(text));
    if (all_.size() == kTogether) Compare();
  }
  void Compare() {
    const std::vector<std::string> wrong = testing::CompareAllWithInterpreter(all_);
    for (size_t i = 0; i < wrong.size(); ++i) EXPECT_EQ(wrong[i], "") << texts_[i];
    all_.clear();
    texts_.clear();
  }

 private:
  std::vector<testing::Compared> all_;
  std::vector<std::string> texts_;
};

class EmulatedShapes : public ::testing::TestWithParam<std::string> {};

TEST_P(EmulatedShapes, SchedulesComputeTheSame) {
  Target target = *NamedTarget(GetParam());
  target.cores = 2;
  if (const auto command = remote::WorkerCommand(target, ""); !command.ok()) GTEST_SKIP() << command.status().message();
  const std::vector<std::string> names = ArmTargets();
  const auto place = static_cast<uint32_t>(std::ranges::find(names, GetParam()) - names.begin());
  const uint32_t seed = FromEnvironment("TILEWRIGHT_SEED", 20261127) + 1000 * place;
  RandomOperators operators(seed, kSmallOperators);
  const uint32_t shapes = FromEnvironment("TILEWRIGHT_SHAPES", 40);
  Batch batch;
  for (uint32_t i = 0; i < shapes; ++i) {
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
