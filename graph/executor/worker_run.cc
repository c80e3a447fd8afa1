// A plan on another machine or in an emulator of one: its library in a worker.
#include <fstream>
#include <iterator>
#include <utility>

#include "absl/strings/str_cat.h"
#include "base/status_macros.h"
#include "base/temporary_folder.h"
#include "codegen/abi/abi_type.h"
#include "codegen/remote/launcher.h"
#include "codegen/remote/remote_module.h"
#include "graph/executor/bound_plan.h"
#include "graph/executor/bound_run.h"
#include "graph/executor/export_model.h"

namespace tilewright::graph {
namespace {

constexpr char kName[] = "model";

class WorkerRun : public BoundRun {
 public:
  WorkerRun(const PlannedFunction& function, const BoundPlan& bound) : function_(function), bound_(bound) {}

  absl::Status Open() {
    const WorkerOptions& worker = *function_.options().worker;
    TW_ASSIGN_OR_RETURN(std::vector<std::string> command, remote::WorkerCommand(worker.target, worker.launcher));
    const TemporaryFolder folder;
    if (folder.path().empty()) return absl::UnavailableError("there is no folder for a library");
    const std::string path = absl::StrCat(folder.path().string(), "/", kName, ".so");
    TW_RETURN_IF_ERROR(ExportBound(
        function_, bound_, {.name = kName, .path = path, .database = worker.database, .target = worker.target}));
    std::ifstream file(path, std::ios::binary);
    std::string library{std::istreambuf_iterator<char>(file), std::istreambuf_iterator<char>()};
    TW_ASSIGN_OR_RETURN(module_, remote::RemoteModule::Open(std::move(command), {std::move(library)}));
    return absl::OkStatus();
  }

  absl::Status Run(const std::vector<void*>& inputs, const std::vector<void*>& outputs,
                   const RunOptions& options) override {
    const ExecutablePlan& plan = function_.plan();
    std::vector<TwTensor> tensors;
    const auto add = [&](int tensor, void* data) {
      const std::vector<int64_t>& shape = bound_.shape(tensor);
      tensors.push_back({.data = data,
                         .device = {kTwCpu, 0},
                         .ndim = static_cast<int32_t>(shape.size()),
                         .dtype = AbiType(plan.tensors[static_cast<size_t>(tensor)].dtype),
                         .shape = const_cast<int64_t*>(shape.data())});
    };
    for (size_t i = 0; i < inputs.size(); ++i) add(static_cast<int>(i), inputs[i]);
    for (size_t i = 0; i < outputs.size(); ++i) add(plan.results[i], outputs[i]);
    std::vector<TwTensor*> pointers;
    for (TwTensor& tensor : tensors) pointers.push_back(&tensor);
    TW_RETURN_IF_ERROR(module_->Run(kName, pointers, options.parallel));
    if (options.instructions != nullptr) *options.instructions = module_->LastCall().instructions;
    return absl::OkStatus();
  }

  int64_t launches() const override { return 0; }

 private:
  const PlannedFunction& function_;
  const BoundPlan& bound_;
  std::unique_ptr<CompiledModule> module_;
};

}  // namespace

absl::StatusOr<std::unique_ptr<BoundRun>> RunInWorker(const PlannedFunction& function, const BoundPlan& bound) {
  auto run = std::make_unique<WorkerRun>(function, bound);
  TW_RETURN_IF_ERROR(run->Open());
  return run;
}

}  // namespace tilewright::graph
