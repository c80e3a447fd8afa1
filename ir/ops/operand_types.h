// The data types of an operator with two inputs that multiplies and accumulates.
#pragma once

#include <optional>
#include <string_view>

#include "ir/data_type.h"

namespace tilewright::ops {

struct OperandTypes {
  DataType input, weight;
  DataType output;  // also the type that products are accumulated in

  // "f32"; "f16" (f16 accumulation), "f16f32" and "bf16" (f32 accumulation); "u8s8" (also "int8"), "s8s8" and
  // "s16s16" (into int32). Nothing for any other text.
  static std::optional<OperandTypes> Parse(std::string_view text);
  static OperandTypes Float32() { return {DataType::Float(32), DataType::Float(32), DataType::Float(32)}; }
};

// The types of an operator with one input. Integers stand for themselves.
struct RowTypes {
  DataType input = DataType::Float(32);
  DataType output = DataType::Float(32);  // a floating-point type

  // In which everything is computed: f64 where the output is, else f32.
  DataType compute() const { return output.bits() == 64 ? output : DataType::Float(32); }
};

}  // namespace tilewright::ops
