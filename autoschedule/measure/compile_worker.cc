// compile_worker: compiles candidates to shared libraries, and computes references (protocol.h).
#include <sys/stat.h>

#include <string>
#include <vector>

#include "absl/strings/str_cat.h"
#include "autoschedule/measure/protocol.h"
#include "autoschedule/measure/reference.h"
#include "autoschedule/measure/reference_program.h"
#include "autoschedule/measure/serve.h"
#include "codegen/llvm/abi_type.h"
#include "codegen/llvm/jit.h"
#include "codegen/llvm/object.h"
#include "codegen/llvm/spills.h"
#include "codegen/runtime/tensor.h"
#include "codegen/runtime/thread_pool.h"
#include "codegen/runtime/timer.h"
#include "ir/script/parser.h"
#include "ir/structural.h"

namespace tilewright {
namespace {

absl::StatusOr<WorkerAnswer> CompileCandidate(const CompileRequest& request, const Module& module) {
  const int64_t start = runtime::NowNanoseconds();
  std::string assembly;
  CompileOptions options;
  if (request.target.kind == TargetKind::kX86) options.assembly = &assembly;
  if (absl::Status status = EmitSharedLibrary(module, request.target, request.library, options); !status.ok()) {
    return status;
  }
  WorkerAnswer answer{.ok = true};
  answer.spills = CountInnerLoopVectorSpills(assembly);
  struct stat file;
  if (stat(request.library.c_str(), &file) == 0) answer.code_bytes = file.st_size;
  answer.seconds = static_cast<double>(runtime::NowNanoseconds() - start) * 1e-9;
  return answer;
}

// The contents of a floating-point tensor in double precision.
NDArray ToDouble(const NDArray& array) {
  NDArray doubles(DataType::Float(64), array.shape());
  for (int64_t i = 0; i < array.size(); ++i) doubles.Set(i, array.Get(i));
  return doubles;
}

absl::StatusOr<WorkerAnswer> ComputeReference(const CompileRequest& request, const Module& module) {
  const Function main = module.Main();
  if (!main || main->params.size() != request.tensors.size()) {
    return absl::InvalidArgumentError("the program has no function with these parameters");
  }
  const auto program = MakeReferenceProgram(main);
  if (!program.ok()) return program.status();
  const auto code = CompileToJit(Module(program->function), request.target);
  if (!code.ok()) return code.status();

  std::vector<NDArray> arrays(program->function->params.size());
  for (size_t i = 0; i < request.tensors.size(); ++i) {
    NDArray seeded = SeededTensor(request.tensors[i], request.seed, i);
    const bool promoted = program->written[i] && seeded.dtype().is_float();
    arrays[static_cast<size_t>(program->value[i])] = promoted ? ToDouble(seeded) : seeded;
    if (program->error[i] >= 0) {
      arrays[static_cast<size_t>(program->error[i])] = NDArray(DataType::Float(64), seeded.shape());
    }
  }
  std::vector<runtime::Tensor> tensors;
  for (const NDArray& array : arrays) {
    tensors.push_back(runtime::Tensor::Borrow(array.data(), AbiType(array.dtype()), array.shape()));
  }
  std::vector<TwTensor*> args;
  for (runtime::Tensor& tensor : tensors) args.push_back(tensor.abi());
  runtime::ThreadPool pool;
  const TwParallelHook hook = pool.hook();
  if (absl::Status status = (*code)->Run(program->function->name, args, &hook); !status.ok()) return status;

  for (size_t i = 0; i < request.tensors.size(); ++i) {
    if (!program->written[i]) continue;
    absl::Status status =
        WriteNpy(arrays[static_cast<size_t>(program->value[i])], ReferencePath(request.folder, i, "value"));
    if (status.ok() && program->error[i] >= 0) {
      status = WriteNpy(arrays[static_cast<size_t>(program->error[i])], ReferencePath(request.folder, i, "error"));
    }
    if (!status.ok()) return status;
  }
  return WorkerAnswer{.ok = true};
}

absl::StatusOr<WorkerAnswer> Answer(const std::string& line) {
  const auto request = ReadCompileRequest(line);
  if (!request.ok()) return request.status();
  const auto module = ParseModule(request->program, "candidate");
  if (!module.ok()) return module.status();
  // What is measured is what was asked for, or the record of it would be about another program.
  if (StructuralHash(*module) != request->hash) {
    return absl::InternalError("the program's text does not read back as the program");
  }
  return request->reference ? ComputeReference(*request, *module) : CompileCandidate(*request, *module);
}

}  // namespace
}  // namespace tilewright

int main(int argc, char** argv) {
  using tilewright::ToLine;
  return tilewright::ServeLines(argc, argv, [](const std::string& line) {
    const auto answer = tilewright::Answer(line);
    if (answer.ok()) return ToLine(*answer);
    return ToLine(tilewright::WorkerAnswer{.reason = tilewright::kReasonCompile,
                                           .error = std::string(answer.status().message())});
  });
}
