// What the commands do with ONNX models in place of programs.
#pragma once

#include <map>
#include <string>

#include "absl/status/statusor.h"
#include "graph/executor/executor.h"
#include "graph/rewrite/pass.h"
#include "tools/command.h"

namespace tilewright {
namespace graph {
class KernelCache;
}

// Whether the operand is an ONNX model, by its name.
bool IsOnnxFile(const std::string& path);

// Prints "FILE: error: MESSAGE"; returns kRefused.
int RefuseOnnx(const CommandArguments& args, absl::string_view message);
// --dim NAME=N; --opt-level and --disable.
absl::StatusOr<std::map<std::string, int64_t>> DimsOf(const CommandArguments& args);
absl::StatusOr<graph::PassContext> PassesOf(const CommandArguments& args);
// The machine that --target and --engine name: this one, a device, or a worker. An error says why they do not run
// models.
absl::Status ChooseMachine(const CommandArguments& args, graph::ExecutorOptions* options);
// Kernels come from the cache (null: none) and --db; compiling that takes a while is reported on standard error.
graph::ExecutorOptions ExecutorOptionsOf(const CommandArguments& args, const graph::KernelCache* cache);

// `check MODEL.onnx`: inputs, outputs, operators with counts, and every node that cannot be imported.
int CheckOnnx(const CommandArguments& args);
// `run MODEL.onnx`: executes it on the arrays of --inputs, or on random ones.
int RunOnnx(const CommandArguments& args);

}  // namespace tilewright
