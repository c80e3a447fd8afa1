// What unreliable_tile.cc and the test that uses it share.
#pragma once

#include <atomic>
#include <cstdint>

namespace tilewright {

constexpr int64_t kMostStays = 100'000;
// Nanoseconds without a call after which a process counts as away. Samples of a candidate follow each other faster.
constexpr int64_t kStayGap = 2'000'000;

// A time in which a process called the function again and again.
struct TileStay {
  int64_t process, begin, end;  // nanoseconds of the monotonic clock
};

struct TileLog {
  std::atomic<int64_t> calls;
  int64_t crash_at, hang_at, eat_memory_at;  // which call does it; 0: none
  std::atomic<int64_t> stays;
  TileStay stay[kMostStays];
};

}  // namespace tilewright
