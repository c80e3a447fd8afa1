// From a program that nobody scheduled to one that runs fast on a target.
//
//   IntrinRegistry intrins = IntrinRegistry::Builtin();
//   AutoScheduled result = AutoSchedule(module, HostTarget(), &intrins);
//   ... result.schedule.module(), result.schedule.trace() ...
//
// So far one deterministic rule per block, no measurement: contractions are tensorized
// (autoschedule/contraction_rule.h), constant operands packed ahead of time (schedule/hoist_prepack.h), every other
// block stays as it is.
#pragma once

#include <string>
#include <vector>

#include "intrin/registry.h"
#include "ir/target.h"
#include "schedule/schedule.h"

namespace tilewright {

struct AutoScheduled {
  Schedule schedule;
  // For each contraction that no rule could schedule: why. Such a block stays as it was; the program is valid and slow.
  std::vector<std::string> left_alone;
};

// Schedules every function of the module. `intrins` must outlive the result.
AutoScheduled AutoSchedule(const Module& module, const Target& target, IntrinRegistry* intrins);

}  // namespace tilewright
