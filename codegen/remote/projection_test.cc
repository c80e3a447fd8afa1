#include "codegen/remote/projection.h"

#include <gtest/gtest.h>

namespace tilewright::remote {
namespace {

// Two loops, one inside of the other, and one without products.
constexpr char kAssembly[] = R"(
main:
	mov	x8, #0
.LBB0_1:
	movi	v0.2d, #0000000000000000
	mov	x9, #0
.LBB0_2:                                // =>This Inner Loop Header
	ldr	q4, [x1], #16
	fmla	v0.4s, v8.4s, v4.s[0]
	fmla	v1.4s, v8.4s, v4.s[1]
	fmla	v2.4s, v8.4s, v4.s[2]
	fmla	v3.4s, v8.4s, v4.s[3]
	fmla	v16.4s, v9.4s, v4.s[0]
	fmla	v17.4s, v9.4s, v4.s[1]
	fmla	v18.4s, v9.4s, v4.s[2]
	fmla	v19.4s, v9.4s, v4.s[3]
	subs	x9, x9, #1
	b.ne	.LBB0_2
	add	x8, x8, #1
	cmp	x8, #10
	b.ne	.LBB0_1
.LBB0_3:
	str	q0, [x2], #16
	subs	x8, x8, #1
	b.ne	.LBB0_3
	ret
)";

TEST(Projection, TheLoopWithTheProductsIsTheInnerOne) {
  const Target n1 = *NamedTarget("arm-neoverse-n1");
  const auto loop = ProjectInnerLoop(kAssembly, n1);
  if (absl::IsFailedPrecondition(loop.status())) GTEST_SKIP() << loop.status().message();
  ASSERT_TRUE(loop.ok()) << loop.status();
  ASSERT_TRUE(loop->has_value());
  EXPECT_EQ((*loop)->instructions, 11);
  EXPECT_EQ((*loop)->products, 8);
  // Two units start eight products in four cycles, and each is ready for the next one then.
  EXPECT_NEAR((*loop)->cycles, 4, 0.3);
  EXPECT_NEAR((*loop)->rate, 1, 0.08);
  EXPECT_NEAR(ProjectedMilliseconds(11'000'000, **loop, n1), 4e6 / 2.5e6, 0.15);
}

// A transform with more products than the loop over the depth, among loads and stores.
TEST(Projection, TheLoopOfWhichProductsAreMostIsTheInnerOne) {
  std::string transform = ".LBB1_1:\n";
  for (int i = 0; i < 12; ++i)
    transform += "\tldr\tq0, [x1], #16\n\tfmla\tv0.4s, v1.4s, v2.s[0]\n\tstr\tq0, [x2], #16\n";
  transform += "\tsubs\tx9, x9, #1\n\tb.ne\t.LBB1_1\n";
  const auto loop = ProjectInnerLoop(transform + kAssembly, *NamedTarget("arm-neoverse-n1"));
  if (absl::IsFailedPrecondition(loop.status())) GTEST_SKIP() << loop.status().message();
  ASSERT_TRUE(loop.ok()) << loop.status();
  EXPECT_EQ((*loop)->products, 8);
}

TEST(Projection, CodeWithoutLoopsHasNone) {
  const auto loop = ProjectInnerLoop("main:\n\tret\n", *NamedTarget("arm-neoverse-n1"));
  ASSERT_TRUE(loop.ok());
  EXPECT_FALSE(loop->has_value());
}

}  // namespace
}  // namespace tilewright::remote
