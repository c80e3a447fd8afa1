// amx_dot_add and amx_zero: what AMX's tile registers compute, on memory.
#include "ir/interp/amx.h"

#include <algorithm>
#include <bit>
#include <cstring>

#include "ir/interp/rounding.h"

namespace tilewright::interp::internal {
namespace {

// Element `index` of an array of 8-bit integers or bfloat16.
template <class Number>
Number Element(DataType type, const void* data, int64_t index) {
  if (type.code() == TypeCode::kBFloat) {
    uint16_t bits;
    std::memcpy(&bits, static_cast<const uint16_t*>(data) + index, sizeof bits);
    return static_cast<Number>(LoadBFloat16(bits));
  }
  if (type.is_uint()) return static_cast<Number>(static_cast<const uint8_t*>(data)[index]);
  return static_cast<Number>(static_cast<const int8_t*>(data)[index]);
}

// Sums are computed in `Number`: modulo 2^32 for integers, rounded after each product for floats.
template <class Number>
void DotAdd(absl::Span<const ExternArg> args, DataType a_type, DataType b_type) {
  auto number = [&](size_t i) { return args[i].lanes[0].i; };
  auto* c = static_cast<Number*>(args[0].lanes[0].p);
  const void *a = args[3].lanes[0].p, *b = args[6].lanes[0].p;
  const int64_t tiles = number(8), rows = number(9), columns = number(10), depth = number(11);
  const int64_t group = 32 / a_type.bits();
  for (int64_t i = 0; i < tiles * rows; ++i) {
    const int64_t tile = i / rows, row = i % rows;
    Number* const c_row = c + tile * number(1) + row * number(2);
    const int64_t a_row = tile * number(4) + row * number(5);
    for (int64_t j = 0; j < columns; ++j) {
      for (int64_t k = 0; k < depth; ++k) {
        c_row[j] += Element<Number>(a_type, a, a_row + k) *
                    Element<Number>(b_type, b, k / group * number(7) + j * group + k % group);
      }
    }
  }
}

}  // namespace

ExternFunction AmxDotAdd(DataType a, DataType b) {
  return [a, b](absl::Span<const ExternArg> args, DataType, absl::Span<Scalar>) {
    if (a.is_float()) {
      DotAdd<float>(args, a, b);
    } else {
      DotAdd<uint32_t>(args, a, b);
    }
    return absl::OkStatus();
  };
}

ExternFunction AmxZero() {
  return [](absl::Span<const ExternArg> args, DataType, absl::Span<Scalar>) {
    auto number = [&](size_t i) { return args[i].lanes[0].i; };
    auto* c = static_cast<uint32_t*>(args[0].lanes[0].p);
    for (int64_t tile = 0; tile < number(3); ++tile) {
      for (int64_t i = 0; i < number(4); ++i) std::fill_n(c + tile * number(1) + i * number(2), number(5), 0);
    }
    return absl::OkStatus();
  };
}

}  // namespace tilewright::interp::internal
