#include "autoschedule/program/value_growth.h"

#include <gtest/gtest.h>

#include <string>

#include "autoschedule/program/block_loops.h"
#include "ir/script/parse_or_die.h"

namespace tilewright {
namespace {

// P of A by `producer`, and C of P by `consumer`.
class ValueGrowthTest : public ::testing::Test {
 protected:
  void Parse(const std::string& producer, const std::string& consumer) {
    const Schedule sch{Module(ParseFunctionOrDie(R"(
@T.prim_func
def main(A: T.Buffer((8,), "float32"), C: T.Buffer((8,), "float32")):
    P = T.alloc_buffer((8,), "float32")
    for i in range(8):
        with T.block("P"):
            vi = T.axis.spatial(8, i)
            P[vi] = )" + producer + R"(
    for i in range(8):
        with T.block("C"):
            vi = T.axis.spatial(8, i)
            C[vi] = )" + consumer + "\n"))};
    Schedule asked = sch;
    producer_ = RealizeOf(asked, *asked.GetBlock("P")).block;
    consumer_ = RealizeOf(asked, *asked.GetBlock("C")).block;
  }

  Block producer_, consumer_;
};

TEST_F(ValueGrowthTest, CountsOperationsButThoseOfIndices) {
  Parse("A[vi]", "T.max(P[(vi + 1) % 8], T.float32(0)) + T.exp(P[vi])");
  EXPECT_EQ(OperationsOf(*producer_), 0);
  EXPECT_EQ(OperationsOf(*consumer_), 3);  // max, exp, +
  Parse("T.Cast(\"float32\", T.Select(A[vi] < T.float32(1), 1, 0))", "P[vi]");
  EXPECT_EQ(OperationsOf(*producer_), 3);  // the cast, the select, <
}

TEST_F(ValueGrowthTest, CountsWhatIsMentioned) {
  Parse("A[vi]", "P[vi] * P[vi] + P[7 - vi] * A[vi]");
  EXPECT_EQ(UsesOf(*producer_, *consumer_), 3);
  Parse("A[vi]", "A[vi]");
  EXPECT_EQ(UsesOf(*producer_, *consumer_), 0);
}

// A sum of `terms` elements: one operation fewer.
std::string Sum(const std::string& element, int terms) {
  std::string sum = element;
  for (int i = 1; i < terms; ++i) sum += " + " + element;
  return sum;
}

TEST_F(ValueGrowthTest, TheBoundIsOfTheWholeValue) {
  // Uses times operations of the producer, and those of the consumer: 4 * 31 + 3 = 127.
  Parse(Sum("A[vi]", 32), Sum("P[vi]", 4));
  EXPECT_FALSE(GrowsTooLong(*producer_, *consumer_));
  // 4 * 32 + 3 = 131 of 128.
  Parse(Sum("A[vi]", 33), Sum("P[vi]", 4));
  EXPECT_TRUE(GrowsTooLong(*producer_, *consumer_));
  // What runs once may be longer.
  EXPECT_FALSE(GrowsTooLong(*producer_, *consumer_, /*ahead_of_time=*/true));
  Parse(Sum("A[vi]", 200), Sum("P[vi]", 100));
  EXPECT_TRUE(GrowsTooLong(*producer_, *consumer_, /*ahead_of_time=*/true));
}

}  // namespace
}  // namespace tilewright
