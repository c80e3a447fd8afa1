#include "codegen/cuda/emulator/shadow.h"

#include <gtest/gtest.h>

#include <cstddef>
#include <utility>

#include "base/clocks/clocks.h"

namespace tilewright::emulator {
namespace {

using clocks::Conflict;

class ShadowTest : public ::testing::Test {
 protected:
  ShadowTest()
      : one_(&domain_, clocks::MakeAgent(0, 0)), two_(&domain_, clocks::MakeAgent(0, 1)), shadow_(8192, false) {}

  // What is found, and where.
  std::pair<Conflict, size_t> Touch(Shadow& shadow, const clocks::Clock& clock, size_t offset, size_t bytes,
                                    bool write) {
    clocks::Finding finding;
    size_t at = 9999;
    cells_ = shadow.Access(offset, bytes, write, {clock, clock.Now(), {}}, finding, at);
    return {finding.conflict, at};
  }
  std::pair<Conflict, size_t> Read(const clocks::Clock& clock, size_t offset, size_t bytes) {
    return Touch(shadow_, clock, offset, bytes, false);
  }
  std::pair<Conflict, size_t> Write(const clocks::Clock& clock, size_t offset, size_t bytes) {
    return Touch(shadow_, clock, offset, bytes, true);
  }

  const std::pair<Conflict, size_t> none_ = {Conflict::kNone, 9999};
  clocks::Domain domain_;
  clocks::Clock one_, two_;
  Shadow shadow_;
  size_t cells_ = 0;
};

TEST_F(ShadowTest, CountsCellsOfSixteenBytes) {
  Write(one_, 0, 16);
  EXPECT_EQ(cells_, 1u);
  Write(one_, 12, 8);
  EXPECT_EQ(cells_, 2u);
  Write(one_, 8, 64);
  EXPECT_EQ(cells_, 5u);
}

TEST_F(ShadowTest, MemoryIsUnwrittenUntilItIsWritten) {
  EXPECT_EQ(Read(one_, 32, 4), std::pair(Conflict::kUnwritten, size_t{32}));
  EXPECT_EQ(Write(one_, 32, 4), none_);
  EXPECT_EQ(Read(one_, 32, 4), none_);
  EXPECT_EQ(Read(one_, 36, 1), std::pair(Conflict::kUnwritten, size_t{36}));
  Shadow input(64, true);
  EXPECT_EQ(Touch(input, one_, 0, 64, false), none_);
}

// Neighbours of any width do not conflict, and what overlaps does, across pages too.
TEST_F(ShadowTest, BytesHaveHistoriesOfTheirOwn) {
  for (const size_t width : {1, 2, 4, 8, 16}) {
    const size_t base = 2048 - 16 + width * 256;
    EXPECT_EQ(Write(one_, base, width), none_);
    EXPECT_EQ(Write(two_, base + width, width), none_);
    EXPECT_EQ(Read(two_, base, width), std::pair(Conflict::kReadAfterWrite, base));
    EXPECT_EQ(Write(one_, base + width, 1), std::pair(Conflict::kWriteAfterWrite, base + width));
  }
}

TEST_F(ShadowTest, TheFirstConflictIsTold) {
  Write(one_, 64, 64);
  Write(two_, 256, 16);
  // Cells of one access: its own, and from 256 on another's.
  EXPECT_EQ(Write(one_, 240, 32), std::pair(Conflict::kWriteAfterWrite, size_t{256}));
}

// A wide write after narrow ones is one history again: who wrote a byte before no longer counts.
TEST_F(ShadowTest, WideWritesJoinWhatWasSplit) {
  for (size_t i = 0; i < 16; ++i) EXPECT_EQ(Write(one_, 512 + i, 1), none_);
  EXPECT_EQ(Write(one_, 512, 4), none_);
  EXPECT_EQ(Write(one_, 512, 16), none_);
  EXPECT_EQ(Read(one_, 515, 1), none_);
  EXPECT_EQ(Read(two_, 512, 16), std::pair(Conflict::kReadAfterWrite, size_t{512}));
}

}  // namespace
}  // namespace tilewright::emulator
