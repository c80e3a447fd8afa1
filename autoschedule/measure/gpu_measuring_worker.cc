#include "autoschedule/measure/gpu_measuring_worker.h"

#include <algorithm>
#include <array>
#include <iostream>
#include <memory>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "absl/strings/str_cat.h"
#include "autoschedule/measure/executor/gpu_candidate.h"
#include "autoschedule/measure/executor/sampling.h"
#include "autoschedule/measure/reference/reference.h"
#include "base/status_macros.h"
#include "codegen/abi/abi_type.h"
#include "codegen/backend.h"
#include "codegen/cuda/graph_runs.h"
#include "codegen/runtime/tensor.h"
#include "codegen/runtime/timer.h"
#include "ir/script/parser.h"
#include "ir/strided_array.h"

namespace tilewright {
namespace {

using cuda::DeviceArray;

// Sets of arrays that calls rotate over are twice as large as the cache that all cores share, and so many at most.
constexpr int64_t kMostSets = 32;
constexpr int kL2BytesAttribute = 38;  // CU_DEVICE_ATTRIBUTE_L2_CACHE_SIZE
// A call that takes longer is timed by itself, not as one of a graph's.
constexpr int64_t kLongCallNanoseconds = 20'000'000;
constexpr int64_t kMostWarmupNanoseconds = 5'000'000;
// Candidates that stay loaded: a search measures its best ones again and again.
constexpr size_t kMostReady = 16;

WorkerAnswer Failure(std::string reason, std::string error) {
  return {.ok = false, .reason = std::move(reason), .error = std::move(error)};
}
WorkerAnswer Failure(std::string reason, const absl::Status& status) {
  return Failure(std::move(reason), std::string(status.message()));
}

// The arrays of a program on the host, and what is right.
struct HostArrays {
  std::string folder;
  std::vector<NDArray> seeded;
  std::vector<std::optional<ReferenceResult>> references;

  static absl::StatusOr<HostArrays> For(const MeasureRequest& request) {
    HostArrays arrays{.folder = request.folder};
    arrays.references.resize(static_cast<size_t>(request.num_params));
    for (size_t i = 0; i < static_cast<size_t>(request.num_params); ++i) {
      arrays.seeded.push_back(SeededTensor(request.tensors[i], request.seed, i));
      if (!request.tensors[i].written) continue;
      auto reference = ReadReference(request.tensors[i], request.folder, i);
      if (absl::IsNotFound(reference.status())) continue;
      if (!reference.ok()) return reference.status();
      arrays.references[i] = *std::move(reference);
    }
    return arrays;
  }
};

// The memory of a tensor: of more elements than the tensor has where gaps are between them.
NDArray MemoryOf(const NDArray& array, const TensorSpec& spec) {
  return spec.strides.empty() ? array : Spread(array, spec.strides);
}

// A tensor over its memory, which is at `data`.
runtime::Tensor ViewOf(void* data, const TensorSpec& spec) {
  return runtime::Tensor::Borrow(data, AbiType(spec.dtype), spec.shape, spec.strides);
}

// The code of one function.
struct Code {
  std::unique_ptr<CompiledModule> module;
  std::string function;

  static absl::StatusOr<Code> Load(const std::string& path, const std::string& function, bool emulate) {
    TW_ASSIGN_OR_RETURN(const auto candidate, ReadGpuCandidate(path));
    TW_ASSIGN_OR_RETURN(const auto program, ParseModule(candidate.program, "candidate"));
    TW_ASSIGN_OR_RETURN(auto code,
                        CompileAndLoad(program, candidate.target, {.emulate = emulate, .cubin = candidate.cubin}));
    if (code->Find(function) == nullptr) return absl::NotFoundError(absl::StrCat("there is no function ", function));
    return Code{std::move(code), function};
  }

  absl::Status Call(const std::vector<int64_t>& positions, const std::vector<runtime::Tensor*>& tensors,
                    const DeviceArray* workspace = nullptr, void* stream = nullptr) const {
    std::array<char, 512> message = {};
    TwCall call = {.message = message.data(), .message_bytes = message.size(), .stream = stream};
    if (workspace != nullptr) call.workspace = workspace->data();
    if (workspace != nullptr) call.workspace_bytes = workspace->bytes();
    std::vector<TwTensor*> args;
    for (const int64_t position : positions) args.push_back(tensors[static_cast<size_t>(position)]->abi());
    const int code = module->Find(function)(&call, args.data(), static_cast<int32_t>(args.size()));
    if (code == kTwOk) return absl::OkStatus();
    return code == kTwErrorMemory   ? absl::ResourceExhaustedError(message.data())
           : code == kTwErrorDevice ? absl::InternalError(message.data())
                                    : absl::InvalidArgumentError(message.data());
  }
};

// A candidate that computed the right result.
struct Ready {
  MeasureRequest request;
  Code main;
  double max_error = 0;
  // On the device: the arrays of all calls, views of them, and the graph; none in the emulator, or for long calls.
  std::vector<DeviceArray> memory;
  std::vector<std::unique_ptr<runtime::Tensor>> views;
  std::vector<std::vector<runtime::Tensor*>> sets;
  std::optional<DeviceArray> workspace;
  std::unique_ptr<cuda::GraphRuns> graph;
  int64_t first_nanoseconds = 0;

  bool IsFor(const MeasureRequest& other) const {
    return request.library == other.library && request.prepack_library == other.prepack_library &&
           request.main == other.main && request.caches == other.caches;
  }
};

class GpuWorker {
 public:
  explicit GpuWorker(bool emulate) : emulate_(emulate) {}

  WorkerAnswer Answer(const std::string& line) {
    const auto request = ReadMeasureRequest(line);
    if (!request.ok()) return Failure(kReasonRun, request.status());
    std::string error;
    if (!emulate_ && cuda::Driver::Open(&error) == nullptr) return Failure(kReasonRun, error);
    if (host_.folder != request->folder) {
      ready_.clear();
      auto host = HostArrays::For(*request);
      if (!host.ok()) return Failure(kReasonRun, host.status());
      host_ = *std::move(host);
    }
    const auto place = std::ranges::find_if(ready_, [&](const auto& c) { return c->IsFor(*request); });
    std::unique_ptr<Ready> candidate;
    if (place != ready_.end()) {
      candidate = std::move(*place);
      ready_.erase(place);
    } else {
      candidate = std::make_unique<Ready>(Ready{.request = *request});
      if (auto failure = Prepare(*candidate)) return *std::move(failure);
    }
    WorkerAnswer answer{.ok = true, .max_error = candidate->max_error};
    answer.nanoseconds = Sample(*request, *candidate);
    ready_.push_back(std::move(candidate));
    if (ready_.size() > kMostReady) ready_.erase(ready_.begin());
    return answer;
  }

 private:
  static WorkerAnswer FailureOf(const absl::Status& status) {
    if (absl::IsInternal(status)) EndProcess(std::string(status.message()));
    return Failure(absl::IsResourceExhausted(status) ? kReasonMemory : kReasonRun, status);
  }
  [[noreturn]] static void EndProcess(const std::string& message) {
    std::cerr << message << std::endl;
    std::_Exit(1);
  }

  // Loads it, packs ahead, compares what it computes, and puts its arrays onto the device.
  std::optional<WorkerAnswer> Prepare(Ready& candidate) {
    const MeasureRequest& request = candidate.request;
    auto main = Code::Load(request.library, request.function, emulate_);
    if (!main.ok()) return Failure(kReasonRun, main.status());
    candidate.main = *std::move(main);
    std::vector<NDArray> arrays;
    for (const NDArray& array : host_.seeded) arrays.push_back(array.Clone());
    for (size_t i = arrays.size(); i < request.tensors.size(); ++i) {
      arrays.emplace_back(request.tensors[i].dtype, request.tensors[i].shape);
    }
    std::vector<runtime::Tensor> tensors;
    std::vector<NDArray> memory;
    for (size_t i = 0; i < arrays.size(); ++i) {
      memory.push_back(MemoryOf(arrays[i], request.tensors[i]));
      tensors.push_back(ViewOf(memory[i].data(), request.tensors[i]));
    }
    std::vector<runtime::Tensor*> pointers;
    for (runtime::Tensor& tensor : tensors) pointers.push_back(&tensor);
    if (!request.prepack_library.empty()) {
      const auto prepack = Code::Load(request.prepack_library, request.prepack_function, emulate_);
      if (!prepack.ok()) return Failure(kReasonRun, prepack.status());
      if (absl::Status status = prepack->Call(request.prepack, pointers); !status.ok()) return FailureOf(status);
    }
    const int64_t start = runtime::NowNanoseconds();
    if (absl::Status status = candidate.main.Call(request.main, pointers); !status.ok()) return FailureOf(status);
    candidate.first_nanoseconds = runtime::NowNanoseconds() - start;
    for (size_t i = 0; i < host_.references.size(); ++i) {
      if (!host_.references[i]) continue;
      const std::vector<int64_t>& strides = request.tensors[i].strides;
      if (!strides.empty()) Collect(memory[i].data(), strides, arrays[i]);
      const ResultComparison result = CompareResult(request.tensors[i], arrays[i], *host_.references[i]);
      candidate.max_error = std::max(candidate.max_error, result.max_error);
      if (!result.failure.empty()) return Failure(kReasonWrong, result.failure);
    }
    if (emulate_) return std::nullopt;
    const absl::Status status = PutOntoDevice(candidate, memory);
    if (!status.ok()) return FailureOf(status);
    return std::nullopt;
  }

  absl::Status PutOntoDevice(Ready& candidate, const std::vector<NDArray>& memory) {
    std::string error;
    const cuda::Driver& driver = *cuda::Driver::Open(&error);
    const MeasureRequest& request = candidate.request;
    const auto rotates = [&](size_t i) { return i < host_.seeded.size() && !request.tensors[i].constant; };
    int64_t bytes = 1;
    for (size_t i = 0; i < memory.size(); ++i) bytes += rotates(i) ? memory[i].bytes() : 0;
    const int64_t fill = 2 * int64_t{driver.Attribute(kL2BytesAttribute)};
    const int64_t sets = request.caches == Caches::kWarm ? 1 : std::clamp<int64_t>(fill / bytes + 2, 2, kMostSets);
    for (int64_t set = 0; set < sets; ++set) {
      std::vector<runtime::Tensor*>& views = candidate.sets.emplace_back();
      for (size_t i = 0; i < memory.size(); ++i) {
        if (set > 0 && !rotates(i)) {
          views.push_back(candidate.sets[0][i]);
          continue;
        }
        auto array = DeviceArray::CopyOf(driver, memory[i].data(), memory[i].bytes());
        if (!array.ok()) return absl::ResourceExhaustedError(array.status().message());
        candidate.views.push_back(std::make_unique<runtime::Tensor>(ViewOf(array->data(), request.tensors[i])));
        candidate.views.back()->abi()->device = {kTwCuda, 0};
        views.push_back(candidate.views.back().get());
        candidate.memory.push_back(*std::move(array));
      }
    }
    auto workspace = DeviceArray::Allocate(driver, candidate.main.module->WorkspaceBytes(request.function));
    if (!workspace.ok()) return absl::ResourceExhaustedError(workspace.status().message());
    candidate.workspace = *std::move(workspace);
    const int64_t first = TimeCall(candidate);
    candidate.first_nanoseconds = std::min(first, TimeCall(candidate));
    if (candidate.first_nanoseconds > kLongCallNanoseconds) return absl::OkStatus();
    auto graph = cuda::GraphRuns::Record(driver, static_cast<int>(sets), [&candidate](int set, void* stream) {
      return candidate.main.Call(candidate.request.main, candidate.sets[static_cast<size_t>(set)],
                                 &*candidate.workspace, stream);
    });
    if (!graph.ok()) return graph.status();
    candidate.graph = *std::move(graph);
    return absl::OkStatus();
  }

  // A call that is waited for, by the host's clock.
  static int64_t TimeCall(const Ready& candidate) {
    const int64_t start = runtime::NowNanoseconds();
    const absl::Status status = candidate.main.Call(candidate.request.main, candidate.sets[0], &*candidate.workspace);
    if (!status.ok()) EndProcess(std::string(status.message()));
    return std::max<int64_t>(runtime::NowNanoseconds() - start, 1);
  }
  static int64_t TimeOnce(const Ready& candidate) {
    if (candidate.graph == nullptr) return TimeCall(candidate);
    const double milliseconds = candidate.graph->LaunchOnce();
    if (milliseconds < 0) EndProcess("the device reports an error");
    return std::max<int64_t>(static_cast<int64_t>(milliseconds * 1e6), 1);
  }

  static std::vector<int64_t> Sample(const MeasureRequest& request, const Ready& candidate) {
    const int64_t first = candidate.first_nanoseconds;
    const bool hopeless =
        request.give_up_nanoseconds > 0 && first > std::max(request.give_up_nanoseconds, request.most_nanoseconds);
    if (candidate.sets.empty() || hopeless) return {first};
    const int64_t start = runtime::NowNanoseconds();
    const int64_t warmup = std::min(kMostWarmupNanoseconds, request.least_nanoseconds / 2);
    do {
      TimeOnce(candidate);
    } while (runtime::NowNanoseconds() - start < warmup);
    std::vector<int64_t> samples;
    const int64_t begin = runtime::NowNanoseconds();
    while (static_cast<int64_t>(samples.size()) < std::max<int64_t>(request.most_samples, 1)) {
      samples.push_back(TimeOnce(candidate));
      const int64_t spent = runtime::NowNanoseconds() - begin;
      const bool slow = request.give_up_nanoseconds > 0 && samples.size() >= 3 &&
                        *std::ranges::min_element(samples) > request.give_up_nanoseconds;
      const bool known = spent >= request.least_nanoseconds && MedianIsKnown(samples, request.half_width);
      if (spent >= request.most_nanoseconds || slow || known) break;
    }
    return samples;
  }

  const bool emulate_;
  HostArrays host_;
  std::vector<std::unique_ptr<Ready>> ready_;  // for these arrays; the last measured one at the end
};

}  // namespace

std::function<WorkerAnswer(const std::string& line)> GpuMeasuringWorker(bool emulate) {
  return [worker = std::make_shared<GpuWorker>(emulate)](const std::string& line) { return worker->Answer(line); };
}

}  // namespace tilewright
