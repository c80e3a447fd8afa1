// The schedule that a benchmark runs: the best that tuning finds in the time it gets, records of the database included;
// without time the best record of the database as it is, and without one what the rules of autoschedule/ decide.
#pragma once

#include <cstdint>
#include <map>
#include <optional>
#include <string>
#include <vector>

#include "absl/status/statusor.h"
#include "autoschedule/database/caches.h"
#include "autoschedule/program/sizes.h"
#include "codegen/backend.h"
#include "codegen/runtime/tensor.h"
#include "intrin/registry.h"
#include "ir/function.h"
#include "schedule/core/trace.h"
#include "target/target.h"

namespace tilewright::bench {

struct TuningSettings {
  double seconds = 0;    // per workload; 0: no tuning
  std::string database;  // path; empty: none. Made where there is none when something is tuned.
  uint64_t seed = 0;
  Caches caches = Caches::kRotating;
  SizesByName sizes = {};  // as in TuneOptions
  // The schedule of a similar program, whose choices the rules take over where this one has them.
  std::optional<Trace> like = {};
  std::string launcher = {};  // the command before the worker that runs candidates; empty: this machine does
};

// A scheduled program, and what it took to find the schedule.
struct Tuned {
  Module module;
  Trace trace = {};
  double seconds = 0;
  int64_t trials = 0;
};

// Candidates are measured on `cpus`, whatever the calling thread is bound to.
absl::StatusOr<Tuned> ChooseSchedule(const Module& module, const Target& target, IntrinRegistry* intrins,
                                     const TuningSettings& tuning, const std::vector<int>& cpus);

// Packs the constants of main where the scheduled module has a function that does, from the tensors of these names;
// what it writes is added.
absl::Status PackConstants(const CompiledModule& code, const Module& module,
                           std::map<std::string, runtime::Tensor>& by_name);

}  // namespace tilewright::bench
