#include "codegen/llvm/x86/spills.h"

#include <gtest/gtest.h>

#include "codegen/llvm/object.h"
#include "codegen/testing/programs.h"
#include "target/target.h"

namespace tilewright {
namespace {

TEST(Spills, CountsMovesBetweenVectorsAndStackInInnermostLoops) {
  const char* assembly = R"(
main:
	vmovups	%zmm0, 64(%rsp)
.LBB0_1:
	vmovups	%zmm1, 128(%rsp)
.LBB0_2:
	vmovups	%zmm2, 192(%rsp)
	vmovups	(%rsp), %zmm3
	vmovups	(%rdi), %zmm4
	movq	%rax, 8(%rsp)
	jne	.LBB0_2
	vmovups	%zmm5, 128(%rsp)
	jl	.LBB0_1
	jmp	.LBB0_3
.LBB0_3:
	retq
)";
  EXPECT_EQ(CountInnerLoopVectorSpills(assembly), 2);
}

TEST(Spills, KnowsWhetherAFunctionHasAFrame) {
  const char* loop = R"(
.LBB0_1:
	vmovups	64(%rbp), %zmm1
	jne	.LBB0_1
	retq
)";
  EXPECT_EQ(CountInnerLoopVectorSpills(std::string("with:\n\tmovq\t%rsp, %rbp") + loop), 1);
  EXPECT_EQ(CountInnerLoopVectorSpills(std::string("with:\n\tmovq\t%rsp, %rbp\n\tretq\nwithout:") + loop), 0);
}

// Results that are stored in the loop are not sums that are kept on the stack.
TEST(Spills, AllowsSomeForEachVectorThatIsStored) {
  std::string loop = ".LBB0_1:\n";
  for (int i = 0; i < 7; ++i) loop += "\tvmovups\t64(%rsp), %zmm1\n";
  const std::string end = "\tjne\t.LBB0_1\n\tretq\n";
  EXPECT_EQ(CountInnerLoopVectorSpills(loop + end), 7);
  EXPECT_EQ(CountInnerLoopVectorSpills(loop + "\tvmovups\t64(%rdi), %zmm1\n" + end), 7);
  EXPECT_EQ(CountInnerLoopVectorSpills(loop + "\tvmovups\t%zmm1, 64(%rdi)\n" + end), 2);
  EXPECT_EQ(CountInnerLoopVectorSpills(loop + "\tvmovups\t%zmm1, (%rdi,%rax)\n\tvmovaps\t%ymm2, (%rsi)\n" + end), 0);
}

// The register tiles that matrix multiplication and convolution are built from stay in registers.
class RegisterTile : public ::testing::TestWithParam<std::pair<int64_t, int64_t>> {};

TEST_P(RegisterTile, HasNoSpillsInTheInnerLoop) {
  const auto [rows, columns] = GetParam();
  for (int64_t m : {rows * 4, rows * 4 + 5}) {
    const Module module(testing::MakeTiledMatmul({.m = m, .n = 128, .k = 256, .rows = rows, .columns = columns}));
    auto assembly = EmitAssembly(module, NamedTarget("x86-znver4").value());
    ASSERT_TRUE(assembly.ok()) << assembly.status().message();
    EXPECT_NE(assembly->find("vfmadd231ps"), assembly->npos);
    EXPECT_EQ(CountInnerLoopVectorSpills(*assembly), 0) << "m = " << m;
  }
}

INSTANTIATE_TEST_SUITE_P(Tiles, RegisterTile,
                         ::testing::Values(std::pair(12, 32), std::pair(14, 32), std::pair(6, 64)));

// A tile of 16 x 32 needs 32 accumulators and two more registers.
TEST(Spills, SeesATileThatDoesNotFit) {
  const Module module(testing::MakeTiledMatmul({.m = 64, .n = 128, .k = 256, .rows = 16, .columns = 32}));
  auto assembly = EmitAssembly(module, NamedTarget("x86-znver4").value());
  ASSERT_TRUE(assembly.ok()) << assembly.status().message();
  EXPECT_GT(CountInnerLoopVectorSpills(*assembly), 0);
}

}  // namespace
}  // namespace tilewright
