// For tests of kernels for a GPU: programs and schedules as text, through lowering and emission, in the emulator.
// Emitted text can be changed on the way, to see that the emulator finds what is wrong with it.
#pragma once

#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "absl/status/statusor.h"
#include "codegen/cuda/program.h"
#include "codegen/lower/gpu/testing/kernel_testing.h"
#include "ir/function.h"
#include "ir/ndarray.h"

namespace tilewright::cuda::testing {

std::string Replaced(std::string text, const std::string& what, const std::string& by);

using ::tilewright::testing::Scheduled;

// A function's kernels for a target, with integers up to a magnitude as inputs, and what the interpreter makes of them.
class KernelTrial {
 public:
  // What lowering, emission or the interpreter says where it refuses.
  static absl::StatusOr<KernelTrial> Make(const Function& function, const std::string& target, int64_t magnitude = 4);

  const Program& program() const { return program_; }
  // Runs the kernels, as they are in `program`, in the emulator. Empty when nothing is found and no element differs by
  // more than `tolerance` (0: to the bit).
  std::string Run(const Program& program, double tolerance = 0) const;

 private:
  std::string name_;
  Program program_;
  std::vector<NDArray> inputs_, expected_;
};

// Faults of a kind (planted_faults.h) in a function's kernels: how many were planted, and those that nothing reports.
struct FaultsInKernels {
  int planted = 0;
  std::vector<std::string> missed;
};
FaultsInKernels PlantAndRun(const KernelTrial& trial, std::string_view kind, size_t most, double tolerance = 0);

// Changes of emitted text: each first text must be there, and becomes the second.
using Edits = std::vector<std::pair<std::string, std::string>>;

// Runs the function's kernels for the target in the emulator on small integers and the function in the interpreter.
// Empty when nothing is found and the results are the same to the bit; else what lowering, emission, the emulator or
// the comparison says.
std::string Emulated(const Function& function, const std::string& target, const Edits& edits = {});

// The text of the kernels as the emulator compiles it; a failure of the test where there is none.
std::string KernelText(const Function& function, const std::string& target, const EmitOptions& options = {});

}  // namespace tilewright::cuda::testing
