// A plan on a device: one arena, buffers of inputs and outputs, and calls that are prepared once.
#include <algorithm>
#include <cstring>
#include <memory>
#include <mutex>
#include <utility>

#include "absl/strings/str_cat.h"
#include "base/status_macros.h"
#include "codegen/abi/abi_type.h"
#include "codegen/cuda/cuda_module.h"
#include "graph/device/device.h"
#include "graph/executor/bound_plan.h"
#include "graph/executor/bound_run.h"

namespace tilewright::graph {
namespace {

using Argument = BoundPlan::Argument;
using Memory = Argument::Memory;

class DeviceRun : public BoundRun {
 public:
  DeviceRun(const PlannedFunction& function, const BoundPlan& bound)
      : function_(function), bound_(bound), device_(function.options().device) {}

  absl::Status Prepare() {
    const ExecutablePlan& plan = function_.plan();
    TW_ASSIGN_OR_RETURN(arena_, DeviceMemory::Allocate(device_, bound_.arena_bytes(), "values"));
    for (size_t i = 0; i < plan.params.size(); ++i) {
      TW_RETURN_IF_ERROR(AddBuffer(static_cast<int>(i), "inputs", &inputs_));
    }
    for (int result : plan.results) TW_RETURN_IF_ERROR(AddBuffer(result, "results", &outputs_));
    FindReadInputs();
    std::vector<DeviceCall> calls;
    for (const BoundPlan::Call& call : bound_.calls()) {
      const std::string& name = plan.steps[call.step].name;
      auto prepared = PrepareCall(call);
      if (!prepared.ok()) {
        return absl::Status(prepared.status().code(), absl::StrCat("value ", name, ": ", prepared.status().message()));
      }
      launches_ += (*prepared)->launches();
      calls.push_back({name, *std::move(prepared)});
    }
    calls_ = device_->Prepare(std::move(calls));
    return absl::OkStatus();
  }

  // One at a time: the values lie in one arena.
  absl::Status Run(const std::vector<void*>& inputs, const std::vector<void*>& outputs, const RunOptions&) override {
    const std::lock_guard<std::mutex> lock(mutex_);
    for (size_t i = 0; i < inputs.size(); ++i) TW_RETURN_IF_ERROR(CopyIn(i, inputs[i]));
    TW_RETURN_IF_ERROR(LeaveOutputs());
    TW_RETURN_IF_ERROR(calls_->Run());
    std::vector<const std::byte*> from;
    for (const Buffer& output : outputs_) from.push_back(output.memory->data());
    for (const BoundPlan::Copy& copy : bound_.copies()) from[copy.to] = AddressOf(copy.from);
    for (size_t i = 0; i < outputs.size(); ++i) {
      TW_RETURN_IF_ERROR(device_->CopyOut(outputs[i], from[i], outputs_[i].bytes));
    }
    return absl::OkStatus();
  }

  absl::StatusOr<PlacedArrays> RunThere(const PlacedArrays& arguments) override {
    const std::lock_guard<std::mutex> lock(mutex_);
    for (size_t i = 0; i < arguments.size(); ++i) TW_RETURN_IF_ERROR(Take(i, arguments[i]));
    TW_RETURN_IF_ERROR(LeaveOutputs());
    TW_RETURN_IF_ERROR(calls_->Run());
    for (const BoundPlan::Copy& copy : bound_.copies()) {
      TW_RETURN_IF_ERROR(device_->CopyWithin(outputs_[copy.to].memory->data(), AddressOf(copy.from), copy.bytes));
    }
    PlacedArrays results;
    const ExecutablePlan& plan = function_.plan();
    for (size_t i = 0; i < outputs_.size(); ++i) {
      const DataType dtype = plan.tensors[static_cast<size_t>(plan.results[i])].dtype;
      const std::vector<int64_t>& shape = bound_.shape(plan.results[i]);
      auto value = std::make_shared<DeviceValue>(device_, outputs_[i].memory, dtype, shape);
      outputs_[i].value = value;
      results.emplace_back(std::move(value), dtype, shape);
    }
    return results;
  }

  int64_t launches() const override { return launches_; }

 private:
  struct Buffer {
    std::shared_ptr<DeviceMemory> memory;
    int64_t bytes = 0;
    // The value that was copied last into an input; the one that lies in an output.
    std::weak_ptr<DeviceValue> value = {};
    // Memory for values that outlive the next run.
    std::vector<std::shared_ptr<DeviceMemory>> spare = {};
    bool is_read = true;  // of an input: whether anything reads it
  };

  absl::StatusOr<std::shared_ptr<DeviceMemory>> NewMemory(int64_t bytes, const char* what) const {
    TW_ASSIGN_OR_RETURN(DeviceMemory memory, DeviceMemory::Allocate(device_, bytes, what));
    return std::make_shared<DeviceMemory>(std::move(memory));
  }

  absl::Status AddBuffer(int tensor, const char* what, std::vector<Buffer>* buffers) {
    Buffer buffer{.bytes = bound_.bytes(tensor)};
    TW_ASSIGN_OR_RETURN(buffer.memory, NewMemory(buffer.bytes, what));
    buffers->push_back(std::move(buffer));
    return absl::OkStatus();
  }

  // Inputs that no call and no result reads are not copied.
  void FindReadInputs() {
    for (Buffer& input : inputs_) input.is_read = false;
    const auto mark = [&](const Argument& argument) {
      if (argument.memory == Memory::kInput) inputs_[static_cast<size_t>(argument.at)].is_read = true;
    };
    for (const Argument& argument : bound_.arguments()) mark(argument);
    for (const BoundPlan::Copy& copy : bound_.copies()) mark(copy.from);
  }

  absl::Status CopyIn(size_t input, const void* from) {
    Buffer& buffer = inputs_[input];
    buffer.value.reset();
    return buffer.is_read ? device_->CopyIn(buffer.memory->data(), from, buffer.bytes) : absl::OkStatus();
  }

  absl::Status Take(size_t input, const PlacedArray& argument) {
    const std::shared_ptr<DeviceValue>& there = argument.there();
    if (there == nullptr) {
      TW_ASSIGN_OR_RETURN(const NDArray here, argument.Here());
      return CopyIn(input, here.data());
    }
    Buffer& buffer = inputs_[input];
    // Values do not change: the one that was copied last is still there.
    if (!buffer.is_read || buffer.value.lock() == there) return absl::OkStatus();
    TW_RETURN_IF_ERROR(there->CopyWithin(buffer.memory->data()));
    buffer.value = there;
    return absl::OkStatus();
  }

  // What earlier runs gave and somebody still has gets memory of its own, since this run writes the buffers.
  absl::Status LeaveOutputs() {
    for (Buffer& output : outputs_) {
      const std::shared_ptr<DeviceValue> value = output.value.lock();
      output.value.reset();
      if (value == nullptr) continue;
      const auto free = std::ranges::find_if(output.spare, [](const auto& memory) { return memory.use_count() == 1; });
      if (free != output.spare.end()) {
        TW_RETURN_IF_ERROR(value->MoveTo(*free));
        continue;
      }
      TW_ASSIGN_OR_RETURN(std::shared_ptr<DeviceMemory> memory, NewMemory(output.bytes, "results"));
      output.spare.push_back(memory);
      TW_RETURN_IF_ERROR(value->MoveTo(std::move(memory)));
    }
    return absl::OkStatus();
  }

  std::byte* AddressOf(const Argument& argument) const {
    const auto at = static_cast<size_t>(argument.at);
    switch (argument.memory) {
      case Memory::kInput:
        return inputs_[at].memory->data();
      case Memory::kOutput:
        return outputs_[at].memory->data();
      case Memory::kConstants:
        return function_.device_constants().data() + at;
      case Memory::kArena:
        return arena_.data() + at;
      case Memory::kScalar:
        break;
    }
    return nullptr;
  }

  absl::StatusOr<std::unique_ptr<cuda::PreparedCall>> PrepareCall(const BoundPlan::Call& call) const {
    const PlanStep& step = function_.plan().steps[call.step];
    const Kernel& kernel = function_.kernels()[static_cast<size_t>(step.program)];
    const PrimFunc& program = function_.plan().programs[static_cast<size_t>(step.program)].program;
    std::vector<TwTensor> tensors(call.num_arguments);
    std::vector<int64_t> scalars(call.num_arguments);
    std::vector<TwTensor*> pointers;
    for (size_t i = 0; i < call.num_arguments; ++i) {
      const Argument& argument = bound_.arguments()[call.first + i];
      const int param = kernel.main.params[i];
      TwTensor& tensor = tensors[i];
      pointers.push_back(&tensor);
      if (argument.shape == nullptr) {
        scalars[i] = argument.at;
        tensor = {.data = &scalars[i],
                  .device = {kTwCpu, 0},
                  .dtype = AbiType(program->params[static_cast<size_t>(param)].var.dtype())};
        continue;
      }
      const DataType dtype = param < 0 ? kernel.packed[static_cast<size_t>(~param)].dtype
                                       : program->params[static_cast<size_t>(param)].buffer->dtype;
      tensor = {.data = AddressOf(argument),
                .device = device_->place(),
                .ndim = static_cast<int32_t>(argument.shape->size()),
                .dtype = AbiType(dtype),
                .shape = const_cast<int64_t*>(argument.shape->data())};
    }
    return cuda::PrepareCall(*kernel.module, kernel.main.name, pointers, arena_.data() + call.workspace_offset,
                             call.workspace_bytes);
  }

  const PlannedFunction& function_;
  const BoundPlan& bound_;
  const std::shared_ptr<Device> device_;
  DeviceMemory arena_;
  std::vector<Buffer> inputs_, outputs_;
  std::unique_ptr<Launches> calls_;
  int64_t launches_ = 0;
  std::mutex mutex_;
};

}  // namespace

absl::StatusOr<PlacedArrays> BoundRun::RunThere(const PlacedArrays&) {
  return absl::UnimplementedError("values stay on devices alone, not in workers");
}

absl::StatusOr<std::unique_ptr<BoundRun>> RunOnDevice(const PlannedFunction& function, const BoundPlan& bound) {
  auto run = std::make_unique<DeviceRun>(function, bound);
  TW_RETURN_IF_ERROR(run->Prepare());
  return run;
}

}  // namespace tilewright::graph
