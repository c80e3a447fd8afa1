// Lowering: from programs with blocks to what the back ends take.
//
//   absl::StatusOr<Module> lowered = Lower(module, target);
//
// A lowered function has no blocks. It consists of serial, parallel and thread-bound loops, branches, sequences,
// allocations, assertions and stores; buffers are flat (one dimension, no strides, no layout); vectors are at most as
// wide as the target's registers. Passes never change what a program computes. pipeline.cc lists them: those for every
// target, and those for CPUs or for GPUs in between.
#pragma once

#include <functional>
#include <string_view>
#include <vector>

#include "absl/status/statusor.h"
#include "ir/function.h"
#include "target/target.h"

namespace tilewright {

// What a pass knows besides the function.
struct LowerContext {
  const Target& target;

  // Warps, limits of threads and the like.
  const GpuTarget& gpu() const { return target.gpu_part(); }
};

struct Pass {
  std::string_view name;
  absl::StatusOr<Function> (*run)(const Function& function, const LowerContext& context);
};

// The passes for a target, in order.
std::vector<Pass> PipelineFor(const Target& target);

struct LowerOptions {
  // Called after each pass that changed a function.
  std::function<void(std::string_view pass, const Function& before, const Function& after)> after_pass;
};

struct PassTime {
  std::string_view pass;
  double milliseconds = 0;  // of all functions together
};

// `times`, when given, receives one entry for each pass.
absl::StatusOr<Module> Lower(const Module& module, const Target& target, const LowerOptions& options = {},
                             std::vector<PassTime>* times = nullptr);

// The names of a target's passes in order, as --print-after takes them.
std::vector<std::string_view> LoweringPassNames(const Target& target);

}  // namespace tilewright
