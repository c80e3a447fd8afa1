// amx_dot_add: what AMX's tile registers compute, on memory.
#include "ir/interp/amx.h"

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
  const void *a = args[2].lanes[0].p, *b = args[4].lanes[0].p;
  const int64_t rows = number(6), columns = number(7), depth = number(8), group = 32 / a_type.bits();
  for (int64_t i = 0; i < rows; ++i) {
    for (int64_t j = 0; j < columns; ++j) {
      Number sum = c[i * number(1) + j];
      for (int64_t k = 0; k < depth; ++k) {
        sum += Element<Number>(a_type, a, i * number(3) + k) *
               Element<Number>(b_type, b, k / group * number(5) + j * group + k % group);
      }
      c[i * number(1) + j] = sum;
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

}  // namespace tilewright::interp::internal
