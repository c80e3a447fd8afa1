// The file that a candidate for a GPU is compiled to: what its kernels are, and the program that says how they are
// launched.
#pragma once

#include <string>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "target/target.h"

namespace tilewright {

struct GpuCandidate {
  Target target;
  std::string program;  // its script
  std::string cubin;
};

absl::Status WriteGpuCandidate(const GpuCandidate& candidate, const std::string& path);
// An error where there is no such file, or another one.
absl::StatusOr<GpuCandidate> ReadGpuCandidate(const std::string& path);

}  // namespace tilewright
