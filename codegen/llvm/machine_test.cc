#include "codegen/llvm/machine.h"

#include <gtest/gtest.h>

#include "llvm/MC/MCSubtargetInfo.h"

namespace tilewright::codegen {
namespace {

TEST(Machine, HasTheFeaturesOfTheTarget) {
  const auto machine = MakeMachine(*NamedTarget("x86-znver4"));
  ASSERT_TRUE(machine.ok()) << machine.status();
  const llvm::MCSubtargetInfo& features = *(*machine)->getMCSubtargetInfo();
  EXPECT_TRUE(features.checkFeatures("+avx512bf16"));
  // Processors of one maker alone have it: code for this preset runs on others with the same features.
  EXPECT_FALSE(features.checkFeatures("+sse4a"));
}

TEST(Machine, RefusesGpus) {
  EXPECT_EQ(MakeMachine(*NamedTarget("cuda-sm90")).status().message(), "target cuda-sm90 is not a CPU");
}

}  // namespace
}  // namespace tilewright::codegen
