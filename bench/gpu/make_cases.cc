// Writes cases for gpu_check: compiles programs for a GPU, runs them in emulation, and records arguments, launches and
// results. A program whose emulated results differ from the interpreter's is an error.
//
//   make_cases TARGET FOLDER PROGRAM.py...      scheduled programs, one function each; extents constant
//
// Needs NVRTC.
#include <algorithm>
#include <cstring>
#include <fstream>
#include <iostream>
#include <iterator>
#include <span>

#include "absl/strings/str_cat.h"
#include "base/status_macros.h"
#include "bench/gpu/case_file.h"
#include "bench/gpu/recorder.h"
#include "codegen/abi/abi_type.h"
#include "codegen/cuda/emit_program.h"
#include "codegen/cuda/emulation.h"
#include "codegen/cuda/function_runner.h"
#include "codegen/cuda/nvrtc.h"
#include "codegen/cuda/preamble.h"
#include "codegen/lower/pipeline.h"
#include "codegen/runtime/tensor.h"
#include "ir/interp/interp.h"
#include "ir/ndarray.h"
#include "ir/script/parser.h"
#include "target/target.h"

namespace tilewright::gpu {
namespace {

absl::Status CompareWithInterpreter(const Function& function, const std::vector<NDArray>& inputs,
                                    const std::vector<NDArray>& outputs, double tolerance) {
  TW_ASSIGN_OR_RETURN(auto program, interp::Compile(function));
  std::vector<interp::Argument> arguments(inputs.begin(), inputs.end());
  TW_RETURN_IF_ERROR(program.Run(arguments));
  for (size_t i = 0; i < inputs.size(); ++i) {
    const auto difference =
        CompareArrays(inputs[i].dtype().ToString(), static_cast<const char*>(outputs[i].data()),
                      static_cast<const char*>(inputs[i].data()), static_cast<size_t>(inputs[i].bytes()));
    if (difference.error > tolerance) {
      return absl::InternalError(absl::StrCat("element ", difference.position, " of argument ", i, " is ",
                                              difference.got, ", interpreted ", difference.expected));
    }
  }
  return absl::OkStatus();
}

double ToleranceOf(const Function& function) {
  double tolerance = 2e-5;
  for (const Param& param : function->params) {
    const DataType type = param.buffer->dtype;
    if (type.is_float() && type.bits() == 16) tolerance = std::max(tolerance, 1.6e-2);
    if (type.is_float() && type.bits() == 8) tolerance = 0.15;
  }
  return tolerance;
}

std::string NameOf(const std::string& path) {
  const size_t slash = path.rfind('/');
  const std::string name = path.substr(slash == path.npos ? 0 : slash + 1);
  return name.substr(0, name.rfind('.'));
}

// Programs in one module, each by the name of its file.
absl::StatusOr<Module> ReadPrograms(std::span<const std::string> paths) {
  Module module;
  for (const std::string& path : paths) {
    std::ifstream stream(path);
    TW_ASSIGN_OR_RETURN(const auto parsed, ParseModule(std::string{std::istreambuf_iterator<char>(stream),
                                                                   std::istreambuf_iterator<char>()}));
    FunctionNode::Fields fields = parsed.Main()->fields();
    fields.name = NameOf(path);
    module.Set(Function(std::move(fields)));
  }
  return module;
}

// Runs the function on its device and writes what happened.
absl::Status MakeCase(const Function& function, const cuda::Program& program, size_t number, size_t first_kernel,
                      cuda::Device& device, CaseFile file, const std::string& folder) {
  TW_ASSIGN_OR_RETURN(const auto runner,
                      cuda::FunctionRunner::Compile(program.functions[number], first_kernel, program.gpu));
  file.name = function->name;
  file.tolerance = ToleranceOf(function);
  Recorder recorder(&device, program, &file.arrays, &file.launches);
  std::vector<NDArray> inputs, arrays;
  std::vector<runtime::Tensor> tensors;
  std::vector<TwTensor*> args;
  for (const Param& param : function->params) {
    std::vector<int64_t> shape;
    for (const Expr& extent : param.buffer->shape) shape.push_back(AsInt(extent).value_or(1));
    NDArray array(param.buffer->dtype, shape);
    FillUniform(array, 1 + arrays.size(), -2, 2);
    file.arrays.push_back(
        {param.buffer->name, array.dtype().ToString(), array.bytes(), static_cast<int64_t>(file.data.size()), -1});
    file.data.append(static_cast<const char*>(array.data()), static_cast<size_t>(array.bytes()));
    file.traffic += static_cast<double>(array.bytes());
    inputs.push_back(array);
    arrays.push_back(array.Clone());
    tensors.push_back(runtime::Tensor::Borrow(arrays.back().data(), AbiType(array.dtype()), shape));
    recorder.Know(arrays.back().data());
  }
  for (runtime::Tensor& tensor : tensors) args.push_back(tensor.abi());
  char message[512] = "";
  const TwCall call = {.message = message, .message_bytes = sizeof(message)};
  if (runner->Run(recorder, &call, args.data(), static_cast<int32_t>(args.size())) != kTwOk) {
    return absl::InternalError(message);
  }
  for (size_t i = 0; i < arrays.size(); ++i) {
    if (std::memcmp(arrays[i].data(), inputs[i].data(), static_cast<size_t>(arrays[i].bytes())) == 0) continue;
    file.arrays[i].expected = static_cast<int64_t>(file.data.size());
    file.data.append(static_cast<const char*>(arrays[i].data()), static_cast<size_t>(arrays[i].bytes()));
  }
  TW_RETURN_IF_ERROR(CompareWithInterpreter(function, inputs, arrays, file.tolerance));
  return WriteCase(folder, file) ? absl::OkStatus() : absl::InternalError("cannot write the case");
}

// The number of programs that failed. Those of a batch are compiled together; one that cannot be compiled makes all be
// compiled alone.
int MakeCases(const Target& target, const std::string& folder, std::span<const std::string> paths) {
  const auto report = [&](const std::string& path, const absl::Status& status) {
    std::cout << path << ": " << (status.ok() ? "ok" : std::string(status.message())) << std::endl;
    return status.ok() ? 0 : 1;
  };
  absl::Status status;
  const auto module = ReadPrograms(paths);
  const auto lowered = module.ok() ? Lower(*module, target) : module.status();
  const auto program = lowered.ok() ? cuda::EmitProgram(*lowered, target) : lowered.status();
  const auto cubin = program.ok() ? cuda::CompileWithNvrtc(cuda::PreambleFor(program->text) + program->text, target.cpu)
                                  : program.status();
  const auto device = cubin.ok() ? cuda::EmulatedDevice(*program) : cubin.status();
  if (!device.ok()) {
    if (paths.size() == 1) return report(paths[0], device.status());
    int failed = 0;
    for (size_t i = 0; i < paths.size(); ++i) failed += MakeCases(target, folder, paths.subspan(i, 1));
    return failed;
  }
  CaseFile file;
  file.cubin = cubin->binary;
  file.cubin_name = "of_" + NameOf(paths[0]);
  int failed = 0;
  size_t first_kernel = 0;
  for (size_t i = 0; i < paths.size(); ++i) {
    failed += report(paths[i], MakeCase(module->functions()[i], *program, i, first_kernel, **device, file, folder));
    first_kernel += program->functions[i].kernels.size();
  }
  return failed;
}

}  // namespace
}  // namespace tilewright::gpu

int main(int argc, char** argv) {
  using namespace tilewright;
  if (argc < 4) {
    std::cerr << "usage: make_cases TARGET FOLDER PROGRAM.py...\n";
    return 2;
  }
  const auto target = NamedTarget(argv[1]);
  if (!target.ok()) {
    std::cerr << target.status().message() << "\n";
    return 2;
  }
  const std::vector<std::string> paths(argv + 3, argv + argc);
  constexpr size_t kBatch = 24;
  int failed = 0;
  for (size_t i = 0; i < paths.size(); i += kBatch) {
    failed += gpu::MakeCases(*target, argv[2], std::span(paths).subspan(i, std::min(kBatch, paths.size() - i)));
  }
  return failed == 0 ? 0 : 1;
}
