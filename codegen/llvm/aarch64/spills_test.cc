#include "codegen/llvm/aarch64/spills.h"

#include <gtest/gtest.h>

#include <string>

#include "codegen/llvm/object.h"
#include "codegen/testing/programs.h"
#include "target/target.h"

namespace tilewright {
namespace {

TEST(Spills, CountsMovesBetweenVectorsAndStackInInnermostLoops) {
  const char* assembly = R"(
main:
	str	q0, [sp, #64]
.LBB0_1:
	str	q1, [sp, #128]
.LBB0_2:                                // =>This Inner Loop Header: Depth=2
	str	q2, [sp, #192]
	ldp	q3, q4, [sp]
	ldr	q4, [x1], #16
	ldr	s5, [x2, #4096]
	str	x8, [sp, #8]
	subs	x9, x9, #1
	b.ne	.LBB0_2
	str	q5, [sp, #128]
	cbnz	x8, .LBB0_1
	b	.LBB0_3
.LBB0_3:
	ret
)";
  EXPECT_EQ(aarch64::CountInnerLoopVectorSpills(assembly), 2);
}

TEST(Spills, KnowsWhetherAFunctionHasAFrame) {
  const char* loop = R"(
.LBB0_1:
	ldur	q1, [x29, #-64]
	b.ne	.LBB0_1
	ret
)";
  EXPECT_EQ(aarch64::CountInnerLoopVectorSpills(std::string("with:\n\tmov\tx29, sp") + loop), 1);
  EXPECT_EQ(aarch64::CountInnerLoopVectorSpills(std::string("with:\n\tmov\tx29, sp\n\tret\nwithout:") + loop), 0);
}

// The register tiles that matrix multiplication is built from stay in registers.
class RegisterTile : public ::testing::TestWithParam<std::pair<int64_t, int64_t>> {};

TEST_P(RegisterTile, HasNoSpillsInTheInnerLoop) {
  const auto [rows, columns] = GetParam();
  const Module module(
      testing::MakeTiledMatmul({.m = rows * 4, .n = columns * 4, .k = 256, .rows = rows, .columns = columns}));
  const auto assembly = EmitAssembly(module, *NamedTarget("arm-neoverse-n1"));
  ASSERT_TRUE(assembly.ok()) << assembly.status();
  EXPECT_NE(assembly->find("fmla"), assembly->npos);
  EXPECT_EQ(aarch64::CountInnerLoopVectorSpills(*assembly), 0);
}

INSTANTIATE_TEST_SUITE_P(Sizes, RegisterTile,
                         ::testing::Values(std::pair(8, 8), std::pair(4, 16), std::pair(6, 16), std::pair(8, 12)));

}  // namespace
}  // namespace tilewright
