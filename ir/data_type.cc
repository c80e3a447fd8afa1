#include "ir/data_type.h"

#include <charconv>
#include <limits>

#include "base/check.h"

namespace tilewright {
namespace {

// Reads a decimal number off the front of `text`; nothing when there is none or it is over 65535.
std::optional<int> TakeNumber(std::string_view& text) {
  int value = 0;
  auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), value);
  if (error != std::errc() || value < 0 || value > 65535) return std::nullopt;
  text.remove_prefix(static_cast<size_t>(end - text.data()));
  return value;
}

bool TakePrefix(std::string_view& text, std::string_view prefix) {
  if (text.substr(0, prefix.size()) != prefix) return false;
  text.remove_prefix(prefix.size());
  return true;
}

bool ValidWidth(TypeCode code, int bits) {
  if (code == TypeCode::kFloat) return bits == 16 || bits == 32 || bits == 64;
  return bits >= 1 && bits <= 64;
}

}  // namespace

std::optional<DataType> DataType::Parse(std::string_view text) {
  DataType type;
  if (TakePrefix(text, "bool")) {
    type = Bool();
  } else if (TakePrefix(text, "bfloat16")) {
    type = BFloat16();
  } else if (TakePrefix(text, "float8_e4m3fn") || TakePrefix(text, "e4m3_float8")) {
    type = DataType(TypeCode::kE4M3, 8);
  } else if (TakePrefix(text, "float8_e5m2") || TakePrefix(text, "e5m2_float8")) {
    type = DataType(TypeCode::kE5M2, 8);
  } else if (text == "handle") {
    return Handle();
  } else if (text == "void") {
    return Void();
  } else {
    TypeCode code;
    if (TakePrefix(text, "int")) {
      code = TypeCode::kInt;
    } else if (TakePrefix(text, "uint")) {
      code = TypeCode::kUInt;
    } else if (TakePrefix(text, "float")) {
      code = TypeCode::kFloat;
    } else {
      return std::nullopt;
    }
    std::optional<int> bits = TakeNumber(text);
    if (!bits || !ValidWidth(code, *bits)) return std::nullopt;
    type = code == TypeCode::kUInt && *bits == 1 ? Bool() : DataType(code, *bits);
  }
  if (text.empty()) return type;
  if (!TakePrefix(text, "x")) return std::nullopt;
  std::optional<int> lanes = TakeNumber(text);
  if (!lanes || *lanes < 1 || !text.empty()) return std::nullopt;
  return type.with_lanes(*lanes);
}

std::string DataType::ToString() const {
  std::string text;
  switch (code_) {
    case TypeCode::kBool:
      text = "bool";
      break;
    case TypeCode::kInt:
      text = "int" + std::to_string(bits_);
      break;
    case TypeCode::kUInt:
      text = "uint" + std::to_string(bits_);
      break;
    case TypeCode::kFloat:
      text = "float" + std::to_string(bits_);
      break;
    case TypeCode::kBFloat:
      text = "bfloat16";
      break;
    case TypeCode::kE4M3:
      text = "float8_e4m3fn";
      break;
    case TypeCode::kE5M2:
      text = "float8_e5m2";
      break;
    case TypeCode::kHandle:
      return "handle";
    case TypeCode::kVoid:
      return "void";
  }
  return lanes_ == 1 ? text : text + "x" + std::to_string(lanes_);
}

int64_t MinValue(DataType integer) {
  TW_CHECK(integer.is_integer() || integer.is_bool());
  if (!integer.is_int()) return 0;
  return integer.bits() == 64 ? std::numeric_limits<int64_t>::min() : -(int64_t{1} << (integer.bits() - 1));
}

int64_t MaxValue(DataType integer) {
  TW_CHECK(integer.is_integer() || integer.is_bool());
  int value_bits = integer.is_int() ? integer.bits() - 1 : integer.bits();
  return value_bits >= 63 ? std::numeric_limits<int64_t>::max() : (int64_t{1} << value_bits) - 1;
}

}  // namespace tilewright
