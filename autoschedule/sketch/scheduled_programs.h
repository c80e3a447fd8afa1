// Programs that the rules scheduled for one target, remembered: the same question is answered once.
//
//   ScheduledPrograms programs(HostTarget());
//   std::shared_ptr<const AutoScheduled> scheduled = programs.Of(function);
//   if (programs.IsRefuted(scheduled->schedule.module().functions()[0])) ...
//
// Whoever decides which operators share a kernel asks what its schedule costs, and later compiles that schedule.
// Functions are equal where they compute the same, under the same names of functions, parameters and extents. Several
// threads may ask at once.
#pragma once

#include <cstdint>
#include <memory>
#include <mutex>
#include <string>
#include <unordered_map>

#include "autoschedule/sketch/auto_schedule.h"
#include "intrin/registry.h"
#include "ir/function.h"
#include "target/target.h"

namespace tilewright {

class ScheduledPrograms {
 public:
  explicit ScheduledPrograms(Target target) : target_(std::move(target)) {}

  // AutoSchedule of a module of this function, with the preferred choices.
  std::shared_ptr<const AutoScheduled> Of(const Function& function);
  // AutoScheduleVerified of it, which is not remembered.
  std::shared_ptr<const AutoScheduled> VerifiedOf(const Function& function) const;
  // Whether the verifier refutes the function. Asked of the same node again, it is not verified again.
  bool IsRefuted(const Function& function) { return !RefutationOf(function).empty(); }
  // The same with what is refuted first; empty where nothing is.
  std::string RefutationOf(const Function& function);
  const Target& target() const { return target_; }

 private:
  struct Entry {
    Entry(const Function& from, const Target& target, bool verified)
        : function(from),
          scheduled(verified ? AutoScheduleVerified(Module(from), target, &intrins)
                             : AutoSchedule(Module(from), target, &intrins)) {}
    IntrinRegistry intrins = IntrinRegistry::Builtin();
    Function function;
    AutoScheduled scheduled;
  };

  std::shared_ptr<const Entry> Find(uint64_t hash, const Function& function);

  const Target target_;
  std::mutex mutex_;
  std::unordered_multimap<uint64_t, std::shared_ptr<const Entry>> entries_;
  struct Verified {
    Function function;  // keeps the node
    std::string refutation;
  };
  std::unordered_map<const FunctionNode*, Verified> verified_;
};

}  // namespace tilewright
