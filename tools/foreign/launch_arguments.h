// The arrays and the arguments of a launch, made for the parameters that a kernel has.
#pragma once

#include <cstddef>
#include <memory>
#include <string>
#include <vector>

#include "absl/status/statusor.h"
#include "codegen/foreign/kernel.h"
#include "ir/ndarray.h"
#include "tools/foreign/launch_file.h"

namespace tilewright {

struct LaunchArray {
  const LaunchArgument* argument = nullptr;
  std::string name;
  NDArray array;
};

struct LaunchArguments {
  std::vector<LaunchArray> arrays;
  std::vector<std::byte> bytes;  // as the kernel reads them
  std::vector<foreign::ForeignArray> ForKernel() const;
};

// `folder` is where files of the launch are. Errors name the field. `file` must outlive the result.
absl::StatusOr<LaunchArguments> MakeLaunchArguments(const LaunchFile& file, const foreign::ForeignKernel& kernel,
                                                    const std::string& folder);

}  // namespace tilewright
