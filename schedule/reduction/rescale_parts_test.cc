// rescale_parts: parts that do not follow each other; each has its own reference.

#include <gtest/gtest.h>

#include <string>
#include <vector>

#include "schedule/loops/loop_kind.h"
#include "schedule/program/loop_tree.h"
#include "schedule/reduction/rescale_reduction.h"
#include "schedule/reduction/testing/rescaled.h"
#include "schedule/testing/equivalence.h"
#include "schedule/testing/expect.h"
#include "verify/verify.h"

namespace tilewright {
namespace {

using testing::Attention;
using testing::BlockId;
using testing::kMaxRescaleError;
using testing::kSums;
using testing::Part;
using testing::ReasonText;
using testing::Rescaled;
using testing::SameResults;

// Parts that do not follow each other: each has its own reference.
TEST(RescaleParts, SumsOfPartsAreCorrectedAtLast) {
  const std::vector<Part> all = {{"M", 1}, {"S", 1}, {"O", 2}};
  for (const char* score : {"X[vi, vj]", "X[vi, vj] * T.float32(30)",
                            R"(T.if_then_else(vi == 0 or vj < vi * 4, T.float32("-inf"), X[vi, vj]))",
                            R"(T.if_then_else(vj < 9, T.float32("-inf"), X[vi, vj] - T.float32(200)))"}) {
    SCOPED_TRACE(score);
    const std::string weight = std::string("T.exp(") + score + " - M[vi])";
    for (const char* start : {"T.float32(\"-inf\")", "T.float32(-3.0e+38)"}) {
      for (const int keys : {16, 11, 1}) {
        for (const int by : {1, 4, 5, 16}) {
          Rescaled(Attention(score, weight, start, keys), all, by, 1e-3, RescaleParts);
        }
      }
    }
  }
}

// No iteration needs another one's result: the loop over parts may run in parallel.
TEST(RescaleParts, PartsAreIndependent) {
  const Function program = Attention("X[vi, vj]", "T.exp(X[vi, vj] - M[vi])", "T.float32(\"-inf\")", 16);
  const Function parts = Rescaled(program, kSums, 4, kMaxRescaleError, RescaleParts);
  const uint32_t loop = LoopsAbove(parts, BlockId(parts, "S_rf"))[1];
  EXPECT_EQ(LoopsAbove(parts, BlockId(parts, "M_rf"))[1], loop);
  const Outcome<Function> parallel = Parallel(parts, loop);
  ASSERT_TRUE(parallel.ok()) << ReasonText(parallel.refusal(), parts);
  EXPECT_EQ(VerifyProgram(*parallel, nullptr).verdict(), Verdict::kProven);
  EXPECT_TRUE(SameResults(program, *parallel, {.max_error = kMaxRescaleError}));
}

}  // namespace
}  // namespace tilewright
