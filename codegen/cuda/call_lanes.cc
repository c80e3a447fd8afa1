#include "codegen/cuda/call_lanes.h"

#include <cstdint>

namespace tilewright::cuda {
namespace {

Expr Reinterpreted(DataType to, const Expr& e) { return e.dtype() == to ? e : Call(to, "reinterpret", {e}); }

Expr Shifted(const char* by, const Expr& e, int64_t bits) {
  return bits == 0 ? e : Call(e.dtype(), by, {e, Const(e.dtype(), bits)});
}

}  // namespace

ExprLanes DotLanes(DataType type, const ExprLanes& sums, const ExprLanes& a, const ExprLanes& b) {
  const size_t terms = a.size() / sums.size();
  ExprLanes result;
  for (size_t i = 0; i < sums.size(); ++i) {
    Expr sum = sums[i];
    for (size_t k = i * terms; k < (i + 1) * terms; ++k) sum = sum + CastTo(type, a[k]) * CastTo(type, b[k]);
    result.push_back(sum);
  }
  return result;
}

ExprLanes LookupLanes(const ExprLanes& table, const ExprLanes& numbers) {
  const auto entries = static_cast<int64_t>(table.size());
  ExprLanes result;
  for (const Expr& number : numbers) {
    const DataType type = number.dtype();
    const Expr entry = Call(type, "bitwise_and", {number, Const(type, entries - 1)});
    Expr chosen = table[0];
    for (int64_t i = 1; i < entries; ++i) {
      chosen = Select(entry == Const(type, i), table[static_cast<size_t>(i)], chosen);
    }
    result.push_back(chosen);
  }
  return result;
}

ExprLanes ReinterpretLanes(DataType type, size_t count, const ExprLanes& lanes) {
  const DataType from = lanes[0].dtype();
  const DataType to_bits = DataType::UInt(type.bits()), from_bits = DataType::UInt(from.bits());
  const auto width = static_cast<size_t>(from.bits()), wide = static_cast<size_t>(type.bits());
  ExprLanes result;
  for (size_t i = 0; i < count; ++i) {
    const size_t first = i * wide;
    Expr bits = CastTo(to_bits, Shifted("shift_right", Reinterpreted(from_bits, lanes.at(first / width)),
                                        static_cast<int64_t>(first % width)));
    for (size_t bit = width; bit < wide; bit += width) {
      const Expr next = CastTo(to_bits, Reinterpreted(from_bits, lanes.at((first + bit) / width)));
      bits = Call(to_bits, "bitwise_or", {bits, Shifted("shift_left", next, static_cast<int64_t>(bit))});
    }
    result.push_back(Reinterpreted(type, bits));
  }
  return result;
}

}  // namespace tilewright::cuda
