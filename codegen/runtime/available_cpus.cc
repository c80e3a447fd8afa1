#include "codegen/runtime/available_cpus.h"

#include <sched.h>

#include <algorithm>
#include <cstdint>
#include <fstream>
#include <sstream>
#include <string_view>
#include <utility>

#include "base/math.h"

namespace tilewright::runtime {
namespace {

// The kernel wants a mask at least as large as its own; machines beyond this do not exist yet.
constexpr int kMaxCpus = 1 << 13;

class CpuMask {
 public:
  CpuMask() : set_(CPU_ALLOC(kMaxCpus)) { CPU_ZERO_S(bytes(), set_); }
  ~CpuMask() { CPU_FREE(set_); }
  CpuMask(const CpuMask&) = delete;
  CpuMask& operator=(const CpuMask&) = delete;

  size_t bytes() const { return CPU_ALLOC_SIZE(kMaxCpus); }
  cpu_set_t* set() { return set_; }
  bool Contains(int cpu) const { return CPU_ISSET_S(cpu, bytes(), set_); }
  void Add(int cpu) { CPU_SET_S(cpu, bytes(), set_); }

 private:
  cpu_set_t* set_;
};

// CPUs' worth of quota / period, or nullopt when the numbers mean "no limit".
std::optional<int> Quota(int64_t quota, int64_t period) {
  if (quota <= 0 || period <= 0) return std::nullopt;
  return static_cast<int>(std::clamp<int64_t>(CeilDiv(quota, period), 1, kMaxCpus));
}

std::optional<int> ReadVersion2(const std::string& folder) {
  std::ifstream file(folder + "/cpu.max");
  std::string quota;
  int64_t period = 0;
  if (!(file >> quota >> period) || quota == "max") return std::nullopt;
  int64_t microseconds = 0;
  if (!(std::istringstream(quota) >> microseconds)) return std::nullopt;
  return Quota(microseconds, period);
}

std::optional<int> ReadVersion1(const std::string& folder) {
  std::ifstream quota_file(folder + "/cpu.cfs_quota_us");
  std::ifstream period_file(folder + "/cpu.cfs_period_us");
  int64_t quota = 0, period = 0;
  if (!(quota_file >> quota) || !(period_file >> period)) return std::nullopt;
  return Quota(quota, period);
}

bool ListContains(std::string_view list, std::string_view name) {
  while (!list.empty()) {
    const size_t comma = std::min(list.find(','), list.size());
    if (list.substr(0, comma) == name) return true;
    list.remove_prefix(std::min(comma + 1, list.size()));
  }
  return false;
}

}  // namespace

std::vector<int> AffinityCpus() {
  CpuMask mask;
  std::vector<int> cpus;
  if (sched_getaffinity(0, mask.bytes(), mask.set()) != 0) return cpus;
  for (int cpu = 0; cpu < kMaxCpus; ++cpu) {
    if (mask.Contains(cpu)) cpus.push_back(cpu);
  }
  return cpus;
}

std::optional<int> CgroupCpuQuota(const std::string& root) {
  std::optional<int> least;
  std::ifstream groups(root + "/proc/self/cgroup");
  // A line is "hierarchy:controllers:path"; version 2 has no controllers.
  for (std::string line; std::getline(groups, line);) {
    const size_t first = line.find(':');
    const size_t second = first == std::string::npos ? first : line.find(':', first + 1);
    if (second == std::string::npos) continue;
    const std::string controllers = line.substr(first + 1, second - first - 1);
    std::string path = line.substr(second + 1);
    const bool version2 = controllers.empty();
    if (!version2 && !ListContains(controllers, "cpu")) continue;
    const std::string mount = root + (version2 ? "/sys/fs/cgroup" : "/sys/fs/cgroup/cpu");
    // Every ancestor may set a limit. Inside a container the path may not be visible; its root then is the mount.
    while (true) {
      const std::string folder = mount + (path == "/" ? "" : path);
      const std::optional<int> quota = version2 ? ReadVersion2(folder) : ReadVersion1(folder);
      if (quota.has_value()) least = std::min(least.value_or(*quota), *quota);
      const size_t slash = path.rfind('/');
      if (path.size() <= 1 || slash == std::string::npos) break;
      path.resize(std::max<size_t>(slash, 1));
    }
  }
  return least;
}

std::vector<int> AvailableCpus() {
  std::vector<int> cpus = AffinityCpus();
  if (cpus.empty()) cpus.push_back(0);
  const size_t quota = static_cast<size_t>(CgroupCpuQuota().value_or(kMaxCpus));
  if (cpus.size() > quota) cpus.resize(quota);
  return cpus;
}

bool SetAffinity(const std::vector<int>& cpus) {
  CpuMask mask;
  for (int cpu : cpus) {
    if (cpu < 0 || cpu >= kMaxCpus) return false;
    mask.Add(cpu);
  }
  return sched_setaffinity(0, mask.bytes(), mask.set()) == 0;
}

}  // namespace tilewright::runtime
