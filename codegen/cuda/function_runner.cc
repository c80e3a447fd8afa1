#include "codegen/cuda/function_runner.h"

#include <algorithm>
#include <cstdio>
#include <cstring>
#include <span>
#include <utility>

#include "absl/strings/str_cat.h"
#include "base/math.h"
#include "base/status_macros.h"
#include "ir/functor.h"

namespace tilewright::cuda {
namespace {

constexpr int64_t kAlignment = 256;

int Report(const TwCall* call, TwError code, std::string_view message) {
  if (call != nullptr && call->message != nullptr && call->message_bytes > 0) {
    std::snprintf(call->message, static_cast<size_t>(call->message_bytes), "%.*s", static_cast<int>(message.size()),
                  message.data());
  }
  return code;
}

// The bytes from the first element to the end of the last.
int64_t BytesOf(const TwTensor& tensor) {
  int64_t last = 0, compact = 1;
  for (int32_t d = tensor.ndim; d-- > 0;) {
    if (tensor.shape[d] <= 0) return 0;
    last += (tensor.shape[d] - 1) * (tensor.strides != nullptr ? tensor.strides[d] : compact);
    compact *= tensor.shape[d];
  }
  return (last + 1) * ((tensor.dtype.bits + 7) / 8) * tensor.dtype.lanes;
}

// The array of a parameter among the function's parameters and, behind them, temporaries.
size_t NumberOf(const DeviceFunction& function, const KernelParam& param) {
  size_t number = 0;
  for (const Param& known : function.params) {
    if (known.buffer && known.buffer->data.same_as(param.buffer->data)) return number;
    ++number;
  }
  for (const Temporary& temporary : function.temporaries) {
    if (temporary.buffer->data.same_as(param.buffer->data)) break;
    ++number;
  }
  return number;
}

}  // namespace

absl::StatusOr<std::unique_ptr<FunctionRunner>> FunctionRunner::Compile(const DeviceFunction& function,
                                                                        size_t first_kernel, const GpuTarget& gpu) {
  auto runner = std::make_unique<FunctionRunner>();
  runner->gpu_ = gpu;
  runner->name_ = function.name;
  runner->constants_ = function.constants;
  TW_ASSIGN_OR_RETURN(auto arguments, CallArguments::Compile(function, &runner->slots_));
  runner->arguments_ = std::move(arguments);
  for (const Param& param : function.params) {
    runner->array_names_.push_back(param.buffer ? param.buffer->name : param.var.name());
  }
  for (const Temporary& temporary : function.temporaries) {
    TW_ASSIGN_OR_RETURN(auto bytes, ScalarCode::Compile(temporary.bytes, runner->slots_));
    TemporaryPlan plan{temporary.buffer->name, std::move(bytes), -1};
    if (const std::optional<int64_t> constant = AsInt(temporary.bytes)) {
      plan.offset = runner->workspace_bytes_;
      runner->workspace_bytes_ += RoundUp(*constant, kAlignment);
    }
    runner->array_names_.push_back(temporary.buffer->name);
    runner->temporaries_.push_back(std::move(plan));
  }
  TW_RETURN_IF_ERROR(runner->AddSteps(function.host, &runner->steps_));
  TW_RETURN_IF_ERROR(runner->AddLaunches(function, first_kernel));
  return runner;
}

absl::Status FunctionRunner::AddParam(const DeviceFunction& function, const KernelParam& param, Launch* launch) const {
  if (!param.buffer) {
    const auto slot = slots_.find(param.var.get());
    if (slot == slots_.end()) {
      return absl::UnimplementedError(absl::StrCat("the host does not know variable ", param.var.name()));
    }
    launch->params.push_back({Argument::kScalar, static_cast<size_t>(slot->second)});
    return absl::OkStatus();
  }
  const size_t number = NumberOf(function, param);
  const auto known = std::ranges::find(launch->arrays, number, &std::pair<size_t, bool>::first);
  if (known == launch->arrays.end()) {
    launch->arrays.emplace_back(number, param.written);
  } else {
    known->second = known->second || param.written;
  }
  if (!param.map) {
    launch->params.push_back({Argument::kArray, number});
    return absl::OkStatus();
  }
  launch->params.push_back({Argument::kMap, launch->maps.size()});
  MapPlan plan{.array = number};
  plan.spec.type = MapTypeOf(param.map->type);
  plan.spec.swizzle = SwizzleOf(param.map->span);
  plan.spec.im2col = !param.map->lower.empty();
  plan.spec.lower = param.map->lower;
  plan.spec.upper = param.map->upper;
  for (const int step : param.map->steps) plan.spec.steps.push_back(static_cast<uint32_t>(step));
  for (const int extent : param.map->box) plan.spec.box.push_back(static_cast<uint32_t>(extent));
  if (plan.spec.im2col) {
    plan.spec.channels = plan.spec.box[0];
    plan.spec.pixels = plan.spec.box[1];
    plan.spec.box.clear();
  }
  for (const auto& [exprs, codes] :
       {std::pair(&param.map->extents, &plan.extents), std::pair(&param.map->strides, &plan.strides)}) {
    for (const Expr& e : *exprs) {
      TW_ASSIGN_OR_RETURN(auto compiled, ScalarCode::Compile(e, slots_));
      codes->push_back(std::move(compiled));
    }
  }
  launch->maps.push_back(std::move(plan));
  return absl::OkStatus();
}

absl::Status FunctionRunner::AddLaunches(const DeviceFunction& function, size_t first_kernel) {
  for (const Kernel& kernel : function.kernels) {
    Launch launch{.kernel = first_kernel++,
                  .name = kernel.name,
                  .shared_bytes = static_cast<uint32_t>(kernel.shared_bytes),
                  .dependent = kernel.dependent};
    for (const KernelParam& param : kernel.params) {
      TW_RETURN_IF_ERROR(AddParam(function, param, &launch));
    }
    for (size_t i = 0; i < 3; ++i) {
      for (auto [code, extent] :
           {std::pair(&launch.grid[i], &kernel.grid[i]), std::pair(&launch.block[i], &kernel.block[i]),
            std::pair(&launch.cluster[i], &kernel.cluster[i])}) {
        TW_ASSIGN_OR_RETURN(auto compiled, ScalarCode::Compile(*extent, slots_));
        *code = std::move(compiled);
      }
    }
    launches_.push_back(std::move(launch));
  }
  return absl::OkStatus();
}

absl::Status FunctionRunner::AddSteps(const Stmt& s, std::vector<Step>* steps) {
  if (IsNoOp(s)) return absl::OkStatus();
  Step step;
  const auto compile = [&](const Expr& e, ScalarCode* code) {
    auto compiled = ScalarCode::Compile(e, slots_);
    if (compiled.ok()) *code = *std::move(compiled);
    return compiled.status();
  };
  const auto bind = [&](const Var& var) {
    step.slot = slots_.emplace(var.get(), static_cast<int>(slots_.size())).first->second;
  };
  absl::Status status;
  if (const auto* seq = dyn_cast<SeqNode>(s)) {
    for (const Stmt& stmt : seq->stmts) {
      TW_RETURN_IF_ERROR(AddSteps(stmt, steps));
    }
    return absl::OkStatus();
  }
  if (const auto* op = dyn_cast<EvaluateNode>(s)) {
    step.launch = static_cast<size_t>(AsInt(cast<CallNode>(op->value)->args[0]).value_or(0));
  } else if (const auto* loop = dyn_cast<ForNode>(s)) {
    step.kind = Step::kLoop;
    status = compile(loop->min, &step.first);
    if (status.ok()) status = compile(loop->min + loop->extent, &step.second);
    bind(loop->var);
    if (status.ok()) status = AddSteps(loop->body, &step.body);
  } else if (const auto* branch = dyn_cast<IfNode>(s)) {
    step.kind = Step::kBranch;
    status = compile(branch->condition, &step.first);
    if (status.ok()) status = AddSteps(branch->then_case, &step.body);
    if (status.ok() && branch->else_case) status = AddSteps(branch->else_case, &step.otherwise);
  } else if (const auto* let = dyn_cast<LetStmtNode>(s)) {
    step.kind = Step::kLet;
    status = compile(let->value, &step.first);
    bind(let->var);
    if (status.ok()) status = AddSteps(let->body, &step.body);
  } else {
    step.kind = Step::kAssert;
    step.message = cast<AssertNode>(s)->message;
    status = compile(cast<AssertNode>(s)->condition, &step.first);
  }
  steps->push_back(std::move(step));
  return status;
}

// The launches of one call with all that they need, in memory of their own.
class FunctionRunner::Prepared : public PreparedCall {
 public:
  explicit Prepared(Device& device) : device_(device) {}
  ~Prepared() override {
    for (void* memory : owned_) device_.Free(memory, nullptr);
  }

  // `params` point to values and maps, which are copied.
  void Add(const LaunchArguments& arguments, const std::vector<Argument>& kinds,
           std::span<const EncodedTensorMap> maps) {
    auto start = std::make_unique<LaunchStart>();
    start->arguments = arguments;
    start->maps.assign(maps.begin(), maps.end());
    start->arrays.assign(arguments.arrays.begin(), arguments.arrays.end());
    start->values.resize(kinds.size());
    for (size_t i = 0; i < kinds.size(); ++i) {
      if (kinds[i].kind == Argument::kMap) {
        start->params.push_back(&start->maps[kinds[i].number]);
        continue;
      }
      std::memcpy(&start->values[i], arguments.params[i], sizeof start->values[i]);
      start->params.push_back(&start->values[i]);
    }
    start->arguments.params = start->params.data();
    start->arguments.arrays = {start->arrays.data(), start->arrays.size()};
    starts_.push_back(std::move(start));
  }
  void Keep(std::span<void* const> memory) { owned_.assign(memory.begin(), memory.end()); }

  int64_t launches() const override { return static_cast<int64_t>(starts_.size()); }
  absl::Status Start(void* stream) const override {
    for (const std::unique_ptr<LaunchStart>& start : starts_) {
      LaunchArguments arguments = start->arguments;
      arguments.stream = stream;
      if (absl::Status status = device_.Launch(arguments); !status.ok()) return status;
    }
    // Without a stream the work of a device that is not a GPU is done.
    return stream == nullptr && device_.type() == kTwCpu ? device_.Finish() : absl::OkStatus();
  }

 private:
  struct LaunchStart {
    LaunchArguments arguments;
    std::vector<int64_t> values;  // pointers and scalars, by parameter
    std::vector<EncodedTensorMap> maps;
    std::vector<ArrayArgument> arrays;
    std::vector<void*> params;
  };
  Device& device_;
  std::vector<std::unique_ptr<LaunchStart>> starts_;
  std::vector<void*> owned_;
};

class FunctionRunner::Execution {
 public:
  // Launches are added to `prepared`, where it is not null, instead of being done.
  Execution(const FunctionRunner& runner, Device& device, const TwCall* call, Prepared* prepared = nullptr)
      : runner_(runner), device_(device), call_(call), prepared_(prepared), values_(runner.slots_.size() + 1) {
    if (call != nullptr) stream_ = call->stream;
  }
  ~Execution() {
    for (void* memory : owned_) device_.Free(memory, stream_);
  }

  int Run(TwTensor* const* args, int32_t num_args) {
    const Refusal refusal = runner_.arguments_.Bind(args, num_args, device_.type(), values_.data(), &arrays_);
    if (refusal.code != kTwOk) return Report(call_, refusal.code, refusal.message);
    if (const int code = Allocate(); code != kTwOk) return code;
    if (const int code = Steps(runner_.steps_); code != kTwOk) return code;
    if (prepared_ != nullptr) {
      prepared_->Keep({owned_.data(), owned_.size()});
      owned_.clear();
      return kTwOk;
    }
    const absl::Status done = stream_ == nullptr ? device_.Finish() : absl::OkStatus();
    return done.ok() ? kTwOk : Report(call_, kTwErrorDevice, std::string(done.message()));
  }

 private:
  int Allocate() {
    char* workspace = nullptr;
    const auto address = call_ == nullptr ? 0 : reinterpret_cast<uintptr_t>(call_->workspace);
    if (runner_.workspace_bytes_ > 0) {
      const bool given = address != 0 && address % 64 == 0 && call_->workspace_bytes >= runner_.workspace_bytes_;
      workspace = static_cast<char*>(given ? call_->workspace : Own(runner_.workspace_bytes_));
      if (workspace == nullptr) return NoMemory(runner_.workspace_bytes_);
    }
    for (const TemporaryPlan& plan : runner_.temporaries_) {
      const int64_t bytes = std::max<int64_t>(plan.bytes.Run(values_.data()), 0);
      void* const memory = plan.offset >= 0 ? workspace + plan.offset : Own(std::max<int64_t>(bytes, 1));
      if (memory == nullptr) return NoMemory(bytes);
      arrays_.push_back({memory, bytes});
    }
    return kTwOk;
  }
  void* Own(int64_t bytes) {
    void* memory = device_.Allocate(bytes, stream_);
    if (memory != nullptr) owned_.push_back(memory);
    return memory;
  }
  int NoMemory(int64_t bytes) {
    return Report(call_, kTwErrorMemory, absl::StrCat("no memory for ", bytes, " bytes of temporaries"));
  }

  int Steps(const std::vector<Step>& steps) {
    for (const Step& step : steps) {
      if (const int code = Run(step); code != kTwOk) return code;
    }
    return kTwOk;
  }

  int Run(const Step& step) {
    switch (step.kind) {
      case Step::kStart:
        return Start(runner_.launches_[step.launch]);
      case Step::kLoop: {
        const int64_t end = step.second.Run(values_.data());
        for (int64_t i = step.first.Run(values_.data()); i < end; ++i) {
          values_[static_cast<size_t>(step.slot)] = i;
          if (const int code = Steps(step.body); code != kTwOk) return code;
        }
        return kTwOk;
      }
      case Step::kBranch:
        return Steps(step.first.Run(values_.data()) != 0 ? step.body : step.otherwise);
      case Step::kLet:
        values_[static_cast<size_t>(step.slot)] = step.first.Run(values_.data());
        return Steps(step.body);
      case Step::kAssert:
        break;
    }
    if (step.first.Run(values_.data()) != 0) return kTwOk;
    return Report(call_, kTwErrorAssertion, absl::StrCat("assertion failed: ", step.message));
  }

  int Start(const Launch& launch) {
    LaunchArguments arguments{
        .kernel = launch.kernel, .shared_bytes = launch.shared_bytes, .dependent = launch.dependent, .stream = stream_};
    const int64_t most = runner_.gpu_.max_threads_per_block;
    int64_t threads = 1;
    for (size_t i = 0; i < 3; ++i) {
      const int64_t grid = launch.grid[i].Run(values_.data()), block = launch.block[i].Run(values_.data());
      if (grid <= 0 || block <= 0) return kTwOk;
      threads *= std::min(block, most + 1);
      if (grid > runner_.gpu_.max_grid_dims[i] || threads > most) {
        return Report(call_, kTwErrorShape,
                      absl::StrCat(launch.name, ": ", grid, " blocks of ", block, " threads in dimension ", i,
                                   " are more than a GPU can launch"));
      }
      arguments.grid[i] = static_cast<uint32_t>(grid);
      arguments.block[i] = static_cast<uint32_t>(block);
      arguments.cluster[i] = static_cast<uint32_t>(launch.cluster[i].Run(values_.data()));
    }
    if (const absl::Status encoded = Encode(launch); !encoded.ok()) {
      return Report(call_, kTwErrorShape, absl::StrCat(launch.name, ": ", std::string(encoded.message())));
    }
    params_.clear();
    for (const Argument& param : launch.params) {
      params_.push_back(param.kind == Argument::kArray    ? static_cast<void*>(&arrays_[param.number].data)
                        : param.kind == Argument::kScalar ? static_cast<void*>(&values_[param.number])
                                                          : static_cast<void*>(&maps_[param.number]));
    }
    touched_.clear();
    for (const auto& [number, written] : launch.arrays) {
      const CallArguments::Array& array = arrays_[number];
      touched_.push_back(
          {&runner_.array_names_[number], array.data, array.bytes, written, runner_.constants_.contains(number)});
    }
    arguments.params = params_.data();
    arguments.arrays = {touched_.data(), touched_.size()};
    if (prepared_ != nullptr) {
      prepared_->Add(arguments, launch.params, {maps_.data(), maps_.size()});
      return kTwOk;
    }
    arguments.first = !std::exchange(started_, true);
    const absl::Status status = device_.Launch(arguments);
    if (status.ok()) return kTwOk;
    return Report(call_, kTwErrorDevice, std::string(status.message()));
  }

  // The launch's tensor maps, of the arrays and extents of this call.
  absl::Status Encode(const Launch& launch) {
    maps_.resize(launch.maps.size());
    for (size_t i = 0; i < launch.maps.size(); ++i) {
      const MapPlan& plan = launch.maps[i];
      TensorMapSpec spec = plan.spec;
      spec.address = arrays_[plan.array].data;
      for (const ScalarCode& code : plan.extents)
        spec.extents.push_back(static_cast<uint64_t>(code.Run(values_.data())));
      for (const ScalarCode& code : plan.strides)
        spec.strides.push_back(static_cast<uint64_t>(code.Run(values_.data())));
      if (absl::Status status = device_.Encode(spec, &maps_[i]); !status.ok()) {
        return absl::Status(status.code(), absl::StrCat("the tensor map of ", runner_.array_names_[plan.array], ": ",
                                                        std::string(status.message())));
      }
    }
    return absl::OkStatus();
  }

  const FunctionRunner& runner_;
  Device& device_;
  const TwCall* call_;
  Prepared* const prepared_;
  bool started_ = false;
  void* stream_ = nullptr;
  absl::InlinedVector<int64_t, 32> values_;
  CallArguments::Arrays arrays_;
  absl::InlinedVector<void*, 24> params_;
  absl::InlinedVector<EncodedTensorMap, 4> maps_;
  absl::InlinedVector<ArrayArgument, 16> touched_;
  absl::InlinedVector<void*, 4> owned_;
};

bool FunctionRunner::NeedsStaging(const Device& device, TwTensor* const* args, int32_t num_args) const {
  if (device.type() == kTwCpu) return false;
  for (int32_t i = 0; i < num_args; ++i) {
    if (args[i] != nullptr && arguments_.IsArray(i) && args[i]->device.device_type == kTwCpu) return true;
  }
  return false;
}

int FunctionRunner::RunStaged(Device& device, const TwCall* call, TwTensor* const* args, int32_t num_args) const {
  std::vector<TwTensor> tensors;
  std::vector<TwTensor*> pointers;
  std::vector<std::pair<void*, int64_t>> memory;
  int code = kTwOk;
  for (int32_t i = 0; i < num_args; ++i) {
    tensors.push_back(args[i] != nullptr ? *args[i] : TwTensor{});
    const bool staged = args[i] != nullptr && arguments_.IsArray(i) && args[i]->device.device_type == kTwCpu;
    const int64_t bytes = staged ? BytesOf(*args[i]) : 0;
    void* copy = staged ? device.Allocate(std::max<int64_t>(bytes, 1), nullptr) : nullptr;
    memory.emplace_back(copy, bytes);
    if (!staged) continue;
    const char* const from = static_cast<const char*>(args[i]->data) + args[i]->byte_offset;
    if (copy == nullptr || (bytes > 0 && !device.CopyIn(copy, from, bytes))) {
      code = Report(call, kTwErrorMemory, absl::StrCat("no memory on the device for ", bytes, " bytes"));
    }
    tensors.back().data = copy;
    tensors.back().byte_offset = 0;
    tensors.back().device = {device.type(), 0};
  }
  for (int32_t i = 0; i < num_args; ++i)
    pointers.push_back(args[i] != nullptr ? &tensors[static_cast<size_t>(i)] : nullptr);
  if (code == kTwOk) code = Run(device, call, pointers.data(), num_args);
  for (int32_t i = 0; i < num_args; ++i) {
    const auto [copy, bytes] = memory[static_cast<size_t>(i)];
    if (copy == nullptr) continue;
    char* const to = static_cast<char*>(args[i]->data) + args[i]->byte_offset;
    if (code == kTwOk && bytes > 0 && !device.CopyOut(to, copy, bytes)) {
      code = Report(call, kTwErrorDevice, "the results cannot be copied from the device");
    }
    device.Free(copy, nullptr);
  }
  return code;
}

int FunctionRunner::Run(Device& device, const TwCall* call, TwTensor* const* args, int32_t num_args) const {
  return Execution(*this, device, call).Run(args, num_args);
}

absl::StatusOr<std::unique_ptr<PreparedCall>> FunctionRunner::Prepare(Device& device, const TwCall* call,
                                                                      TwTensor* const* args, int32_t num_args) const {
  auto prepared = std::make_unique<Prepared>(device);
  TwCall asked = call != nullptr ? *call : TwCall{};
  char message[256] = "";
  asked.message = message;
  asked.message_bytes = sizeof message;
  const int code = Execution(*this, device, &asked, prepared.get()).Run(args, num_args);
  if (code == kTwOk) return prepared;
  if (code == kTwErrorMemory) return absl::ResourceExhaustedError(message);
  if (code == kTwErrorAssertion) return absl::FailedPreconditionError(message);
  return absl::InvalidArgumentError(message);
}

}  // namespace tilewright::cuda
