// Texts that tests compare with files of this repository.
//
//   EXPECT_TRUE(MatchesGolden("examples/tmm16/steps/1_reorder.py", Print(module)));
//
// A test that is run with TILEWRIGHT_UPDATE_GOLDEN=1 writes the files instead, which `git diff` then shows:
//
//   TILEWRIGHT_UPDATE_GOLDEN=1 bazel run //examples/tmm16:walkthrough_test
#pragma once

#include <string>

#include "gtest/gtest.h"

namespace tilewright {

// `path` is that of the file from the root of the repository; the test has it in its `data`.
testing::AssertionResult MatchesGolden(const std::string& path, const std::string& text);

}  // namespace tilewright
