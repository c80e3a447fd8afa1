#include "codegen/llvm/free_variables.h"

#include <gtest/gtest.h>

#include <string>

#include "ir/functor.h"
#include "ir/iterations.h"
#include "ir/script/parse_or_die.h"
#include "ir/structural.h"

namespace tilewright::codegen {
namespace {

// The statements of a program of loops and stores without blocks.
std::vector<Stmt> StatementsOf(const std::string& body) {
  const Function function = ParseFunctionOrDie(R"(@T.prim_func
def main(A: T.Buffer((64,), "float32"), B: T.Buffer((64,), "float32"), C: T.Buffer((64,), "float32"),
         D: T.Buffer((64,), "float32"), E: T.Buffer((64,), "float16"), n: T.int32, m: T.int32):
)" + body);
  std::vector<Stmt> stmts;
  PreOrder(function->body, [&](const Stmt& s) {
    const auto* list = dyn_cast<SeqNode>(s);
    if (list == nullptr || !stmts.empty()) return stmts.empty();
    stmts = list->stmts;
    return false;
  });
  return stmts;
}

std::vector<bool> HaveAlike(const std::string& body) {
  std::vector<bool> have;
  for (const uint64_t number : AlikeStatements(StatementsOf(body))) have.push_back(number != 0);
  return have;
}

TEST(AlikeStatements, BuffersAndVariablesMayDiffer) {
  const std::vector<Stmt> stmts = StatementsOf(R"(
    for i in range(64):
        B[i] = A[i] + C[i]
    for j in range(64):
        D[j] = C[j] + B[j]
    for i in range(n):
        A[i] = B[i]
    for i in range(m):
        C[i] = D[i]
)");
  const std::vector<uint64_t> numbers = AlikeStatements(stmts);
  ASSERT_EQ(numbers.size(), 4U);
  EXPECT_NE(numbers[0], 0U);
  EXPECT_EQ(numbers[0], numbers[1]);
  EXPECT_NE(numbers[2], 0U);
  EXPECT_EQ(numbers[2], numbers[3]);
  EXPECT_NE(numbers[0], numbers[2]);
  EXPECT_TRUE(StructuralEqual(stmts[0], stmts[1], /*map_free=*/true));
  EXPECT_TRUE(StructuralEqual(stmts[2], stmts[3], /*map_free=*/true));
}

TEST(AlikeStatements, NumbersTypesExtentsAndWhichBuffersAreTheSameCount) {
  const std::vector<bool> none(6, false);
  EXPECT_EQ(HaveAlike(R"(
    for i in range(64):
        B[i] = A[i] + C[i]
    for i in range(64):
        D[i] = A[i] + A[i]
    for i in range(63):
        D[i] = A[i] + C[i]
    for i in range(64):
        D[i] = A[i] + T.float32(1)
    for i in range(64):
        D[i] = A[i] + T.float32(2)
    for i in range(64):
        D[i] = A[i] + T.Cast("float32", E[i])
)"),
            none);
}

TEST(AlikeStatements, StatementsWithoutALoopAreShorterThanACall) {
  EXPECT_EQ(HaveAlike(R"(
    B[0] = A[0]
    D[0] = C[0]
    for i in range(64):
        B[i] = A[i]
    for i in range(64):
        D[i] = C[i]
)"),
            (std::vector<bool>{false, false, true, true}));
}

TEST(AlikeStatements, ShortOnesAreLeftOutWhereThatIsAskedFor) {
  const std::vector<Stmt> stmts = StatementsOf(R"(
    for i in range(64):
        B[i] = A[i] + C[i]
    for i in range(64):
        D[i] = C[i] + B[i]
    for i in range(64):
        B[i] = A[i]
    for i in range(64):
        D[i] = C[i]
)");
  const int64_t longer = CountNodes(stmts[0]);
  ASSERT_GT(longer, CountNodes(stmts[2]));
  const auto have_alike = [&](int64_t least_nodes) {
    std::vector<bool> have;
    for (const uint64_t number : AlikeStatements(stmts, least_nodes)) have.push_back(number != 0);
    return have;
  };
  EXPECT_EQ(have_alike(CountNodes(stmts[2])), std::vector<bool>(4, true));
  EXPECT_EQ(have_alike(longer), (std::vector<bool>{true, true, false, false}));
  EXPECT_EQ(have_alike(longer + 1), std::vector<bool>(4, false));
}

TEST(AlikeStatements, WhatSaysNamesIsNotShared) {
  EXPECT_EQ(HaveAlike(R"(
    for i in range(64):
        assert A[i] < T.float32(3), "too much"
        B[i] = A[i]
    for i in range(64):
        assert C[i] < T.float32(3), "too much"
        D[i] = C[i]
)"),
            (std::vector<bool>{false, false}));
}

}  // namespace
}  // namespace tilewright::codegen
