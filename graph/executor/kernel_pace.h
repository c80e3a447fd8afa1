// What is known of a kernel's speed before it runs (autoschedule/cost/pace.h), and why it is slow.
#pragma once

#include <string>

#include "autoschedule/cost/pace.h"

namespace tilewright::graph {

// Rules that fit a program stay within a few times of its speed of light.
inline constexpr double kSlowFactor = 10;

struct KernelPace {
  Pace pace;
  std::string why_not;  // why no rule schedules it; empty where one does

  bool slow() const { return pace.slow; }
  // "1.02 ms, 730 times its speed of light of 1.4 us: not scheduled: REASON".
  std::string ToString() const;
};

}  // namespace tilewright::graph
