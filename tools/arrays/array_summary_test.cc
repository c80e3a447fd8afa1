#include "tools/arrays/array_summary.h"

#include <gtest/gtest.h>

#include <cmath>
#include <sstream>
#include <string>

namespace tilewright {
namespace {

std::string Printed(const NDArray& array) {
  std::ostringstream out;
  PrintArray(out, "A", array);
  return out.str();
}

NDArray Counted(DataType type, std::vector<int64_t> shape) {
  const NDArray array(type, std::move(shape));
  for (int64_t i = 0; i < array.size(); ++i) array.SetInt(i, i - 2);
  return array;
}

TEST(ArraySummary, IsALineOfNumbers) {
  EXPECT_EQ(Printed(Counted(DataType::Int(32), {2, 4})),
            "A: int32[2, 4] sum 12 least -2 largest 5 first -2 -1 0 1 2 3\n");
  EXPECT_EQ(Printed(Counted(DataType::Float(32), {})), "A: float32[] sum -2 least -2 largest -2 first -2\n");
}

TEST(ArraySummary, IsJson) {
  const NDArray array = Counted(DataType::BFloat16(), {3});
  array.Set(1, INFINITY);
  EXPECT_EQ(ToJson("A", array).dump(),
            R"({"dtype":"bfloat16","first":[-2.0,null,0.0],"largest":null,"least":-2.0,"name":"A","shape":[3],)"
            R"("sum":null})");
  EXPECT_EQ(OrNull(0.5), nlohmann::json(0.5));
  EXPECT_TRUE(OrNull(NAN).is_null() && OrNull(-INFINITY).is_null());
}

// Milliseconds of eleven runs in any order: the second and the tenth are the percentiles.
TEST(ArraySummary, TimesAreAMedianAndPercentiles) {
  const std::vector<double> seconds = {0.011, 0.001, 0.003, 0.002, 0.004, 0.006, 0.005, 0.007, 0.009, 0.008, 0.010};
  EXPECT_EQ(TimesText(seconds), "median 6 ms, 2 to 10 in 11 runs");
  const nlohmann::json json = TimesJson(seconds);
  EXPECT_EQ(json["samples"], 11);
  EXPECT_DOUBLE_EQ(json["median_ms"], 6);
  EXPECT_DOUBLE_EQ(json["p10_ms"], 2);
  EXPECT_DOUBLE_EQ(json["p90_ms"], 10);
  EXPECT_EQ(TimesText({0.5}), "median 500 ms, 500 to 500 in 1 runs");
}

}  // namespace
}  // namespace tilewright
