#include "codegen/cuda/emulator/reduction.h"

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <cstring>
#include <type_traits>

namespace tilewright::emulator {
namespace {

using tw::emu::Reduction;

template <class T>
T Combine(Reduction reduction, T a, T b) {
  switch (reduction) {
    case Reduction::kAdd:
      return static_cast<T>(a + b);
    case Reduction::kMin:
      return std::min(a, b);
    case Reduction::kMax:
      return std::max(a, b);
    default:
      break;
  }
  if constexpr (std::is_integral_v<T>) {
    if (reduction == Reduction::kAnd) return a & b;
    if (reduction == Reduction::kOr) return a | b;
    if (reduction == Reduction::kXor) return a ^ b;
  }
  return a;
}

template <class Bits, class Value, class Decode, class Encode>
void ReduceAs(Reduction reduction, const std::byte* from, std::byte* to, size_t bytes, const Decode& decode,
              const Encode& encode) {
  for (size_t at = 0; at + sizeof(Bits) <= bytes; at += sizeof(Bits)) {
    Bits a, b;
    std::memcpy(&a, to + at, sizeof a);
    std::memcpy(&b, from + at, sizeof b);
    const Bits result = encode(Combine<Value>(reduction, decode(a), decode(b)));
    std::memcpy(to + at, &result, sizeof result);
  }
}

template <class T>
void ReducePlain(Reduction reduction, const std::byte* from, std::byte* to, size_t bytes) {
  const auto same = [](T v) { return v; };
  ReduceAs<T, T>(reduction, from, to, bytes, same, same);
}

}  // namespace

void Reduce(Reduction reduction, MapType type, const std::byte* from, std::byte* to, size_t bytes) {
  if (reduction == Reduction::kNone) {
    std::memcpy(to, from, bytes);
    return;
  }
  switch (type) {
    case MapType::kF16:
      return ReduceAs<uint16_t, float>(reduction, from, to, bytes, &tw::emu::FromF16, &tw::emu::ToF16);
    case MapType::kBf16:
      return ReduceAs<uint16_t, float>(reduction, from, to, bytes, &tw::emu::FromBf16, &tw::emu::ToBf16);
    case MapType::kF32:
    case MapType::kTf32:
      return ReducePlain<float>(reduction, from, to, bytes);
    case MapType::kF64:
      return ReducePlain<double>(reduction, from, to, bytes);
    case MapType::kU32:
      return ReducePlain<uint32_t>(reduction, from, to, bytes);
    case MapType::kS32:
      return ReducePlain<int32_t>(reduction, from, to, bytes);
    case MapType::kU64:
      return ReducePlain<uint64_t>(reduction, from, to, bytes);
    case MapType::kS64:
      return ReducePlain<int64_t>(reduction, from, to, bytes);
    case MapType::kU8:
    case MapType::kU16:
      return;
  }
}

}  // namespace tilewright::emulator
