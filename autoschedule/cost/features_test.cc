#include "autoschedule/cost/features.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>
#include <set>

#include "autoschedule/cost/tiled_matmul.h"

namespace tilewright {
namespace {

const Target kZen4 = *NamedTarget("x86-znver4");

TEST(Features, HaveFixedLengthAndNames) {
  const std::vector<std::string> names = FeatureNames();
  EXPECT_EQ(std::set<std::string>(names.begin(), names.end()).size(), names.size());
  for (int rows : {1, 8}) {
    const Features row = FeaturesOf(TiledMatmul(rows, 2, "serial", 256), kZen4);
    EXPECT_EQ(row.numbers.size(), names.size());
    for (size_t i = 0; i < row.numbers.size(); ++i) EXPECT_TRUE(std::isfinite(row.numbers[i])) << names[i];
  }
  EXPECT_EQ(FeaturesOf({Function(FunctionNode::Fields{.name = "empty", .body = Evaluate(0)})}, kZen4).numbers.size(),
            names.size());
}

TEST(Features, KnowTheTile) {
  const std::vector<std::string> names = FeatureNames();
  const Features row = FeaturesOf(TiledMatmul(8, 2, "serial", 256), kZen4);
  const auto value = [&](const char* name) {
    return row.numbers[static_cast<size_t>(std::find(names.begin(), names.end(), name) - names.begin())];
  };
  EXPECT_EQ(value("hottest: tile rows"), 8);
  EXPECT_EQ(value("hottest: tile vectors"), 2);
  EXPECT_EQ(value("hottest: tile lanes"), 16);
  EXPECT_EQ(value("hottest: tile operand bits"), 32);
  EXPECT_EQ(value("hottest: registers"), 19);
}

TEST(Features, ComeBackFromBytes) {
  const Features features = FeaturesOf(TiledMatmul(8, 2, "serial", 256), kZen4);
  const std::string bytes = Pack(features);
  const auto back = Unpack(bytes);
  ASSERT_TRUE(back.has_value());
  EXPECT_EQ(back->numbers, features.numbers);
  EXPECT_EQ(back->projected_seconds, features.projected_seconds);
  EXPECT_EQ(back->numbers.size(), FeatureNames().size());
  std::string other = bytes, not_finite = bytes;
  other[0] ^= 1;  // of the hash of the names
  not_finite.replace(bytes.size() - 4, 4, std::string("\0\0\x80\x7f", 4));
  for (const std::string& bad : {std::string(), std::string("numbers"), bytes.substr(0, bytes.size() - 1),
                                 bytes.substr(0, bytes.size() - sizeof(float)), other, not_finite}) {
    EXPECT_FALSE(Unpack(bad).has_value()) << bad.size();
  }
}

}  // namespace
}  // namespace tilewright
