#include "ir/iterations.h"

#include <gtest/gtest.h>

#include "ir/script/parse_or_die.h"
#include "ir/script/printer.h"

namespace tilewright {
namespace {

std::string Count(const std::string& body) {
  const Function function = ParseFunctionOrDie(R"(
@T.prim_func
def main(a: T.handle, n: T.int64, m: T.int64):
    k = T.int64()
    A = T.match_buffer(a, (k,), "float32")
)" + body);
  return Print(StatementIterations(function->body));
}

TEST(StatementIterations, AreProductsOfExtentsAndSumsOfStatements) {
  EXPECT_EQ(Count(R"(
    for i in T.parallel(n):
        for j in range(64):
            A[i] = T.float32(j)
        for j in range(m):
            A[i] = T.float32(2)
)"),
            "n * (T.int64(64) + m)");
}

TEST(StatementIterations, BothBranchesCountAndWhatDependsOnTheInsideCountsOnce) {
  EXPECT_EQ(Count(R"(
    for i in range(n):
        if i < m:
            A[i] = T.float32(0)
        else:
            A[i] = T.float32(1)
        for j in range(i + T.int64(1)):
            A[j] = T.float32(2)
)"),
            "n * T.int64(3)");
}

TEST(StatementIterations, BlocksAreEntered) {
  EXPECT_EQ(Count(R"(
    for i, j in T.grid(k, 8):
        with T.block("A"):
            vi, vj = T.axis.remap("SS", [i, j])
            A[vi] = T.float32(vj)
)"),
            "k * T.int64(8)");
}

}  // namespace
}  // namespace tilewright
