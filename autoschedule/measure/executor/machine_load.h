// How busy other processes keep the CPUs of this process.
//
//   MachineLoad load;
//   Measure();
//   if (load.OthersShare() > kBusy) ...   // times may be too long
//
// Processes that this one started, workers above all, are its own, those that still run and those that have ended.
#pragma once

#include <vector>

namespace tilewright {

class MachineLoad {
 public:
  MachineLoad();

  // The share of the CPU time of the CPUs that this process may use, since the object was made, that went to other
  // processes or, where the kernel tells, to other virtual machines; between 0 and 1.
  double OthersShare() const;

 private:
  // In ticks.
  struct Times {
    double own = 0, busy = 0, total = 0;
  };
  Times Read() const;

  const std::vector<int> cpus_;
  const Times start_;
};

// What a machine is called busy from on.
inline constexpr double kBusy = 0.1;

}  // namespace tilewright
