// How fast the caches and the memory are, measured: what programs that compute little are a percentage of.
//
// Two rates for each level, of all threads together, each thread with data of its own that fills half of its part of
// the level: reading an array, and copying one to another (the bytes read and the bytes written count). Every number is
// the best of several short runs, because a disturbed run says nothing.
#ifndef TILEWRIGHT_BENCH_BANDWIDTH_H_
#define TILEWRIGHT_BENCH_BANDWIDTH_H_

#include <cstdint>
#include <string>
#include <vector>

#include "bench/machine.h"
#include "codegen/runtime/thread_pool.h"

namespace tilewright::bench {

struct LevelBandwidth {
  std::string level;    // "L1", "L2", "L3", "memory"
  int64_t bytes = 0;    // of the level, for all threads together
  double read_gbs = 0;  // gigabytes (10^9) a second
  double copy_gbs = 0;
};

// From the first cache level to memory; levels that the system does not describe are left out. Takes about two seconds.
std::vector<LevelBandwidth> MeasureBandwidth(runtime::ThreadPool& pool, const Machine& machine);

// The first level that holds so many bytes. `levels` is not empty.
const LevelBandwidth& LevelThatHolds(const std::vector<LevelBandwidth>& levels, int64_t bytes);

// The time that moving the bytes takes at least: what is written is copied from as much that is read, the rest is read,
// or written at the rate of copies.
double LeastSeconds(const LevelBandwidth& level, double bytes_read, double bytes_written);

}  // namespace tilewright::bench

#endif  // TILEWRIGHT_BENCH_BANDWIDTH_H_
