// What the assembler of CUDA says of kernels.
#pragma once

#include <string_view>

#include "codegen/counters.h"

namespace tilewright::cuda {

// Counters over all kernels of the log: the most registers, bytes of spills and of stack frames, warnings by which
// ptxas says that it serializes or inserts waits (C75xx). Absent where the log has none of its kind.
Counters CountersOfLog(std::string_view log);

}  // namespace tilewright::cuda
