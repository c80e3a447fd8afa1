#include "graph/executor/kernels.h"

#include "absl/strings/str_cat.h"
#include "autoschedule/sketch/auto_schedule.h"
#include "codegen/abi/abi_type.h"
#include "codegen/backend.h"
#include "codegen/runtime/tensor.h"
#include "codegen/runtime/thread_pool.h"
#include "graph/ir/status_macros.h"
#include "intrin/registry.h"
#include "target/target.h"

namespace tilewright::graph {

Kernels::Kernels() = default;
Kernels::~Kernels() = default;

absl::StatusOr<std::unique_ptr<Kernels>> Kernels::Compile(const std::vector<PrimFunc>& programs,
                                                          const ExecutorOptions& options) {
  std::unique_ptr<Kernels> kernels(new Kernels);
  for (const PrimFunc& program : programs) kernels->programs_.emplace(program->name, program);
  if (options.interpret) {
    for (const PrimFunc& program : programs) {
      auto compiled = interp::Compile(program, {.wrap_signed = true});
      if (!compiled.ok()) {
        return absl::InternalError(absl::StrCat("program ", program->name, ": ", compiled.status().message()));
      }
      kernels->interpreted_.emplace(program->name, *std::move(compiled));
    }
    return kernels;
  }
  const Target target = HostTarget();
  IntrinRegistry intrins = IntrinRegistry::Builtin();
  Module module;
  for (const PrimFunc& program : programs) {
    PrimFunc scheduled = program;
    if (options.schedule) {
      const AutoScheduled result = AutoSchedule(Module(program), target, &intrins);
      if (result.schedule.module().functions().size() == 1) scheduled = result.schedule.module().functions()[0];
    }
    module.Set(scheduled);
  }
  if (programs.empty()) return kernels;
  auto code = CompileAndLoad(module, target);
  if (!code.ok()) {
    // One program's schedule may be at fault; programs that do not compile scheduled are taken as they are.
    Module mixed;
    for (const PrimFunc& program : programs) {
      const PrimFunc scheduled = module.Find(program->name);
      const bool good = CompileAndLoad(Module(scheduled), target).ok();
      if (!good) ++kernels->unscheduled_;
      mixed.Set(good ? scheduled : program);
    }
    code = CompileAndLoad(mixed, target);
  }
  if (!code.ok()) return code.status();
  kernels->code_ = *std::move(code);
  kernels->pool_ =
      std::make_unique<runtime::ThreadPool>(runtime::ThreadPoolOptions{.num_threads = options.num_threads});
  return kernels;
}

absl::Status Kernels::Interpret(const std::string& name, const Arrays& arrays,
                                const std::vector<int64_t>& scalars) const {
  std::vector<interp::Argument> arguments;
  for (const NDArray& array : arrays) arguments.emplace_back(array);
  for (int64_t scalar : scalars) arguments.emplace_back(scalar);
  return interpreted_.at(name).Run(arguments);
}

absl::Status Kernels::Run(const std::string& name, const Arrays& arrays, const std::vector<int64_t>& scalars) const {
  if (!interpreted_.empty()) return Interpret(name, arrays, scalars);
  std::vector<runtime::Tensor> tensors;
  for (const NDArray& array : arrays) {
    tensors.push_back(runtime::Tensor::Borrow(array.data(), AbiType(array.dtype()), array.shape()));
  }
  const std::vector<Param>& params = programs_.at(name)->params;
  std::vector<int64_t> values = scalars;
  for (size_t i = 0; i < values.size(); ++i) {
    const DataType type = params[arrays.size() + i].var.dtype();
    tensors.push_back(runtime::Tensor::Borrow(&values[i], AbiType(type), std::vector<int64_t>()));
  }
  std::vector<TwTensor*> pointers;
  for (runtime::Tensor& tensor : tensors) pointers.push_back(tensor.abi());
  const TwParallelHook hook = pool_->hook();
  return code_->Run(name, pointers, &hook);
}

}  // namespace tilewright::graph
