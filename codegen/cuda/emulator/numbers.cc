#include "codegen/cuda/emulator/numbers.h"

#include <algorithm>
#include <array>
#include <cmath>
#include <cstddef>
#include <cstdint>
#include <cstring>

#include "codegen/cuda/emulator/device/emulated_matrix.h"
#include "codegen/cuda/emulator/dispatch.h"
#include "ir/data_type.h"
#include "ir/float_format.h"

namespace tw::emu {
namespace {

// The compiler's own half-precision type gives both conversions, correctly rounded, on every processor.
_Float16 AsHalf(uint16_t bits) { return BitCast<_Float16>(bits); }

using Table = std::array<float, 256>;
Table MakeTable(tilewright::DataType type) {
  Table table;
  for (uint32_t i = 0; i < 256; ++i) table[i] = static_cast<float>(tilewright::FromBits(type, i));
  return table;
}
uint8_t ToEightBits(tilewright::DataType type, float most, float value) {
  if (!std::isnan(value)) value = std::clamp(value, -most, most);
  return static_cast<uint8_t>(tilewright::ToBits(type, tilewright::RoundTo(type, value)));
}

}  // namespace

float FromF16(uint16_t bits) { return static_cast<float>(AsHalf(bits)); }
uint16_t ToF16(float value) { return BitCast<uint16_t>(static_cast<_Float16>(value)); }
float FromBf16(uint16_t bits) { return BitCast<float>(static_cast<uint32_t>(bits) << 16); }

uint16_t ToBf16(float value) {
  const auto bits = BitCast<uint32_t>(value);
  if (std::isnan(value)) return static_cast<uint16_t>(bits >> 16 | 0x40);
  return static_cast<uint16_t>((bits + 0x7fff + (bits >> 16 & 1)) >> 16);
}

float FromE4m3(uint8_t bits) {
  static const Table table = MakeTable(tilewright::DataType(tilewright::TypeCode::kE4M3, 8));
  return table[bits];
}
float FromE5m2(uint8_t bits) {
  static const Table table = MakeTable(tilewright::DataType(tilewright::TypeCode::kE5M2, 8));
  return table[bits];
}
uint8_t ToE4m3(float value) { return ToEightBits(tilewright::DataType(tilewright::TypeCode::kE4M3, 8), 448, value); }
uint8_t ToE5m2(float value) { return ToEightBits(tilewright::DataType(tilewright::TypeCode::kE5M2, 8), 57344, value); }

float RoundToTf32(float value) {
  const auto bits = BitCast<uint32_t>(value);
  if (!std::isfinite(value)) return value;
  return BitCast<float>((bits + 0x1000) & 0xffffe000u);
}

}  // namespace tw::emu

namespace tilewright::emulator {
namespace {

using tw::emu::BitCast;
using tw::emu::Type;

TW_EMULATOR_INLINE void HalvesToFloats(const uint16_t* from, float* to, size_t count) {
  for (size_t i = 0; i < count; ++i) {
    _Float16 half;
    std::memcpy(&half, from + i, sizeof half);
    to[i] = static_cast<float>(half);
  }
}
TW_EMULATOR_DISPATCH(ConvertHalves, HalvesToFloats, (const uint16_t* from, float* to, size_t count), (from, to, count))

template <class T, class Convert>
void ConvertEach(const void* from, float* to, size_t count, const Convert& convert) {
  for (size_t i = 0; i < count; ++i) {
    T element;
    std::memcpy(&element, static_cast<const std::byte*>(from) + i * sizeof(T), sizeof(T));
    to[i] = convert(element);
  }
}

}  // namespace

int BytesOf(Type type) {
  switch (type) {
    case Type::kF16:
    case Type::kBf16:
      return 2;
    case Type::kE4m3:
    case Type::kE5m2:
    case Type::kS8:
    case Type::kU8:
      return 1;
    default:
      return 4;
  }
}

void ToFloats(Type type, const void* from, float* to, size_t count) {
  switch (type) {
    case Type::kF16:
      return ConvertHalves(static_cast<const uint16_t*>(from), to, count);
    case Type::kBf16:
      return ConvertEach<uint16_t>(from, to, count, &tw::emu::FromBf16);
    case Type::kE4m3:
      return ConvertEach<uint8_t>(from, to, count, &tw::emu::FromE4m3);
    case Type::kE5m2:
      return ConvertEach<uint8_t>(from, to, count, &tw::emu::FromE5m2);
    case Type::kS8:
      return ConvertEach<int8_t>(from, to, count, [](int8_t v) { return static_cast<float>(v); });
    case Type::kU8:
      return ConvertEach<uint8_t>(from, to, count, [](uint8_t v) { return static_cast<float>(v); });
    case Type::kTf32:
      return ConvertEach<uint32_t>(from, to, count, [](uint32_t v) { return BitCast<float>(v & 0xffffe000u); });
    case Type::kF32:
      std::memcpy(to, from, count * sizeof(float));
      return;
    case Type::kS32:
      return ConvertEach<int32_t>(from, to, count, [](int32_t v) { return static_cast<float>(v); });
  }
}

}  // namespace tilewright::emulator
