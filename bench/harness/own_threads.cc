#include "bench/harness/own_threads.h"

#include <sched.h>

#include <algorithm>
#include <filesystem>
#include <string>
#include <system_error>

#include "absl/strings/numbers.h"

namespace tilewright::bench {
namespace {

std::vector<int> ThreadIds() {
  std::vector<int> ids;
  std::error_code ignored;
  for (const auto& entry : std::filesystem::directory_iterator("/proc/self/task", ignored)) {
    int id = 0;
    if (absl::SimpleAtoi(entry.path().filename().string(), &id)) ids.push_back(id);
  }
  std::sort(ids.begin(), ids.end());
  return ids;
}

}  // namespace

OwnThreads::OwnThreads() : ids_(ThreadIds()) {}

void OwnThreads::BindNewOnes(const std::vector<int>& cpus) const {
  if (cpus.empty()) return;
  size_t next = 0;
  for (int id : ThreadIds()) {
    if (std::binary_search(ids_.begin(), ids_.end(), id)) continue;
    cpu_set_t set;
    CPU_ZERO(&set);
    CPU_SET(cpus[next++ % cpus.size()], &set);
    sched_setaffinity(id, sizeof(set), &set);
  }
}

}  // namespace tilewright::bench
