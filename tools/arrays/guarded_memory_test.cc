#include "tools/arrays/guarded_memory.h"

#include <gtest/gtest.h>

#include <csignal>
#include <cstring>

namespace tilewright {
namespace {

using ::testing::ExitedWithCode;

GuardedArray Allocated(const std::string& name, int64_t bytes, int64_t alignment = 64) {
  auto array = GuardedArray::Allocate(name, bytes, alignment);
  EXPECT_TRUE(array.ok()) << array.status();
  return *std::move(array);
}

TEST(GuardedArray, IsZerosAtAnAlignedAddress) {
  for (const int64_t alignment : {1, 64, 4096, 1 << 16}) {
    for (const int64_t bytes : {0, 1, 64, 4095, 4097, 100000}) {
      const GuardedArray array = Allocated("A", bytes, alignment);
      EXPECT_EQ(reinterpret_cast<uintptr_t>(array.data()) % static_cast<uintptr_t>(alignment), 0u);
      for (int64_t i = 0; i < bytes; ++i) ASSERT_EQ(array.data()[i], std::byte(0));
      std::memset(array.data(), 0xff, static_cast<size_t>(bytes));
    }
  }
}

TEST(GuardedArray, OfMoreThanThereIsIsAnError) {
  EXPECT_EQ(GuardedArray::Allocate("weights", int64_t{1} << 60, 64).status(),
            absl::ResourceExhaustedError("no memory for the 1152921504606846976 bytes of weights"));
}

std::string Line17() { return "kernel.cu:17"; }

TEST(FaultReport, NamesTheArrayThatAnAccessMisses) {
  const auto write = [](int64_t offset) {
    const FaultReport report("test: ", Line17);
    const GuardedArray other = Allocated("other", 4096), array = Allocated("A", 4096, 1);
    *const_cast<volatile std::byte*>(array.data() + offset) = std::byte(1);
  };
  const char* const said = "^test: compiled code touched memory outside of its arrays, beside A, at kernel.cu:17\n$";
  EXPECT_EXIT(write(4096), ExitedWithCode(1), said);
  EXPECT_EXIT(write(4096 + (1 << 27)), ExitedWithCode(1), said);
  EXPECT_EXIT(write(-(1 << 27)), ExitedWithCode(1), said);
  EXPECT_EXIT((write(0), write(4095), std::exit(7)), ExitedWithCode(7), "");
}

TEST(FaultReport, HasASentenceForEachSignal) {
  const auto raise = [](int signal) {
    const FaultReport report("test: ");
    std::raise(signal);
  };
  EXPECT_EXIT(raise(SIGFPE), ExitedWithCode(1), "^test: compiled code divided by zero, or the least integer by -1\n$");
  EXPECT_EXIT(raise(SIGILL), ExitedWithCode(1), "^test: compiled code ran an instruction that this processor lacks\n$");
  EXPECT_EXIT(raise(SIGABRT), ExitedWithCode(1), "^test: compiled code was aborted\n$");
}

// Behind a report signals are what they were before it.
TEST(FaultReport, EndsWithTheObject) {
  const auto after = [] {
    {
      const FaultReport report("test: ");
    }
    std::raise(SIGFPE);
  };
  EXPECT_EXIT(after(), ::testing::KilledBySignal(SIGFPE), "^$");
}

}  // namespace
}  // namespace tilewright
