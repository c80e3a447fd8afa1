#include "ir/ndarray.h"

#include <gtest/gtest.h>
#include <unistd.h>

#include <cmath>
#include <cstdio>
#include <limits>

namespace tilewright {
namespace {

TEST(NDArray, RoundsToItsType) {
  NDArray bf16(DataType::BFloat16(), {2}), u8(DataType::UInt(8), {2}), i16(DataType::Int(16), {1});
  bf16.Set(0, 1.01);
  EXPECT_EQ(bf16.Get(0), 1.0078125);
  u8.SetInt(1, 255);
  EXPECT_EQ(u8.GetInt(1), 255);
  EXPECT_EQ(u8.GetInt(0), 0);
  i16.SetInt(0, -2);
  EXPECT_EQ(i16.GetInt(0), -2);
}

TEST(NDArray, FillsTheSameNumbersForASeed) {
  for (const char* name : {"float32", "float16", "bfloat16", "float8_e4m3fn", "int8", "uint8", "bool", "int64"}) {
    NDArray a(*DataType::Parse(name), {100}), b(*DataType::Parse(name), {100});
    FillIntegers(a, 7);
    FillIntegers(b, 7);
    EXPECT_TRUE(BitEqual(a, b)) << name;
    bool varies = false;
    for (int64_t i = 0; i < a.size(); ++i) {
      EXPECT_EQ(a.Get(i), std::floor(a.Get(i)));
      EXPECT_LE(std::fabs(a.Get(i)), 4);
      varies |= a.Get(i) != a.Get(0);
    }
    EXPECT_TRUE(varies) << name;
    FillIntegers(b, 8);
    EXPECT_FALSE(BitEqual(a, b)) << name;
  }
}

TEST(NDArray, MaxErrorSeesNaN) {
  NDArray a(DataType::Float(32), {3}), b = a.Clone();
  EXPECT_EQ(MaxError(a, b).position, -1);
  a.Set(1, 2);
  b.Set(1, 2.5);
  EXPECT_EQ(MaxError(a, b).max_abs, 0.5);
  EXPECT_EQ(MaxError(a, b).max_rel, 0.2);
  b.Set(2, std::numeric_limits<double>::quiet_NaN());
  EXPECT_EQ(MaxError(a, b).position, 2);
  EXPECT_TRUE(std::isinf(MaxError(a, b).max_rel));
}

TEST(Npy, WritesAndReads) {
  const std::string path = testing::TempDir() + "/a.npy";
  for (const char* name : {"float32", "bfloat16", "int8", "bool", "uint64"}) {
    const DataType dtype = *DataType::Parse(name);
    for (const std::vector<int64_t>& shape : {std::vector<int64_t>{3, 5}, {}, {0}, {7}}) {
      NDArray a(dtype, shape);
      FillIntegers(a, 3);
      ASSERT_TRUE(WriteNpy(a, path).ok());
      absl::StatusOr<NDArray> b = ReadNpy(path, dtype);
      ASSERT_TRUE(b.ok()) << b.status();
      EXPECT_TRUE(BitEqual(a, *b)) << name;
    }
  }
}

TEST(Npy, RefusesWhatItCannotRead) {
  const std::string path = testing::TempDir() + "/b.npy";
  NDArray a(DataType::Float(32), {4});
  ASSERT_TRUE(WriteNpy(a, path).ok());
  EXPECT_EQ(ReadNpy(path, DataType::Float(64)).status().message(), path + ": elements are <f4, not float64");
  EXPECT_EQ(ReadNpy(path + "x").status().message(), "cannot read " + path + "x");
  FILE* file = std::fopen(path.c_str(), "r+b");
  std::fputs("xx", file);
  std::fclose(file);
  EXPECT_EQ(ReadNpy(path).status().message(), path + ": not an .npy file");
  ASSERT_TRUE(WriteNpy(a, path).ok());
  ASSERT_EQ(truncate(path.c_str(), 130), 0);
  EXPECT_EQ(ReadNpy(path).status().message(), path + ": elements are missing");
}

}  // namespace
}  // namespace tilewright
