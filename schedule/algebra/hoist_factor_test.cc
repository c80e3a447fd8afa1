#include "schedule/algebra/hoist_factor.h"

#include <gtest/gtest.h>

#include <string>
#include <string_view>
#include <variant>

#include "absl/strings/str_replace.h"
#include "ir/script/parse_or_die.h"
#include "ir/script/printer.h"
#include "schedule/algebra/value_factors.h"
#include "schedule/program/loop_tree.h"
#include "schedule/testing/equivalence.h"
#include "schedule/testing/expect.h"

namespace tilewright {
namespace {

Function Weighted(std::string_view term) {
  return ParseFunctionOrDie(R"(
@T.prim_func
def main(S: T.Buffer((6,), "float32"), P: T.Buffer((6, 9), "float32"), V: T.Buffer((9, 4), "float32"), O: T.Buffer((6, 4), "float32")):
    for i, d, j in T.grid(6, 4, 9):
        with T.block("O"):
            vi, vd, vj = T.axis.remap("SSR", [i, d, j])
            T.reads(S[vi], P[vi, vj], V[vj, vd])
            T.writes(O[vi, vd])
            with T.init():
                O[vi, vd] = T.float32(0)
            O[vi, vd] = O[vi, vd] + )" +
                            std::string(term) + "\n");
}

TEST(HoistFactor, DividesTheSum) {
  const struct {
    const char *term, *rest, *result;
  } cases[] = {
      {"P[vi, vj] / (S[vi] * S[vi] + T.float32(1)) * V[vj, vd]", "O_sum[vi, vd] + P[vi, vj] * V[vj, vd]",
       "O_sum[v0, v1] / (S[v0] * S[v0] + T.float32(1))"},
      {"P[vi, vj] * V[vj, vd] / T.exp(T.float32(1)) / T.max(S[vi], T.float32(2))",
       "O_sum[vi, vd] + P[vi, vj] * V[vj, vd] / T.exp(T.float32(1))", "O_sum[v0, v1] / T.max(S[v0], T.float32(2))"},
      {"S[vi] * P[vi, vj]", "O_sum[vi, vd] + P[vi, vj]", "O_sum[v0, v1] * S[v0]"},
      {"P[vi, vj] * T.sqrt(S[vi] * S[vi])", "O_sum[vi, vd] + P[vi, vj]", "O_sum[v0, v1] * T.sqrt(S[v0] * S[v0])"},
      {"T.if_then_else(vj < 3, P[vi, vj] * S[vi], T.float32(0))",
       "O_sum[vi, vd] + T.if_then_else(vj < 3, P[vi, vj], T.float32(0))", "O_sum[v0, v1] * S[v0]"},
      {"T.Select(S[vi] == T.float32(0), T.float32(0), P[vi, vj] / S[vi]) * V[vj, vd]",
       "O_sum[vi, vd] + P[vi, vj] * V[vj, vd]",
       "O_sum[v0, v1] * T.Select(S[v0] == T.float32(0), T.float32(0), T.float32(1) / S[v0])"},
      {"(P[vi, vj] * S[vi] - S[vi] * V[vj, vd])", "O_sum[vi, vd] + (P[vi, vj] - V[vj, vd])", "O_sum[v0, v1] * S[v0]"},
  };
  for (const auto& [term, rest, result] : cases) {
    SCOPED_TRACE(term);
    const Function before = Weighted(term);
    const uint32_t block = BlocksNamed(before, "O")[0]->block->id;
    Outcome<HoistFactorResult> hoisted = HoistFactor(before, block, 0);
    ASSERT_TRUE(hoisted.ok()) << testing::ReasonText(hoisted.refusal(), before);
    const Function& after = hoisted->function;
    testing::ExpectContains(after, std::string("O_sum[vi, vd] = ") + rest);
    testing::ExpectContains(after, std::string("O[v0, v1] = ") + result);
    EXPECT_EQ(FindBlock(after, block)->block->name, "O");
    EXPECT_EQ(FindBlock(after, hoisted->block)->block->name, "O_scaled");
    for (uint64_t seed : {1, 2, 3}) testing::ExpectEquivalent(before, after, {.seed = seed, .max_error = 1e-4});
  }
}

// A batch of one: the sum is kept without that dimension.
TEST(HoistFactor, SumsMayStandAtConstantIndices) {
  const Function before = ParseFunctionOrDie(R"(
@T.prim_func
def main(S: T.Buffer((6,), "float32"), P: T.Buffer((6, 9), "float32"), O: T.Buffer((1, 6), "float32")):
    for i, j in T.grid(6, 9):
        with T.block("O"):
            vi, vj = T.axis.remap("SR", [i, j])
            with T.init():
                O[0, vi] = T.float32(0)
            O[0, vi] = O[0, vi] + P[vi, vj] * S[vi]
)");
  Outcome<HoistFactorResult> hoisted = HoistFactor(before, BlocksNamed(before, "O")[0]->block->id, 1);
  ASSERT_TRUE(hoisted.ok()) << testing::ReasonText(hoisted.refusal(), before);
  testing::ExpectContains(hoisted->function, "O_sum[vi] = O_sum[vi] + P[vi, vj]");
  testing::ExpectContains(hoisted->function, "O[0, v0] = O_sum[v0] * S[v0]");
  testing::ExpectEquivalent(before, hoisted->function, {.seed = 1, .max_error = 1e-4});
}

// Rows of attention in themselves: as many results as terms.
Function WeightedRows(std::string_view terms) {
  return ParseFunctionOrDie(absl::StrReplaceAll(R"(
@T.prim_func
def main(s: T.handle, p: T.handle, o: T.handle):
    n = T.int64()
    k = T.int64()
    S = T.match_buffer(s, (n,))
    P = T.match_buffer(p, (n, TERMS))
    O = T.match_buffer(o, (n,))
    for i, j in T.grid(n, TERMS):
        with T.block("O"):
            vi, vj = T.axis.remap("SR", [i, j])
            T.reads(S[vi], P[vi, vj])
            T.writes(O[vi])
            with T.init():
                O[vi] = T.float32(0)
            O[vi] = O[vi] + P[vi, vj] / (S[vi] * S[vi] + T.float32(1))
)",
                                                {{"TERMS", std::string(terms)}}));
}

TEST(HoistFactor, SymbolicSumsHaveTermsWhereThereAreResults) {
  const Function before = WeightedRows("n");
  Outcome<HoistFactorResult> hoisted = HoistFactor(before, BlocksNamed(before, "O")[0]->block->id, 0);
  ASSERT_TRUE(hoisted.ok()) << testing::ReasonText(hoisted.refusal(), before);
  testing::ExpectContains(hoisted->function, "O_sum[vi] = O_sum[vi] + P[vi, vj]");
  for (int64_t n : {0, 1, 5}) {
    testing::ExpectEquivalent(before, hoisted->function, {.dims = {{"n", n}}, .max_error = 1e-4});
  }
}

// Zero by whatever the factor is may be no number.
TEST(HoistFactor, RefusesSumsThatMayHaveNoTerms) {
  const Function before = WeightedRows("k");
  Outcome<HoistFactorResult> hoisted = HoistFactor(before, BlocksNamed(before, "O")[0]->block->id, 0);
  ASSERT_FALSE(hoisted.ok());
  EXPECT_EQ(testing::ReasonText(hoisted.refusal(), before), "the sum of O may have no terms");
}

TEST(HoistFactor, RefusesSumsAtComputedIndices) {
  const Function before = ParseFunctionOrDie(R"(
@T.prim_func
def main(S: T.Buffer((6,), "float32"), P: T.Buffer((6, 9), "float32"), O: T.Buffer((7,), "float32")):
    for i, j in T.grid(6, 9):
        with T.block("O"):
            vi, vj = T.axis.remap("SR", [i, j])
            with T.init():
                O[vi + 1] = T.float32(0)
            O[vi + 1] = O[vi + 1] + P[vi, vj] * S[vi]
)");
  Outcome<HoistFactorResult> hoisted = HoistFactor(before, BlocksNamed(before, "O")[0]->block->id, 1);
  ASSERT_FALSE(hoisted.ok());
  EXPECT_EQ(testing::ReasonText(hoisted.refusal(), before),
            "O does not store at its spatial iterators, each one index and from 0, or at constants, and add up "
            "along others");
}

TEST(HoistFactor, RefusesSumsWithOtherTerms) {
  const Function before = Weighted("(P[vi, vj] + S[vi])");
  Outcome<HoistFactorResult> hoisted = HoistFactor(before, BlocksNamed(before, "O")[0]->block->id, 0);
  ASSERT_FALSE(hoisted.ok());
  EXPECT_EQ(testing::ReasonText(hoisted.refusal(), before),
            "P[vi, vj] + m in terms of O is not a product of something with what S alone decides (m)");
}

TEST(ValueFactors, InvertsWhatItFinds) {
  const Var m("m", DataType::Float(32)), x("x", DataType::Float(32));
  const auto factor_of = [&](const Expr& value) {
    auto found = FactorOut(value, m, [&](const Expr& e) { return !e.same_as(x) && !isa<LoadNode>(e); });
    EXPECT_TRUE(std::holds_alternative<FactoredValue>(found));
    return std::get<FactoredValue>(found).factor;
  };
  const ValueFactor shifted = factor_of(Call(m.dtype(), "exp", {x - m}));
  EXPECT_EQ(InvertibleAt(shifted, m), 0);
  EXPECT_EQ(Print(FactorRatio(shifted, m, ConstFloat(m.dtype(), 3), ConstFloat(m.dtype(), 5), m.dtype())),
            "T.exp(T.Sub(T.float32(3), T.float32(5)))");
  const ValueFactor norm = factor_of(Div(x, Call(m.dtype(), "sqrt", {m})));
  EXPECT_EQ(InvertibleAt(norm, m), 1);
  EXPECT_EQ(Print(IsInvertible(norm, m, ConstFloat(m.dtype(), 4))),
            "T.isfinite(T.sqrt(T.float32(4))) and T.sqrt(T.float32(4)) != T.float32(0)");
  EXPECT_FALSE(SameFactor(shifted, norm));
}

}  // namespace
}  // namespace tilewright
