#include "ir/data_type.h"

#include <gtest/gtest.h>

#include <cmath>

#include "ir/float_format.h"

namespace tilewright {
namespace {

TEST(DataType, TextRoundTrips) {
  for (const char* text : {"bool", "int4", "int32", "int64", "uint8", "float16", "float32", "float64", "bfloat16",
                           "float8_e4m3fn", "float8_e5m2", "int8x16", "float32x4", "boolx8", "handle"}) {
    auto type = DataType::Parse(text);
    ASSERT_TRUE(type.has_value()) << text;
    EXPECT_EQ(type->ToString(), text);
  }
  EXPECT_EQ(DataType::Parse("e4m3_float8"), DataType::Parse("float8_e4m3fn"));
}

TEST(DataType, RefusesOtherText) {
  for (const char* text : {"", "int", "int0", "int65", "float8", "float31", "int32x", "int32x0", "int32y", "Int32",
                           "int32 ", "uint-8", "int99999999999"}) {
    EXPECT_FALSE(DataType::Parse(text).has_value()) << text;
  }
}

// Every bit pattern of the narrow formats decodes to a value that rounds to itself and encodes to the same bits.
TEST(FloatFormat, EveryPatternRoundTrips) {
  for (DataType type :
       {DataType::Float(16), DataType::BFloat16(), DataType(TypeCode::kE4M3, 8), DataType(TypeCode::kE5M2, 8)}) {
    for (uint64_t bits = 0; bits < (uint64_t{1} << type.bits()); ++bits) {
      const double value = FromBits(type, bits);
      if (std::isnan(value)) continue;
      ASSERT_EQ(RoundTo(type, value), value) << type.ToString() << " " << bits;
      ASSERT_EQ(ToBits(type, value), bits) << type.ToString() << " " << value;
    }
  }
}

// The midpoint between neighbours goes to the even one; anything else to the nearer one.
TEST(FloatFormat, RoundsToNearestEven) {
  for (DataType type : {DataType::Float(16), DataType::BFloat16(), DataType(TypeCode::kE5M2, 8)}) {
    const uint64_t largest_finite = ToBits(type, INFINITY) - 1;
    for (uint64_t bits = 0; bits < largest_finite; ++bits) {
      const double low = FromBits(type, bits), high = FromBits(type, bits + 1);
      const double middle = (low + high) / 2;
      ASSERT_EQ(RoundTo(type, middle), bits % 2 == 0 ? low : high);
      ASSERT_EQ(RoundTo(type, std::nextafter(middle, low)), low);
      ASSERT_EQ(RoundTo(type, std::nextafter(middle, high)), high);
    }
  }
}

TEST(FloatFormat, Overflow) {
  EXPECT_EQ(RoundTo(DataType::Float(16), 65519), 65504);
  EXPECT_EQ(RoundTo(DataType::Float(16), 65520), INFINITY);
  EXPECT_EQ(RoundTo(DataType(TypeCode::kE4M3, 8), 448), 448);
  EXPECT_TRUE(std::isnan(RoundTo(DataType(TypeCode::kE4M3, 8), 480)));
  EXPECT_TRUE(std::isnan(FromBits(DataType(TypeCode::kE4M3, 8), 0x7f)));
}

}  // namespace
}  // namespace tilewright
