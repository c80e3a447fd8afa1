#include "codegen/cuda/type_text.h"

#include <charconv>
#include <cmath>
#include <limits>

#include "absl/strings/str_cat.h"

namespace tilewright::cuda {

bool IsNarrow(DataType type) { return type.is_float() && type.bits() < 32; }

bool HasOddWidth(DataType type) {
  const int bits = type.bits();
  return type.is_integer() && bits != 8 && bits != 16 && bits != 32 && bits != 64;
}

absl::StatusOr<std::string> StoredType(DataType type) {
  switch (type.code()) {
    case TypeCode::kBool:
      return "bool";
    case TypeCode::kInt:
    case TypeCode::kUInt:
      if (HasOddWidth(type) && type.bits() > 8) break;
      return absl::StrCat(type.is_uint() ? "uint" : "int", type.bytes() * 8, "_t");
    case TypeCode::kFloat:
      return type.bits() == 16 ? "tw::f16" : type.bits() == 32 ? "float" : "double";
    case TypeCode::kBFloat:
      return "tw::bf16";
    case TypeCode::kE4M3:
      return "tw::e4m3";
    case TypeCode::kE5M2:
      return "tw::e5m2";
    default:
      break;
  }
  return absl::UnimplementedError(absl::StrCat("CUDA C++ has no type for ", type.element().ToString()));
}

absl::StatusOr<std::string> ValueType(DataType type) { return IsNarrow(type) ? "float" : StoredType(type); }

std::string IntegerText(DataType type, int64_t value) {
  if (type.is_bool()) return value != 0 ? "true" : "false";
  if (type.is_uint()) {
    if (type.bits() <= 32) return absl::StrCat(static_cast<uint64_t>(value), "u");
    return absl::StrCat("uint64_t(", static_cast<uint64_t>(value), "ull)");
  }
  if (type.bits() <= 32) {
    return value == std::numeric_limits<int32_t>::min() ? "(-2147483647 - 1)" : absl::StrCat(value);
  }
  if (value == std::numeric_limits<int64_t>::min()) return "(-int64_t(9223372036854775807ll) - 1)";
  return absl::StrCat("int64_t(", value, std::abs(value) > std::numeric_limits<int32_t>::max() ? "ll)" : ")");
}

std::string FloatText(DataType type, double value) {
  const bool wide = type.bits() == 64;
  if (std::isnan(value))
    return wide ? "tw::bit_cast<double>(uint64_t(0x7ff8000000000000ull))" : "tw::bit_cast<float>(0x7fc00000u)";
  if (std::isinf(value)) {
    const char* const sign = value < 0 ? "-" : "";
    return absl::StrCat(
        sign, wide ? "tw::bit_cast<double>(uint64_t(0x7ff0000000000000ull))" : "tw::bit_cast<float>(0x7f800000u)");
  }
  char text[64];
  const auto end = wide ? std::to_chars(text, text + sizeof(text), value)
                        : std::to_chars(text, text + sizeof(text), static_cast<float>(value));
  std::string result(text, end.ptr);
  if (result.find_first_of(".e") == std::string::npos) result += ".0";
  return result + (wide ? "" : "f");
}

}  // namespace tilewright::cuda
