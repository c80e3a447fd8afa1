// The bytes of a bulk tensor copy. Internal to the emulator.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "codegen/cuda/emulator/state.h"
#include "codegen/cuda/emulator/tensor_map.h"

namespace tilewright::emulator {

// The address that a swizzle of 32, 64 or 128 bytes (0: none) gives: 16-byte chunks move within the swizzle's span.
constexpr uint32_t Swizzled(uint32_t address, uint32_t bytes) {
  return bytes == 0 ? address : address ^ ((address >> 7 & (bytes / 16 - 1)) << 4);
}

// The pieces of a copy, in the order of the box's elements. False, with a reason, if the map does not allow the copy.
bool PiecesOf(const MapFields& map, const tw::emu::TensorCopy& copy, uint32_t shared_byte, std::vector<Piece>& pieces,
              std::string& reason);
// The pieces of a plain run of bytes.
std::vector<Piece> PiecesOf(std::byte* global, uint32_t shared_byte, uint32_t bytes);

}  // namespace tilewright::emulator
