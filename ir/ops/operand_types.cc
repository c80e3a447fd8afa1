#include "ir/ops/operand_types.h"

namespace tilewright::ops {

std::optional<OperandTypes> OperandTypes::Parse(std::string_view text) {
  constexpr DataType f32 = DataType::Float(32), f16 = DataType::Float(16), bf16 = DataType::BFloat16();
  constexpr DataType u8 = DataType::UInt(8), s8 = DataType::Int(8);
  constexpr DataType s16 = DataType::Int(16), s32 = DataType::Int(32);
  if (text == "f32") return Float32();
  if (text == "f16") return OperandTypes{f16, f16, f16};
  if (text == "f16f32") return OperandTypes{f16, f16, f32};
  if (text == "bf16") return OperandTypes{bf16, bf16, f32};
  if (text == "u8s8" || text == "int8") return OperandTypes{u8, s8, s32};
  if (text == "s8s8") return OperandTypes{s8, s8, s32};
  if (text == "s16s16") return OperandTypes{s16, s16, s32};
  return std::nullopt;
}

}  // namespace tilewright::ops
