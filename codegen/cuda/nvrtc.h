// NVIDIA's run-time compiler, opened when it is first needed: nothing links it.
#pragma once

#include <string>
#include <string_view>

#include "absl/status/statusor.h"

namespace tilewright::cuda {

struct NvrtcResult {
  std::string binary;  // PTX or a cubin
  std::string log;     // with what ptxas says of each kernel (-v)
};

// `architecture`: "sm_80", "sm_90a" for a cubin, "compute_90a" for PTX. FailedPrecondition where no NVRTC is installed;
// InvalidArgument with the compiler's messages where the text is wrong. `many_registers`: ptxas takes as many as help a
// thread; by itself it may spill so that more threads fit.
absl::StatusOr<NvrtcResult> CompileWithNvrtc(const std::string& text, std::string_view architecture,
                                             bool many_registers = false);

// Whether there is one.
bool NvrtcIsInstalled();

}  // namespace tilewright::cuda
