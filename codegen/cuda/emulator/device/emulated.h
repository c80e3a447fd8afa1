// The emulated side of kernel.h: declarations and thin templates, no standard library, so that a kernel compiles in
// hundredths of a second. What they do is in the library //codegen/cuda/emulator.
#pragma once

#include "codegen/cuda/emulator/device/emulated_copies.h"  // IWYU pragma: export
#include "codegen/cuda/emulator/device/emulated_matrix.h"  // IWYU pragma: export
#include "codegen/cuda/emulator/device/emulated_memory.h"  // IWYU pragma: export
#include "codegen/cuda/emulator/device/emulated_types.h"   // IWYU pragma: export
#include "codegen/cuda/emulator/device/emulated_warp.h"    // IWYU pragma: export
#include "codegen/cuda/emulator/device/emulated_wgmma.h"   // IWYU pragma: export
#include "codegen/cuda/emulator/device/numerics.h"         // IWYU pragma: export
