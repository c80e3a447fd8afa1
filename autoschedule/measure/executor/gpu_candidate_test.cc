#include "autoschedule/measure/executor/gpu_candidate.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <fstream>

namespace tilewright {
namespace {

TEST(GpuCandidate, IsReadAsItWasWritten) {
  const std::string path = testing::TempDir() + "/candidate";
  const GpuCandidate written{
      .target = *NamedTarget("cuda-sm80"), .program = "a\nprogram", .cubin = std::string("\0\n7\n", 4)};
  ASSERT_TRUE(WriteGpuCandidate(written, path).ok());
  const auto read = ReadGpuCandidate(path);
  ASSERT_TRUE(read.ok()) << read.status();
  EXPECT_EQ(read->target, written.target);
  EXPECT_EQ(read->program, written.program);
  EXPECT_EQ(read->cubin, written.cubin);
}

TEST(GpuCandidate, OtherFilesAreRefused) {
  const std::string path = testing::TempDir() + "/other";
  EXPECT_THAT(std::string(ReadGpuCandidate(path + "/none").status().message()),
              testing::HasSubstr("is not a candidate for a GPU"));
  for (const char* text : {"", "7", "12\nshort", "x\n"}) {
    std::ofstream(path) << text;
    EXPECT_FALSE(ReadGpuCandidate(path).ok()) << text;
  }
}

}  // namespace
}  // namespace tilewright
