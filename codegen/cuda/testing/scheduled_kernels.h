// For tests of kernels for a GPU: programs and schedules as text, through lowering and emission, in the emulator. Emitted
// text can be changed on the way, to see that the emulator finds what is wrong with it.
#pragma once

#include <string>
#include <utility>
#include <vector>

#include "ir/function.h"

namespace tilewright::cuda::testing {

std::string Replaced(std::string text, const std::string& what, const std::string& by);

// The program as the schedule makes it; a failure of the test where it refuses.
Function Scheduled(const std::string& program, const std::string& schedule);

// Changes of emitted text: each first text must be there, and becomes the second.
using Edits = std::vector<std::pair<std::string, std::string>>;

// Runs the function's kernels for the target in the emulator on small integers and the function in the interpreter.
// Empty when nothing is found and the results are the same to the bit; else what lowering, emission, the emulator or the
// comparison says.
std::string Emulated(const Function& function, const std::string& target, const Edits& edits = {});

// The text of the kernels as the emulator compiles it; a failure of the test where there is none.
std::string KernelText(const Function& function, const std::string& target);

}  // namespace tilewright::cuda::testing
