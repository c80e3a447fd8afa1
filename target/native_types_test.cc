#include "target/native_types.h"

#include <gtest/gtest.h>

namespace tilewright {
namespace {

TEST(NativeTypes, DependOnFeatures) {
  const Target zen = *NamedTarget("x86-znver5"), sapphire = *NamedTarget("x86-sapphirerapids");
  const Target n1 = *NamedTarget("arm-neoverse-n1"), a72 = *NamedTarget("arm-cortex-a72");
  EXPECT_FALSE(HasArithmeticOf(zen, "float16"));
  EXPECT_TRUE(HasArithmeticOf(sapphire, "float16"));
  EXPECT_TRUE(HasArithmeticOf(n1, "float16"));
  EXPECT_FALSE(HasArithmeticOf(a72, "float16"));
  // Dot products of bfloat16 are not arithmetic of it.
  EXPECT_FALSE(HasArithmeticOf(sapphire, "bfloat16"));
  EXPECT_TRUE(HasArithmeticOf(a72, "float32"));
  EXPECT_TRUE(HasArithmeticOf(*NamedTarget("cuda-sm80"), "bfloat16"));
}

TEST(NativeTypes, GathersOfWholeWords) {
  EXPECT_TRUE(HasGatherOf(*NamedTarget("x86-haswell"), 32));
  EXPECT_TRUE(HasGatherOf(*NamedTarget("x86-znver4"), 64));
  EXPECT_FALSE(HasGatherOf(*NamedTarget("x86-sapphirerapids"), 16));
  EXPECT_FALSE(HasGatherOf(*NamedTarget("arm-neoverse-v1"), 32));
}

TEST(NativeTypes, BytesAreShiftedOneByOneByNeon) {
  EXPECT_TRUE(ShiftsBytes(*NamedTarget("arm-neoverse-n1")));
  EXPECT_FALSE(ShiftsBytes(*NamedTarget("x86-znver4")));
}

}  // namespace
}  // namespace tilewright
