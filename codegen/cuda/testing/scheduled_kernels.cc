#include "codegen/cuda/testing/scheduled_kernels.h"

#include <gtest/gtest.h>

#include <utility>

#include "absl/strings/str_cat.h"
#include "base/status_macros.h"
#include "codegen/abi/abi_type.h"
#include "codegen/cuda/cuda_module.h"
#include "codegen/cuda/emit_program.h"
#include "codegen/cuda/emulation.h"
#include "codegen/cuda/testing/planted_faults.h"
#include "codegen/lower/pipeline.h"
#include "codegen/runtime/tensor.h"
#include "ir/interp/interp.h"
#include "target/target.h"

namespace tilewright::cuda::testing {
namespace {

absl::StatusOr<Program> Emitted(const Function& function, const std::string& target_name,
                                const EmitOptions& options = {}) {
  TW_ASSIGN_OR_RETURN(const Target target, NamedTarget(target_name));
  TW_ASSIGN_OR_RETURN(const Module lowered, Lower(Module{function}, target));
  return EmitProgram(lowered, target, options);
}

}  // namespace

std::string Replaced(std::string text, const std::string& what, const std::string& by) {
  for (size_t at = text.find(what); at != std::string::npos; at = text.find(what, at + by.size())) {
    text.replace(at, what.size(), by);
  }
  return text;
}

std::string KernelText(const Function& function, const std::string& target, const EmitOptions& options) {
  const absl::StatusOr<Program> program = Emitted(function, target, options);
  if (!program.ok()) ADD_FAILURE() << program.status();
  return program.ok() ? program->text : "";
}

absl::StatusOr<KernelTrial> KernelTrial::Make(const Function& function, const std::string& target, int64_t magnitude) {
  TW_ASSIGN_OR_RETURN(Program program, Emitted(function, target));
  TW_ASSIGN_OR_RETURN(const auto interpreted, interp::Compile(function));
  KernelTrial trial;
  trial.name_ = function->name;
  trial.program_ = std::move(program);
  std::vector<interp::Argument> expected;
  for (const Param& param : function->params) {
    std::vector<int64_t> shape;
    for (const Expr& extent : param.buffer->shape) shape.push_back(AsInt(extent).value_or(1));
    NDArray array(param.buffer->dtype, shape);
    FillIntegers(array, trial.inputs_.size() + 1, magnitude);
    trial.inputs_.push_back(array.Clone());
    trial.expected_.push_back(array);
    expected.emplace_back(array);
  }
  TW_RETURN_IF_ERROR(interpreted.Run(expected));
  return trial;
}

std::string KernelTrial::Run(const Program& program, double tolerance) const {
  absl::StatusOr<std::unique_ptr<Device>> device = EmulatedDevice(program);
  if (!device.ok()) return std::string(device.status().message());
  const auto module = CudaModule::Make(program, *std::move(device));
  if (!module.ok()) return std::string(module.status().message());
  std::vector<NDArray> arrays;
  std::vector<runtime::Tensor> tensors;
  std::vector<TwTensor*> args;
  for (const NDArray& input : inputs_) {
    arrays.push_back(input.Clone());
    tensors.push_back(runtime::Tensor::Borrow(arrays.back().data(), AbiType(input.dtype()), input.shape()));
  }
  for (runtime::Tensor& tensor : tensors) args.push_back(tensor.abi());
  const absl::Status ran = (*module)->Run(name_, args, nullptr);
  if (!ran.ok()) return std::string(ran.message());
  for (size_t i = 0; i < arrays.size(); ++i) {
    if (BitEqual(arrays[i], expected_[i])) continue;
    const ArrayError error = MaxError(expected_[i], arrays[i]);
    if (tolerance > 0 && error.max_abs <= tolerance) continue;
    return absl::StrCat("array ", i, " differs at ", error.position);
  }
  return "";
}

FaultsInKernels PlantAndRun(const KernelTrial& trial, std::string_view kind, size_t most, double tolerance) {
  FaultsInKernels result;
  for (const PlantedFault& fault : PlantFaults(trial.program(), kind, most)) {
    ++result.planted;
    if (trial.Run(fault.program, tolerance).empty()) result.missed.push_back(fault.place);
  }
  return result;
}

std::string Emulated(const Function& function, const std::string& target, const Edits& edits) {
  const absl::StatusOr<KernelTrial> trial = KernelTrial::Make(function, target);
  if (!trial.ok()) return std::string(trial.status().message());
  Program program = trial->program();
  for (const auto& [what, by] : edits) {
    if (program.text.find(what) == std::string::npos) return absl::StrCat("no \"", what, "\" in\n", program.text);
    program.text = Replaced(program.text, what, by);
  }
  return trial->Run(program);
}

}  // namespace tilewright::cuda::testing
