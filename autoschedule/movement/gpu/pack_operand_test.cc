#include "autoschedule/movement/gpu/pack_operand.h"

#include <gtest/gtest.h>

#include <string>
#include <vector>

#include "autoschedule/program/block_loops.h"
#include "ir/script/parse_or_die.h"
#include "schedule/testing/equivalence.h"

namespace tilewright {
namespace {

const Target kSm90 = *NamedTarget("cuda-sm90a");

// The loops around the last block that writes P, as tag, or "vector", and extent. Iterators of the copy: n, k.
using Loops = std::vector<std::pair<std::string, int64_t>>;
Loops Packed(const std::string& shape, const std::string& element) {
  const Module module(ParseFunctionOrDie(R"(
@T.prim_func
def main(B: T.Buffer()" + shape + R"(, "float16"), P: T.Buffer((64, 128), "float16")):
    for n, k in T.grid(64, 128):
        with T.block("P"):
            vn, vk = T.axis.remap("SS", [n, k])
            P[vn, vk] = )" + element + "\n"));
  Schedule sch(module);
  Choices choices = Choices::Preferred();
  const BlockRv copy = *sch.GetBlock("P");
  const Outcome<std::monostate> done = PackOperand(sch, copy, kSm90, choices);
  EXPECT_TRUE(done.ok()) << done.refusal().reason;
  testing::ExpectEquivalent(module.Main(), sch.module().Main());
  Loops result;
  const std::vector<LoopRv> loops = *sch.GetLoops(copy);
  for (const LoopRv& loop : loops) {
    const ForNode& node = LoopOf(sch, loop);
    result.emplace_back(node.kind == ForKind::kVectorized ? "vector" : node.thread_tag, *ExtentOf(sch, loop));
  }
  return result;
}

// 8 neighbours of n are loaded by an access of 16 bytes, and stored one by one, as a vector of lanes that lie apart.
TEST(PackOperand, ReadsNeighboursOfASideAtOnce) {
  EXPECT_EQ(Packed("(128, 64)", "B[vk, vn]"),
            (Loops{{"blockIdx.x", 64 / 8 * 128 / 32}, {"threadIdx.x", 32}, {"vector", 8}}));
}

// Each second element of n: nothing is side by side, so a thread stores elements one by one where there are few.
TEST(PackOperand, StoresElementsFromHereAndThere) {
  EXPECT_EQ(Packed("(128, 128)", "B[vk, vn * 2]"), (Loops{{"blockIdx.x", 256}, {"threadIdx.x", 32}}));
}

TEST(PackOperand, KeepsZerosOfPadding) {
  EXPECT_EQ(Packed("(120, 64)", "T.if_then_else(vk < 120, B[vk, vn], T.float16(0))")[0].first, "blockIdx.x");
}

}  // namespace
}  // namespace tilewright
