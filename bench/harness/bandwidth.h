// How fast the caches and the memory are, measured: what programs that compute little are a percentage of.
//
// Two rates for each level, of all threads together, each thread with data of its own that fills half of its part of
// the level: reading an array, and copying one to another (the bytes read and the bytes written count). Every number is
// the best of several short runs, because a disturbed run says nothing.
#pragma once

#include <atomic>
#include <cstdint>
#include <string>
#include <vector>

#include "absl/status/status.h"
#include "bench/harness/machine.h"
#include "bench/harness/runner.h"
#include "codegen/runtime/tensor.h"
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

// Bytes of the arrays of a program that it only reads, only writes, and changes in place.
struct Traffic {
  int64_t read = 0, written = 0, changed = 0;
};

// Moves as many bytes, and computes nothing: what a program takes at least, to be timed beside it. Each thread has
// arrays of its own, so they lie in the cache level that the program's do. What is written is copied from as much that
// is read; of the rest, every element is read, or written.
class TrafficRunner : public Runner {
 public:
  TrafficRunner(const Traffic& traffic, runtime::ThreadPool& pool);
  void Run(int set) override;
  void SpoilOutput(int) override {}
  absl::Status CopyOutput(int, runtime::Tensor&) override;

 private:
  struct Arrays {
    std::vector<runtime::Tensor> memory;
    uint64_t *read, *written, *changed;
  };
  runtime::ThreadPool& pool_;
  const int64_t words_read_, words_written_, words_changed_;  // of each thread
  std::vector<Arrays> arrays_;
  std::atomic<uint64_t> sink_ = 0;
};

}  // namespace tilewright::bench
