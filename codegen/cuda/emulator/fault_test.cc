#include "codegen/cuda/emulator/fault.h"

#include <gtest/gtest.h>

#include <set>

namespace tilewright::emulator {
namespace {

TEST(Fault, KindsHaveNamesOfTheirOwn) {
  std::set<std::string_view> names;
  for (int kind = 0; kind <= static_cast<int>(FaultKind::kLaunch); ++kind) {
    names.insert(ToString(static_cast<FaultKind>(kind)));
  }
  EXPECT_EQ(names.size(), static_cast<size_t>(FaultKind::kLaunch) + 1);
  EXPECT_FALSE(names.contains("fault"));
}

TEST(Fault, SaysKernelKindAndReason) {
  EXPECT_EQ(ToString({.kind = FaultKind::kLaunch, .kernel = "k", .message = "2048 threads"}),
            "k: launch: 2048 threads");
}

TEST(Fault, SaysBothSidesOfARace) {
  const Fault fault = {.kind = FaultKind::kRace,
                       .kernel = "softmax",
                       .self = {"thread 5", "load", {1, 0, 0}, "softmax.cu:17"},
                       .place = "shared byte 64",
                       .other = {"thread 6", "store", {1, 0, 0}, "softmax.cu:12"},
                       .message = "no barrier is between them",
                       .count = 3};
  EXPECT_EQ(
      ToString(fault),
      "softmax: race: load by thread 5 of block (1, 0, 0) at softmax.cu:17, shared byte 64: no barrier is between "
      "them; the other access: store by thread 6 of block (1, 0, 0) at softmax.cu:12 (3 alike)");
}

TEST(Fault, NamesThePlaceWhereTheTextHasNoLines) {
  const Fault fault = {.kind = FaultKind::kMisaligned,
                       .kernel = "k",
                       .self = {"thread 0", "store", {0, 2, 0}, ""},
                       .place = "C[17]",
                       .message = "16 bytes"};
  EXPECT_EQ(ToString(fault), "k: misaligned: store by thread 0 of block (0, 2, 0) at C[17]: 16 bytes");
}

}  // namespace
}  // namespace tilewright::emulator
