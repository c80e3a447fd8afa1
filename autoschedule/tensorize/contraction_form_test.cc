#include "autoschedule/tensorize/contraction_form.h"

#include <gtest/gtest.h>

namespace tilewright {
namespace {

TileInstruction AmxOfBytes() {
  return *FindTileInstruction(*NamedTarget("x86-sapphirerapids"), DataType::UInt(8), DataType::Int(8),
                              DataType::Int(32));
}

TEST(DepthStep, TakesAsFewStepsAsPossible) {
  EXPECT_EQ(DepthStep(64, AmxOfBytes(), false), 64);
  EXPECT_EQ(DepthStep(80, AmxOfBytes(), false), 40);
  EXPECT_EQ(DepthStep(81, AmxOfBytes(), false), 44);
  EXPECT_EQ(DepthStep(3, AmxOfBytes(), false), 4);
}

TEST(DepthStep, FillsLinesWhereThatAddsAThirdAtMost) {
  // Four steps either way.
  EXPECT_EQ(DepthStep(240, AmxOfBytes(), false), 60);
  EXPECT_EQ(DepthStep(240, AmxOfBytes(), true), 64);
  EXPECT_EQ(DepthStep(48, AmxOfBytes(), true), 64);
  EXPECT_EQ(DepthStep(40, AmxOfBytes(), true), 40);
  // Padded anyway.
  EXPECT_EQ(DepthStep(239, AmxOfBytes(), false), 64);
}

}  // namespace
}  // namespace tilewright
