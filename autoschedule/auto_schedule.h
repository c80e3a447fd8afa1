// From a program that nobody scheduled to one that runs fast on a target.
//
//   IntrinRegistry intrins = IntrinRegistry::Builtin();
//   Outcome<Schedule> schedule = AutoSchedule(module, HostTarget(), &intrins);
//   ... schedule->module(), schedule->trace() ...
//
// So far one deterministic rule per block, no measurement: contractions are tensorized
// (autoschedule/contraction_rule.h), constant operands packed ahead of time (schedule/hoist_prepack.h), every other
// block stays as it is.
#pragma once

#include "intrin/registry.h"
#include "ir/target.h"
#include "schedule/schedule.h"

namespace tilewright {

// Schedules every function of the module. `intrins` must outlive the schedule. A refusal says which block and why; what
// the rules do not know is left alone, which is no refusal.
Outcome<Schedule> AutoSchedule(const Module& module, const Target& target, IntrinRegistry* intrins);

}  // namespace tilewright
