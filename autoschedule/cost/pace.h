// How far a scheduled program's projected time is from the least that its target needs.
//
//   const Pace pace = PaceOf(program, scheduled, target, /*slow_factor=*/10);
//   if (pace.slow) ...   // no rule made anything of it
//
// A program is slow where its work is projected to take more than `slow_factor` times its speed of light: rules that
// fit a program stay within a few times of it. What could be gained has to be more than it costs to start a kernel on
// the target once (fork_join_seconds, launch_seconds): a smaller program is as long as a call, however it is scheduled.
// A program whose limit is not known, as data ends its loops, is not judged.
#pragma once

#include <string>

#include "ir/function.h"
#include "target/target.h"

namespace tilewright {

struct Pace {
  double seconds = 0;        // projected, without what starting it costs
  double limit_seconds = 0;  // the speed of light
  std::string limiter;       // as Projection names it
  bool slow = false;

  double Factor() const { return limit_seconds > 0 ? seconds / limit_seconds : 0; }
};

// `scheduled` computes what `program` does; both may be the same.
Pace PaceOf(const Function& program, const Function& scheduled, const Target& target, double slow_factor);

}  // namespace tilewright
