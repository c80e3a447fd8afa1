// rescale_reduction of masked terms: iterations that are left out, rows without terms.
#include <gtest/gtest.h>

#include <string>
#include <vector>

#include "ir/script/parse_or_die.h"
#include "ir/script/printer.h"
#include "schedule/reduction/testing/rescaled.h"
#include "schedule/testing/equivalence.h"
#include "schedule/testing/expect.h"

namespace tilewright {
namespace {

using testing::Attention;
using testing::ExpectContains;
using testing::FromTheFirst;
using testing::kMaxRescaleError;
using testing::kSums;
using testing::Replaced;
using testing::Rescaled;
using testing::SameResults;
using testing::SplitAll;

TEST(RescaleReduction, MaskedRowsEndAsInTheProgram) {
  // Row 0 is masked from the first key on, rows 1 and 2 the first keys only; then as infinities and as numbers.
  for (const char* masked : {"T.float32(\"-inf\")", "T.float32(-1.0e+30)", "T.float32(-3.0e+38)"}) {
    for (const char* start : {"T.float32(\"-inf\")", "T.float32(-3.0e+38)"}) {
      const std::string score =
          std::string("T.if_then_else(vi == 0 or vj < vi * 4, ") + masked + ", X[vi, vj] * T.float32(30))";
      const Function program = Attention(score, "T.exp(" + score + " - M[vi])", start, 16);
      for (const int by : {1, 4, 5}) {
        SCOPED_TRACE(std::string(masked) + start);
        Rescaled(program, {{"M", 1}, {"S", 1}, {"O", 2}}, by, 1e-3);
      }
    }
  }
}

// The first rows have one block of keys with terms; row 0 of `vj < vi` has none at all.
TEST(RescaleReduction, MaskedIterationsAreLeftOut) {
  const struct {
    const char *shown, *extent;
  } cases[] = {
      {"vj <= vi", "range(i // 4 + 1)"},    {"vj < vi", "range(T.max((i + 3) // 4, 1))"},
      {"not vi < vj", "range(i // 4 + 1)"}, {"vi < 2 or vj <= vi", "range(4)"},
      {"2 * vj < vi", "range(1)"},          {"vj < 7", "range(2)"},
  };
  for (const auto& [shown, extent] : cases) {
    SCOPED_TRACE(shown);
    const std::string score = std::string("T.if_then_else(") + shown + R"(, X[vi, vj], T.float32("-inf")))";
    const std::string nothing = std::string("T.Select(") + shown + ", T.exp(" + score + " - M[vi]), T.float32(0))";
    for (const std::string& weight : {"T.exp(" + score + " - M[vi])", nothing}) {
      const Function program = Attention(score, weight, "T.float32(\"-inf\")", 16);
      ExpectContains(Rescaled(program, {{"M", 1}, {"S", 1}, {"O", 2}}, 4),
                     std::string("        for j_0 in ") + extent + ":");
    }
  }
}

// Windows: the loop begins behind masked iterations. A row of `vj > vi + 11` has no term from some row on, and of
// `vi < vj and vj < vi` none at all.
TEST(RescaleReduction, MaskedIterationsComeBeforeTheFirst) {
  const struct {
    const char *shown, *range;  // what the loop's range begins with
  } cases[] = {
      {"vj >= 2 * vi", "i // 2, i // 2 + (4 - i // 2)"},
      {"vj >= 7", "1, 4"},
      {"vj >= 5 and vj < 7", "1, 2"},
      {"vj > vi + 11", "3, 4"},
      {"vi - vj < 2", "T.max((i + 3) // 4 - 1, 0), "},
      {"vj <= vi + 3 and vi - vj < 2", "T.max((i + 3) // 4 - 1, 0), "},
      {"vj <= 2 * vi + 3 and not 2 * vi > vj", "i // 2, i // 2 + ((i + 1) // 2 + 1 - i // 2)"},
      {"vi < vj and vj < vi", "i // 4 + 1)"},
      {"vi < 2 or vj >= vi", "4)"},
  };
  for (const auto& [shown, range] : cases) {
    SCOPED_TRACE(shown);
    const std::string score = std::string("T.if_then_else(") + shown + R"(, X[vi, vj], T.float32("-inf")))";
    const std::string nothing = std::string("T.Select(") + shown + ", T.exp(" + score + " - M[vi]), T.float32(0))";
    for (const std::string& weight : {"T.exp(" + score + " - M[vi])", nothing}) {
      const Function program = Attention(score, weight, "T.float32(\"-inf\")", 16);
      const Function rescaled = Rescaled(program, {{"M", 1}, {"S", 1}, {"O", 2}}, 4);
      EXPECT_NE(Print(rescaled).find(std::string("for j_0 in range(") + range), std::string::npos) << Print(rescaled);
      for (const int keys : {13, 11, 1}) {
        Rescaled(Attention(score, weight, "T.float32(\"-inf\")", keys), {{"M", 1}, {"S", 1}, {"O", 2}}, 3);
      }
    }
  }
}

TEST(RescaleReduction, LoopsBeginAtZeroWhereTheCallerSaysSo) {
  const std::string score = "T.if_then_else(vj >= 7 and vj < 13, X[vi, vj], T.float32(\"-inf\"))";
  const Function program = Attention(score, "T.exp(" + score + " - M[vi])", "T.float32(\"-inf\")", 16);
  const Function rescaled = Rescaled(program, {{"M", 1}, {"S", 1}, {"O", 2}}, 4, kMaxRescaleError, FromTheFirst);
  EXPECT_NE(Print(rescaled).find("for j_0 in range(4)"), std::string::npos) << Print(rescaled);
}

TEST(RescaleReduction, ShownTermsAreNotLeftOut) {
  const std::string score = R"(T.if_then_else(vj <= vi, X[vi, vj], T.float32("-inf")))";
  const struct {
    std::string score, weight;
  } cases[] = {
      {"X[vi, vj]", "T.exp(" + score + " - M[vi])"},  // the maximum has terms
      {score, "T.exp(X[vi, vj] - M[vi])"},            // the sum has
      {score, "(T.exp(" + score + " - M[vi]) + T.exp(T.float32(0) - M[vi]))"},
      {R"(T.if_then_else(vj <= vi, X[vi, vj], T.float32(-1.0e+9)))",
       R"(T.exp(T.if_then_else(vj <= vi, X[vi, vj], T.float32(-1.0e+9)) - M[vi]))"},
      {R"(T.if_then_else(vj <= vi, X[vi, vj], T.float32("inf")))", "T.exp(" + score + " - M[vi])"},
      {R"(T.if_then_else(V[vj, 0] <= T.float32(0), X[vi, vj], T.float32("-inf")))",
       R"(T.exp(T.if_then_else(V[vj, 0] <= T.float32(0), X[vi, vj], T.float32("-inf")) - M[vi]))"},
  };
  for (const auto& [of_maximum, weight] : cases) {
    SCOPED_TRACE(of_maximum + ", " + weight);
    std::vector<uint32_t> loops;
    const Function before = SplitAll(Attention(of_maximum, weight, "T.float32(\"-inf\")", 16), kSums, 4, &loops);
    const Outcome<RescaleReductionResult> result = RescaleReduction(before, loops);
    if (result.ok()) ExpectContains(result->function, "        for j_0 in range(4):");
  }
}

TEST(RescaleReduction, SmallestScoresDoNotOverflowTheFirstCorrection) {
  // The first keys are masked, and what follows is far below zero.
  const std::string score = R"(T.if_then_else(vj < 4, T.float32("-inf"), X[vi, vj] - T.float32(500)))";
  const Function program = Attention(score, "T.exp(" + score + " - M[vi])", "T.float32(\"-inf\")");
  Rescaled(program, {{"M", 1}, {"S", 1}, {"O", 2}}, 4);
}

TEST(RescaleReduction, WithoutTheGuardMaskedRowsAreNoNumbers) {
  const std::string score = R"(T.if_then_else(vj < 4 and vi % 2 == 0, T.float32("-inf"), X[vi, vj]))";
  const Function program = Attention(score, "T.exp(" + score + " - M[vi])", "T.float32(\"-inf\")");
  const Function after = Rescaled(program, kSums, 4);
  const std::string wrong = Replaced(
      Print(after), "T.Select(T.isfinite(M_running[vi, vj_0]) or vj_0 == 2, M_running[vi, vj_0], T.float32(0))",
      "M_running[vi, vj_0]");
  EXPECT_FALSE(SameResults(program, ParseFunctionOrDie(wrong), {.max_error = kMaxRescaleError}));
}

// The last iteration of row 0 is the first one: without its own guard the row would end with zeros.
TEST(RescaleReduction, LastIterationsAreThoseOfARow) {
  const std::string score = R"(T.if_then_else(vj < vi, X[vi, vj], T.float32("-inf")))";
  const Function program = Attention(score, "T.exp(" + score + " - M[vi])", "T.float32(\"-inf\")", 16);
  const std::string right = Print(Rescaled(program, kSums, 4));
  const size_t begin = right.find(" or vj_0 == "), end = right.find(", M_running", begin);
  ASSERT_NE(begin, std::string::npos) << right;
  const std::string wrong = Replaced(right, right.substr(begin, end - begin), " or vj_0 == 3");
  EXPECT_FALSE(SameResults(program, ParseFunctionOrDie(wrong), {.max_error = kMaxRescaleError}));
}

}  // namespace
}  // namespace tilewright
