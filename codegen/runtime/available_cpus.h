// The CPUs that this process may use.
//
// Two limits apply. The affinity mask names CPUs (taskset, cpuset cgroups). The quota of a control group limits CPU
// time per period; more busy threads than quota / period are stopped by the kernel in the middle of their work, so it
// counts as a number of CPUs, rounded up.
#pragma once

#include <optional>
#include <string>
#include <vector>

namespace tilewright::runtime {

// CPUs in the affinity mask of the calling thread, ascending. An OpenMP run time that binds threads (OMP_PROC_BIND)
// narrows the mask of the main thread to one CPU before main(); such a program names its CPUs itself.
std::vector<int> AffinityCpus();

// CPUs' worth of time that control groups (version 1 or 2) grant, at least 1; nullopt when they set no limit.
// `root` is put before every path, so that a test can show its own /proc and /sys.
std::optional<int> CgroupCpuQuota(const std::string& root = "");

// AffinityCpus() cut down to the quota; never empty.
std::vector<int> AvailableCpus();

// Lets the calling thread run only on `cpus`; false when the kernel refuses.
bool SetAffinity(const std::vector<int>& cpus);

}  // namespace tilewright::runtime
