// The clock of `run`: calls of a compiled function, and where their time goes.
#pragma once

#include <cstdint>
#include <map>
#include <string>
#include <vector>

#include "absl/status/status.h"
#include "codegen/backend.h"
#include "ir/function.h"
#include "ir/interp/interp.h"
#include "tools/programs/execute_program.h"

namespace tilewright {

using Extents = std::map<std::string, int64_t>;  // of symbols, by name

struct TimedFunction {
  Function original;                        // as it was written
  Function scheduled;                       // what is called
  std::vector<interp::Argument> arguments;  // one for each parameter of `scheduled`
  Extents extents;                          // for these arguments
};

CompileOptions CompileOptionsOf(const Engine& engine);

// Calls `timed.scheduled` of `module`, compiled as `code`, as `timing` says.
absl::Status TimeCalls(const Engine& engine, const CompiledModule& code, const Module& module,
                       const TimedFunction& timed, Timing* timing);

}  // namespace tilewright
