#include "schedule/program/self_contained.h"

#include <gtest/gtest.h>

#include <string>

#include "ir/script/parse_or_die.h"
#include "schedule/program/loop_tree.h"

namespace tilewright {
namespace {

// The template of the refusal for the loop that is named x, with `Y` reading T at `place`; empty when there is none.
std::string WhyNot(const std::string& place) {
  const Function f = ParseFunctionOrDie(R"(
@T.prim_func
def f(A: T.Buffer((64,), "float32"), B: T.Buffer((64,), "float32")):
    T_ = T.alloc_buffer((72,))
    for x in range(64):
        with T.block("X"):
            v = T.axis.spatial(64, x)
            T_[v] = A[v]
        with T.block("Y"):
            v = T.axis.spatial(64, x)
            B[v] = T_[)" + place + R"(] * T.float32(2)
)");
  const std::vector<const BlockRealizeNode*> y = BlocksNamed(f, "Y");
  const uint32_t id = LoopsAbove(f, y.front()->block->id).front();
  const Path path = FindPath(f, id);
  const auto& loop = *cast<ForNode>(path.back());
  const std::optional<Refusal> refusal = WhyNotSelfContained("parallel", path, loop, loop);
  return refusal ? refusal->reason : "";
}

TEST(SelfContained, AllowsWhatTheIterationWrote) { EXPECT_EQ(WhyNot("v"), ""); }

TEST(SelfContained, RefusesWhatAnotherIterationWrote) {
  EXPECT_EQ(WhyNot("v + 1"),
            "{block1} may use elements of {text0} that {block2} writes in another iteration of {loop0}");
}

}  // namespace
}  // namespace tilewright
