#include "schedule/reduction/rescale_reduction.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <functional>
#include <string>
#include <string_view>
#include <vector>

#include "ir/script/parse_or_die.h"
#include "ir/script/printer.h"
#include "schedule/loops/loop_kind.h"
#include "schedule/loops/reorder.h"
#include "schedule/loops/split.h"
#include "schedule/program/loop_tree.h"
#include "schedule/testing/equivalence.h"
#include "schedule/testing/expect.h"
#include "verify/verify.h"

namespace tilewright {
namespace {

using testing::ExpectContains;
using testing::ReasonText;
using testing::SameResults;

constexpr double kMaxError = 2e-5;

uint32_t BlockId(const Function& f, std::string_view name) {
  const auto blocks = BlocksNamed(f, name);
  EXPECT_EQ(blocks.size(), 1u) << name;
  return blocks[0]->block->id;
}

// One loop of a block that has to be shared, by the block's name and the loop's place; the loop is split by `by` first.
struct Part {
  std::string_view block;
  size_t place;
};

Function SplitAll(Function f, const std::vector<Part>& parts, int by, std::vector<uint32_t>* loops) {
  for (const Part& part : parts) {
    Outcome<SplitResult> split = Split(f, LoopsAbove(f, BlockId(f, part.block))[part.place], {Expr(), by});
    EXPECT_TRUE(split.ok());
    f = split->function;
    // Inside of the rows, outside of all else.
    std::vector<uint32_t> order = LoopsAbove(f, BlockId(f, part.block));
    std::rotate(order.begin() + static_cast<long>(parts[0].place), order.begin() + static_cast<long>(part.place),
                order.begin() + static_cast<long>(part.place) + 1);
    Outcome<ReorderResult> reordered = Reorder(f, order);
    EXPECT_TRUE(reordered.ok());
    f = reordered->function;
    loops->push_back(order[parts[0].place]);
  }
  return f;
}

// The program with the reductions in one loop over blocks of `by`; checked against the program and verified.
using Primitive = std::function<Outcome<RescaleReductionResult>(const Function&, const std::vector<uint32_t>&)>;
Outcome<RescaleReductionResult> WithTermsAlone(const Function& function, const std::vector<uint32_t>& loops) {
  return RescaleReduction(function, loops);
}
Outcome<RescaleReductionResult> FromTheFirst(const Function& function, const std::vector<uint32_t>& loops) {
  return RescaleReduction(function, loops, /*skip_leading=*/false);
}
Function Rescaled(const Function& program, const std::vector<Part>& parts, int by, double max_error = kMaxError,
                  const Primitive& primitive = WithTermsAlone) {
  std::vector<uint32_t> loops;
  const Function before = SplitAll(program, parts, by, &loops);
  Outcome<RescaleReductionResult> result = primitive(before, loops);
  EXPECT_TRUE(result.ok()) << (result.ok() ? "" : ReasonText(result.refusal(), before));
  if (!result.ok()) return program;
  const VerifyResult verified = VerifyProgram(result->function, nullptr);
  EXPECT_EQ(verified.verdict(), Verdict::kProven) << Render(verified, result->function);
  for (uint64_t seed : {1, 2, 3}) {
    EXPECT_TRUE(SameResults(program, result->function, {.seed = seed, .max_error = max_error}))
        << Print(result->function);
  }
  return result->function;
}

std::string WhyNot(const Function& program, const std::vector<Part>& parts, int by) {
  std::vector<uint32_t> loops;
  const Function before = SplitAll(program, parts, by, &loops);
  Outcome<RescaleReductionResult> result = RescaleReduction(before, loops);
  return result.ok() ? "accepted" : ReasonText(result.refusal(), before);
}

// A maximum of scores, and a plain and a weighted sum of what is made of a score and the maximum.
Function Attention(std::string_view score, std::string_view weight, std::string_view start = "T.float32(-3.0e+38)",
                   int keys = 12) {
  std::string text = R"(
@T.prim_func
def main(X: T.Buffer((6, KEYS), "float32"), V: T.Buffer((KEYS, 4), "float32"), S: T.Buffer((6,), "float32"), O: T.Buffer((6, 4), "float32")):
    M = T.alloc_buffer((6,), "float32")
    for i, j in T.grid(6, KEYS):
        with T.block("M"):
            vi, vj = T.axis.remap("SR", [i, j])
            with T.init():
                M[vi] = START
            M[vi] = T.max(M[vi], SCORE)
    for i, j in T.grid(6, KEYS):
        with T.block("S"):
            vi, vj = T.axis.remap("SR", [i, j])
            with T.init():
                S[vi] = T.float32(0)
            S[vi] = S[vi] + WEIGHT
    for i, d, j in T.grid(6, 4, KEYS):
        with T.block("O"):
            vi, vd, vj = T.axis.remap("SSR", [i, d, j])
            with T.init():
                O[vi, vd] = T.float32(0)
            O[vi, vd] = O[vi, vd] + WEIGHT * V[vj, vd]
)";
  const auto replace = [&](std::string_view from, std::string_view to) {
    for (size_t at = text.find(from); at != std::string::npos; at = text.find(from, at + to.size())) {
      text.replace(at, from.size(), to);
    }
  };
  replace("WEIGHT", weight);
  replace("SCORE", score);
  replace("START", start);
  replace("KEYS", std::to_string(keys));
  return ParseFunctionOrDie(text);
}

const std::vector<Part> kSums = {{"M", 1}, {"S", 1}};

TEST(RescaleReduction, SumOfExponentialsFollowsTheRunningMaximum) {
  const Function after = Rescaled(Attention("X[vi, vj]", "T.exp(X[vi, vj] - M[vi])"), kSums, 4);
  ExpectContains(after, R"(
      M_before[vi, vj_0] = M[vi]
      M[vi] = T.max(M[vi], M_rf[vi, vj_0])
      M_running[vi, vj_0] = M[vi])");
}

TEST(RescaleReduction, SumAndProductShareTheCorrection) {
  const Function program = Attention("X[vi, vj]", "T.exp(X[vi, vj] - M[vi])");
  const Function after = Rescaled(program, {{"M", 1}, {"S", 1}, {"O", 2}}, 4);
  EXPECT_EQ(BlocksNamed(after, "M_rescale").size(), 1u);
  // The blocks that combine have the ids of the reductions, and stand in one loop.
  EXPECT_EQ(BlockId(after, "O"), BlockId(program, "O"));
  EXPECT_EQ(LoopsAbove(after, BlockId(after, "O"))[1], LoopsAbove(after, BlockId(after, "S_rf"))[1]);
}

TEST(RescaleReduction, DerivesTheCorrectionFromTheTerms) {
  const struct {
    const char *score, *weight;
  } cases[] = {
      {"X[vi, vj]", "T.exp2(X[vi, vj] - M[vi])"},
      {"X[vi, vj]", "T.exp((X[vi, vj] - M[vi]) * T.float32(0.125))"},
      {"X[vi, vj]", "T.exp(T.float32(0.5) * X[vi, vj] - M[vi] * T.float32(0.5) + V[vj, 0])"},
      {"X[vi, vj]", "T.exp(X[vi, vj] - M[vi]) * T.exp(V[vj, 0])"},
      {"X[vi, vj]", "T.exp(X[vi, vj]) / T.exp(M[vi] - X[vi, vj]) / T.exp(X[vi, vj])"},
      {"X[vi, vj] * T.float32(0.25)", "T.exp(X[vi, vj] * T.float32(0.25) - M[vi])"},
      {"T.tanh(X[vi, vj])", "T.exp(T.tanh(X[vi, vj]) - M[vi])"},
      {"T.if_then_else(vj <= vi, X[vi, vj], T.float32(-1.0e+30))",
       "T.exp(T.if_then_else(vj <= vi, X[vi, vj], T.float32(-1.0e+30)) - M[vi])"},
      {"X[vi, vj]", "T.if_then_else(vj <= vi, T.exp(X[vi, vj] - M[vi]), T.float32(0))"},
      {"X[vi, vj]", "T.Select(vj <= vi, T.float32(0), T.exp(X[vi, vj] - M[vi]) * T.float32(2))"},
      {"X[vi, vj]", "(T.exp(X[vi, vj] - M[vi]) + V[vj, 0] * T.exp(T.float32(0) - M[vi] + X[vi, vj]))"},
  };
  for (const auto& [score, weight] : cases) {
    SCOPED_TRACE(weight);
    for (const int keys : {12, 11}) {
      for (const int by : {1, 3, 12}) Rescaled(Attention(score, weight, "T.float32(-3.0e+38)", keys), kSums, by);
    }
  }
}

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
  const Function rescaled = Rescaled(program, {{"M", 1}, {"S", 1}, {"O", 2}}, 4, kMaxError, FromTheFirst);
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

TEST(RescaleReduction, NormsFollowTheRunningSum) {
  for (const char* factor : {"/ T.sqrt(Q[vi])", "/ Q[vi]", "* T.rsqrt(Q[vi])", "* Q[vi]", "/ (Q[vi] + T.float32(1))"}) {
    SCOPED_TRACE(factor);
    const Function program = ParseFunctionOrDie(R"(
@T.prim_func
def main(X: T.Buffer((6, 12), "float32"), V: T.Buffer((12,), "float32"), O: T.Buffer((6,), "float32"), Q: T.Buffer((6,), "float32")):
    for i, j in T.grid(6, 12):
        with T.block("Q"):
            vi, vj = T.axis.remap("SR", [i, j])
            with T.init():
                Q[vi] = T.float32(0)
            Q[vi] = Q[vi] + (X[vi, vj] * X[vi, vj] + T.float32(0.5))
    for i, j in T.grid(6, 12):
        with T.block("O"):
            vi, vj = T.axis.remap("SR", [i, j])
            with T.init():
                O[vi] = T.float32(0)
            O[vi] = O[vi] + X[vi, vj] )" + std::string(factor) +
                                                R"( * V[vj]
)");
    const Function after = Rescaled(program, {{"Q", 1}, {"O", 1}}, 4, 2e-3);  // the final value is an output
    EXPECT_EQ(BlocksNamed(after, "Q_init").size(), 1u);
  }
}

constexpr const char* kStaged = R"(
@T.prim_func
def main(X: T.Buffer((6, 12), "float32"), V: T.Buffer((12, 4), "float32"), L: T.Buffer((6,), "float32"), O: T.Buffer((6, 4), "float32")):
    M = T.alloc_buffer((6,), "float32")
    E = T.alloc_buffer((6, 12), "float32")
    S = T.alloc_buffer((6,), "float32")
    P = T.alloc_buffer((6, 4), "float32")
    for i, j in T.grid(6, 12):
        with T.block("M"):
            vi, vj = T.axis.remap("SR", [i, j])
            with T.init():
                M[vi] = T.float32(-3.0e+38)
            M[vi] = T.max(M[vi], X[vi, vj])
    for i, j in T.grid(6, 12):
        with T.block("E"):
            vi, vj = T.axis.remap("SS", [i, j])
            E[vi, vj] = T.exp(X[vi, vj] - M[vi])
    for i, j in T.grid(6, 12):
        with T.block("S"):
            vi, vj = T.axis.remap("SR", [i, j])
            with T.init():
                S[vi] = T.float32(0)
            S[vi] = S[vi] + E[vi, vj]
    for i, d, j in T.grid(6, 4, 12):
        with T.block("P"):
            vi, vd, vj = T.axis.remap("SSR", [i, d, j])
            with T.init():
                P[vi, vd] = T.float32(0)
            P[vi, vd] = P[vi, vd] + E[vi, vj] * V[vj, vd]
    for i, d in T.grid(6, 4):
        with T.block("O"):
            vi, vd = T.axis.remap("SS", [i, d])
            O[vi, vd] = P[vi, vd] / S[vi]
    for i in range(6):
        with T.block("L"):
            vi = T.axis.spatial(6, i)
            L[vi] = M[vi] + T.log(S[vi])
)";

TEST(RescaleReduction, ElementwiseBlocksFollowToo) {
  const Function after = Rescaled(ParseFunctionOrDie(kStaged), {{"M", 1}, {"E", 1}, {"S", 1}, {"P", 2}}, 4);
  ExpectContains(after, "E[vi, vj_0 * 4 + vj_1] = T.exp(X[vi, vj_0 * 4 + vj_1] - M_reference[vi, vj_0])");
  Rescaled(ParseFunctionOrDie(kStaged), {{"M", 1}, {"E", 1}, {"S", 1}, {"P", 2}}, 5);
}

TEST(RescaleReduction, TakesRowsInsideOfTheLoop) {
  // Blocks of rows and of keys: both loops over blocks are shared.
  const Function program = Attention("X[vi, vj]", "T.exp(X[vi, vj] - M[vi])");
  Function f = program;
  std::vector<uint32_t> loops;
  for (const char* name : {"M", "S"}) {
    const std::vector<uint32_t> above = LoopsAbove(f, BlockId(f, name));
    Outcome<SplitResult> rows = Split(f, above[0], {Expr(), 4});
    Outcome<SplitResult> keys = Split(rows->function, above[1], {Expr(), 3});
    f = keys->function;
    const std::vector<uint32_t> l = LoopsAbove(f, BlockId(f, name));
    Outcome<ReorderResult> ordered = Reorder(f, {l[0], l[2], l[1], l[3]});
    ASSERT_TRUE(ordered.ok());
    f = ordered->function;
    loops.push_back(l[2]);
  }
  Outcome<RescaleReductionResult> result = RescaleReduction(f, loops);
  ASSERT_TRUE(result.ok()) << ReasonText(result.refusal(), f);
  EXPECT_EQ(VerifyProgram(result->function).verdict(), Verdict::kProven) << Print(result->function);
  EXPECT_TRUE(SameResults(program, result->function, {.max_error = kMaxError})) << Print(result->function);
}

TEST(RescaleReduction, LargeProgramsAreProven) {
  // Too many iterations for verification to run them.
  const Function program = Attention("X[vi, vj]", "T.exp(X[vi, vj] - M[vi])", "T.float32(-3.0e+38)", 65536);
  std::vector<uint32_t> loops;
  const Function before = SplitAll(program, {{"M", 1}, {"S", 1}, {"O", 2}}, 64, &loops);
  Outcome<RescaleReductionResult> result = RescaleReduction(before, loops);
  ASSERT_TRUE(result.ok());
  EXPECT_EQ(VerifyProgram(result->function).verdict(), Verdict::kProven);
}

// ---- Planted faults: what verify or a run of both programs must notice

std::string Replaced(std::string text, std::string_view from, std::string_view to) {
  const size_t at = text.find(from);
  EXPECT_NE(at, std::string::npos) << from << " in " << text;
  return text.replace(at, from.size(), to);
}

TEST(RescaleReduction, WrongCorrectionsAreNoticed) {
  const Function program = Attention("X[vi, vj]", "T.exp(X[vi, vj] - M[vi])");
  const std::string right = Print(Rescaled(program, kSums, 4));
  const struct {
    const char *fault, *from, *to;
  } faults[] = {
      {"left out", "S[vi] * M_rescale[vi, vj_0] + ", "S[vi] + "},
      {"applied twice", "S[vi] * M_rescale[vi, vj_0] + ", "S[vi] * M_rescale[vi, vj_0] * M_rescale[vi, vj_0] + "},
      {"to what is new", "S[vi] * M_rescale[vi, vj_0] + S_rf[vi, vj_0]",
       "(S[vi] + S_rf[vi, vj_0]) * M_rescale[vi, vj_0]"},
      {"upside down", "T.float32(0)) - M_reference[vi, vj_0])))", "T.float32(0)) + M_reference[vi, vj_0])))"},
      {"of what is new", "M_before[vi, vj_0] = M[vi]", "M_before[vi, vj_0] = M_rf[vi, vj_0]"},
      {"of one part alone", "M[vi] = T.max(M[vi], M_rf[vi, vj_0])", "M[vi] = M_rf[vi, vj_0]"},
  };
  for (const auto& [fault, from, to] : faults) {
    SCOPED_TRACE(fault);
    const Function wrong = ParseFunctionOrDie(Replaced(right, from, to));
    bool noticed = false;
    for (uint64_t seed : {1, 2, 3, 4}) noticed |= !SameResults(program, wrong, {.seed = seed, .max_error = kMaxError});
    EXPECT_TRUE(noticed) << Print(wrong);
  }
}

TEST(RescaleReduction, WithoutTheGuardMaskedRowsAreNoNumbers) {
  const std::string score = R"(T.if_then_else(vj < 4 and vi % 2 == 0, T.float32("-inf"), X[vi, vj]))";
  const Function program = Attention(score, "T.exp(" + score + " - M[vi])", "T.float32(\"-inf\")");
  const Function after = Rescaled(program, kSums, 4);
  const std::string wrong = Replaced(
      Print(after), "T.Select(T.isfinite(M_running[vi, vj_0]) or vj_0 == 2, M_running[vi, vj_0], T.float32(0))",
      "M_running[vi, vj_0]");
  EXPECT_FALSE(SameResults(program, ParseFunctionOrDie(wrong), {.max_error = kMaxError}));
}

// The last iteration of row 0 is the first one: without its own guard the row would end with zeros.
TEST(RescaleReduction, LastIterationsAreThoseOfARow) {
  const std::string score = R"(T.if_then_else(vj < vi, X[vi, vj], T.float32("-inf")))";
  const Function program = Attention(score, "T.exp(" + score + " - M[vi])", "T.float32(\"-inf\")", 16);
  const std::string right = Print(Rescaled(program, kSums, 4));
  const size_t begin = right.find(" or vj_0 == "), end = right.find(", M_running", begin);
  ASSERT_NE(begin, std::string::npos) << right;
  const std::string wrong = Replaced(right, right.substr(begin, end - begin), " or vj_0 == 3");
  EXPECT_FALSE(SameResults(program, ParseFunctionOrDie(wrong), {.max_error = kMaxError}));
}

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
  const Function parts = Rescaled(program, kSums, 4, kMaxError, RescaleParts);
  const uint32_t loop = LoopsAbove(parts, BlockId(parts, "S_rf"))[1];
  EXPECT_EQ(LoopsAbove(parts, BlockId(parts, "M_rf"))[1], loop);
  const Outcome<Function> parallel = Parallel(parts, loop);
  ASSERT_TRUE(parallel.ok()) << ReasonText(parallel.refusal(), parts);
  EXPECT_EQ(VerifyProgram(*parallel, nullptr).verdict(), Verdict::kProven);
  EXPECT_TRUE(SameResults(program, *parallel, {.max_error = kMaxError}));
}

// ---- Refusals

TEST(RescaleReduction, RefusesTermsWithoutAFactor) {
  const auto why = [](const char* score, const char* weight) { return WhyNot(Attention(score, weight), kSums, 4); };
  EXPECT_EQ(why("X[vi, vj]", "(T.exp(X[vi, vj]) - M[vi])"),
            "T.exp(X[vi, vj]) - m in terms of S is not a product of something with what M alone decides (m)");
  EXPECT_EQ(why("X[vi, vj]", "T.tanh(X[vi, vj] - M[vi])"),
            "T.tanh(X[vi, vj] - m) in terms of S is not a product of something with what M alone decides (m)");
  EXPECT_EQ(why("X[vi, vj]", "T.exp(X[vi, vj] * M[vi])"),
            "X[vi, vj] * m in terms of S is not a product of something with what M alone decides (m)");
  EXPECT_EQ(why("X[vi, vj]", "T.if_then_else(vj < 3, T.exp(X[vi, vj] - M[vi]), T.float32(1))"),
            "T.if_then_else(vj < 3, T.exp(X[vi, vj] - m), T.float32(1)) in terms of S is not a product of "
            "something with what M alone decides (m)");
  EXPECT_EQ(why("X[vi, vj]", "T.exp(X[vi, vj])"), "S does not read M");
  EXPECT_EQ(why("X[vi, vj]", "(X[vi, vj] - (M[vi] - M[vi]))"),
            "X[vi, vj] - (m - m) in terms of S is not a product of something with what M alone decides (m)");
}

TEST(RescaleReduction, RefusesExponentsThatTheMaximumDoesNotBound) {
  const auto why = [](const char* score, const char* weight) { return WhyNot(Attention(score, weight), kSums, 4); };
  const std::string unbounded = "M is not a maximum or minimum of what bounds the exponents with m (m) in S";
  EXPECT_EQ(why("X[vi, vj]", "T.exp(V[vj, 0] - M[vi])"), unbounded);
  EXPECT_EQ(why("X[vi, vj] * V[vj, 0]", "T.exp(X[vi, vj] - M[vi])"), unbounded);
  EXPECT_EQ(why("X[vi, vj]", "T.exp(M[vi] - X[vi, vj])"), unbounded);
  EXPECT_EQ(why("X[vi, vj]", "T.exp(X[vi, vj] * T.float32(2) - M[vi])"), unbounded);
  EXPECT_EQ(why("X[vi, vj]", "T.exp(X[vi, vj]) / T.exp(M[vi])"), unbounded);
}

TEST(RescaleReduction, RefusesOtherPlaces) {
  const Function program = Attention("X[vi, vj]", "T.exp(X[vi, vj] - M[vi])");
  const auto loops = [&](const char* block) { return LoopsAbove(program, BlockId(program, block)); };
  const auto why = [&](const std::vector<uint32_t>& named) {
    Outcome<RescaleReductionResult> result = RescaleReduction(program, named);
    return result.ok() ? "accepted" : ReasonText(result.refusal(), program);
  };
  EXPECT_EQ(why({loops("M")[1]}), "no block is named that reads what M reduces");
  EXPECT_EQ(why({loops("S")[1], loops("M")[1]}), "M does not come after S");
  EXPECT_EQ(why({loops("M")[1], loops("O")[2]}),
            "j and the loops around it do not have the extents of j and the loops around that");
  EXPECT_EQ(why({loops("M")[0], loops("S")[0]}), "i takes part in spatial iterators of M");
}

}  // namespace
}  // namespace tilewright
