// Threads and their CPUs, arranged before anything is measured.
//
// OpenMP run times read their settings from the environment when the program is loaded, before main(). So the program
// starts itself a second time with the settings that are fair to everybody:
//   * every pool has the same number of threads, one per CPU, each bound to its own, the calling thread to the first;
//   * threads that wait for work spin for about a millisecond and then sleep, so that back-to-back runs find them awake
//     and the next runner, after a pause, finds its CPUs free.
#pragma once

#include <vector>

#include "absl/status/statusor.h"

namespace tilewright::bench {

// The CPUs to use, the calling thread being bound to the first. In the first start it does not return: it sets the
// environment and executes the program again with `argv`. `num_threads` 0 stands for all available CPUs; more threads
// than those are refused.
absl::StatusOr<std::vector<int>> SetUpProcess(int num_threads, char** argv);

}  // namespace tilewright::bench
