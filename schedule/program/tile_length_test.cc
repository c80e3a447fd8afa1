#include "schedule/program/tile_length.h"

#include <gtest/gtest.h>

#include <algorithm>

#include "ir/substitute.h"

namespace tilewright {
namespace {

const DataType kI32 = DataType::Int(32);

// The largest value of a length for 0 <= r < extent, by trying all.
int64_t Largest(const Expr& length, const Var& r, int64_t extent) {
  int64_t largest = arith::kNegInf;
  for (int64_t value = 0; value < extent; ++value) {
    largest = std::max(largest, *AsInt(arith::Simplify(Substitute(length, {{r, Expr(value)}}))));
  }
  return largest;
}

TEST(TileLength, QuotientsAreLookedAtTogether) {
  const Var r("r", kI32);
  arith::Analyzer analyzer;
  analyzer.Bind(r, Range{Expr(0), Expr(100)});
  const Expr two(2);
  EXPECT_EQ(LongestOf(FloorDiv(r + Expr(1), two) + Expr(1) - FloorDiv(r, two), &analyzer), 2);
  EXPECT_EQ(LongestOf(FloorDiv(r + Expr(4), two) - FloorDiv(r, two), &analyzer), 2);
  EXPECT_EQ(LongestOf(Expr(7), &analyzer), 7);
}

// No length is longer than what is said, and what is said of one pair of quotients is reached where they run far
// enough.
TEST(TileLength, IsALimitThatIsReached) {
  const Var r("r", kI32);
  for (const int64_t extent : {1, 2, 5, 40}) {
    arith::Analyzer analyzer;
    analyzer.Bind(r, Range{Expr(0), Expr(extent)});
    for (int64_t divisor = 2; divisor <= 5; ++divisor) {
      for (int64_t distance = 0; distance <= 9; ++distance) {
        for (int64_t factor = 1; factor <= 3; ++factor) {
          const Expr start = r * Expr(factor), end = start + Expr(distance);
          const Expr length = FloorDiv(end, Expr(divisor)) + Expr(1) - FloorDiv(start, Expr(divisor));
          const int64_t longest = LongestOf(length, &analyzer), tried = Largest(length, r, extent);
          EXPECT_GE(longest, tried) << distance << " // " << divisor;
          if (extent == 40 && factor == 1) EXPECT_EQ(longest, tried) << distance << " // " << divisor;
        }
      }
    }
  }
}

TEST(TileLength, OtherLengthsAreBoundsOfTheirParts) {
  const Var r("r", kI32), n("n", kI32);
  arith::Analyzer analyzer;
  analyzer.Bind(r, Range{Expr(0), Expr(10)});
  // Divisors that differ, and dividends that differ by no number.
  EXPECT_EQ(LongestOf(FloorDiv(r, Expr(2)) - FloorDiv(r, Expr(3)), &analyzer), 4);
  EXPECT_EQ(LongestOf(FloorDiv(n + r, Expr(2)) - FloorDiv(n, Expr(3)), &analyzer), arith::kPosInf);
  // One that falls short of the other is not longer than none.
  EXPECT_GE(LongestOf(FloorDiv(r, Expr(2)) - FloorDiv(r + Expr(3), Expr(2)), &analyzer), -1);
  // Without bounds of `n` alone a difference has some.
  EXPECT_EQ(LongestOf(FloorDiv(n + Expr(3), Expr(2)) - FloorDiv(n, Expr(2)), &analyzer), 2);
}

}  // namespace
}  // namespace tilewright
