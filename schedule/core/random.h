// The generator behind sampling: small to copy (a schedule is forked all the time) and the same on every machine.
//
// SplitMix64 (Steele, Lea, Flood: Fast splittable pseudorandom number generators, 2014).
#pragma once

#include <cstdint>

namespace tilewright {

class Random {
 public:
  explicit Random(uint64_t seed) : state_(seed) {}

  uint64_t Next() {
    uint64_t z = state_ += 0x9e3779b97f4a7c15;
    z = (z ^ (z >> 30)) * 0xbf58476d1ce4e5b9;
    z = (z ^ (z >> 27)) * 0x94d049bb133111eb;
    return z ^ (z >> 31);
  }
  // Uniform in [0, bound); bound > 0. The bias is below bound / 2^64.
  uint64_t Below(uint64_t bound) {
    return static_cast<uint64_t>((static_cast<unsigned __int128>(Next()) * bound) >> 64);
  }
  // Uniform in [0, 1).
  double Unit() { return static_cast<double>(Next() >> 11) * 0x1p-53; }
  // A generator whose numbers are independent of this one's.
  Random Fork() { return Random(Next()); }

 private:
  uint64_t state_;
};

}  // namespace tilewright
