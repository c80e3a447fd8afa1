#include "autoschedule/movement/auto_copy.h"

#include <gtest/gtest.h>

#include <string>
#include <vector>

#include "autoschedule/program/block_loops.h"
#include "ir/script/parse_or_die.h"
#include "ir/script/printer.h"
#include "schedule/testing/equivalence.h"

namespace tilewright {
namespace {

using testing::ExpectEquivalent;

// A sum of products whose second operand is padded, and an epilogue.
constexpr const char* kProgram = R"(
@T.prim_func
def main(A: T.Buffer((12, 16), "float32"), B: T.Buffer((16, 8), "float32"), D: T.Buffer((12, 8), "float32")):
    P = T.alloc_buffer((18, 8))
    C = T.alloc_buffer((12, 8))
    for k, j in T.grid(18, 8):
        with T.block("P"):
            vk, vj = T.axis.remap("SS", [k, j])
            P[vk, vj] = T.if_then_else(1 <= vk and vk < 17, B[vk - 1, vj], T.float32(0))
    for i, j, k in T.grid(12, 8, 16):
        with T.block("C"):
            vi, vj, vk = T.axis.remap("SSR", [i, j, k])
            with T.init():
                C[vi, vj] = T.float32(0)
            C[vi, vj] = C[vi, vj] + A[vi, vk] * P[vk + 1, vj]
    for i, j in T.grid(12, 8):
        with T.block("D"):
            vi, vj = T.axis.remap("SS", [i, j])
            D[vi, vj] = C[vi, vj] + T.float32(1)
)";

class TiledProduct : public ::testing::Test {
 protected:
  void SetUp() override {
    const std::vector<LoopRv> loops = *sch_.GetLoops(block_);
    i_ = *sch_.Split(loops[0], {Value(), 4});
    k_ = *sch_.Split(loops[2], {Value(), 4});
    ASSERT_TRUE(sch_.Reorder({i_[0], k_[0], i_[1], loops[1], k_[1]}).ok());
  }
  std::string Text() const { return Print(sch_.module().Main()); }
  void ExpectSame() const { ExpectEquivalent(before_, sch_.module().Main()); }

  const Function before_ = ParseFunctionOrDie(kProgram);
  Schedule sch_{Module(before_)};
  const BlockRv block_ = *sch_.GetBlock("C");
  std::vector<LoopRv> i_, k_;
};

TEST_F(TiledProduct, ReadsAnOperandAtALoop) {
  const Buffer a = before_->params[0].buffer;
  const Outcome<AutoCopy> copy = ReadOperandAt(sch_, block_, a, k_[0], "local");
  ASSERT_TRUE(copy.ok());
  EXPECT_NE(Text().find("T.block_attr({\"auto_copy\": True})"), std::string::npos);
  ASSERT_TRUE(Expand(sch_, *copy).ok());
  EXPECT_EQ(Text().find("auto_copy"), std::string::npos);
  EXPECT_NE(Text().find("for ax0, ax1 in T.grid(4, 4)"), std::string::npos) << Text();
  EXPECT_EQ(LoopsInside(sch_, copy->block, copy->loop)->size(), 2);
  ExpectSame();
}

TEST_F(TiledProduct, ComputesWhatAStageDoesInTheCopy) {
  const BlockRv stage = *sch_.GetBlock("P");
  const Outcome<AutoCopy> copy = ReadStageAt(sch_, block_, stage, k_[0], "local");
  ASSERT_TRUE(copy.ok());
  ASSERT_TRUE(Expand(sch_, *copy).ok());
  EXPECT_FALSE(sch_.GetBlock("P").ok());
  EXPECT_NE(Text().find("P_local[v0, v1] = T.if_then_else(1 <= v0 and v0 < 17, B[v0 - 1, v1], T.float32(0))"),
            std::string::npos)
      << Text();
  ExpectSame();
}

TEST_F(TiledProduct, ComputesTheEpilogueInTheCopyOfTheResult) {
  const BlockRv stage = *sch_.GetBlock("D");
  const Outcome<AutoCopy> copy = WriteStageAt(sch_, block_, stage, i_[0], "local");
  ASSERT_TRUE(copy.ok());
  ASSERT_TRUE(Expand(sch_, *copy).ok());
  EXPECT_FALSE(sch_.GetBlock("D").ok());
  EXPECT_NE(Text().find("D[v0, v1] = C_local[v0, v1] + T.float32(1)"), std::string::npos) << Text();
  ExpectSame();
}

TEST_F(TiledProduct, RefusesWhatIsNotRead) {
  const Buffer d = before_->params[2].buffer;
  EXPECT_FALSE(ReadOperandAt(sch_, block_, d, k_[0], "local").ok());
}

}  // namespace
}  // namespace tilewright
