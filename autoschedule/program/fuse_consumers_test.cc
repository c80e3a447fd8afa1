// Which consumers become part of the block that writes a tile back.
#include "autoschedule/program/fuse_consumers.h"

#include <gtest/gtest.h>

#include "autoschedule/program/block_loops.h"
#include "ir/script/parse_or_die.h"

namespace tilewright {
namespace {

// The blocks that are left of B = A * 2, C = B + 1, D = `value`, where B writes back.
std::vector<std::string> Left(const std::string& value) {
  Schedule sch{Module(ParseFunctionOrDie(R"(
@T.prim_func
def main(A: T.Buffer((64,), "float32"), D: T.Buffer((64,), "float32")):
    B = T.alloc_buffer((64,))
    C = T.alloc_buffer((64,))
    for i in range(64):
        with T.block("B"):
            vi = T.axis.spatial(64, i)
            B[vi] = A[vi] * T.float32(2)
    for i in range(64):
        with T.block("C"):
            vi = T.axis.spatial(64, i)
            C[vi] = B[vi] + T.float32(1)
    for i in range(64):
        with T.block("D"):
            vi = T.axis.spatial(64, i)
            D[vi] = )" + value))};
  FuseConsumers(sch, BlocksInRoot(sch, "main").front());
  std::vector<std::string> names;
  for (const BlockRv& block : BlocksInRoot(sch, "main")) names.push_back(RealizeOf(sch, block).block->name);
  return names;
}

using Names = std::vector<std::string>;

TEST(FuseConsumers, TakesChainsOfElementwiseBlocks) { EXPECT_EQ(Left("T.max(C[vi], T.float32(0))"), Names({"B"})); }

TEST(FuseConsumers, LeavesWhatNeedsMoreThanOneElement) { EXPECT_EQ(Left("C[vi] + C[63 - vi]"), Names({"B", "D"})); }

// A chain of such blocks would double with each.
TEST(FuseConsumers, LeavesAValueThatGetsTooLong) {
  std::string sum = "C[vi]";
  for (int i = 0; i < 60; ++i) sum += " * C[vi]";
  EXPECT_EQ(Left(sum), Names({"B", "D"}));
}

TEST(FuseConsumers, LeavesSeveralConsumers) { EXPECT_EQ(Left("B[vi] * C[vi]"), Names({"B", "C", "D"})); }

}  // namespace
}  // namespace tilewright
