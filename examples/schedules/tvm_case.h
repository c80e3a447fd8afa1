// A schedule as users of TVM write it for GPUs, from the plain program to kernels in the emulator.
#pragma once

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <string>
#include <vector>

#include "codegen/cuda/testing/scheduled_kernels.h"
#include "target/target.h"
#include "verify/verify.h"

namespace tilewright::tvm_schedules {

struct Case {
  const char* name;
  std::string program;
  const char* schedule;
  std::vector<const char*> parts;  // of the kernels' text
  double tolerance = 0;            // of results; 0: the same bits
};

// The scheduled program is not refuted, its kernels compute what the program says and hold the parts.
inline void Check(const Case& tried) {
  const Target target = *NamedTarget("cuda-sm80");
  const Function scheduled = cuda::testing::Scheduled(tried.program, tried.schedule);
  const VerifyResult verified = VerifyProgram(scheduled, &target);
  ASSERT_NE(verified.verdict(), Verdict::kRefuted) << Render(verified, scheduled);
  const auto trial = cuda::testing::KernelTrial::Make(scheduled, target.name);
  ASSERT_TRUE(trial.ok()) << trial.status();
  EXPECT_EQ(trial->Run(trial->program(), tried.tolerance), "");
  for (const char* part : tried.parts) EXPECT_THAT(trial->program().text, ::testing::HasSubstr(part));
}

}  // namespace tilewright::tvm_schedules
