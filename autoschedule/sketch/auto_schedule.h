// From a program that nobody scheduled to one that runs fast on a target.
//
//   IntrinRegistry intrins = IntrinRegistry::Builtin();
//   AutoScheduled result = AutoSchedule(module, HostTarget(), &intrins);
//   ... result.schedule.module(), result.schedule.trace() ...
//
// One rule per block, nothing measured: elementwise blocks are computed where they are used
// (autoschedule/normalize/inline_rule.h), contractions are tensorized (autoschedule/sketch/cpu/contraction_rule.h) and
// their constant operands packed ahead of time (schedule/layout/hoist_prepack.h), every other block runs in parallel
// and on vectors (autoschedule/sketch/cpu/plain_rule.h). GPUs have sketches of their own (autoschedule/sketch/gpu).
#pragma once

#include <string>
#include <vector>

#include "autoschedule/program/choices.h"
#include "intrin/registry.h"
#include "schedule/recorder/schedule.h"
#include "target/target.h"

namespace tilewright {

// Why a rule did not schedule a block.
struct RuleRefusal {
  Refusal refusal;
  Function function;  // what Render wants

  std::string ToString() const { return RenderLine(refusal, function); }
};

struct AutoScheduled {
  Schedule schedule;
  // The refusals of rules that are made for a block: of a contraction without a tensor form, for example. Another rule
  // may have scheduled the block.
  std::vector<RuleRefusal> refused;
  // One for each block, or function, that no rule scheduled. It runs as it is written: valid and slow.
  std::vector<RuleRefusal> left_alone;
  // Why structures schedule a block without others that were to join it.
  std::vector<RuleRefusal> reduced = {};
};

// Schedules every function of the module, with the choices that `choices` makes. `intrins` must outlive the result.
// `shared`: steps that were applied with other choices are taken from there (schedule/recorder/shared_steps.h). The
// trace is then as recorded, with queries whose results nothing uses: few of many candidates need it without
// (RemoveUnusedQueries).
AutoScheduled AutoSchedule(const Module& module, const Target& target, IntrinRegistry* intrins, Choices& choices,
                           SharedSteps* shared = nullptr);
// With the preferred choices.
AutoScheduled AutoSchedule(const Module& module, const Target& target, IntrinRegistry* intrins);
// The same where each step that the verifier refutes is undone: for a program whose schedule is refuted as a whole, so
// that one block does not leave all others unscheduled. Verifying each step takes its time.
AutoScheduled AutoScheduleVerified(const Module& module, const Target& target, IntrinRegistry* intrins);

}  // namespace tilewright
