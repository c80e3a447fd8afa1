// What GPUs limit besides what target/target.h says of a single one: the same for all NVIDIA GPUs of compute
// capability 7.5 to 9.0 (CUDA programming guide, table of technical specifications).
#pragma once

#include <cstdint>

#include "target/target.h"

namespace tilewright {

struct GpuLimits {
  int64_t max_grid_dims[3];      // blocks of a launch in x, y, z
  int64_t max_local_bytes;       // memory of one thread that does not fit into registers
  int max_access_bits;           // the widest load or store of one thread
  int64_t default_shared_bytes;  // of a block without asking for more
};

// The limits of a target that is a GPU.
const GpuLimits& LimitsOf(const Target& target);

}  // namespace tilewright
