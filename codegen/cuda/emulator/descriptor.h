// Operands of wgmma in shared memory: where the elements lie that a 64-bit descriptor describes. Internal to the
// emulator.
//
// With T elements in 16 bytes and W chunks of 16 bytes in the swizzle's span (1, 2, 4, 8 for none, 32, 64, 128 bytes):
//
//   contiguous along K:  element (mn, k) at (mn % 8) W 16 + (mn / 8) stride + (k / T) (no swizzle: leading; else 16)
//   along M or N:        swizzled: (mn / T % W) 16 + (mn / (T W)) leading + (k % 8) W 16 + (k / 8) stride
//                        none:     (mn / T) stride + (k % 8) 16 + (k / 8) leading
//
// from the descriptor's address on, plus the place within the 16 bytes; then the swizzle is applied to the whole
// address.
#pragma once

#include <cstddef>
#include <cstdint>
#include <string>

#include "codegen/cuda/emulator/device/emulated_matrix.h"
#include "codegen/cuda/emulator/numbers.h"
#include "codegen/cuda/emulator/pieces.h"

namespace tilewright::emulator {

struct Operand {
  uint32_t start, leading, stride;  // bytes
  int span;                         // of the swizzle in bytes; 0 none
  int base_offset;
  tw::emu::Type type;
  bool along_mn;  // contiguous along M or N
  int mn, k;      // extents
};

inline Operand OperandOf(uint64_t descriptor, tw::emu::Type type, bool along_mn, int mn) {
  constexpr int kSpans[] = {0, 128, 64, 32};
  Operand operand;
  operand.start = static_cast<uint32_t>(descriptor & 0x3fff) << 4;
  operand.leading = static_cast<uint32_t>(descriptor >> 16 & 0x3fff) << 4;
  operand.stride = static_cast<uint32_t>(descriptor >> 32 & 0x3fff) << 4;
  operand.base_offset = static_cast<int>(descriptor >> 49 & 7);
  operand.span = kSpans[descriptor >> 62];
  operand.type = type;
  operand.along_mn = along_mn;
  operand.mn = mn;
  operand.k = 32 / BytesOf(type);
  return operand;
}

// Whether hardware reads the operand where the formulas above say.
inline bool IsValid(const Operand& operand, std::string& reason) {
  if (operand.base_offset != 0) {
    reason = "the base offset is not 0: tiles must begin at a multiple of the swizzle's repeat";
  } else if (operand.span != 0 && (operand.start >> 7 & static_cast<uint32_t>(operand.span / 16 - 1)) != 0) {
    reason = "the operand does not begin in the first row of the swizzle's pattern, which repeats every " +
             std::to_string(operand.span * 8) + " bytes";
  }
  return reason.empty();
}

// The shared byte of the chunk of 16 bytes that begins with element (mn, k).
inline uint32_t ChunkOf(const Operand& operand, int mn, int k) {
  const int t = 16 / BytesOf(operand.type);
  const auto width = static_cast<uint32_t>(operand.span == 0 ? 1 : operand.span / 16);
  const auto m = static_cast<uint32_t>(mn), d = static_cast<uint32_t>(k), per = static_cast<uint32_t>(t);
  uint32_t offset;
  if (!operand.along_mn) {
    offset = m % 8 * width * 16 + m / 8 * operand.stride + d / per * (operand.span == 0 ? operand.leading : 16);
  } else if (operand.span == 0) {
    offset = m / per * operand.stride + d % 8 * 16 + d / 8 * operand.leading;
  } else {
    offset = m / per % width * 16 + m / (per * width) * operand.leading + d % 8 * width * 16 + d / 8 * operand.stride;
  }
  return Swizzled(operand.start + offset, static_cast<uint32_t>(operand.span));
}

// Calls visit(shared byte, mn, k of the first element) for each chunk of 16 bytes.
template <class Visit>
void ForEachChunk(const Operand& operand, const Visit& visit) {
  const int t = 16 / BytesOf(operand.type);
  for (int mn = 0; mn < operand.mn; mn += operand.along_mn ? t : 1) {
    for (int k = 0; k < operand.k; k += operand.along_mn ? 1 : t) visit(ChunkOf(operand, mn, k), mn, k);
  }
}

// The operand as floats: [mn][k], or [k][mn] with `by_k`.
inline void Fetch(const Operand& operand, const std::byte* shared, float* to, bool by_k) {
  const int t = 16 / BytesOf(operand.type);
  ForEachChunk(operand, [&](uint32_t byte, int mn, int k) {
    float values[16];
    ToFloats(operand.type, shared + byte, values, static_cast<size_t>(t));
    const int step = operand.along_mn == by_k ? 1 : by_k ? operand.mn : operand.k;
    float* at = to + (by_k ? k * operand.mn + mn : mn * operand.k + k);
    for (int i = 0; i < t; ++i) at[i * step] = values[i];
  });
}

}  // namespace tilewright::emulator
