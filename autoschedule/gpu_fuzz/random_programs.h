// Random programs of each kind of operator that GPUs run: odd shapes, all types, small enough to be emulated.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "ir/function.h"

namespace tilewright::fuzz {

struct GpuProgram {
  Function function;
  double tolerance = 0;  // largest relative error: sums are added in another order, of elements as long as their type
  int64_t integers = 0;  // not 0: inputs are integers of at most this magnitude
};

// "product", "convolution", "depthwise", ...
std::vector<std::string> GpuProgramKinds();

// `kind`: one of the above.
GpuProgram DrawGpuProgram(const std::string& kind, uint64_t seed);

}  // namespace tilewright::fuzz
