// Arrays, random elements, fault matchers and a fixture of the emulator's tests.
#pragma once

#include <cstddef>
#include <cstdint>
#include <functional>
#include <memory>
#include <numeric>
#include <ostream>
#include <random>
#include <string>
#include <type_traits>
#include <vector>

#include "codegen/cuda/emulator/device/emulated.h"
#include "codegen/cuda/emulator/fault.h"
#include "codegen/cuda/emulator/launch.h"
#include "gmock/gmock.h"
#include "gtest/gtest.h"

namespace tilewright::emulator {

// Elements at an address that is a multiple of 256, as device memory is.
template <class T>
class Array {
 public:
  explicit Array(size_t count) : bytes_(count * sizeof(T) + 256), count_(count) {
    void* first = bytes_.data();
    size_t room = bytes_.size();
    first_ = static_cast<T*>(std::align(256, count * sizeof(T), first, room));
  }
  T* data() { return first_; }
  const T* data() const { return first_; }
  size_t size() const { return count_; }
  size_t bytes() const { return count_ * sizeof(T); }
  T& operator[](size_t i) { return first_[i]; }
  const T& operator[](size_t i) const { return first_[i]; }

 private:
  std::vector<std::byte> bytes_;
  size_t count_;
  T* first_;
};

inline float ToFloat(float v) { return v; }
inline float ToFloat(int8_t v) { return v; }
inline float ToFloat(uint8_t v) { return v; }
inline float ToFloat(int32_t v) { return static_cast<float>(v); }
template <class T>
float ToFloat(T v) {
  return tw::to_float(v);
}

// Uniform in [-1, 1]; small integers as integers. tf32 is a float here.
template <class T>
T RandomElement(std::mt19937& random) {
  const float v = std::uniform_real_distribution<float>(-1, 1)(random);
  if constexpr (std::is_same_v<T, tw::f16>) {
    return tw::to_f16(v);
  } else if constexpr (std::is_same_v<T, tw::bf16>) {
    return tw::to_bf16(v);
  } else if constexpr (std::is_same_v<T, tw::e4m3>) {
    return tw::to_e4m3(v);
  } else if constexpr (std::is_same_v<T, tw::e5m2>) {
    return tw::to_e5m2(v);
  } else if constexpr (std::is_integral_v<T>) {
    return static_cast<T>(random());
  } else {
    return static_cast<T>(v);
  }
}
template <class T>
void Fill(Array<T>& array, std::mt19937& random) {
  for (size_t i = 0; i < array.size(); ++i) array[i] = RandomElement<T>(random);
}

// Random tests are repeated with these: in order, and three random orders.
inline constexpr uint64_t kSeeds[] = {0, 1, 2, 3};

// All faults as text, for messages of failed tests.
inline std::string FaultsOf(const LaunchResult& result) {
  std::string text;
  for (const Fault& fault : result.faults) text += ToString(fault) + "\n";
  return text;
}

inline void PrintTo(const LaunchResult& result, std::ostream* to) {
  *to << result.faults.size() << " faults" << (result.finished ? "" : ", not finished");
}

MATCHER(RanWell, "") {
  *result_listener << "\n" << FaultsOf(arg);
  return arg.ok();
}
// Some fault is of the kind, and its text contains `text`.
MATCHER_P2(Faults, kind, text, "") {
  *result_listener << "\n" << FaultsOf(arg);
  for (const Fault& fault : arg.faults) {
    if (fault.kind == kind && ToString(fault).find(text) != std::string::npos) return true;
  }
  return false;
}

// Runs kernels that read an array of 1, 2, ... and write another one.
template <class T, size_t count, uint32_t shared_bytes>
class ArraysTest : public ::testing::Test {
 protected:
  ArraysTest() : in_(count), out_(count) {
    std::iota(in_.data(), in_.data() + in_.size(), T{1});
    memory_.Add("in", in_.data(), in_.bytes());
    memory_.Add("out", out_.data(), out_.bytes(), GlobalMemory::kOutput);
  }
  LaunchResult Run(LaunchOptions options, const std::function<void()>& kernel) {
    if (options.shared_bytes == 0) options.shared_bytes = shared_bytes;
    return Launch(options, memory_, kernel);
  }

  Array<T> in_, out_;
  GlobalMemory memory_;
};
using InAndOutTest = ArraysTest<uint32_t, 4096, 8192>;
using SmallInAndOutTest = ArraysTest<int, 512, 4096>;

}  // namespace tilewright::emulator
