// From a program of a graph to the module that is compiled for it.
#pragma once

#include <string>
#include <vector>

#include "absl/status/statusor.h"
#include "autoschedule/sketch/scheduled_programs.h"
#include "graph/executor/kernel.h"
#include "graph/executor/kernel_pace.h"
#include "graph/fusion/canonical_program.h"
#include "ir/function.h"
#include "target/target.h"

namespace tilewright::graph {

struct ScheduledKernel {
  Module module;
  // By the parameters of the module's functions, as in KernelFunction.
  std::vector<int> main_params, pack_params;
  std::vector<KernelTensor> packed;
  std::string pack;  // the packing function, or empty
  std::vector<KernelVersion> versions;
  KernelPace pace;
  bool by_record = false;  // of the database; else by rules, or as written
  // Why a structure that the rules prefer refused a block, which another one schedules.
  std::vector<std::string> refused = {};
};

ScheduledKernel AsWritten(const PrimFunc& canonical);
// The same where it had to be; `why_not` says why.
ScheduledKernel AsWritten(const PrimFunc& canonical, const Target& target, std::string why_not);
// By the database's best record, or by rules; by those steps of rules that are not refuted, where the verifier refutes
// what they all make. AsWritten where none gives a module that can be called and is not refuted, unless the program as
// it is written is refuted, too. `scheduled`, which may be null: what the rules
// made of programs before, for this target.
absl::StatusOr<ScheduledKernel> ScheduleKernel(const PrimFunc& canonical, const std::vector<bool>& constant,
                                               const Target& target, const std::string& database,
                                               ScheduledPrograms* scheduled = nullptr);

}  // namespace tilewright::graph
