#include "verify/regions/steps.h"

#include <gtest/gtest.h>

#include "ir/functor.h"
#include "ir/script/parse_or_die.h"

namespace tilewright {
namespace {

TEST(Steps, BlocksAndStoresWithWhatStandsAround) {
  const Function function = ParseFunctionOrDie(R"(
@T.prim_func
def main(A: T.Buffer((8,), "int32"), C: T.Buffer((8,), "int32")):
    with T.block("scope"):
        T.reads(A[0:8])
        T.writes(C[0:8])
        s = T.alloc_buffer((1,), "int32")
        s[0] = A[0]
        while s[0] < 4:
            for i in range(8):
                if i < 4:
                    with T.block("C"):
                        vi = T.axis.spatial(8, i)
                        C[vi] = A[vi] + s[0]
                else:
                    C[i] = 0
            s[0] = s[0] + 1
)");
  const BlockNode* scope = nullptr;
  PreOrder(function->body, [&](const Stmt& s) {
    const auto* realize = dyn_cast<BlockRealizeNode>(s);
    if (realize != nullptr && realize->block->name == "scope") scope = realize->block.get();
    return true;
  });
  std::vector<Stmt> kept;
  const Steps steps = Steps::Of(scope, &kept);
  ASSERT_EQ(steps.steps().size(), 4u);
  const Step &first = steps.steps()[0], &block = steps.steps()[1], &other = steps.steps()[2], &last = steps.steps()[3];
  EXPECT_TRUE(first.is_store);
  EXPECT_TRUE(first.conditions.empty());
  EXPECT_FALSE(block.is_store);
  EXPECT_EQ(block.loops.size(), 1u);
  ASSERT_EQ(block.conditions.size(), 2u);
  EXPECT_FALSE(block.conditions[0].holds);  // how often a `while` runs is not known
  EXPECT_TRUE(block.conditions[1].holds);
  EXPECT_TRUE(other.conditions[1].is_else);
  EXPECT_EQ(CommonConditions(block, other), 1u);
  EXPECT_EQ(CommonConditions(block, last), 1u);
  EXPECT_EQ(CommonConditions(block, first), 0u);

  const std::vector<Step> loads = LoadsOf(block, first.realize->block->writes[0].buffer, &kept);
  ASSERT_EQ(loads.size(), 1u);
  EXPECT_EQ(loads[0].id(), block.id());
  EXPECT_EQ(loads[0].conditions.size(), 2u);
}

}  // namespace
}  // namespace tilewright
