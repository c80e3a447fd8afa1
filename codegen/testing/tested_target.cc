// Skips all tests of a program where TILEWRIGHT_TESTED_TARGET names a target whose code this machine cannot run: the
// emulator or the worker for it is not installed.
#include <gtest/gtest.h>

#include "codegen/remote/launcher.h"
#include "codegen/testing/equivalence.h"

namespace tilewright::testing {
namespace {

class CodeRuns : public ::testing::Environment {
  void SetUp() override {
    const Target target = TestedTarget();
    if (target.is_gpu() || !remote::IsForeign(target)) return;
    if (const auto command = remote::WorkerCommand(target, ""); !command.ok()) {
      GTEST_SKIP() << command.status().message();
    }
  }
};

[[maybe_unused]] const auto* const kCodeRuns = ::testing::AddGlobalTestEnvironment(new CodeRuns);

}  // namespace
}  // namespace tilewright::testing
