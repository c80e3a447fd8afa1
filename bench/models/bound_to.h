// The CPUs of the calling thread, changed for a while. The benchmark's own thread is bound to one CPU, and a compiler
// that asks how many there are, or a process that is started, would take that for all.
#pragma once

#include <sched.h>

#include <vector>

namespace tilewright::bench {

// The calling thread may use these CPUs while the object lives; none: nothing changes.
class BoundTo {
 public:
  explicit BoundTo(const std::vector<int>& cpus) {
    CPU_ZERO(&before_);
    if (cpus.empty() || sched_getaffinity(0, sizeof before_, &before_) != 0) return;
    cpu_set_t wanted;
    CPU_ZERO(&wanted);
    for (int cpu : cpus) CPU_SET(cpu, &wanted);
    changed_ = sched_setaffinity(0, sizeof wanted, &wanted) == 0;
  }
  ~BoundTo() {
    if (changed_) sched_setaffinity(0, sizeof before_, &before_);
  }
  BoundTo(const BoundTo&) = delete;
  BoundTo& operator=(const BoundTo&) = delete;

 private:
  cpu_set_t before_;
  bool changed_ = false;
};

}  // namespace tilewright::bench
