#include "codegen/cuda/emulator/global_memory.h"

#include <gtest/gtest.h>

#include <cstddef>
#include <cstdint>
#include <cstring>
#include <string>

namespace tilewright::emulator {
namespace {

// Three arrays of 64 bytes with room between them and around them.
class GlobalMemoryTest : public ::testing::Test {
 protected:
  GlobalMemoryTest() {
    std::memset(bytes_, 7, sizeof bytes_);
    memory_.Add("A", static_cast<const void*>(bytes_ + 64), 64);
    memory_.Add("B", bytes_ + 192, 64, GlobalMemory::kOutput);
    memory_.Add("C", bytes_ + 256, 64, GlobalMemory::kInOut);
  }
  std::string Found(size_t at) {
    const GlobalMemory::Array* array = memory_.Find(bytes_ + at);
    return array == nullptr ? "" : array->name;
  }
  std::string Nearest(size_t at, size_t distance) {
    const GlobalMemory::Array* array = memory_.Nearest(bytes_ + at, distance);
    return array == nullptr ? "" : array->name;
  }

  std::byte bytes_[512];
  GlobalMemory memory_;
};

TEST_F(GlobalMemoryTest, AddressesBelongToTheArrayThatHoldsThem) {
  EXPECT_EQ(Found(63), "");
  EXPECT_EQ(Found(64), "A");
  EXPECT_EQ(Found(127), "A");
  EXPECT_EQ(Found(129), "");
  EXPECT_EQ(Found(319), "C");
}

// A pointer behind the last element is one to the array, unless another one begins there.
TEST_F(GlobalMemoryTest, EndsBelongToTheArray) {
  EXPECT_EQ(Found(128), "A");
  EXPECT_EQ(Found(256), "C");
  EXPECT_EQ(Found(320), "C");
}

TEST_F(GlobalMemoryTest, NearestIsWithinTheDistance) {
  EXPECT_EQ(Nearest(100, 0), "A");
  EXPECT_EQ(Nearest(60, 4), "A");
  EXPECT_EQ(Nearest(60, 3), "");
  EXPECT_EQ(Nearest(132, 64), "A");
  EXPECT_EQ(Nearest(188, 64), "B");
  EXPECT_EQ(Nearest(400, 80), "C");
  EXPECT_EQ(Nearest(401, 80), "");
  // The array that holds an address is nearer than one that ends there.
  EXPECT_EQ(Nearest(256, 64), "C");
}

TEST_F(GlobalMemoryTest, LaunchesBeginWithoutOutputs) {
  memory_.BeginLaunch();
  EXPECT_EQ(bytes_[64], std::byte{7});
  EXPECT_EQ(bytes_[192], std::byte{0xff});
  EXPECT_EQ(bytes_[255], std::byte{0xff});
  EXPECT_EQ(bytes_[256], std::byte{7});
  // NaN, so that a result that is never written is not mistaken for a number.
  float value;
  std::memcpy(&value, bytes_ + 192, sizeof value);
  EXPECT_NE(value, value);
}

TEST_F(GlobalMemoryTest, HistoriesAreThoseOfOneLaunch) {
  clocks::Domain domain;
  clocks::Clock first(&domain, clocks::MakeAgent(0, 0)), second(&domain, clocks::MakeAgent(0, 1));
  const auto access = [&](const char* name, size_t at, const clocks::Clock& clock, bool write) {
    const GlobalMemory::Array* array = memory_.Find(bytes_ + at);
    EXPECT_EQ(array->name, name);
    clocks::Finding finding;
    size_t where = 0;
    array->shadow->Access(0, 4, write, {clock, clock.Now(), {}}, finding, where);
    return finding.conflict;
  };
  memory_.BeginLaunch();
  EXPECT_EQ(memory_.Find(bytes_ + 64)->shadow, nullptr);
  EXPECT_EQ(access("B", 192, first, false), clocks::Conflict::kUnwritten);
  EXPECT_EQ(access("C", 256, first, false), clocks::Conflict::kNone);
  EXPECT_EQ(access("B", 192, first, true), clocks::Conflict::kNone);
  EXPECT_EQ(access("B", 192, second, false), clocks::Conflict::kReadAfterWrite);
  memory_.BeginLaunch();
  EXPECT_EQ(access("B", 192, second, false), clocks::Conflict::kUnwritten);
}

}  // namespace
}  // namespace tilewright::emulator
