// Random programs of each kind of operator that GPUs run: odd shapes, all types, small enough to be emulated.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "ir/function.h"

namespace tilewright::fuzz {

struct GpuProgram {
  Function function;
  // Largest relative error: sums are added in another order, of elements as long as their type.
  double tolerance = 0;
};

// "product", "convolution", "depthwise", ...
std::vector<std::string> GpuProgramKinds();

// `kind`: one of the above.
GpuProgram DrawGpuProgram(const std::string& kind, uint64_t seed);

}  // namespace tilewright::fuzz
