// How busy other processes kept the CPUs while something was measured.
//
//   OtherLoad load;
//   Measure();
//   double share = load.Share();   // 0.02: others took 2% of all CPU time
#pragma once

namespace tilewright::bench {

class OtherLoad {
 public:
  OtherLoad();

  // The share of the CPU time since the start that went to other processes of this machine or, where the kernel tells,
  // to other virtual machines; between 0 and 1. Processes that this one started are others until they have ended.
  double Share() const;

 private:
  struct CpuSeconds {
    double own = 0;    // CPU time of this process and of those that it started, once they have ended.
    double busy = 0;   // CPU time of all processes.
    double total = 0;  // Idle time included.
  };
  static CpuSeconds Read();

  const CpuSeconds start_;
};

}  // namespace tilewright::bench
