// Random schedules as machine code, on the host and on AArch64 in an emulator: those that verify accepts and that a CPU
// can run compute what the program computes.
//
//   TILEWRIGHT_SCHEDULES=5000 TILEWRIGHT_SEED=7 bazel-bin/schedule/fuzz/machine_code_test
#include <gtest/gtest.h>

#include <algorithm>
#include <cstdio>
#include <map>
#include <span>
#include <string>
#include <vector>

#include "codegen/backend.h"
#include "codegen/testing/equivalence.h"
#include "intrin/registry.h"
#include "ir/script/printer.h"
#include "schedule/core/random.h"
#include "schedule/fuzz/drawer.h"
#include "schedule/fuzz/families.h"
#include "schedule/fuzz/moves.h"
#include "schedule/script/trace_text.h"
#include "verify/verify.h"

namespace tilewright::fuzz {
namespace {

constexpr int kTries = 40;

// Applies some primitives, whatever they are.
void Draw(Drawer& drawer, const std::string& family, int wanted) {
  const std::span<const Move> moves = Moves();
  for (int i = 0; i < kTries && wanted > 0 && drawer.Look(); ++i) {
    const Move& move = moves[static_cast<size_t>(drawer.Below(static_cast<int64_t>(moves.size())))];
    if (move.family == nullptr || move.family == family) wanted -= move.draw(drawer);
  }
}

bool IsAccepted(const Module& module, const Target& target) {
  return std::ranges::all_of(module.functions(), [&](const Function& function) {
    return VerifyProgram(function, &target).verdict() != Verdict::kRefuted;
  });
}

// Extents that are parameters have the values of the shapes, which random numbers do not.
bool HasScalars(const Function& program) {
  return std::ranges::any_of(program->params, [](const Param& param) { return !param.buffer; });
}

TEST(MachineCode, OfRandomSchedulesComputesTheSame) {
  const Target target = testing::TestedTarget();
  const std::vector<Family> families = Families();
  IntrinRegistry intrins;
  ASSERT_TRUE(intrins.LoadScript(kFuzzIntrinsics, "fuzz intrinsics").ok());
  const uint64_t first = testing::FromEnvironment("TILEWRIGHT_SEED", 1) * 1'000'000;
  const uint64_t schedules = testing::FromEnvironment("TILEWRIGHT_SCHEDULES", 300);
  std::map<std::string, int> refused;  // by code generation, with its reason
  uint64_t ran = 0;
  testing::Batch batch;
  for (uint64_t seed = first; seed < first + schedules; ++seed) {
    Random random(seed);
    const Family& family = families[random.Below(families.size())];
    const Function& program = family.programs[random.Below(family.programs.size())];
    if (HasScalars(program)) continue;
    Drawer drawer(program, random.Next(), &intrins);
    Draw(drawer, family.name, 1 + static_cast<int>(random.Below(8)));
    const Module scheduled = drawer.schedule().module();
    if (!IsAccepted(scheduled, target)) continue;
    // Loops that are bound to threads of a GPU, scopes of its memory and the like.
    if (const auto code = Compile(scheduled, target, {.format = "ll", .effort = CodeEffort::kQuick}); !code.ok()) {
      ++refused[std::string(code.status().message())];
      continue;
    }
    const int64_t size = 5 + 2 * static_cast<int64_t>(random.Below(2));
    testing::ComparisonOptions options{.target = target,
                                       .seed = seed,
                                       .integers = 4,
                                       .tolerance = family.rounds ? 1e-4 : 0,
                                       .variables = {size, size, size},
                                       .parallel = random.Below(3) == 0};
    // What is packed ahead of time has parameters of its own.
    if (scheduled.functions().size() == 1) options.original = program;
    ++ran;
    batch.Add({scheduled.Main(), options}, "seed " + std::to_string(seed) + ", " + family.name + "\n" + Print(program) +
                                               ToText(drawer.schedule().trace()));
  }
  batch.Compare();
  for (const auto& [reason, count] : refused) std::printf("%6d refused: %s\n", count, reason.c_str());
  std::printf("%llu of %llu schedules ran\n", static_cast<unsigned long long>(ran),
              static_cast<unsigned long long>(schedules));
  EXPECT_GE(ran, schedules / 4);
}

}  // namespace
}  // namespace tilewright::fuzz
