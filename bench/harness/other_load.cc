#include "bench/harness/other_load.h"

#include <sys/resource.h>
#include <unistd.h>

#include <algorithm>
#include <fstream>
#include <string>

namespace tilewright::bench {

OtherLoad::OtherLoad() : start_(Read()) {}

OtherLoad::CpuSeconds OtherLoad::Read() {
  CpuSeconds seconds;
  for (const auto who : {RUSAGE_SELF, RUSAGE_CHILDREN}) {
    rusage usage = {};
    getrusage(who, &usage);
    for (const timeval& time : {usage.ru_utime, usage.ru_stime}) {
      seconds.own += static_cast<double>(time.tv_sec) + static_cast<double>(time.tv_usec) * 1e-6;
    }
  }
  // The first line sums over all CPUs, in ticks: user nice system idle iowait irq softirq steal.
  std::ifstream file("/proc/stat");
  std::string label;
  file >> label;
  const double ticks_per_second = static_cast<double>(sysconf(_SC_CLK_TCK));
  for (int i = 0; i < 8; ++i) {
    double ticks = 0;
    file >> ticks;
    const bool idle = i == 3 || i == 4;
    seconds.total += ticks / ticks_per_second;
    if (!idle) seconds.busy += ticks / ticks_per_second;
  }
  return seconds;
}

double OtherLoad::Share() const {
  const CpuSeconds now = Read();
  const double total = now.total - start_.total;
  if (total <= 0) return 0;
  return std::clamp(((now.busy - start_.busy) - (now.own - start_.own)) / total, 0.0, 1.0);
}

}  // namespace tilewright::bench
