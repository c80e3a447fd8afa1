#include "schedule/reduction/rescale_reduction.h"

#include <gtest/gtest.h>

#include <string>
#include <string_view>
#include <vector>

#include "ir/script/parse_or_die.h"
#include "ir/script/printer.h"
#include "schedule/loops/reorder.h"
#include "schedule/loops/split.h"
#include "schedule/program/loop_tree.h"
#include "schedule/reduction/testing/rescaled.h"
#include "schedule/testing/equivalence.h"
#include "schedule/testing/expect.h"
#include "verify/verify.h"

namespace tilewright {
namespace {

using testing::Attention;
using testing::BlockId;
using testing::ExpectContains;
using testing::kMaxRescaleError;
using testing::kSums;
using testing::Part;
using testing::ReasonText;
using testing::Replaced;
using testing::Rescaled;
using testing::SameResults;
using testing::SplitAll;

std::string WhyNot(const Function& program, const std::vector<Part>& parts, int by) {
  std::vector<uint32_t> loops;
  const Function before = SplitAll(program, parts, by, &loops);
  Outcome<RescaleReductionResult> result = RescaleReduction(before, loops);
  return result.ok() ? "accepted" : ReasonText(result.refusal(), before);
}

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
  EXPECT_TRUE(SameResults(program, result->function, {.max_error = kMaxRescaleError})) << Print(result->function);
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
    for (uint64_t seed : {1, 2, 3, 4})
      noticed |= !SameResults(program, wrong, {.seed = seed, .max_error = kMaxRescaleError});
    EXPECT_TRUE(noticed) << Print(wrong);
  }
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
