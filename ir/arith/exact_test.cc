#include "ir/arith/exact.h"

#include <gtest/gtest.h>

#include <cstdint>
#include <limits>
#include <optional>

namespace tilewright::arith {
namespace {

constexpr int64_t kLeast = std::numeric_limits<int64_t>::min(), kMost = std::numeric_limits<int64_t>::max();

TEST(EvaluateExactly, RoundsEachDivisionItsWay) {
  const struct {
    int64_t a, b, div, mod, floor_div, floor_mod;
  } cases[] = {{7, 2, 3, 1, 3, 1},
               {-7, 2, -3, -1, -4, 1},
               {7, -2, -3, 1, -4, -1},
               {-7, -2, 3, -1, 3, -1},
               {6, -3, -2, 0, -2, 0}};
  for (const auto& c : cases) {
    EXPECT_EQ(EvaluateExactly(BinaryOp::kDiv, c.a, c.b), c.div);
    EXPECT_EQ(EvaluateExactly(BinaryOp::kMod, c.a, c.b), c.mod);
    EXPECT_EQ(EvaluateExactly(BinaryOp::kFloorDiv, c.a, c.b), c.floor_div);
    EXPECT_EQ(EvaluateExactly(BinaryOp::kFloorMod, c.a, c.b), c.floor_mod);
  }
}

TEST(EvaluateExactly, SaysWhatDoesNotFit) {
  EXPECT_EQ(EvaluateExactly(BinaryOp::kAdd, kMost, 1), std::nullopt);
  EXPECT_EQ(EvaluateExactly(BinaryOp::kAdd, kMost, -1), kMost - 1);
  EXPECT_EQ(EvaluateExactly(BinaryOp::kSub, kLeast, 1), std::nullopt);
  EXPECT_EQ(EvaluateExactly(BinaryOp::kMul, kLeast, -1), std::nullopt);
  for (const BinaryOp op : {BinaryOp::kDiv, BinaryOp::kMod, BinaryOp::kFloorDiv, BinaryOp::kFloorMod}) {
    EXPECT_EQ(EvaluateExactly(op, 5, 0), std::nullopt);
    EXPECT_EQ(EvaluateExactly(op, kLeast, -1), std::nullopt);
  }
}

TEST(EvaluateExactly, ComparesAndCombines) {
  EXPECT_EQ(EvaluateExactly(BinaryOp::kLT, -1, 0), 1);
  EXPECT_EQ(EvaluateExactly(BinaryOp::kGE, -1, 0), 0);
  EXPECT_EQ(EvaluateExactly(BinaryOp::kNE, 4, 5), 1);
  EXPECT_EQ(EvaluateExactly(BinaryOp::kAnd, 4, 0), 0);
  EXPECT_EQ(EvaluateExactly(BinaryOp::kOr, 4, 0), 1);
  EXPECT_EQ(EvaluateExactly(BinaryOp::kMin, 4, -5), -5);
  EXPECT_EQ(EvaluateExactly(BinaryOp::kMax, 4, -5), 4);
}

}  // namespace
}  // namespace tilewright::arith
