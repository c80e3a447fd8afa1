// The walk-through gives the programs in steps/, and the last of them computes what the first does.
#include <gtest/gtest.h>

#include <map>
#include <string>

#include "base/files.h"
#include "base/golden.h"
#include "intrin/registry.h"
#include "ir/script/parse_or_die.h"
#include "ir/script/printer.h"
#include "ir/structural.h"
#include "schedule/script/schedule_script.h"
#include "schedule/testing/equivalence.h"

namespace tilewright {
namespace {

std::string Read(const std::string& name) {
  const absl::StatusOr<std::string> text = ReadFile("examples/tmm16/" + name);
  EXPECT_TRUE(text.ok()) << text.status();
  return text.value_or("");
}

class Walkthrough : public ::testing::Test {
 protected:
  Walkthrough() {
    const absl::Status loaded = intrins_.LoadScript(Read("tmm16.py"), "tmm16.py");
    EXPECT_TRUE(loaded.ok()) << loaded;
  }
  // The programs after each call, by the call's text.
  std::map<std::string, Module> Apply(const std::string& program) {
    std::map<std::string, Module> steps;
    Schedule schedule(ParseOrDie(program), {.intrins = &intrins_});
    ScheduleScriptOptions options;
    options.after_call = [&](std::string_view call, int, const Schedule& now) {
      steps[std::string(call)] = now.module();
    };
    const auto error = ApplyScheduleScript(Read("schedule.py"), "schedule.py", &schedule, options);
    EXPECT_FALSE(error) << error->diagnostic.ToString();
    steps["end"] = schedule.module();
    return steps;
  }
  IntrinRegistry intrins_;
};

TEST_F(Walkthrough, GivesTheProgramsOfEachStep) {
  std::map<std::string, Module> steps = Apply(Read("matmul.py"));
  const std::pair<const char*, const char*> expected[] = {
      {"sch.reorder(i, j, k, ii, ji, ki)", "steps/1_reorder.py"},
      {"block_mm = sch.blockize(ii)", "steps/2_blockize.py"},
      {"sch.reverse_compute_at(write_back_block, j)", "steps/3_special_memory.py"},
      {"sch.decompose_reduction(block_mm, k)", "steps/4_decompose_reduction.py"},
      {"end", "steps/5_tensorize.py"},
  };
  for (const auto& [call, file] : expected) {
    ASSERT_TRUE(steps.contains(call)) << call;
    EXPECT_TRUE(MatchesGolden(std::string("examples/tmm16/") + file, Print(steps[call])));
    Mismatch mismatch;
    EXPECT_TRUE(StructuralEqual(steps[call], ParseOrDie(Read(file)), &mismatch))
        << file << ": " << mismatch.path << ": " << mismatch.reason;
  }
}

int tmm16(float* c, const float* a, const float* b, int stride_a, int stride_b, int stride_c) {
  for (int i = 0; i < 16; ++i) {
    for (int j = 0; j < 16; ++j) {
      for (int k = 0; k < 16; ++k) c[i * stride_c + j] += a[i * stride_a + k] * b[j * stride_b + k];
    }
  }
  return 0;
}

TEST_F(Walkthrough, ComputesTheSame) {
  std::string program = Read("matmul.py");
  for (size_t at; (at = program.find("1024")) != program.npos;) program.replace(at, 4, "48");
  std::map<std::string, Module> steps = Apply(program);
  testing::EquivalenceOptions options;
  options.environment.externs["tmm16"] = interp::NativeFunction(reinterpret_cast<void*>(tmm16));
  EXPECT_TRUE(testing::SameResults(ParseFunctionOrDie(program), steps["end"].Main(), options));
}

}  // namespace
}  // namespace tilewright
