// Blocks that are scheduled one by one, and whose outermost loops become one where they may.
#include <gtest/gtest.h>

#include <string>
#include <utility>
#include <vector>

#include "absl/strings/str_cat.h"
#include "absl/strings/substitute.h"
#include "autoschedule/program/top_nests.h"
#include "autoschedule/sketch/auto_schedule.h"
#include "autoschedule/sketch/join_nests.h"
#include "codegen/testing/equivalence.h"
#include "intrin/registry.h"
#include "ir/functor.h"
#include "ir/script/parse_or_die.h"
#include "ir/script/printer.h"

namespace tilewright {
namespace {

constexpr const char* kTarget = "x86-znver3";

// A product of rows of X, of `columns` columns.
std::string Product(const std::string& name, const std::string& x, const std::string& weights, const std::string& rows,
                    int depth, int columns) {
  return absl::Substitute(R"(
    for i, j, k in T.grid($0, $1, $2):
        with T.block("$3"):
            vi, vj, vk = T.axis.remap("SSR", [i, j, k])
            with T.init():
                $3[vi, vj] = T.float32(0)
            $3[vi, vj] = $3[vi, vj] + $4[vi, vk] * $5[vk, vj])",
                          rows, columns, depth, name, x, weights);
}

constexpr const char* kSymbolicRows = R"(
    n = T.int64()
    T.func_attr({"tilewright.likely_sizes": {"n": [96]}}))";

// Three products of one input.
Function Products(const std::string& rows, int depth, int columns) {
  return ParseFunctionOrDie(absl::Substitute(R"(
@T.prim_func
def main(x: T.handle, U: T.Buffer(($1, $2), "float32"), V: T.Buffer(($1, $2), "float32"),
         W: T.Buffer(($1, $2), "float32"), q: T.handle, k: T.handle, v: T.handle):$3
    X = T.match_buffer(x, ($0, $1), "float32")
    Q = T.match_buffer(q, ($0, $2), "float32")
    K = T.match_buffer(k, ($0, $2), "float32")
    Z = T.match_buffer(v, ($0, $2), "float32"))",
                                             rows, depth, columns, rows == "n" ? kSymbolicRows : "") +
                            Product("Q", "X", "U", rows, depth, columns) +
                            Product("K", "X", "V", rows, depth, columns) +
                            Product("Z", "X", "W", rows, depth, columns));
}

AutoScheduled Scheduled(const Function& program, Choices& choices) {
  IntrinRegistry intrins = IntrinRegistry::Builtin();
  AutoScheduled result = AutoSchedule(Module(program), *NamedTarget(kTarget), &intrins, choices);
  EXPECT_TRUE(result.left_alone.empty());
  return result;
}

AutoScheduled Scheduled(const Function& program) {
  Choices preferred = Choices::Preferred();
  return Scheduled(program, preferred);
}

int Nests(const AutoScheduled& scheduled) { return CountTopNests(scheduled.schedule.module().Main()); }

void ExpectRight(const AutoScheduled& scheduled, const Function& program, int64_t rows) {
  const Module& module = scheduled.schedule.module();
  const testing::ComparisonOptions options = {
      .original = program, .tolerance = 1e-3, .variables = {rows}, .parallel = true};
  EXPECT_EQ(testing::CompareWithInterpreter(module, options), "") << Print(module);
}

TEST(Nests, ProductsOfOneInputAreOneLoop) {
  for (const std::string rows : {"96", "41", "n"}) {
    const Function program = Products(rows, 256, 24);
    const AutoScheduled together = Scheduled(program);
    EXPECT_EQ(Nests(together), 1) << rows << Print(together.schedule.module());
    for (const int64_t n : {1, 41, 100}) {
      if (rows == "n" || n == 41) ExpectRight(together, program, n);
    }
  }
}

TEST(Nests, AreAChoice) {
  const Function program = Products("96", 256, 24);
  Choices preferred = Choices::Preferred();
  Scheduled(program, preferred);
  std::vector<Choice> made;
  for (const Choice& choice : preferred.made()) {
    if (choice.name.ends_with(".nests")) made.push_back(Choice::Of(choice.name, "apart"));
  }
  EXPECT_EQ(made.size(), 2);
  Choices given = Choices::GivenOrPreferred(made);
  const AutoScheduled apart = Scheduled(program, given);
  EXPECT_EQ(Nests(apart), 3);
  ExpectRight(apart, program, 1);
}

// Rows of the second product need all rows of the first one, and its columns all columns.
TEST(Nests, StayApartWhereIterationsNeedEachOther) {
  const Function program =
      ParseFunctionOrDie(R"(
@T.prim_func
def main(X: T.Buffer((64, 64), "float32"), Y: T.Buffer((64, 64), "float32"), A: T.Buffer((64, 64), "float32"),
         B: T.Buffer((64, 64), "float32")):)" +
                         Product("A", "X", "Y", "64", 64, 64) + Product("B", "A", "A", "64", 64, 64));
  const AutoScheduled scheduled = Scheduled(program);
  EXPECT_EQ(Nests(scheduled), 2) << Print(scheduled.schedule.module());
  ExpectRight(scheduled, program, 1);
}

// A chain of products, of which each row needs one row of the product before: its nests grow up to a size.
TEST(Nests, OfLongChainsAreShort) {
  constexpr int kProducts = 18;
  const auto name = [](int k) { return k + 1 == kProducts ? "C" : absl::StrCat("T", k); };
  std::string text = R"(
@T.prim_func
def main(X: T.Buffer((48, 24), "float32"), W: T.Buffer((24, 24), "float32"), C: T.Buffer((48, 24), "float32")):)";
  for (int k = 0; k + 1 < kProducts; ++k) text += absl::StrCat("\n    ", name(k), " = T.alloc_buffer((48, 24))");
  for (int k = 0; k < kProducts; ++k) text += Product(name(k), k == 0 ? "X" : name(k - 1), "W", "48", 24, 24);
  const Function program = ParseFunctionOrDie(text);
  const AutoScheduled scheduled = Scheduled(program);
  const Function function = scheduled.schedule.module().Main();
  const auto* list = dyn_cast<SeqNode>(cast<BlockRealizeNode>(function->body)->block->body);
  ASSERT_NE(list, nullptr);
  const auto blocks_in = [](const Stmt& nest) {
    size_t blocks = 0;
    PreOrder(nest, [&](const Stmt& stmt) {
      blocks += isa<BlockRealizeNode>(stmt) ? 1 : 0;
      return !isa<BlockRealizeNode>(stmt);
    });
    return blocks;
  };
  // The first nest is as long as it may be: another product does not fit.
  const size_t blocks = blocks_in(list->stmts[0]);
  EXPECT_LE(blocks, kMostJoinedBlocks);
  EXPECT_GT(blocks, kMostJoinedBlocks * 3 / 4);
  for (const Stmt& nest : list->stmts) EXPECT_LE(blocks_in(nest), blocks);
  ExpectRight(scheduled, program, 1);
}

// Statistics of columns: sums and maxima by vectors of columns.
TEST(Nests, ReductionsOfTheSameColumnsAreOneLoop) {
  for (const auto& [rows, columns] : {std::pair(96, 256), {33, 129}, {7, 37}}) {
    const Function program = ParseFunctionOrDie(absl::Substitute(R"(
@T.prim_func
def main(X: T.Buffer(($0, $1), "float32"), M: T.Buffer(($1,), "float32"), S: T.Buffer(($1,), "float32"),
         Q: T.Buffer(($1,), "float32")):
    for j, i in T.grid($1, $0):
        with T.block("M"):
            vj, vi = T.axis.remap("SR", [j, i])
            with T.init():
                M[vj] = T.float32("-inf")
            M[vj] = T.max(M[vj], X[vi, vj])
    for j, i in T.grid($1, $0):
        with T.block("S"):
            vj, vi = T.axis.remap("SR", [j, i])
            with T.init():
                S[vj] = T.float32(0)
            S[vj] = S[vj] + X[vi, vj]
    for j, i in T.grid($1, $0):
        with T.block("Q"):
            vj, vi = T.axis.remap("SR", [j, i])
            with T.init():
                Q[vj] = T.float32(0)
            Q[vj] = Q[vj] + X[vi, vj] * X[vi, vj]
)",
                                                                 rows, columns));
    const AutoScheduled scheduled = Scheduled(program);
    // Few elements gain nothing: one core has all of them.
    if (rows * columns > 1000) EXPECT_EQ(Nests(scheduled), 1) << Print(scheduled.schedule.module());
    ExpectRight(scheduled, program, 1);
  }
}

}  // namespace
}  // namespace tilewright
