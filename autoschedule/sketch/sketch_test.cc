// What sketches are told of a block's surroundings.
#include "autoschedule/sketch/sketch.h"

#include <gtest/gtest.h>

#include <vector>

#include "ir/script/parse_or_die.h"

namespace tilewright {
namespace {

// B and C are in one loop, D in a loop and E in none.
constexpr char kBlocks[] = R"(
@T.prim_func
def main(A: T.Buffer((8,), "float32"), B: T.Buffer((8,), "float32"), C: T.Buffer((8,), "float32"), D: T.Buffer((8,), "float32"), E: T.Buffer((8,), "float32")):
    for i in range(8):
        with T.block("B"):
            v = T.axis.spatial(8, i)
            B[v] = A[v]
        with T.block("C"):
            v = T.axis.spatial(8, i)
            C[v] = A[v]
    for i in range(8):
        with T.block("D"):
            v = T.axis.spatial(8, i)
            D[v] = A[v]
    with T.block("E"):
        E[0] = A[0]
)";

TEST(SketchContext, KnowsBlocksThatShareLoops) {
  const Function function = ParseFunctionOrDie(kBlocks);
  const Target target = *NamedTarget("x86-znver4");
  const BlockScope scope = BlockScope::Of(cast<BlockRealizeNode>(function->body)->block.get());
  std::vector<bool> shares;
  for (const ScopeChild& child : scope.children()) {
    shares.push_back(SketchContext{target, nullptr, scope, child, {}}.SharesLoops());
  }
  EXPECT_EQ(shares, (std::vector<bool>{true, true, false, false}));
}

}  // namespace
}  // namespace tilewright
