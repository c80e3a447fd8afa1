#include "autoschedule/movement/gpu/bind_threads.h"

#include <gtest/gtest.h>

#include <string>
#include <vector>

#include "autoschedule/program/block_loops.h"
#include "ir/script/parse_or_die.h"
#include "schedule/testing/equivalence.h"

namespace tilewright {
namespace {

const Target kSm80 = *NamedTarget("cuda-sm80");  // 108 cores

constexpr char kElements[] = R"(
@T.prim_func
def main(A: T.Buffer((100, 60), "float32"), B: T.Buffer((100, 60), "float32")):
    for i, j in T.grid(100, 60):
        with T.block("B"):
            vi, vj = T.axis.remap("SS", [i, j])
            B[vi, vj] = A[vi, vj] + T.float32(1)
)";

struct Bound {
  std::vector<std::string> tags;  // of the loops around the block, outermost first
  std::vector<int64_t> extents;   // 0: symbolic
  bool has_vector = false;
};
Bound BoundOf(const std::string& text, int64_t most_vector, Choices choices) {
  const Module module(ParseFunctionOrDie(text));
  Schedule sch(module);
  const BlockRv block = *sch.GetBlock("B");
  const Outcome<ThreadLoops> threads = BindThreads(sch, *sch.GetLoops(block), most_vector, "B", kSm80, choices);
  EXPECT_TRUE(threads.ok()) << threads.refusal().reason;
  testing::ExpectEquivalent(module.Main(), sch.module().Main());
  Bound bound;
  const std::vector<LoopRv> loops = *sch.GetLoops(block);
  for (const LoopRv& loop : loops) {
    bound.tags.push_back(LoopOf(sch, loop).thread_tag);
    bound.extents.push_back(ExtentOf(sch, loop).value_or(0));
  }
  bound.has_vector = threads.ok() && threads->vector.has_value();
  // What every thread does is inside of `thread`: nothing, or the vector.
  EXPECT_EQ(LoopOf(sch, threads->thread).var.get(),
            LoopOf(sch, loops[loops.size() - (bound.has_vector ? 2 : 1)]).var.get());
  return bound;
}

using Tags = std::vector<std::string>;
using Extents = std::vector<int64_t>;

TEST(BindThreads, FewElementsTakeAThreadEach) {
  const Bound bound = BoundOf(kElements, 4, Choices::Preferred());
  EXPECT_EQ(bound.tags, (Tags{"blockIdx.x", "threadIdx.x"}));
  EXPECT_EQ(bound.extents, (Extents{188, 32}));  // 6000 elements in warps
  EXPECT_FALSE(bound.has_vector);
}

TEST(BindThreads, ThreadsTakeVectorsThatDivideRows) {
  const std::vector<Choice> given = {{"B.vector", 4, {}}, {"B.threads", 128, {}}};
  const Bound bound = BoundOf(kElements, 4, Choices::GivenOrPreferred(given));
  EXPECT_EQ(bound.tags, (Tags{"blockIdx.x", "threadIdx.x", ""}));
  EXPECT_EQ(bound.extents, (Extents{12, 128, 4}));  // 1500 vectors
  EXPECT_TRUE(bound.has_vector);
  // Eight do not divide 60, and are not taken where four are the most.
  Schedule sch{Module(ParseFunctionOrDie(kElements))};
  Choices choices = Choices::Preferred();
  for (const auto& [most, widths] : {std::pair<int64_t, Extents>{16, {1, 2, 4}}, {2, {1, 2}}, {1, {1}}}) {
    Schedule attempt = sch;
    Choices taken = choices;
    ASSERT_TRUE(BindThreads(attempt, *attempt.GetLoops(*attempt.GetBlock("B")), most, "B", kSm80, taken).ok());
    EXPECT_EQ(taken.made()[0].candidates, widths) << most;
  }
}

TEST(BindThreads, RowsOfASymbolicExtentAreAnAxisOfTheirOwn) {
  const Bound bound = BoundOf(R"(
@T.prim_func
def main(a: T.handle, b: T.handle):
    n = T.int32()
    A = T.match_buffer(a, (8, n), "float32")
    B = T.match_buffer(b, (8, n), "float32")
    for i, j in T.grid(8, n):
        with T.block("B"):
            vi, vj = T.axis.remap("SS", [i, j])
            B[vi, vj] = A[vi, vj] + T.float32(1)
)",
                              4, Choices::Preferred());
  EXPECT_EQ(bound.tags, (Tags{"blockIdx.x", "blockIdx.y", "threadIdx.x"}));
  EXPECT_EQ(bound.extents, (Extents{8, 0, 32}));
}

TEST(PreferredThreads, LeaveTwoBlocksForEachCore) {
  EXPECT_EQ(PreferredThreads(int64_t{1} << 20, kSm80), 256);
  EXPECT_EQ(PreferredThreads(2 * 108 * 64, kSm80), 64);
  EXPECT_EQ(PreferredThreads(2 * 108 * 64 - 64, kSm80), 32);
  EXPECT_EQ(PreferredThreads(1, kSm80), 32);
}

}  // namespace
}  // namespace tilewright
