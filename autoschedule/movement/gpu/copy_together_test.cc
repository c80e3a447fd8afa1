#include "autoschedule/movement/gpu/copy_together.h"

#include <gtest/gtest.h>

#include <string>
#include <vector>

#include "autoschedule/program/block_loops.h"
#include "ir/script/parse_or_die.h"
#include "schedule/testing/equivalence.h"

namespace tilewright {
namespace {

constexpr char kProduct[] = R"(
@T.prim_func
def main(A: T.Buffer((32, 24), "float16"), B: T.Buffer((24, 16), "float16"), C: T.Buffer((32, 16), "float16")):
    for i, j, k in T.grid(32, 16, 24):
        with T.block("C"):
            vi, vj, vk = T.axis.remap("SSR", [i, j, k])
            with T.init():
                C[vi, vj] = T.float16(0)
            C[vi, vj] = C[vi, vj] + A[vi, vk] * B[vk, vj]
)";

// The loops of a copy of A, tiles of 16 x 8, as tag and extent.
using Loops = std::vector<std::pair<std::string, int64_t>>;
Loops CopiedBy(const ThreadAxes& threads, int64_t vector) {
  const Module module(ParseFunctionOrDie(kProduct));
  Schedule sch(module);
  const BlockRv block = *sch.GetBlock("C");
  const std::vector<LoopRv> loops = *sch.GetLoops(block);
  const std::vector<LoopRv> i = *sch.Split(loops[0], {Value(), 16}), k = *sch.Split(loops[2], {Value(), 8});
  EXPECT_TRUE(sch.Reorder({i[0], k[0], i[1], loops[1], k[1]}).ok());
  const Outcome<AutoCopy> copy = ReadOperandAt(sch, block, module.Main()->params[0].buffer, k[0], "shared");
  EXPECT_TRUE(copy.ok());
  const Outcome<std::monostate> done = CopyTogether(sch, *copy, threads, vector);
  EXPECT_TRUE(done.ok()) << done.refusal().reason;
  testing::ExpectEquivalent(module.Main(), sch.module().Main());
  Loops result;
  const std::vector<LoopRv> inside = *LoopsInside(sch, copy->block, copy->loop);
  for (const LoopRv& loop : inside) {
    const ForNode& node = LoopOf(sch, loop);
    result.emplace_back(node.kind == ForKind::kVectorized ? "vector" : node.thread_tag, *ExtentOf(sch, loop));
  }
  return result;
}

TEST(CopyTogether, NeighbouringThreadsCopyNeighbouringVectors) {
  EXPECT_EQ(CopiedBy({{"threadIdx.y", 2}, {"threadIdx.x", 8}}, 4),
            (Loops{{"", 2}, {"threadIdx.y", 2}, {"threadIdx.x", 8}, {"vector", 4}}));
  // Elements that threads do not divide are left out by a condition.
  EXPECT_EQ(CopiedBy({{"threadIdx.x", 48}}, 1), (Loops{{"", 3}, {"threadIdx.x", 48}, {"", 1}}));
  // An axis of one thread is none.
  EXPECT_EQ(CopiedBy({{"threadIdx.y", 1}, {"threadIdx.x", 16}}, 8),
            (Loops{{"", 1}, {"threadIdx.x", 16}, {"vector", 8}}));
}

TEST(VectorAlong, IsWhatLiesSideBySideAndDivides) {
  Schedule sch{Module(ParseFunctionOrDie(kProduct))};
  const Block block = RealizeOf(sch, *sch.GetBlock("C")).block;
  const Function function = sch.module().Main();
  const Buffer &a = function->params[0].buffer, &b = function->params[1].buffer, &c = function->params[2].buffer;
  // Bytes of an access: 8 elements of 16 bits; 24 and 8 are multiples of 8.
  EXPECT_EQ(VectorAlong(*block, a, {0, 2}, 8, 16), 8);
  EXPECT_EQ(VectorAlong(*block, a, {2}, 8, 8), 4);
  EXPECT_EQ(VectorAlong(*block, a, {2}, 12, 16), 4);
  // Rows of A lie apart, and so do those of B.
  EXPECT_EQ(VectorAlong(*block, a, {0}, 16, 16), 1);
  EXPECT_EQ(VectorAlong(*block, b, {2}, 8, 16), 1);
  EXPECT_EQ(VectorAlong(*block, b, {1}, 16, 16), 8);
  EXPECT_EQ(VectorAlong(*block, b, {}, 16, 16), 1);
  EXPECT_EQ(VectorAlong(*block, c, {0, 1}, 16, 16, /*stored=*/true), 8);
}

}  // namespace
}  // namespace tilewright
