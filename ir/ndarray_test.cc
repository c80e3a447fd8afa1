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

// A cast of a number that is outside of the type is undefined.
TEST(NDArray, NumbersOutsideOfAnIntegerTypeAreItsEnds) {
  const double inf = std::numeric_limits<double>::infinity();
  NDArray i64(DataType::Int(64), {1}), u64(DataType::UInt(64), {1}), f32(DataType::Float(32), {1});
  const auto set = [](const NDArray& array, double value) {
    array.Set(0, value);
    return array.GetInt(0);
  };
  EXPECT_EQ(set(i64, 1e30), INT64_MAX);
  EXPECT_EQ(set(i64, -inf), INT64_MIN);
  EXPECT_EQ(set(i64, std::nan("")), 0);
  EXPECT_EQ(static_cast<uint64_t>(set(u64, 0x1.8p63)), uint64_t{3} << 62);
  EXPECT_EQ(static_cast<uint64_t>(set(u64, inf)), UINT64_MAX);
  EXPECT_EQ(set(f32, 1e30), INT64_MAX);
  EXPECT_EQ(set(f32, -1e30), INT64_MIN);
}

TEST(NDArray, AnExtentOfZeroMakesItEmpty) {
  const NDArray array(DataType::Int(8), {int64_t{1} << 40, int64_t{1} << 40, 0});
  EXPECT_EQ(array.size(), 0);
  EXPECT_EQ(array.Clone().size(), 0);
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

// A file of this header and these bytes.
void WriteFile(const std::string& path, std::string header, const std::vector<unsigned char>& bytes) {
  header.resize(118, ' ');
  FILE* file = std::fopen(path.c_str(), "wb");
  std::fputs("\x93NUMPY", file);
  for (const int byte : {1, 0, 118, 0}) std::fputc(byte, file);
  std::fputs(header.c_str(), file);
  std::fwrite(bytes.data(), 1, bytes.size(), file);
  std::fclose(file);
}

// numpy.save of numpy.asfortranarray writes the first index fastest.
TEST(Npy, ReadsColumnsAndBigEndians) {
  const std::string path = testing::TempDir() + "/c.npy";
  std::vector<unsigned char> columns;
  for (int k = 0; k < 2; ++k) {
    for (int j = 0; j < 3; ++j) {
      for (int i = 0; i < 2; ++i) columns.push_back(static_cast<unsigned char>(100 * i + 10 * j + k));
    }
  }
  WriteFile(path, "{'descr': '|u1', 'fortran_order': True, 'shape': (2, 3, 2), }", columns);
  auto array = ReadNpy(path);
  ASSERT_TRUE(array.ok()) << array.status();
  ASSERT_EQ(array->shape(), std::vector<int64_t>({2, 3, 2}));
  for (int64_t i = 0; i < 12; ++i) EXPECT_EQ(array->GetInt(i), 100 * (i / 6) + 10 * (i / 2 % 3) + i % 2) << i;

  // [[1, 2], [-3, 0.5]] by columns, the most significant byte first.
  WriteFile(path, "{'descr': '>f4', 'fortran_order': True, 'shape': (2, 2), }",
            {0x3f, 0x80, 0, 0, 0xc0, 0x40, 0, 0, 0x40, 0, 0, 0, 0x3f, 0, 0, 0});
  array = ReadNpy(path, DataType::Float(32));
  ASSERT_TRUE(array.ok()) << array.status();
  const double expected[] = {1, 2, -3, 0.5};
  for (int64_t i = 0; i < 4; ++i) EXPECT_EQ(array->Get(i), expected[i]) << i;

  WriteFile(path, "{'descr': '>i8', 'fortran_order': False, 'shape': (1,), }", {0, 0, 0, 0, 0, 0, 1, 2});
  array = ReadNpy(path);
  ASSERT_TRUE(array.ok()) << array.status();
  EXPECT_EQ(array->GetInt(0), 258);

  for (const char* empty : {"(0, 3)", "()"}) {
    const std::string shape = empty;
    WriteFile(path, "{'descr': '|i1', 'fortran_order': True, 'shape': " + shape + ", }", {7});
    array = ReadNpy(path);
    ASSERT_TRUE(array.ok()) << array.status();
    EXPECT_EQ(array->size(), shape == "()" ? 1 : 0);
  }
  WriteFile(path, "{'descr': '|i1', 'fortran_order': 1, 'shape': (1,), }", {7});
  EXPECT_EQ(ReadNpy(path).status().message(), path + ": fortran_order is neither True nor False");
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
  // 2^33 x 2^33 elements are 2^66, which is 0 in 64 bits.
  WriteFile(path, "{'descr': '|u1', 'fortran_order': False, 'shape': (8589934592, 8589934592), }", {});
  EXPECT_EQ(ReadNpy(path).status().message(), path + ": bad shape");
}

}  // namespace
}  // namespace tilewright
