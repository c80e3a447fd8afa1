#include "graph/executor/kernels.h"

#include "absl/strings/str_cat.h"
#include "base/status_macros.h"
#include "schedule/reduction/define_empty_reductions.h"

namespace tilewright::graph {

absl::StatusOr<std::unique_ptr<Kernels>> Kernels::Compile(const std::vector<PrimFunc>& programs,
                                                          const KernelOptions& options) {
  std::vector<KernelSource> sources;
  for (const PrimFunc& program : programs) sources.push_back({.program = program});
  TW_ASSIGN_OR_RETURN(std::vector<Kernel> kernels, CompileKernels(sources, options));
  return Of(programs, std::move(kernels));
}

std::unique_ptr<Kernels> Kernels::Of(const std::vector<PrimFunc>& programs, std::vector<Kernel> kernels) {
  std::unique_ptr<Kernels> result(new Kernels);
  for (size_t i = 0; i < programs.size(); ++i) {
    result->programs_.emplace(programs[i]->name, Entry{programs[i], std::move(kernels[i])});
  }
  return result;
}

absl::StatusOr<std::unique_ptr<Kernels>> Kernels::Interpret(const std::vector<PrimFunc>& programs) {
  std::unique_ptr<Kernels> kernels(new Kernels);
  for (const PrimFunc& program : programs) {
    kernels->programs_.emplace(program->name, Entry{program, {}});
    auto compiled = interp::Compile(DefineEmptyReductions(program), {.wrap_signed = true});
    if (!compiled.ok()) {
      return absl::InternalError(absl::StrCat("program ", program->name, ": ", compiled.status().message()));
    }
    kernels->interpreted_.emplace(program->name, *std::move(compiled));
  }
  return kernels;
}

absl::Status Kernels::Run(const std::string& name, const Arrays& arrays, const std::vector<int64_t>& scalars,
                          const TwParallelHook* parallel) const {
  const auto interpreted = interpreted_.find(name);
  if (interpreted == interpreted_.end()) return RunCompiled(programs_.at(name), arrays, scalars, parallel);
  std::vector<interp::Argument> arguments;
  for (const NDArray& array : arrays) arguments.emplace_back(array);
  for (int64_t scalar : scalars) arguments.emplace_back(scalar);
  return interpreted->second.Run(arguments);
}

absl::Status Kernels::RunCompiled(const Entry& entry, const Arrays& arrays, std::vector<int64_t> scalars,
                                  const TwParallelHook* parallel) const {
  std::vector<const std::vector<int64_t>*> shapes;
  for (const NDArray& array : arrays) shapes.push_back(&array.shape());
  TW_RETURN_IF_ERROR(CheckProgramArguments(entry.program, shapes, scalars));
  std::vector<void*> data;
  std::vector<const int64_t*> extents;
  for (const NDArray& array : arrays) {
    data.push_back(array.data());
    extents.push_back(array.shape().data());
  }
  for (int64_t& scalar : scalars) {
    data.push_back(&scalar);
    extents.push_back(nullptr);
  }
  char message[256] = "";
  const TwCall call = {.parallel = parallel, .message = message, .message_bytes = sizeof message};
  const int code = entry.kernel.main.run(&call, data.data(), extents.data());
  if (code == kTwOk) return absl::OkStatus();
  if (code == kTwErrorMemory) return absl::ResourceExhaustedError(message);
  return absl::FailedPreconditionError(message);
}

}  // namespace tilewright::graph
