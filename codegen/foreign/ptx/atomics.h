// Atomic operations on what raw pointers point to.
#pragma once

#include <cstdint>

#include "codegen/cuda/emulator/device/emulated_memory.h"

namespace tilewright::foreign {

// In the order of include/tilewright_atomics.h.
enum class AtomicType : uint8_t { kS32, kU32, kS64, kU64, kF32, kF64, kF16Pair, kBf16Pair };
enum class AtomicOperation : uint8_t { kAdd, kMax, kMin, kAnd, kOr, kXor, kExchange, kCompare, kIncrement, kDecrement };

uint32_t BytesOf(AtomicType type);
tw::emu::Update UpdateOf(AtomicType type, AtomicOperation operation);

// Returns what was there before; 0 where the access is faulty.
uint64_t AtomicAt(void* pointer, uint32_t bytes, tw::emu::Update update, uint64_t operand, uint64_t other);

}  // namespace tilewright::foreign
