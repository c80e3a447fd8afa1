// From a program of a graph to the module that is compiled for it.
#pragma once

#include <string>
#include <vector>

#include "absl/status/statusor.h"
#include "graph/executor/kernel.h"
#include "graph/executor/kernel_pace.h"
#include "ir/function.h"
#include "target/target.h"

namespace tilewright::graph {

// The names of a kernel's functions, whatever the program is called.
inline constexpr char kKernelMain[] = "kernel";

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

// The program under the name kKernelMain, with parameters of distinct names: equal programs become equal.
PrimFunc CanonicalProgram(const PrimFunc& program);
ScheduledKernel AsWritten(const PrimFunc& canonical);
// The same where it had to be; `why_not` says why.
ScheduledKernel AsWritten(const PrimFunc& canonical, const Target& target, std::string why_not);
// By the database's best record, or by rules. AsWritten where neither gives a module that can be called, or both give
// one that the verifier refutes and the program as it is written is not.
absl::StatusOr<ScheduledKernel> ScheduleKernel(const PrimFunc& canonical, const std::vector<bool>& constant,
                                               const Target& target, const std::string& database);

}  // namespace tilewright::graph
