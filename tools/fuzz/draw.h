// A stream of numbers that depends on nothing but where it was made.
#pragma once

#include <cstdint>
#include <string>

namespace tilewright {

class Draw {
 public:
  explicit Draw(uint64_t state) : state_(state) {}
  uint64_t Next() {  // splitmix64
    state_ += 0x9e3779b97f4a7c15;
    uint64_t z = state_;
    z = (z ^ (z >> 30)) * 0xbf58476d1ce4e5b9;
    z = (z ^ (z >> 27)) * 0x94d049bb133111eb;
    return z ^ (z >> 31);
  }
  int64_t Below(int64_t n) { return static_cast<int64_t>(Next() % static_cast<uint64_t>(n)); }
  bool Chance(int percent) { return Below(100) < percent; }
  template <class List>
  std::string Of(const List& list) {
    return std::string(list[static_cast<size_t>(Below(static_cast<int64_t>(list.size())))]);
  }
  Draw Apart() { return Draw(Next()); }

 private:
  uint64_t state_;
};

}  // namespace tilewright
