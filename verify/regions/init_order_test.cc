#include "verify/regions/init_order.h"

#include <gtest/gtest.h>

#include "ir/script/parse_or_die.h"

namespace tilewright {
namespace {

// C[vi] sums up, with these loops and bindings.
bool RunsFirst(const std::string& loops, const std::string& grid, const std::string& spatial, const std::string& reduce,
               const std::string& condition = "True") {
  const Diagnostics diagnostics = CheckInitOrder(ParseFunctionOrDie(R"(
@T.prim_func
def main(A: T.Buffer((64, 64), "float32"), C: T.Buffer((64,), "float32")):
    for )" + loops + " in T.grid(" + grid + R"():
        with T.block("C"):
            vi = T.axis.spatial(64, )" + spatial + R"()
            vk = T.axis.reduce(64, )" + reduce + R"()
            T.where()" + condition + R"()
            with T.init():
                C[vi] = T.float32(0)
            C[vi] = C[vi] + A[vi, vk]
)"));
  if (!diagnostics.empty()) {
    EXPECT_EQ(diagnostics[0].reason, "block C may add to an element before its init has run");
  }
  return diagnostics.empty();
}

TEST(InitOrder, LoopsThatBeginWithTheLeastValues) {
  EXPECT_TRUE(RunsFirst("i, k", "64, 64", "i", "k"));
  EXPECT_TRUE(RunsFirst("k, i", "64, 64", "i", "k"));
  EXPECT_TRUE(RunsFirst("i, a, b", "64, 8, 8", "i", "b * 8 + a"));
  EXPECT_TRUE(RunsFirst("i, a, b", "64, 8, 9", "i", "b * 8 + a", "b * 8 + a < 64"));
  EXPECT_FALSE(RunsFirst("i, k", "64, 64", "i", "63 - k"));
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

}  // namespace
}  // namespace tilewright
