// All schedules that the rules know for one program, as a function of choices.
//
//   Space space(module, HostTarget(), &intrins);
//   Outcome<Candidate> candidate = space.Make(Choices::Drawn(1));
//
// A candidate is scheduled, verified and hashed; nothing is compiled or measured here.
#pragma once

#include <cstdint>
#include <unordered_set>
#include <utility>
#include <vector>

#include "autoschedule/program/choices.h"
#include "autoschedule/sketch/auto_schedule.h"
#include "intrin/registry.h"
#include "schedule/recorder/schedule.h"
#include "schedule/recorder/shared_steps.h"
#include "target/target.h"
#include "verify/structure/proven_parts.h"

namespace tilewright {

struct Candidate {
  Schedule schedule;
  std::vector<Choice> choices;
  uint64_t hash = 0;  // structural, of the module: equal programs have equal ones
};

class Space {
 public:
  // `intrins` must outlive the space and its candidates. It makes members of families when they are asked for, so the
  // space is used by one thread at a time.
  Space(Module module, Target target, IntrinRegistry* intrins);

  const Module& module() const { return module_; }
  const Target& target() const { return target_; }
  // The blocks that no rule schedules, each with its reason.
  const std::vector<RuleRefusal>& left_alone() const { return left_alone_; }

  // The first refusal of a rule for a block that it schedules with the preferred choices, or one of "verify" that names
  // the check which refutes the program.
  Outcome<Candidate> Make(Choices choices) const;

 private:
  Module module_;
  Target target_;
  IntrinRegistry* intrins_;
  std::vector<RuleRefusal> left_alone_;
  size_t refused_ = 0;                             // by rules, whatever the choices
  mutable SharedSteps shared_;                     // candidates fork where their choices first differ
  mutable std::unordered_set<uint64_t> verified_;  // functions that candidates have in common, by their hashes
  mutable ProvenParts proven_;                     // that candidates have in common
};

}  // namespace tilewright
