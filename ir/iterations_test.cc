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

constexpr char kCopy[] = R"(
@T.prim_func
def main(A: T.Buffer((8,), "float32"), B: T.Buffer((8,), "float32")):
    for i in range(8):
        B[i] = A[i]
)";

TEST(CountNodes, CountsWhatIsWritten) {
  const Function once = ParseFunctionOrDie(kCopy);
  // The loop with its two bounds, the store with its index, and the load with its own.
  EXPECT_EQ(CountNodes(once), 7);
  EXPECT_EQ(CountNodes(Module(once)), 7);
  const Stmt twice = Sequence({once->body, once->body});
  EXPECT_EQ(CountNodes(twice), 15);  // shared parts count as often as they stand there
}

TEST(NodesVisited, CountsTheWorkOfPasses) {
  const Function function = ParseFunctionOrDie(kCopy);
  const int64_t before = NodesVisited();
  CountNodes(function);
  EXPECT_EQ(NodesVisited() - before, 7);
}

}  // namespace
}  // namespace tilewright
