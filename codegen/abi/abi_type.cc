#include "codegen/abi/abi_type.h"

namespace tilewright {

TwDataType AbiType(DataType type) {
  int code = type.is_int() ? kTwInt : type.is_uint() ? kTwUInt : type.is_bool() ? kTwBool : kTwFloat;
  if (type.code() == TypeCode::kBFloat) code = kTwBfloat;
  if (type.code() == TypeCode::kE4M3) code = kTwFloat8E4M3;
  if (type.code() == TypeCode::kE5M2) code = kTwFloat8E5M2;
  return {static_cast<uint8_t>(code), static_cast<uint8_t>(type.is_bool() ? 8 : type.bits()),
          static_cast<uint16_t>(type.lanes())};
}

}  // namespace tilewright
