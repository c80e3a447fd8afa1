#include "codegen/foreign/ptx/atomics.h"

#include <array>
#include <cstddef>
#include <cstring>

#include "codegen/cuda/emulator/device/emulated.h"
#include "codegen/cuda/emulator/generic.h"

namespace tilewright::foreign {
namespace {

namespace emu = tw::emu;
using emulator::Space;

uint64_t DecrementWords(uint64_t old, uint64_t operand, uint64_t /*other*/) {
  const auto value = static_cast<uint32_t>(old), bound = static_cast<uint32_t>(operand);
  return value == 0 || value > bound ? bound : value - 1;
}

// By operation.
template <class T>
constexpr std::array<emu::Update, 10> kUpdates = {
    &emu::AddWords<T>, &emu::MaxWords<T>,   &emu::MinWords<T>,  &emu::AndWords,       &emu::OrWords,
    &emu::XorWords,    &emu::ExchangeWords, &emu::CompareWords, &emu::IncrementWords, &DecrementWords};

}  // namespace

uint32_t BytesOf(AtomicType type) {
  constexpr uint32_t kBytes[] = {4, 4, 8, 8, 4, 8, 4, 4};
  return kBytes[static_cast<int>(type)];
}

emu::Update UpdateOf(AtomicType type, AtomicOperation operation) {
  const auto at = static_cast<size_t>(operation);
  switch (type) {
    case AtomicType::kS32:
      return kUpdates<int32_t>[at];
    case AtomicType::kU32:
      return kUpdates<uint32_t>[at];
    case AtomicType::kS64:
      return kUpdates<int64_t>[at];
    case AtomicType::kU64:
      return kUpdates<uint64_t>[at];
    case AtomicType::kF32:
      return kUpdates<float>[at];
    case AtomicType::kF64:
      return kUpdates<double>[at];
    case AtomicType::kF16Pair:
      return &emu::AddPairsF16;
    case AtomicType::kBf16Pair:
      return &emu::AddPairsBf16;
  }
  return &emu::ExchangeWords;
}

uint64_t AtomicAt(void* pointer, uint32_t bytes, emu::Update update, uint64_t operand, uint64_t other) {
  const emulator::GenericPlace place = emulator::Resolve(pointer, bytes);
  switch (place.space) {
    case Space::kShared:
      return emu::AtomicShared(place.shared, bytes, update, operand, other);
    case Space::kGlobal:
      return emu::AtomicGlobal(pointer, place.array, bytes, update, operand, other);
    case Space::kLocal: {
      uint64_t old = 0;
      std::memcpy(&old, pointer, bytes);
      const uint64_t value = update(old, operand, other);
      std::memcpy(pointer, &value, bytes);
      return old;
    }
    case Space::kNone:
      break;
  }
  return 0;
}

}  // namespace tilewright::foreign
