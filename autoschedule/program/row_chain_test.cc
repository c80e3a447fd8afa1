#include "autoschedule/program/row_chain.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <string>
#include <vector>

#include "autoschedule/program/block_loops.h"
#include "ir/script/parse_or_die.h"
#include "schedule/testing/equivalence.h"

namespace tilewright {
namespace {

using ::testing::ElementsAre;
using ::testing::IsEmpty;

// A reduction over a 4 x 6 x 8 input, one block of a program of its own. Iterators: i and j spatial, k and l reduced.
int Lanes(const std::string& index, const std::string& output = "B[vi, vj]") {
  const Schedule sch{Module(ParseFunctionOrDie(R"(
@T.prim_func
def main(A: T.Buffer((4096,), "float32"), B: T.Buffer((4, 6), "float32")):
    for i, j, k, l in T.grid(4, 6, 3, 8):
        with T.block("B"):
            vi, vj, vk, vl = T.axis.remap("SSRR", [i, j, k, l])
            with T.init():
                )" + output + R"( = T.float32(0)
            )" + output + " = " + output + " + A[" +
                                               index + "]\n"))};
  Schedule asked = sch;
  return LaneIterator(*RealizeOf(asked, *asked.GetBlock("B")).block);
}

TEST(LaneIterator, RunsAlongNeighbours) {
  EXPECT_EQ(Lanes("vi * 144 + vj * 24 + vk * 8 + vl"), 3);
  EXPECT_EQ(Lanes("vi * 144 + vj * 24 + vl * 3 + vk"), 2);
  // Neighbours are those of a spatial iterator: vectors of results.
  EXPECT_EQ(Lanes("vi * 144 + vl * 18 + vk * 6 + vj"), -1);
  // Nothing is next to another.
  EXPECT_EQ(Lanes("vi * 288 + vj * 48 + vk * 16 + vl * 2"), -1);
  // Windows that begin a few elements apart.
  EXPECT_EQ(Lanes("vi * 600 + vj * 2 + vk * 8 + vl"), -1);
}

TEST(LaneIterators, TakeInWhatContinuesThem) {
  const auto together = [](const std::string& index) {
    Schedule sch{Module(ParseFunctionOrDie(R"(
@T.prim_func
def main(A: T.Buffer((4096,), "float32"), B: T.Buffer((4,), "float32")):
    for i, k, l in T.grid(4, 3, 8):
        with T.block("B"):
            vi, vk, vl = T.axis.remap("SRR", [i, k, l])
            with T.init():
                B[vi] = T.float32(0)
            B[vi] = B[vi] + A[)" + index + "]\n"))};
    return LaneIterators(*RealizeOf(sch, *sch.GetBlock("B")).block, 2);
  };
  EXPECT_THAT(together("vi * 24 + vk * 8 + vl"), ElementsAre(1, 2));
  EXPECT_THAT(together("vi * 48 + vk * 16 + vl"), ElementsAre(2));
}

TEST(RowsContinueLanes, WhereRowsFollowEachOther) {
  const auto continues = [](const std::string& index) {
    Schedule sch{Module(ParseFunctionOrDie(R"(
@T.prim_func
def main(A: T.Buffer((4096,), "float32"), B: T.Buffer((4,), "float32")):
    for i, k in T.grid(4, 8):
        with T.block("B"):
            vi, vk = T.axis.remap("SR", [i, k])
            with T.init():
                B[vi] = T.float32(0)
            B[vi] = B[vi] + A[)" + index + "]\n"))};
    return RowsContinueLanes(*RealizeOf(sch, *sch.GetBlock("B")).block, {1});
  };
  EXPECT_TRUE(continues("vi * 8 + vk"));
  EXPECT_FALSE(continues("vi * 9 + vk"));
}

// Softmax of the rows of A; R, sums of columns, is not a member.
constexpr char kSoftmax[] = R"(
@T.prim_func
def main(A: T.Buffer((16, 32), "float32"), O: T.Buffer((16, 32), "float32"), R: T.Buffer((32,), "float32")):
    M = T.alloc_buffer((16,), "float32")
    E = T.alloc_buffer((16, 32), "float32")
    S = T.alloc_buffer((16,), "float32")
    for i, k in T.grid(16, 32):
        with T.block("M"):
            vi, vk = T.axis.remap("SR", [i, k])
            with T.init():
                M[vi] = T.float32(-1000)
            M[vi] = T.max(M[vi], A[vi, vk])
    for i, j in T.grid(16, 32):
        with T.block("E"):
            vi, vj = T.axis.remap("SS", [i, j])
            E[vi, vj] = A[vi, vj] - M[vi]
    for i, k in T.grid(16, 32):
        with T.block("S"):
            vi, vk = T.axis.remap("SR", [i, k])
            with T.init():
                S[vi] = T.float32(0)
            S[vi] = S[vi] + E[vi, vk]
    for i, j in T.grid(16, 32):
        with T.block("O"):
            vi, vj = T.axis.remap("SS", [i, j])
            O[vi, vj] = E[vi, vj] * S[vi]
    for j, k in T.grid(32, 16):
        with T.block("R"):
            vj, vk = T.axis.remap("SR", [j, k])
            with T.init():
                R[vj] = T.float32(0)
            R[vj] = R[vj] + O[vk, vj]
)";

TEST(RowChain, HoldsWhatWorksOnTheSameRows) {
  Schedule sch{Module(ParseFunctionOrDie(kSoftmax))};
  const std::vector<BlockRv> blocks = BlocksInRoot(sch, "main");
  const Function function = sch.module().Main();
  const BlockScope scope = BlockScope::Of(cast<BlockRealizeNode>(function->body)->block.get());
  const auto names = [&](const char* name) {
    std::vector<std::string> chain;
    const uint32_t id = sch.Get(*sch.GetBlock(name)).As<BlockRef>()->id;
    for (const BlockRv& block : RowChain(sch, scope, id, blocks)) chain.push_back(RealizeOf(sch, block).block->name);
    return chain;
  };
  EXPECT_THAT(names("M"), ElementsAre("M", "E", "S", "O"));
  EXPECT_THAT(names("S"), ElementsAre("M", "E", "S", "O"));
  // Not a reduction; one of columns.
  EXPECT_THAT(names("E"), IsEmpty());
  EXPECT_THAT(names("R"), IsEmpty());
  const std::vector<BlockRv> chain = RowChain(sch, scope, sch.Get(blocks[0]).As<BlockRef>()->id, blocks);
  EXPECT_EQ(RowCount(sch, chain), 1u);
  EXPECT_EQ(RowCount(sch, {&blocks[1], 1}), 0u);
}

TEST(PlaceInRows, BringsAChainIntoOneLoop) {
  const Module module(ParseFunctionOrDie(kSoftmax));
  Schedule sch(module);
  const std::vector<BlockRv> blocks = BlocksInRoot(sch, "main");
  const LoopRv row = (*sch.GetLoops(blocks[0]))[0];
  const std::vector<BlockRv> rest(blocks.begin() + 1, blocks.begin() + 4);
  const Outcome<LoopRv> placed = PlaceInRows(sch, rest, row, 1);
  ASSERT_TRUE(placed.ok()) << placed.refusal().reason;
  for (const BlockRv& block : rest) {
    EXPECT_EQ(&LoopOf(sch, (*sch.GetLoops(block))[0]), &LoopOf(sch, *placed)) << RealizeOf(sch, block).block->name;
  }
  testing::ExpectEquivalent(module.Main(), sch.module().Main());
}

// Two reductions that meet in the last block.
TEST(PlaceInRows, MakesLoopsOfReductionsOne) {
  const Module module(ParseFunctionOrDie(R"(
@T.prim_func
def main(A: T.Buffer((16, 32), "float32"), B: T.Buffer((16, 32), "float32"), O: T.Buffer((16,), "float32")):
    P = T.alloc_buffer((16,), "float32")
    Q = T.alloc_buffer((16,), "float32")
    for i, k in T.grid(16, 32):
        with T.block("P"):
            vi, vk = T.axis.remap("SR", [i, k])
            with T.init():
                P[vi] = T.float32(0)
            P[vi] = P[vi] + A[vi, vk]
    for i, k in T.grid(16, 32):
        with T.block("Q"):
            vi, vk = T.axis.remap("SR", [i, k])
            with T.init():
                Q[vi] = T.float32(0)
            Q[vi] = Q[vi] + B[vi, vk]
    for i in range(16):
        with T.block("O"):
            vi = T.axis.spatial(16, i)
            O[vi] = P[vi] * Q[vi]
)"));
  Schedule sch(module);
  const std::vector<BlockRv> blocks = BlocksInRoot(sch, "main");
  const LoopRv row = (*sch.GetLoops(blocks[0]))[0];
  const std::vector<BlockRv> rest(blocks.begin() + 1, blocks.end());
  const Outcome<LoopRv> placed = PlaceInRows(sch, rest, row, 1);
  ASSERT_TRUE(placed.ok()) << placed.refusal().reason;
  for (const BlockRv& block : blocks) {
    EXPECT_EQ(&LoopOf(sch, (*sch.GetLoops(block))[0]), &LoopOf(sch, *placed)) << RealizeOf(sch, block).block->name;
  }
  testing::ExpectEquivalent(module.Main(), sch.module().Main());
}

}  // namespace
}  // namespace tilewright
