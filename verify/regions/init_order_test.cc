#include "verify/regions/init_order.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <random>
#include <set>

#include "absl/strings/str_replace.h"
#include "ir/script/parse_or_die.h"
#include "ir/script/printer.h"
#include "verify/structure/block_scope.h"
#include "verify/structure/instances.h"

namespace tilewright {
namespace {

using ::testing::StartsWith;

// C[vi] sums up, with these loops and bindings.
std::string Text(const std::string& loops, const std::string& grid, const std::string& spatial,
                 const std::string& reduce, const std::string& condition) {
  return R"(
@T.prim_func
def main(A: T.Buffer((64, 64), "float32"), C: T.Buffer((64,), "float32")):
    for )" +
         loops + " in T.grid(" + grid + R"():
        with T.block("C"):
            vi = T.axis.spatial(64, )" +
         spatial + R"()
            vk = T.axis.reduce(64, )" +
         reduce + R"()
            T.where()" +
         condition + R"()
            with T.init():
                C[vi] = T.float32(0)
            C[vi] = C[vi] + A[vi, vk]
)";
}
bool RunsFirst(const std::string& loops, const std::string& grid, const std::string& spatial, const std::string& reduce,
               const std::string& condition = "True") {
  const Diagnostics diagnostics = CheckInitOrder(ParseFunctionOrDie(Text(loops, grid, spatial, reduce, condition)));
  if (!diagnostics.empty()) {
    EXPECT_THAT(diagnostics[0].reason, StartsWith("block C may add to an element before its init has run"));
  }
  return diagnostics.empty();
}

TEST(InitOrder, LoopsThatBeginWithTheLeastValues) {
  EXPECT_TRUE(RunsFirst("i, k", "64, 64", "i", "k"));
  EXPECT_TRUE(RunsFirst("k, i", "64, 64", "i", "k"));
  EXPECT_TRUE(RunsFirst("i, a, b", "64, 8, 8", "i", "b * 8 + a"));
  EXPECT_TRUE(RunsFirst("i, a, b", "64, 8, 9", "i", "b * 8 + a", "b * 8 + a < 64"));
  EXPECT_FALSE(RunsFirst("i, k", "64, 64", "i", "63 - k"));
  EXPECT_FALSE(RunsFirst("i, k", "64, 1", "i", "k + 3"));
}

TEST(InitOrder, LoopsThatComeToThem) {
  EXPECT_TRUE(RunsFirst("i, k", "64, 72", "i", "k - 8", "8 <= k"));
  EXPECT_TRUE(RunsFirst("i, a, b", "64, 9, 8", "i", "a * 8 + b - 3", "3 <= a * 8 + b and a * 8 + b < 67"));
  EXPECT_FALSE(RunsFirst("i, b, a", "64, 8, 9", "i", "a * 8 + b - 3", "3 <= a * 8 + b and a * 8 + b < 67"));
}

TEST(InitOrder, LoopsThatSpatialIteratorsUseToo) {
  EXPECT_TRUE(RunsFirst("f", "4096", "f // 64", "f % 64"));
  EXPECT_TRUE(RunsFirst("a, b", "64, 64", "(a * 64 + b) // 64", "(a * 64 + b) % 64"));
  EXPECT_TRUE(RunsFirst("i, f", "2, 128", "i * 2 + f // 64", "f % 64", "i * 2 + f // 64 < 3"));
  EXPECT_FALSE(RunsFirst("f, i", "128, 2", "i * 2 + f // 64", "63 - f % 64"));
  // i = 1: a number with a larger remainder comes first.
  EXPECT_FALSE(RunsFirst("b, a", "3, 1366", "(a * 3 + b) // 64", "(a * 3 + b) % 64", "a * 3 + b < 4096"));
}

TEST(InitOrder, NamesTheConditionThatLeavesTheInitOut) {
  const auto reason = [](const std::string& reduce, const std::string& condition) {
    return CheckInitOrder(ParseFunctionOrDie(Text("i, k", "64, 64", "i", reduce, condition)))[0].reason;
  };
  EXPECT_EQ(reason("k", "i <= k"),
            "block C may add to an element before its init has run: the instance with the init may be left out by "
            "i <= k; a condition in the body or on the added value leaves the init in");
  EXPECT_EQ(reason("63 - k", "i <= k"), "block C may add to an element before its init has run");
}

TEST(InitOrder, PredicatesThatLeaveTheInitOut) {
  EXPECT_FALSE(RunsFirst("i, k", "64, 64", "i", "k", "3 <= k"));
  EXPECT_FALSE(RunsFirst("i, k", "64, 64", "i", "k", "k % 2 == 1"));
  EXPECT_FALSE(RunsFirst("i, k", "64, 64", "i", "k", "i < 3 or 0 < k"));
  // Too many to be counted.
  EXPECT_FALSE(RunsFirst("i, k, r", "64, 64, 100", "i", "k", "i < k"));
  EXPECT_TRUE(RunsFirst("i, k", "64, 64", "i", "k", "k % 2 == 0"));
  EXPECT_TRUE(RunsFirst("i, k", "64, 64", "i", "k", "k <= i and 3 <= i"));
  EXPECT_TRUE(RunsFirst("i, k", "64, 64", "i", "k", "i < 40 and k < 50"));
}

// Too many to be counted: the init of fused loops, split again.
TEST(InitOrder, DigitsThatLeaveTheInitOut) {
  const std::string row = "f // 64", term = "f % 64";
  EXPECT_TRUE(RunsFirst("f", "4096 * 64", row, term));
  EXPECT_TRUE(RunsFirst("f", "4096 * 64", row, term, "f < 200000"));
  EXPECT_FALSE(RunsFirst("f", "4096 * 64", row, term, "1 <= f % 64"));
  EXPECT_FALSE(RunsFirst("f", "4096 * 64", row, term, "1 <= f"));
  EXPECT_FALSE(RunsFirst("f", "4096 * 64", row, term, "f % 2 == 1"));
  EXPECT_FALSE(RunsFirst("f", "4096 * 64", row, term, "f != 64"));
  EXPECT_FALSE(RunsFirst("f", "4095 * 64", "(f + 1) // 64", "(f + 1) % 64"));
  EXPECT_FALSE(RunsFirst("f", "4096 * 32", "(f * 2 + 1) // 64", "(f * 2 + 1) % 64"));
  EXPECT_FALSE(RunsFirst("f", "4096 * 64", "f // 2", term));
  // A lesser number may have a greater b.
  const std::string number = "(a * 4 + b)";
  EXPECT_TRUE(RunsFirst("a, b", "30000, 4", number + " // 3", number + " % 3", number + " < 50000"));
  EXPECT_TRUE(RunsFirst("a, b", "30000, 4", number + " // 3", number + " % 3", "a < 100"));
  EXPECT_FALSE(RunsFirst("a, b", "30000, 4", number + " // 3", number + " % 3", "b < 1"));
  // Loops of other iterators, that the condition bounds too.
  EXPECT_TRUE(RunsFirst("i, f", "30000, 128", "i * 2 + f // 64", "f % 64", "i < 20000 and f < 100"));
  EXPECT_FALSE(RunsFirst("i, f", "30000, 128", "i * 2 + f // 64", "f % 64", "i + f % 64 != 0"));
}

// Drawn at random: where the init is said to run first, it does, counted.
TEST(InitOrder, WhatRunsFirstDoesSoCounted) {
  std::mt19937 random(2027);
  const auto below = [&](size_t n) { return random() % n; };
  const auto one_of = [&](std::vector<std::string> texts) { return texts[below(texts.size())]; };
  int64_t first = 0;
  for (int round = 0; round < 1500; ++round) {
    const auto extent = [&] { return std::to_string(1 + below(6)); };
    const std::string number =
        one_of({"a", "(a * 4 + b)", "(a * 3 + b)", "(a * 2 + b + c)", "(a * 4 + b + 1)", "(b * 6 + c)"});
    const std::string by = one_of({"2", "3", "4"});
    const std::string spatial =
        one_of({number + " // " + by, number + " // " + by + " * 3 + c", number + " // 2", "c", "b"});
    const std::string reduce = one_of({number + " % " + by, number + " % 3", number + " // 6", "c", "b * 2 + c"});
    const std::string condition = one_of({"True", number + " < 5", "b < 2", "a + c < 3", "1 <= " + number, "c != 1",
                                          "a < 2", number + " % 2 < 1", "b <= a"});
    const Function function =
        ParseFunctionOrDie(Text("a, b, c", extent() + ", " + extent() + ", " + extent(), spatial, reduce, condition));
    const BlockScope scope = BlockScope::Of(cast<BlockRealizeNode>(function->body)->block.get());
    const auto& [realize, loops] = scope.children()[0];
    if (!InitRunsFirst(*realize, loops)) continue;
    ++first;
    arith::Domain domain;
    for (const ForNode* loop : loops) domain.push_back({loop->var, {loop->min, loop->extent}});
    const auto instances = InstancesInOrder(domain, realize->predicate, realize->bindings);
    ASSERT_TRUE(instances);
    std::set<int64_t> begun;
    for (const InstanceValues& values : *instances) {
      ASSERT_TRUE(!begun.insert(values[0]).second || values[1] == 0) << round << "\n" << Print(function);
    }
  }
  EXPECT_GT(first, 300);
}

// What is not a digit of a number that counts up is counted where it is little.
TEST(InitOrder, FewInstancesAreCounted) {
  const std::string condition = "f // 2 % 2 * 2 + (f % 2 + b) < 3";
  EXPECT_TRUE(RunsFirst("f, b", "32, 1", "f // 4", "b + f % 4", condition));
  EXPECT_TRUE(RunsFirst("f, b", "32, 1", "f // 4", "(b + f % 4) * 3 % 4", condition));
  EXPECT_FALSE(RunsFirst("f, b", "32, 1", "f // 4", "(b + f % 4) * 3 % 4 - 1", condition + " and f % 4 > 0"));
  EXPECT_FALSE(RunsFirst("f, b", "32, 1", "f // 4", "(b + f % 4) * 3 % 4", condition + " and f % 4 > 0"));
}

constexpr char kSymbolic[] = R"(
@T.prim_func
def main(A: T.Buffer((m, k), "float32"), C: T.Buffer((m, 6), "float32"), m: T.int32, k: T.int32):
    for GRID:
        with T.block("C"):
            vi = T.axis.spatial(m, SPATIAL)
            vj = T.axis.spatial(6, OTHER)
            vk = T.axis.reduce(k, REDUCE)
            T.where(CONDITION)
            with T.init():
                C[vi, vj] = T.float32(0)
            C[vi, vj] = C[vi, vj] + A[vi, vk]
)";
bool RunsFirstIn(const std::string& grid, const std::string& spatial, const std::string& other,
                 const std::string& reduce, const std::string& condition = "True") {
  const std::string text = absl::StrReplaceAll(
      kSymbolic,
      {{"GRID", grid}, {"SPATIAL", spatial}, {"OTHER", other}, {"REDUCE", reduce}, {"CONDITION", condition}});
  return CheckInitOrder(ParseFunctionOrDie(text)).empty();
}

TEST(InitOrder, DigitsBySymbolicSizes) {
  EXPECT_TRUE(RunsFirstIn("f in range(m * 6 * k)", "f // k // 6", "f // k % 6", "f % k"));
  EXPECT_FALSE(RunsFirstIn("f in range(m * 6 * k)", "f // k // 6", "f // k % 6", "k - 1 - f % k"));
  // The reduction is the highest digit.
  EXPECT_TRUE(RunsFirstIn("f in range(m * 6 * k)", "f // 6 % m", "f % 6", "f // 6 // m"));
  const std::string half = "(f * 2 + g)";
  const auto split = [&](const std::string& condition) {
    return RunsFirstIn("f, g in T.grid((m * 6 * k + 1) // 2, 2)", half + " // k // 6", half + " // k % 6",
                       half + " % k", condition);
  };
  EXPECT_TRUE(split(half + " < m * 6 * k"));
  EXPECT_FALSE(split("1 <= " + half));
  EXPECT_FALSE(split(half + " % k < k and 1 <= " + half + " % k"));
  const std::string tiles = "i, a, f in T.grid(2, (m + 5) // 6, k * 18)";
  const std::string row = "(i * ((m + 5) // 6) + a) * 3 + f // k // 6";
  EXPECT_TRUE(RunsFirstIn(tiles, row, "f // k % 6", "f % k", row + " < m"));
  EXPECT_FALSE(RunsFirstIn(tiles, row, "f // k % 6", "f % k", "1 <= f % k"));
}

}  // namespace
}  // namespace tilewright
