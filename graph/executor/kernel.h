// A compiled program of a graph.
//
//   TW_ASSIGN_OR_RETURN(std::vector<Kernel> kernels, CompileKernels(plan.programs, {.cache = KernelCache::Default()}));
//   kernels[i].main.run(&call, data, shapes);
//
// A program is scheduled by the best record of a tuning database, else by the rules of autoschedule, and is compiled as
// it was written where that fails. Where a schedule packs constants, the kernel has a second function for it, which
// runs once, when a model is loaded (schedule/layout/hoist_prepack.h).
#pragma once

#include <functional>
#include <memory>
#include <string>
#include <vector>

#include "absl/status/statusor.h"
#include "absl/types/span.h"
#include "base/status_macros.h"
#include "codegen/abi/function_abi.h"
#include "codegen/backend.h"
#include "graph/executor/kernel_pace.h"
#include "graph/ir/kinds.h"
#include "ir/data_type.h"
#include "ir/function.h"
#include "target/target.h"

namespace tilewright {
class ScheduledPrograms;
}  // namespace tilewright

namespace tilewright::graph {

class KernelCache;

struct KernelTensor {
  DataType dtype;
  std::vector<int64_t> shape;
};

// A function of a kernel. Its parameters are those of the program, by their numbers, or packed constants: ~i stands for
// number i of Kernel::packed.
struct KernelFunction {
  TwUncheckedFunction run = nullptr;  // null: it does not run in this process
  std::string name = {};              // in Kernel::module, where there is one
  int64_t workspace_bytes = 0;
  std::vector<int> params;
};

// A function of a kernel for some sizes alone (graph/executor/kernel_versions.h).
struct KernelVersion {
  struct Extent {
    int param = 0, dim = 0;  // of the program's parameters
    int64_t extent = 0;
    friend bool operator==(const Extent&, const Extent&) = default;
  };
  std::vector<Extent> when;  // all of them
  KernelFunction function;
};

struct Kernel {
  KernelFunction main;
  std::vector<KernelVersion> versions = {};
  std::vector<KernelTensor> packed;
  KernelFunction pack;    // of constants into packed ones, where there are any
  bool scheduled = true;  // false: as it was written
  bool from_cache = false;
  bool kept = false;                                  // the cache has it
  bool runs = true;                                   // false: nothing of it is compiled
  std::shared_ptr<const CompiledModule> module = {};  // of kernels on a device
  KernelPace pace = {};
  CodeEffort effort = CodeEffort::kFull;  // of kernels that run in this process
  std::shared_ptr<const void> code;       // keeps the functions in memory

  // The function for tensors of these shapes, the program's parameters.
  const KernelFunction& MainFor(absl::Span<const std::vector<int64_t>* const> shapes) const;
};

struct KernelSource {
  PrimFunc program;
  // Whether a parameter is a constant in every call, so that it may be packed ahead of time; empty: none is.
  std::vector<bool> constant;
  // Calls of the program in a run of the model; 0: not known, in loops for example.
  int64_t calls = 0;
};

enum class KernelUse {
  kHere,     // functions of this process
  kDevice,   // functions of Kernel::module, on a device of the target's kind
  kExport,   // what packs constants, here; the kernels become a library for the target
  kExplain,  // nothing runs: kernels say how they were scheduled
};

struct KernelOptions {
  // The machine that the code is for; without a name: this one, for kHere alone (WithMachine).
  Target target = {};
  // The machine of this process, which packs constants and runs programs of no plan whatever the target; without a
  // name: HostTarget().
  Target host = {};
  KernelUse use = KernelUse::kHere;
  bool emulate = false;  // kDevice: in the emulator of the target
  bool schedule = true;
  bool quick = false;         // CodeEffort::kQuick for all; else by share of the run (kernel_effort.h)
  int num_threads = 0;        // that compile; 0: one for each processor
  std::string database = {};  // a tuning database, or empty
  // What the rules made of programs before, for this target; null: nothing is known.
  std::shared_ptr<ScheduledPrograms> scheduled = {};
  const KernelCache* cache = nullptr;  // null: nothing is kept
  // Called after each kernel with how many are done, from one thread at a time.
  std::function<void(size_t done, size_t all)> progress = {};
};

// The options with a target and a host that have names. An error says that code for elsewhere is for no machine.
absl::StatusOr<KernelOptions> WithMachine(KernelOptions options);
// The options for kernels that run in this process where others run elsewhere; `options` are of WithMachine.
KernelOptions ForHost(KernelOptions options);

// One kernel for each source, in order; sources of the same structure share one. Errors name the program that does not
// compile.
absl::StatusOr<std::vector<Kernel>> CompileKernels(absl::Span<const KernelSource> sources,
                                                   const KernelOptions& options);

// Whether the program takes tensors of these shapes and then these scalars: kernels do not check it. Errors name the
// parameter.
absl::Status CheckProgramArguments(const PrimFunc& program, absl::Span<const std::vector<int64_t>* const> shapes,
                                   absl::Span<const int64_t> scalars);

}  // namespace tilewright::graph
