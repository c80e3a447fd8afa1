// What a report says about where its numbers come from.
#pragma once

#include <cstdint>
#include <string>

namespace tilewright::bench {

struct Machine {
  std::string cpu;  // As the CPU names itself.
  int cpus = 0;     // Cores of the whole machine.
  int threads = 0;  // Threads of the measurement.
  int64_t l1d_bytes = 0, l2_bytes = 0, l3_bytes = 0, memory_bytes = 0;
  std::string system;    // Kernel name and release.
  std::string compiler;  // The compiler that built this program.
};

Machine DescribeMachine(int threads);

// Commit of the working tree that the program was started from, with "-dirty" where files were changed; "unknown"
// outside of one. `bazel run` says where the tree is.
std::string CurrentCommit();

}  // namespace tilewright::bench
