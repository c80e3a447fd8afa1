// What bulk reductions do to memory. Internal to the emulator.
#pragma once

#include <cstddef>

#include "codegen/cuda/emulator/device/emulated_copies.h"
#include "codegen/cuda/emulator/tensor_map.h"

namespace tilewright::emulator {

// Combines `bytes` of elements into `to`; kNone copies them. Combinations that hardware does not have leave `to` as it
// is.
void Reduce(tw::emu::Reduction reduction, MapType type, const std::byte* from, std::byte* to, size_t bytes);

}  // namespace tilewright::emulator
