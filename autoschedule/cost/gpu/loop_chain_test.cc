#include "autoschedule/cost/gpu/loop_chain.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <string>
#include <vector>

#include "ir/script/parse_or_die.h"

namespace tilewright {
namespace {

using ::testing::ElementsAre;

struct Chain {
  LoopChain chain;
  std::vector<std::string> serial;  // names of its serial loops
};

// The loops around the store of a program.
Chain ChainOfStore(const std::string& loops, const std::string& store) {
  const ProgramFacts facts = GatherFacts(ParseFunctionOrDie(R"(
@T.prim_func
def main(A: T.Buffer((4096,), "float32"), B: T.Buffer((4096,), "float32")):
)" + loops + store + " = A[0]\n"));
  std::vector<double> extents;
  for (const LoopFacts& loop : facts.loops) extents.push_back(static_cast<double>(loop.extent));
  for (const AccessFacts& access : facts.accesses) {
    if (!access.write) continue;
    Chain found = {ChainOf(facts, extents, access.loop), {}};
    for (const int l : found.chain.serial) {
      found.serial.push_back(facts.loops[static_cast<size_t>(l)].loop->var.name());
    }
    return found;
  }
  ADD_FAILURE() << "no store";
  return {};
}

TEST(LoopChain, TellsBlocksThreadsAndWhatAThreadRuns) {
  const Chain found = ChainOfStore(R"(
    for b in T.thread_binding(12, thread="blockIdx.x"):
        for k in range(8):
            for y in T.thread_binding(4, thread="threadIdx.y"):
                for x in T.thread_binding(32, thread="threadIdx.x"):
                    for v in T.vectorized(4):
                        )",
                                   "B[b * 256 + k * 32 + y * 8 + x // 4 + v]");
  EXPECT_THAT(found.serial, ElementsAre("k", "v"));
  EXPECT_EQ(found.chain.threads, 128);
  EXPECT_EQ(found.chain.first_inside, 1);
  EXPECT_EQ(found.chain.innermost_threads, 32);
  EXPECT_EQ(found.chain.pipelined, -1);
  EXPECT_EQ(found.chain.stages_ahead, 1);
}

// Loops of the host around a kernel are not the kernel's; virtual threads are a thread's own.
TEST(LoopChain, BeginsAtTheKernel) {
  const Chain found = ChainOfStore(R"(
    for h in range(3):
        for b in T.thread_binding(2, thread="blockIdx.x"):
            for w in T.thread_binding(2, thread="vthread.x"):
                for x in T.thread_binding(16, thread="threadIdx.x"):
                    )",
                                   "B[h * 64 + b * 32 + w * 16 + x]");
  EXPECT_THAT(found.serial, ElementsAre("w"));
  EXPECT_EQ(found.chain.threads, 16);
  EXPECT_EQ(found.chain.first_inside, 2);
}

TEST(LoopChain, OfCodeWithoutThreadsIsAllSerial) {
  const Chain found = ChainOfStore(R"(
    for i in range(3):
        for j in range(5):
            )",
                                   "B[i * 5 + j]");
  EXPECT_THAT(found.serial, ElementsAre("i", "j"));
  EXPECT_EQ(found.chain.threads, 1);
  EXPECT_EQ(found.chain.innermost_thread, -1);
}

TEST(LoopChain, KnowsHowFarCopiesRunAhead) {
  const Chain found = ChainOfStore(R"(
    for b in T.thread_binding(2, thread="blockIdx.x"):
        for k in T.serial(8, annotations={"software_pipeline_stage": [0, 0, 3], "software_pipeline_order": [0, 1, 2], "software_pipeline_async_stages": [0]}):
            for x in T.thread_binding(16, thread="threadIdx.x"):
                )",
                                   "B[b * 128 + k * 16 + x]");
  EXPECT_THAT(found.serial, ElementsAre("k"));
  ASSERT_EQ(found.chain.serial.size(), 1u);
  EXPECT_EQ(found.chain.pipelined, found.chain.serial[0]);
  EXPECT_EQ(found.chain.stages_ahead, 3);
}

}  // namespace
}  // namespace tilewright
