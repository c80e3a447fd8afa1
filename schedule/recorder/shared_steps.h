// Steps that many schedules of one program have in common, applied once.
//
//   SharedSteps steps;
//   Schedule first(module, {.shared = &steps}), second(module, {.shared = &steps});
//   ... the same calls of both, up to a sampling call with another decision ...
//
// The steps form a tree: each hangs below the one that it was applied after. A call that was made before at the same
// place takes over the program and the results of then; what is recorded in the trace is the same. So candidates of a
// search fork where their choices first differ, whatever code makes the calls. Sampling calls that draw their decision
// end the sharing of their schedule.
//
// Steps that few schedules take are forgotten when there are too many. Schedules that share steps are used by one
// thread at a time, until their EndSharing().
#pragma once

#include <cstddef>
#include <memory>
#include <optional>
#include <vector>

#include "ir/function.h"
#include "schedule/core/refusal.h"
#include "schedule/core/trace.h"
#include "schedule/core/value.h"

namespace tilewright {

struct SharedStep {
  // The call, with the arguments as they were given.
  const Primitive* primitive = nullptr;
  std::vector<Value> given;
  Value decision;

  // What became of it: a refusal, or an instruction with the program after it.
  std::optional<Refusal> refusal;
  Function function;  // that it was about
  Module module;
  std::optional<SharedInstruction> instruction;
  std::vector<Value> results;

  std::vector<std::shared_ptr<SharedStep>> next;
  int taken = 1;

  // The step for a call after this one, or null when there was none.
  std::shared_ptr<SharedStep> Find(const Primitive& called, const std::vector<Value>& args, const Value& decided) const;
};

class SharedSteps {
 public:
  // 2^16 steps take some 200 MB.
  explicit SharedSteps(size_t most = 1 << 16) : most_(most) {}

  // The root of schedules of this program. Another program than before begins a new tree.
  const std::shared_ptr<SharedStep>& Root(const Module& module);
  // Hangs a step below `place`.
  void Add(SharedStep& place, std::shared_ptr<SharedStep> step);

  size_t size() const { return size_; }

 private:
  const size_t most_;
  std::shared_ptr<SharedStep> root_;
  size_t size_ = 0;
};

}  // namespace tilewright
