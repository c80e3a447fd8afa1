// Data types of scalars and short vectors: a code, a width in bits and a number of lanes.
//
//   DataType::Float(32)          "float32"
//   DataType::Int(8).with_lanes(16)   "int8x16"
//   DataType::Parse("bfloat16")
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>

namespace tilewright {

enum class TypeCode : uint8_t {
  kBool,
  kInt,
  kUInt,
  kFloat,   // IEEE binary16, binary32, binary64
  kBFloat,  // bfloat16
  kE4M3,    // fp8, "float8_e4m3fn": no infinities, NaN is 0x7f and 0xff
  kE5M2,    // fp8, "float8_e5m2": IEEE-like
  kHandle,  // a pointer; only variables and calls have it
  kVoid,    // the type of calls made for their effect
};

class DataType {
 public:
  constexpr DataType() = default;
  constexpr DataType(TypeCode code, int bits, int lanes = 1)
      : code_(code), bits_(static_cast<uint8_t>(bits)), lanes_(static_cast<uint16_t>(lanes)) {}

  static constexpr DataType Bool(int lanes = 1) { return {TypeCode::kBool, 1, lanes}; }
  static constexpr DataType Int(int bits, int lanes = 1) { return {TypeCode::kInt, bits, lanes}; }
  static constexpr DataType UInt(int bits, int lanes = 1) { return {TypeCode::kUInt, bits, lanes}; }
  static constexpr DataType Float(int bits, int lanes = 1) { return {TypeCode::kFloat, bits, lanes}; }
  static constexpr DataType BFloat16(int lanes = 1) { return {TypeCode::kBFloat, 16, lanes}; }
  static constexpr DataType Handle() { return {TypeCode::kHandle, 64}; }
  static constexpr DataType Void() { return {TypeCode::kVoid, 0}; }

  // "int32", "uint8x4", "float16", "bfloat16", "float8_e4m3fn" (also "e4m3_float8"), "float8_e5m2" ("e5m2_float8"),
  // "bool", "handle", "void"; nothing for any other text. Widths: int and uint 1 to 64, float 16, 32, 64.
  static std::optional<DataType> Parse(std::string_view text);
  std::string ToString() const;

  constexpr TypeCode code() const { return code_; }
  constexpr int bits() const { return bits_; }
  constexpr int lanes() const { return lanes_; }
  // Bytes of one lane in memory: bits rounded up to whole bytes. Types of under 8 bits are packed by layouts only.
  constexpr int bytes() const { return (bits_ + 7) / 8; }

  constexpr bool is_bool() const { return code_ == TypeCode::kBool; }
  constexpr bool is_int() const { return code_ == TypeCode::kInt; }
  constexpr bool is_uint() const { return code_ == TypeCode::kUInt; }
  constexpr bool is_integer() const { return is_int() || is_uint(); }
  // Any floating-point format.
  constexpr bool is_float() const { return code_ >= TypeCode::kFloat && code_ <= TypeCode::kE5M2; }
  constexpr bool is_handle() const { return code_ == TypeCode::kHandle; }
  constexpr bool is_void() const { return code_ == TypeCode::kVoid; }
  constexpr bool is_scalar() const { return lanes_ == 1; }
  // Types that indices and extents may have.
  constexpr bool is_index() const { return is_int() && bits_ >= 32 && lanes_ == 1; }

  constexpr DataType with_lanes(int lanes) const { return {code_, bits_, lanes}; }
  constexpr DataType element() const { return with_lanes(1); }

  friend constexpr bool operator==(DataType a, DataType b) {
    return a.code_ == b.code_ && a.bits_ == b.bits_ && a.lanes_ == b.lanes_;
  }
  friend constexpr bool operator!=(DataType a, DataType b) { return !(a == b); }

 private:
  TypeCode code_ = TypeCode::kVoid;
  uint8_t bits_ = 0;
  uint16_t lanes_ = 1;
};

// The least and greatest value of an integer type (of the signed range for 64-bit unsigned).
int64_t MinValue(DataType integer);
int64_t MaxValue(DataType integer);

}  // namespace tilewright
