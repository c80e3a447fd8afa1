// Types and constants mean the same to a C++ compiler as in programs.
#include "codegen/cuda/type_text.h"

#include <gtest/gtest.h>

#include <bit>
#include <cmath>
#include <limits>
#include <string>

#include "absl/strings/str_cat.h"
#include "base/temporary_folder.h"
#include "codegen/cuda/cxx_compiler.h"

namespace tilewright::cuda {
namespace {

TEST(TypeText, SaysWhatMemoryHoldsAndWhatIsComputed) {
  struct Row {
    const char *type, *stored, *value;
  };
  for (const Row& row :
       {Row{"bool", "bool", "bool"}, Row{"int8", "int8_t", "int8_t"}, Row{"uint16", "uint16_t", "uint16_t"},
        Row{"int4", "int8_t", "int8_t"}, Row{"int64", "int64_t", "int64_t"}, Row{"float32", "float", "float"},
        Row{"float64", "double", "double"}, Row{"float16", "tw::f16", "float"}, Row{"bfloat16", "tw::bf16", "float"},
        Row{"float8_e4m3fn", "tw::e4m3", "float"}, Row{"float8_e5m2", "tw::e5m2", "float"},
        Row{"float16x8", "tw::f16", "float"}}) {
    const DataType type = *DataType::Parse(row.type);
    EXPECT_EQ(StoredType(type).value_or("none"), row.stored) << row.type;
    EXPECT_EQ(ValueType(type).value_or("none"), row.value) << row.type;
    EXPECT_EQ(IsNarrow(type), type.is_float() && std::string(row.stored) != row.value) << row.type;
  }
  EXPECT_EQ(StoredType(DataType::Int(24)).status(), absl::UnimplementedError("CUDA C++ has no type for int24"));
  EXPECT_EQ(ValueType(DataType::Handle()).status(), absl::UnimplementedError("CUDA C++ has no type for handle"));
}

TEST(TypeText, KnowsOddWidths) {
  for (const int bits : {8, 16, 32, 64})
    EXPECT_FALSE(HasOddWidth(DataType::Int(bits)) || HasOddWidth(DataType::UInt(bits)));
  for (const int bits : {1, 4, 24, 48})
    EXPECT_TRUE(HasOddWidth(DataType::Int(bits)) && HasOddWidth(DataType::UInt(bits)));
  EXPECT_FALSE(HasOddWidth(DataType::Bool()) || HasOddWidth(DataType::Float(16)));
}

constexpr char kBegin[] = R"(
#include <cstdint>
#include <type_traits>
namespace tw {
template <class To, class From>
constexpr To bit_cast(From value) {
  return __builtin_bit_cast(To, value);
}
}  // namespace tw
template <class Type, class Bits, class Text>
constexpr bool Is(Text text, Bits bits) {
  return std::is_same_v<Type, Text> && __builtin_bit_cast(Bits, text) == bits;
}
)";

// One assertion for a compiler: the constant has the type and the bits.
std::string Asserted(const std::string& text, const std::string& type, int bits, uint64_t value) {
  return absl::StrCat("static_assert(Is<", type, ">(", text, ", uint", bits, "_t{", value, "u}));\n");
}

TEST(TypeText, ConstantsHaveTheirTypesAndBits) {
  std::string text = kBegin;
  constexpr int64_t kLeast = std::numeric_limits<int64_t>::min();
  for (const int64_t value : {int64_t{0}, int64_t{1}, int64_t{-1}, int64_t{2147483647}, int64_t{-2147483648},
                              int64_t{-2147483649}, int64_t{1} << 40, kLeast, -(kLeast + 1)}) {
    const auto bits = static_cast<uint64_t>(value);
    if (value == static_cast<int32_t>(value)) {
      text += Asserted(IntegerText(DataType::Int(32), value), "int32_t", 32, static_cast<uint32_t>(value));
    }
    if (value >= 0 && value < int64_t{1} << 32)
      text += Asserted(IntegerText(DataType::UInt(32), value), "uint32_t", 32, bits);
    text += Asserted(IntegerText(DataType::Int(64), value), "int64_t", 64, bits);
    text += Asserted(IntegerText(DataType::UInt(64), value), "uint64_t", 64, bits);
  }
  text += Asserted(IntegerText(DataType::UInt(32), 4294967295), "uint32_t", 32, 4294967295);
  text += Asserted(IntegerText(DataType::Bool(), 1), "bool", 8, 1) +
          Asserted(IntegerText(DataType::Bool(), 0), "bool", 8, 0);
  constexpr double kInfinity = std::numeric_limits<double>::infinity();
  for (const double value : {0.0, -0.0, 1.0, -2.5, 0.1, 1e20, 1e-7, 16777216.0, 3.4028234663852886e38,
                             1.401298464324817e-45, kInfinity, -kInfinity, 4.9e-324, 1.7976931348623157e308, 1 / 3.0}) {
    text += Asserted(FloatText(DataType::Float(64), value), "double", 64, std::bit_cast<uint64_t>(value));
    const auto single = static_cast<float>(value);
    if (std::isinf(single) && !std::isinf(value)) continue;
    text += Asserted(FloatText(DataType::Float(32), static_cast<double>(single)), "float", 32,
                     std::bit_cast<uint32_t>(single));
  }
  text += Asserted(FloatText(DataType::BFloat16(), 1.5), "float", 32, std::bit_cast<uint32_t>(1.5f));
  const double nan = std::numeric_limits<double>::quiet_NaN();
  text += Asserted(FloatText(DataType::Float(64), nan), "double", 64, 0x7ff8000000000000);
  text += Asserted(FloatText(DataType::Float(16), nan), "float", 32, 0x7fc00000);
  const TemporaryFolder folder;
  ASSERT_TRUE(folder.Write("constants.cc", text));
  const absl::Status status = RunCxxCompiler({"-std=c++17", "-fsyntax-only", folder.path() / "constants.cc"}, "a test");
  if (absl::IsFailedPrecondition(status)) GTEST_SKIP() << status;
  EXPECT_TRUE(status.ok()) << status << "\n" << text;
}

}  // namespace
}  // namespace tilewright::cuda
