#include "verify/threads/thread_reductions.h"

#include <gtest/gtest.h>

#include <string>

#include "ir/script/parse_or_die.h"

namespace tilewright {
namespace {

// Rows of 32 elements, each summed by a block whose reduce iterator is `binding` of the loops.
std::string RowSums(const std::string& k_loop, const std::string& binding) {
  return R"(
@T.prim_func
def main(A: T.Buffer((8, 32), "float32"), B: T.Buffer((8,), "float32")):
    for i in T.thread_binding(8, thread="blockIdx.x"):
        for k in )" +
         k_loop + R"(:
            for j in range(4):
                with T.block("B"):
                    vi = T.axis.spatial(8, i)
                    vk = T.axis.reduce(32, )" +
         binding + R"()
                    with T.init():
                        B[vi] = T.float32(0)
                    B[vi] = B[vi] + A[vi, vk]
)";
}

std::vector<std::string> Reasons(const std::string& program) {
  std::vector<std::string> reasons;
  for (const Diagnostic& diagnostic : CheckThreadReductions(ParseFunctionOrDie(program))) {
    EXPECT_EQ(diagnostic.verdict, Verdict::kAssumed);
    reasons.push_back(diagnostic.reason);
  }
  return reasons;
}

TEST(ThreadReductions, NamesBlockIteratorAndThread) {
  const std::vector<std::string> expected = {
      "block B reduces over vk, which depends on threadIdx.y: code generation must combine what the threads computed"};
  EXPECT_EQ(Reasons(RowSums("T.thread_binding(8, thread=\"threadIdx.y\")", "k * 4 + j")), expected);
}

TEST(ThreadReductions, NothingToCombine) {
  EXPECT_TRUE(Reasons(RowSums("range(8)", "k * 4 + j")).empty());
  // Virtual threads run in turn.
  EXPECT_TRUE(Reasons(RowSums("T.thread_binding(8, thread=\"vthread.x\")", "k * 4 + j")).empty());
}

// The iterator of the inner block is bound to one of the outer block's.
TEST(ThreadReductions, ThroughBlocksAround) {
  const std::string program = R"(
@T.prim_func
def main(A: T.Buffer((8, 32), "float32"), B: T.Buffer((8,), "float32")):
    for i in range(8):
        for k in T.thread_binding(8, thread="threadIdx.x"):
            with T.block("outer"):
                vi = T.axis.spatial(8, i)
                vo = T.axis.reduce(8, k)
                for j in range(4):
                    with T.block("B"):
                        vii = T.axis.spatial(8, vi)
                        vk = T.axis.reduce(32, vo * 4 + j)
                        with T.init():
                            B[vii] = T.float32(0)
                        B[vii] = B[vii] + A[vii, vk]
)";
  const std::vector<std::string> expected = {
      "block B reduces over vk, which depends on threadIdx.x: code generation must combine what the threads computed"};
  EXPECT_EQ(Reasons(program), expected);
}

}  // namespace
}  // namespace tilewright
