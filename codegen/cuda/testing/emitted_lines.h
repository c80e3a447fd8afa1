// The text of one kernel around some lines of a program: what tests of the kernel emitter look at.
//
//   EXPECT_THAT(TextOf("C[i] = T.sqrt(A[i])"), HasSubstr("tw::sqrt("));
//   EXPECT_EQ(WhyNot("T.evaluate(T.call_extern(\"int32\", \"f\"))"), "no CUDA code for calls of f");
#pragma once

#include <string>

#include "absl/status/statusor.h"
#include "codegen/cuda/program.h"

namespace tilewright::cuda::testing {

// A kernel of 32 threads, i, with these lines, on flat arrays A, B, C of 256 elements of `type`, I of int32, and a
// scalar n. Further lines are indented by eight blanks.
absl::StatusOr<Kernel> EmitLines(const std::string& lines, const std::string& type = "float32");

// Its text; expects that there is one.
std::string TextOf(const std::string& lines, const std::string& type = "float32");

// The message of the error; empty where there is none.
std::string WhyNot(const std::string& lines, const std::string& type = "float32");

}  // namespace tilewright::cuda::testing
