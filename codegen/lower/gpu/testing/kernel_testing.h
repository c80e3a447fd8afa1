// For tests of kernels: a program against what the passes for GPUs make of it, in the interpreter.
#pragma once

#include <string>
#include <string_view>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "ir/function.h"

namespace tilewright::testing {

// The program as the schedule makes it, by intrinsics' names too; a failure of the test where it refuses.
Function Scheduled(const std::string& program, const std::string& schedule);

// Lowered for the target by all passes up to and including `last`.
absl::StatusOr<Function> LoweredTo(const Function& function, std::string_view last = "place_barriers",
                                   std::string_view target_name = "cuda-sm80");

// Runs both on the same small integers, the lowered one with every detector (bounds, races, unwritten memory), and
// compares all arrays bit for bit.
absl::Status CompareLowered(const Function& function);

}  // namespace tilewright::testing
