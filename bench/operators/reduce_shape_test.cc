#include "bench/operators/reduce_shape.h"

#include <string>
#include <string_view>
#include <vector>

#include "absl/strings/str_cat.h"
#include "bench/operators/problem.h"
#include "gtest/gtest.h"

namespace tilewright::bench {
namespace {

std::string Reduced(std::string_view text, double most_operations) {
  return NumbersText(ReduceShape(ParseShapes(text)->front(), most_operations));
}

TEST(ReduceShape, KeepsRemainders) {
  EXPECT_EQ(Reduced("GMM:1,1000,1024,520", 9e6), "1,232,128,136");
  EXPECT_EQ(Reduced("GMM:1,1000,1024,520", 2e6), "1,104,64,72");
  EXPECT_EQ(Reduced("GMM:3,1021,1024,3", 1e6), "3,253,128,3");
  EXPECT_EQ(Reduced("TBG:16,128,12,64", 1e7), "2,128,2,64");
  EXPECT_EQ(Reduced("LN:4096,1024", 1e5), "8,1024");
  EXPECT_EQ(Reduced("ATT:1,16,4096,128,0", 1e7), "1,2,64,64,0");
  EXPECT_EQ(Reduced("ATT:4,48,2049,128,1,5,12,64", 1e7), "2,8,129,128,1,5,2,64");
  EXPECT_EQ(Reduced("SFM:513,2049", 1e4), "9,1025");
}

TEST(ReduceShape, OutputsOfWindowsKeepRemainders) {
  EXPECT_EQ(Reduced("C2D:16,56,56,64,64,3,1,1", 1e7), "2,8,8,64,64,3,1,1");
  // 112 positions become 8, 28 become 12, 7 stay.
  EXPECT_EQ(Reduced("C2D:1,224,224,3,64,7,2,3", 1e7), "1,16,16,3,64,7,2,3");
  EXPECT_EQ(Reduced("GRP:1,56,56,64,128,3,2,1,4", 1e7), "1,24,24,64,128,3,2,1,4");
  EXPECT_EQ(Reduced("C2D:1,7,7,512,512,3,1,1", 1e8), "1,7,7,128,128,3,1,1");
  EXPECT_EQ(Reduced("DIL:1,56,56,64,64,1,1,0,2", 1e6), "1,8,8,64,64,1,1,0,2");
  EXPECT_EQ(Reduced("T2D:1,32,32,64,3,4,2,1", 1e6), "1,8,8,64,3,4,2,1");
  EXPECT_EQ(Reduced("DEP:1,112,112,64,3,2,1", 1e5), "1,16,16,64,3,2,1");
}

TEST(ReduceShape, SmallShapesStay) {
  EXPECT_EQ(Reduced("GMM:1,128,128,128", 1e7), "1,128,128,128");
  EXPECT_EQ(Reduced("C1D:2,9,5,6,3,2,1", 1e7), "2,9,5,6,3,2,1");
}

// Whatever operator and budget: a shape that is accepted, of the same channels by group, not above the full one.
TEST(ReduceShape, EveryStandardShape) {
  const std::vector<Operator> operators = ParseOperators("all").value();
  for (const Operator op : operators) {
    for (const Shape& shape : StandardShapes(op)) {
      for (const double most : {1e3, 1e5, 1e7}) {
        const Shape reduced = ReduceShape(shape, most);
        const std::string text = absl::StrCat(std::string(Name(op)), ":", NumbersText(reduced));
        ASSERT_TRUE(ParseShapes(text).ok()) << text;
        for (size_t i = 0; i < shape.numbers.size(); ++i) EXPECT_LE(reduced.numbers[i], shape.numbers[i]) << text;
      }
    }
  }
}

}  // namespace
}  // namespace tilewright::bench
