#include "bench/device/device_runner.h"

#include <array>
#include <optional>
#include <utility>
#include <vector>

#include "absl/status/status.h"
#include "absl/strings/str_cat.h"
#include "base/status_macros.h"
#include "bench/device/device_sets.h"
#include "bench/device/timed_graph.h"
#include "bench/operators/program.h"
#include "codegen/abi/abi_type.h"
#include "codegen/cuda/graph_runs.h"

namespace tilewright::bench {
namespace {

using runtime::Tensor;

// An argument over memory of the first GPU.
Tensor DeviceTensor(void* data, TwDataType dtype, const std::vector<int64_t>& shape) {
  Tensor tensor = Tensor::Borrow(data, dtype, shape);
  tensor.abi()->device = {kTwCuda, 0};
  return tensor;
}

class DeviceRunner : public Runner {
 public:
  DeviceRunner(std::shared_ptr<CompiledModule> code, DeviceSets sets)
      : code_(std::move(code)), function_(code_->Find("main")), sets_(std::move(sets)) {}

  absl::Status Prepare(const cuda::Driver& driver, const Function& main, const std::string& output,
                       const std::map<std::string, Tensor>& constants, int num_sets) {
    for (const auto& [name, tensor] : constants) {
      TW_ASSIGN_OR_RETURN(auto copy, ToDevice(driver, tensor));
      constants_.push_back(DeviceTensor(copy.data(), tensor.dtype(), {tensor.shape().begin(), tensor.shape().end()}));
      positions_.emplace(name, constants_.size() - 1);
      memory_.push_back(std::move(copy));
    }
    TW_ASSIGN_OR_RETURN(auto workspace, cuda::DeviceArray::Allocate(driver, code_->WorkspaceBytes("main")));
    memory_.push_back(std::move(workspace));
    for (int set = 0; set < num_sets; ++set) AddArguments(main, output, set);
    auto runs = cuda::GraphRuns::Record(driver, num_sets, [&](int set, void* stream) { return Call(set, stream); });
    if (!runs.ok()) return runs.status();
    runs_ = *std::move(runs);
    return absl::OkStatus();
  }

  absl::Status FirstRun(int set) override { return Call(set, /*stream=*/nullptr); }
  void Run(int set) override { Call(set, /*stream=*/nullptr).IgnoreError(); }
  std::optional<TimedBlock> RunBlock(int64_t warmup_nanoseconds, int64_t nanoseconds) override {
    return bench::RunBlock(*runs_, warmup_nanoseconds, nanoseconds);
  }
  void SpoilOutput(int set) override { sets_.SpoilOutput(set); }
  absl::Status CopyOutput(int set, Tensor& output) override { return sets_.CopyOutput(set, output); }

 private:
  void AddArguments(const Function& main, const std::string& output, int set) {
    std::vector<TwTensor*>& args = args_.emplace_back();
    for (const Param& param : main->params) {
      const auto constant = positions_.find(param.buffer->name);
      if (constant != positions_.end()) {
        args.push_back(constants_[constant->second].abi());
        continue;
      }
      void* const data = param.buffer->name == output ? sets_.output(set) : sets_.input(set);
      views_.push_back(DeviceTensor(data, AbiType(param.buffer->dtype), ConstantShape(param.buffer)));
      args.push_back(views_.back().abi());
    }
  }

  // The call waits for its work where there is no stream.
  absl::Status Call(int set, void* stream) {
    std::array<char, 512> message = {};
    const TwCall call = {.workspace = memory_.back().data(),
                         .workspace_bytes = memory_.back().bytes(),
                         .message = message.data(),
                         .message_bytes = message.size(),
                         .stream = stream};
    const std::vector<TwTensor*>& args = args_[static_cast<size_t>(set)];
    const int code = function_(&call, args.data(), static_cast<int32_t>(args.size()));
    return code == kTwOk ? absl::OkStatus() : absl::InternalError(absl::StrCat("the call fails: ", message.data()));
  }

  const std::shared_ptr<CompiledModule> code_;
  const TwFunction function_;
  const DeviceSets sets_;
  std::vector<cuda::DeviceArray> memory_;    // of the constants, then the workspace
  std::vector<Tensor> constants_, views_;    // a tensor's argument stays where it is when the tensor moves
  std::map<std::string, size_t> positions_;  // in constants_
  std::vector<std::vector<TwTensor*>> args_;
  std::unique_ptr<cuda::GraphRuns> runs_;
};

}  // namespace

absl::StatusOr<std::unique_ptr<Runner>> MakeDeviceRunner(std::shared_ptr<CompiledModule> code, const Function& main,
                                                         const std::string& output,
                                                         const std::map<std::string, Tensor>& constants,
                                                         const Workload& workload, const Operands& operands,
                                                         const RunSettings& settings) {
  std::string error;
  const cuda::Driver* driver = cuda::Driver::Open(&error);
  if (driver == nullptr) return absl::FailedPreconditionError(error);
  TW_ASSIGN_OR_RETURN(auto sets, DeviceSets::Make(*driver, workload, operands, settings.num_sets));
  auto runner = std::make_unique<DeviceRunner>(std::move(code), std::move(sets));
  TW_RETURN_IF_ERROR(runner->Prepare(*driver, main, output, constants, settings.num_sets));
  return runner;
}

}  // namespace tilewright::bench
