// What the commands do with ONNX models in place of programs.
#pragma once

#include <map>
#include <memory>
#include <optional>
#include <string>

#include "absl/status/statusor.h"
#include "autoschedule/program/sizes.h"
#include "graph/executor/executor.h"
#include "graph/fusion/fuse_kernels.h"
#include "graph/onnx/model_file.h"
#include "graph/rewrite/pass.h"
#include "tools/command_line/command.h"

namespace tilewright {
namespace graph {
class KernelCache;
}

// Prints "FILE: error: MESSAGE"; returns kRefused.
int RefuseOnnx(const CommandArguments& args, absl::string_view message);
// The part of --dim, --disable and --inputs that this model does not use: a name that is not a symbolic dimension of an
// input, a pass that runs, an input or an output. Nothing where all is used.
std::optional<std::string> UnusedByModel(const CommandArguments& args, const onnx::GraphProto& graph);
// The model of the first operand, a file or standard input.
absl::StatusOr<std::unique_ptr<graph::ModelFile>> ReadModel(const CommandArguments& args);
// The model of the first operand, whose use of flags was checked. Null where it is refused, which is reported, with the
// exit status in `status`.
std::unique_ptr<graph::ModelFile> OpenModel(const CommandArguments& args, int* status);
// --dim NAME=N, and NAME=N,N,...; --opt-level and --disable.
std::map<std::string, int64_t> DimsOf(const CommandArguments& args);
SizesByName LikelyOf(const CommandArguments& args);
graph::PassContext PassesOf(const CommandArguments& args);
// Sets the machine that --target and --engine name: this one, a device, or a worker. kDone, or the exit status of what
// is wrong, which is reported.
int ChooseMachine(const CommandArguments& args, graph::ExecutorOptions* options);
// Kernels come from the cache (null: none) and --db; compiling that takes a while is reported on standard error.
graph::ExecutorOptions ExecutorOptionsOf(const CommandArguments& args, const graph::KernelCache* cache);

// One line on standard error where kernels are far from their speed of light: how many, and the worst three.
void WarnOfSlowKernels(const CommandArguments& args, const graph::Executor& executor);

// A line for each join that the records of --db have taken apart.
std::string MeasuredApart(const CommandArguments& args, const graph::FusionReport& report);

// `check MODEL.onnx`: inputs, outputs, operators with counts, and every node that cannot be imported.
int CheckOnnx(const CommandArguments& args);

}  // namespace tilewright
