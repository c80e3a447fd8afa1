#include "autoschedule/measure/compile_worker.h"

#include <fstream>
#include <optional>
#include <utility>
#include <vector>

#include "absl/strings/str_cat.h"
#include "autoschedule/measure/executor/gpu_candidate.h"
#include "autoschedule/measure/protocol/protocol.h"
#include "autoschedule/measure/reference/reference.h"
#include "autoschedule/measure/reference/run_reference.h"
#include "base/status_macros.h"
#include "codegen/backend.h"
#include "codegen/remote/projection.h"
#include "codegen/runtime/timer.h"
#include "ir/script/parser.h"
#include "ir/structural.h"

namespace tilewright {
namespace {

absl::StatusOr<WorkerAnswer> CompileForGpu(const CompileRequest& request, const Module& module) {
  const int64_t start = runtime::NowNanoseconds();
  TW_ASSIGN_OR_RETURN(auto kernels, Compile(module, request.target, {.format = "cubin", .count = true}));
  WorkerAnswer answer{.ok = true};
  answer.counters = std::move(kernels.counters);
  answer.code_bytes = static_cast<int64_t>(kernels.bytes.size());
  const GpuCandidate candidate{.target = request.target, .program = request.program, .cubin = std::move(kernels.bytes)};
  TW_RETURN_IF_ERROR(WriteGpuCandidate(candidate, request.library));
  answer.seconds = static_cast<double>(runtime::NowNanoseconds() - start) * 1e-9;
  return answer;
}

absl::StatusOr<WorkerAnswer> CompileCandidate(const CompileRequest& request, const Module& module) {
  if (request.target.is_gpu()) return CompileForGpu(request, module);
  const int64_t start = runtime::NowNanoseconds();
  TW_ASSIGN_OR_RETURN(auto library, Compile(module, request.target, {.format = "so", .count = true}));
  std::ofstream file(request.library, std::ios::binary);
  file << library.bytes;
  if (!file.flush()) return absl::InternalError(absl::StrCat(request.library, " cannot be written"));
  WorkerAnswer answer{.ok = true};
  answer.counters = std::move(library.counters);
  if (request.project) {
    TW_ASSIGN_OR_RETURN(const auto assembly, Compile(module, request.target, {.format = "s"}));
    TW_ASSIGN_OR_RETURN(const auto loop, remote::ProjectInnerLoop(assembly.bytes, request.target));
    remote::CountInnerLoop(loop, &answer.counters);
  }
  answer.code_bytes = static_cast<int64_t>(library.bytes.size());
  answer.seconds = static_cast<double>(runtime::NowNanoseconds() - start) * 1e-9;
  return answer;
}

absl::StatusOr<WorkerAnswer> ComputeReference(const CompileRequest& request, const Module& module) {
  const Function main = module.Main();
  if (!main || main->params.size() != request.tensors.size()) {
    return absl::InvalidArgumentError("the program has no function with these parameters");
  }
  std::vector<NDArray> arguments;
  for (size_t i = 0; i < request.tensors.size(); ++i) {
    arguments.push_back(SeededTensor(request.tensors[i], request.seed, i));
  }
  WorkerAnswer answer{.ok = true};
  auto results = RunReference(main, request.target, arguments);
  if (!results.ok()) {
    answer.error = absl::StrCat(std::string(results.status().message()),
                                ": candidates are compared with the program as it stands");
    results = RunAsItStands(main, request.target, arguments);
  }
  if (!results.ok()) {
    answer.error = absl::StrCat("results are not compared: ", std::string(results.status().message()));
    return answer;
  }
  for (size_t i = 0; i < results->size(); ++i) {
    const std::optional<ReferenceResult>& result = (*results)[i];
    if (!result) continue;
    absl::Status status = WriteNpy(result->value, ReferencePath(request.folder, i, "value"));
    if (status.ok() && result->error.size() > 0) {
      status = WriteNpy(result->error, ReferencePath(request.folder, i, "error"));
    }
    if (!status.ok()) return status;
  }
  return answer;
}

absl::StatusOr<WorkerAnswer> Answer(const std::string& line) {
  TW_ASSIGN_OR_RETURN(const auto request, ReadCompileRequest(line));
  TW_ASSIGN_OR_RETURN(const auto module, ParseModule(request.program, "candidate"));
  // What is measured is what was asked for, or the record of it would be about another program.
  if (StructuralHash(module) != request.hash) {
    return absl::InternalError("the program's text does not read back as the program");
  }
  return request.reference ? ComputeReference(request, module) : CompileCandidate(request, module);
}

}  // namespace

std::string AnswerCompileRequest(const std::string& line) {
  const auto answer = Answer(line);
  if (answer.ok()) return ToLine(*answer);
  return ToLine(WorkerAnswer{.reason = kReasonCompile, .error = std::string(answer.status().message())});
}

}  // namespace tilewright
