#include "autoschedule/measure/measuring_worker.h"

#include <stdlib.h>
#include <unistd.h>
#if defined(__x86_64__)
#include <emmintrin.h>
#endif

#include <algorithm>
#include <atomic>
#include <cmath>
#include <cstring>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "absl/strings/str_cat.h"
#include "autoschedule/measure/executor/candidate_library.h"
#include "autoschedule/measure/executor/sampling.h"
#include "autoschedule/measure/executor/speed_gauge.h"
#include "autoschedule/measure/reference/reference.h"
#include "base/statistics.h"
#include "base/status_macros.h"
#include "codegen/abi/abi_type.h"
#include "codegen/runtime/available_cpus.h"
#include "codegen/runtime/tensor.h"
#include "codegen/runtime/thread_pool.h"
#include "codegen/runtime/timer.h"
#include "ir/strided_array.h"

namespace tilewright {
namespace {

WorkerAnswer Failure(std::string reason, std::string error) {
  return {.ok = false, .reason = std::move(reason), .error = std::move(error)};
}

// After a pause the CPUs are slower for a while: clocks rise, and whatever the system did meanwhile leaves the caches.
// The first candidate of a batch would seem a few percent slower than the others.
constexpr int64_t kPauseNanoseconds = 3'000'000, kAfterPauseNanoseconds = 30'000'000;
// Samplings of a candidate while the machine is not at full speed.
constexpr int kMostAttempts = 3;
// Candidates that stay ready to be measured again, each of those elsewhere with a process of its own.
constexpr size_t kMostReady = 16, kMostReadyElsewhere = 2;
// Calls elsewhere between two looks at how well their median is known.
constexpr int64_t kCallsElsewhere = 16;

// The tensors of one program: what its candidates are called with.
class Tensors {
 public:
  Tensors(const MeasureRequest& request) : folder_(request.folder), threads_(request.threads) {
    const std::vector<TensorSpec> specs(request.tensors.begin(), request.tensors.begin() + request.num_params);
    int64_t set_bytes = 1;
    for (size_t i = 0; i < specs.size(); ++i) {
      seeded_.push_back(SeededTensor(specs[i], request.seed, i));
      if (!specs[i].constant) set_bytes += specs[i].bytes();
    }
    // Together larger than the second-level caches, so that no run finds its own output of the run before there.
    const int64_t caches = std::max<int64_t>(sysconf(_SC_LEVEL2_CACHE_SIZE), 1 << 20) * request.threads;
    sets_.resize(static_cast<size_t>(std::clamp<int64_t>(caches / set_bytes + 2, 2, 32)));
    for (std::vector<NDArray>& set : sets_) {
      for (size_t i = 0; i < specs.size(); ++i) {
        set.push_back(specs[i].constant ? seeded_[i] : seeded_[i].Clone());
      }
    }
  }

  absl::Status ReadReferences(const MeasureRequest& request) {
    references_.resize(seeded_.size());
    for (size_t i = 0; i < seeded_.size(); ++i) {
      if (!request.tensors[i].written) continue;
      auto reference = ReadReference(request.tensors[i], folder_, i);
      if (absl::IsNotFound(reference.status())) continue;
      if (!reference.ok()) return reference.status();
      references_[i] = *std::move(reference);
    }
    return absl::OkStatus();
  }

  bool AreFor(const MeasureRequest& request) const { return folder_ == request.folder && threads_ == request.threads; }
  size_t num_sets() const { return sets_.size(); }
  size_t num_params() const { return seeded_.size(); }
  const NDArray& tensor(size_t set, size_t position) const { return sets_[set][position]; }

  // What is written has its first contents again.
  void Reset(const MeasureRequest& request, size_t set) {
    for (size_t i = 0; i < seeded_.size(); ++i) {
      if (!request.tensors[i].written) continue;
      std::memcpy(sets_[set][i].data(), seeded_[i].data(), static_cast<size_t>(seeded_[i].bytes()));
    }
  }
  ResultComparison Compare(const MeasureRequest& request, size_t set) const {
    ResultComparison worst;
    for (size_t i = 0; i < seeded_.size(); ++i) {
      if (!references_[i]) continue;
      ResultComparison comparison = CompareResult(request.tensors[i], sets_[set][i], *references_[i]);
      worst.max_error = std::max(worst.max_error, comparison.max_error);
      if (worst.failure.empty()) worst.failure = std::move(comparison.failure);
    }
    return worst;
  }

 private:
  const std::string folder_;
  const int64_t threads_;
  std::vector<NDArray> seeded_;
  std::vector<std::vector<NDArray>> sets_;                  // constant tensors are shared by all
  std::vector<std::optional<ReferenceResult>> references_;  // of what is written, where there is one
};

// A function of the candidate with the tensors of one call.
class BoundCall {
 public:
  BoundCall(TwFunction function, const std::vector<int64_t>& positions, const std::vector<TensorSpec>& specs,
            const std::vector<const NDArray*>& tensors)
      : function_(function) {
    for (int64_t position : positions) {
      const NDArray& array = *tensors[static_cast<size_t>(position)];
      const std::vector<int64_t>& strides = specs[static_cast<size_t>(position)].strides;
      if (!strides.empty()) with_gaps_.push_back({array, Spread(array, strides), strides});
      void* const data = strides.empty() ? array.data() : with_gaps_.back().memory.data();
      tensors_.push_back(runtime::Tensor::Borrow(data, AbiType(array.dtype()), array.shape(), strides));
    }
    for (runtime::Tensor& tensor : tensors_) args_.push_back(tensor.abi());
  }
  int Run(const TwCall& call) { return function_(&call, args_.data(), static_cast<int32_t>(args_.size())); }
  // Between the tensors and the memory of those whose elements lie apart.
  void CopyIn() {
    for (const WithGaps& tensor : with_gaps_) SpreadInto(tensor.array, tensor.strides, tensor.memory.data());
  }
  void CopyOut() {
    for (const WithGaps& tensor : with_gaps_) Collect(tensor.memory.data(), tensor.strides, tensor.array);
  }

 private:
  struct WithGaps {
    NDArray array, memory;
    std::vector<int64_t> strides;
  };
  TwFunction function_;
  std::vector<WithGaps> with_gaps_;
  std::vector<runtime::Tensor> tensors_;
  std::vector<TwTensor*> args_;
};

// A candidate that computed the right result: it is measured again without being opened, packed for and compared.
struct ReadyCandidate {
  MeasureRequest request;
  std::optional<CandidateLibrary> library;
  std::vector<NDArray> packed;
  std::vector<BoundCall> calls;  // one for each set of tensors
  std::unique_ptr<void, decltype(&free)> workspace{nullptr, free};
  int64_t workspace_bytes = 0;
  int64_t first_nanoseconds = 0;  // of the first run
  double max_error = 0;

  bool IsFor(const MeasureRequest& other) const {
    return request.library == other.library && request.command == other.command &&
           request.prepack_library == other.prepack_library && request.main == other.main &&
           request.prepack == other.prepack;
  }
  int64_t bytes() const {
    int64_t bytes = workspace_bytes;
    for (const NDArray& array : packed) bytes += array.bytes();
    return bytes;
  }
};

// Takes memory out of all caches.
void Flush(const void* data, int64_t bytes) {
  constexpr int64_t kLine = 64;
  const char* begin = static_cast<const char*>(data);
  for (int64_t i = 0; i < bytes; i += kLine) {
#if defined(__x86_64__)
    _mm_clflush(begin + i);
#elif defined(__aarch64__)
    asm volatile("dc civac, %0" ::"r"(begin + i) : "memory");
#else
#error "how is a line of the caches flushed?"
#endif
  }
  std::atomic_thread_fence(std::memory_order_seq_cst);
}

class Worker {
 public:
  WorkerAnswer Answer(const std::string& line) {
    const auto request = ReadMeasureRequest(line);
    if (!request.ok()) return Failure(kReasonRun, std::string(request.status().message()));
    if (tensors_ == nullptr || !tensors_->AreFor(*request)) {
      ready_.clear();
      tensors_ = std::make_unique<Tensors>(*request);
      // The caller stays on a CPU of its own, as the pool's workers do. Elsewhere another pool runs.
      const bool here = request->command.empty();
      if (here) runtime::SetAffinity({cpus_[0]});
      pool_ = std::make_unique<runtime::ThreadPool>(runtime::ThreadPoolOptions{
          .num_threads = static_cast<int>(request->threads), .cpus = cpus_, .pin_workers = here});
      gauge_ = std::make_unique<SpeedGauge>(*pool_);
      if (absl::Status status = tensors_->ReadReferences(*request); !status.ok()) {
        tensors_ = nullptr;
        return Failure(kReasonRun, std::string(status.message()));
      }
    }
    return Measure(*request);
  }

 private:
  WorkerAnswer Measure(const MeasureRequest& request) {
    char message[256] = "";
    const TwParallelHook hook = pool_->hook();
    TwCall call = {.parallel = &hook, .message = message, .message_bytes = sizeof message};
    ReadyCandidate candidate;
    const auto place = std::ranges::find_if(ready_, [&](const ReadyCandidate& c) { return c.IsFor(request); });
    const bool fresh = place == ready_.end();
    if (fresh) {
      if (auto failure = Prepare(request, call, candidate)) return *std::move(failure);
    } else {
      candidate = std::move(*place);
      ready_.erase(place);
    }
    call.workspace = candidate.workspace.get();
    call.workspace_bytes = candidate.workspace_bytes;

    const int64_t pause = runtime::NowNanoseconds() - last_end_;
    tensors_->Reset(request, 0);
    if (fresh) {
      if (auto failure = RunFirst(request, call, candidate)) return *std::move(failure);
    }
    WorkerAnswer answer{.ok = true, .max_error = candidate.max_error};
    const int64_t first = candidate.first_nanoseconds;
    if (candidate.library->elsewhere() != nullptr) {
      auto samples = SampleElsewhere(request, candidate);
      if (!samples.ok()) return Failure(kReasonRun, std::string(samples.status().message()));
      answer.nanoseconds = *std::move(samples);
      Keep(std::move(candidate));
      return answer;
    }
    // Nobody wants to know it more exactly.
    if (fresh && request.caches != Caches::kCold && request.give_up_nanoseconds > 0 &&
        first > std::max(request.give_up_nanoseconds, request.most_nanoseconds)) {
      answer.nanoseconds = {first};
    } else {
      SamplingOptions options{.half_width = request.half_width,
                              .most_nanoseconds = request.most_nanoseconds,
                              .least_nanoseconds = request.least_nanoseconds,
                              .most_samples = request.most_samples,
                              .give_up_nanoseconds = request.give_up_nanoseconds};
      options.warmup_nanoseconds = std::min(options.warmup_nanoseconds, request.least_nanoseconds / 2);
      // A long first run has warmed up what there is to warm up; without it, to do so is a small part of a long run.
      if (first > (fresh ? 4 * options.warmup_nanoseconds : kAfterPauseNanoseconds)) options.warmup_nanoseconds = 0;
      if (pause > kPauseNanoseconds) {
        options.warmup_nanoseconds = std::max(options.warmup_nanoseconds, kAfterPauseNanoseconds - (fresh ? first : 0));
      }
      answer.nanoseconds = SampleAtFullSpeed(request, options, call, candidate);
    }
    last_end_ = runtime::NowNanoseconds();
    Keep(std::move(candidate));
    return answer;
  }

  void Keep(ReadyCandidate candidate) {
    const size_t most = candidate.library->elsewhere() != nullptr ? kMostReadyElsewhere : kMostReady;
    ready_.push_back(std::move(candidate));
    while (ready_.size() > most || ReadyBytes() > kMostReadyBytes) ready_.erase(ready_.begin());
  }

  // Emulated code takes as long as its instructions are projected to. Other code is called again by the worker on the
  // arguments of its first call, which are in its caches.
  static absl::StatusOr<std::vector<int64_t>> SampleElsewhere(const MeasureRequest& request,
                                                              const ReadyCandidate& candidate) {
    const int64_t first = candidate.first_nanoseconds;
    if (request.nanoseconds_per_instruction > 0) return std::vector<int64_t>{first};
    if (request.give_up_nanoseconds > 0 && first > std::max(request.give_up_nanoseconds, request.most_nanoseconds)) {
      return std::vector<int64_t>{first};
    }
    std::vector<int64_t> samples;
    int64_t spent = 0;
    while (spent < request.most_nanoseconds && static_cast<int64_t>(samples.size()) < request.most_samples) {
      TW_ASSIGN_OR_RETURN(const auto more,
                          candidate.library->elsewhere()->TimeAgain(kCallsElsewhere, request.most_nanoseconds - spent));
      samples.insert(samples.end(), more.begin(), more.end());
      for (const int64_t time : more) spent += time;
      const bool slow = request.give_up_nanoseconds > 0 && std::ranges::min(samples) > request.give_up_nanoseconds;
      if (slow || (spent >= request.least_nanoseconds && MedianIsKnown(samples, request.half_width))) break;
    }
    return samples;
  }

  // Opens it, binds its tensors and packs ahead; says what failed.
  std::optional<WorkerAnswer> Prepare(const MeasureRequest& request, const TwCall& call, ReadyCandidate& candidate) {
    candidate.request = request;
    auto library = CandidateLibrary::Open(request.command, request.libraries, request.library);
    if (!library.ok()) return Failure(kReasonRun, std::string(library.status().message()));
    candidate.library = *std::move(library);
    const TwFunction main = candidate.library->Find(request.function);
    if (main == nullptr) return Failure(kReasonRun, "the library lacks a function");
    for (size_t i = tensors_->num_params(); i < request.tensors.size(); ++i) {
      candidate.packed.emplace_back(request.tensors[i].dtype, request.tensors[i].shape);
    }
    std::vector<const NDArray*> all;
    for (size_t set = 0; set < tensors_->num_sets(); ++set) {
      all.clear();
      for (size_t i = 0; i < tensors_->num_params(); ++i) all.push_back(&tensors_->tensor(set, i));
      for (const NDArray& array : candidate.packed) all.push_back(&array);
      candidate.calls.emplace_back(main, request.main, request.tensors, all);
    }
    if (!request.prepack_library.empty()) {
      const auto packing = CandidateLibrary::Open(request.command, request.libraries, request.prepack_library);
      if (!packing.ok()) return Failure(kReasonRun, std::string(packing.status().message()));
      const TwFunction prepack = packing->Find(request.prepack_function);
      if (prepack == nullptr) return Failure(kReasonRun, "the library lacks a function that packs ahead of time");
      if (const int code = BoundCall(prepack, request.prepack, request.tensors, all).Run(call); code != kTwOk) {
        return Failure(code == kTwErrorMemory ? kReasonMemory : kReasonRun,
                       absl::StrCat(request.prepack_function, ": ", call.message));
      }
    }
    candidate.workspace_bytes = candidate.library->WorkspaceBytes(request.function);
    candidate.workspace.reset(Workspace(candidate.workspace_bytes));
    if (candidate.workspace == nullptr && candidate.workspace_bytes > 0) {
      return Failure(kReasonMemory, absl::StrCat("no memory for ", candidate.workspace_bytes, " bytes of temporaries"));
    }
    return std::nullopt;
  }

  // ... and compares what it computes.
  std::optional<WorkerAnswer> RunFirst(const MeasureRequest& request, const TwCall& call, ReadyCandidate& candidate) {
    candidate.calls[0].CopyIn();
    const int64_t start = runtime::NowNanoseconds();
    if (const int code = candidate.calls[0].Run(call); code != kTwOk) {
      if (code == kTwErrorMemory) return Failure(kReasonMemory, call.message);
      return Failure(kReasonRun, call.message);
    }
    candidate.first_nanoseconds = runtime::NowNanoseconds() - start;
    if (const remote::RemoteModule* elsewhere = candidate.library->elsewhere()) {
      const CallCost cost = elsewhere->LastCall();
      const double projected = request.nanoseconds_per_instruction * static_cast<double>(cost.instructions);
      candidate.first_nanoseconds = projected > 0 ? std::max<int64_t>(std::llround(projected), 1) : cost.nanoseconds;
    }
    candidate.calls[0].CopyOut();
    ResultComparison comparison = tensors_->Compare(request, 0);
    candidate.max_error = comparison.max_error;
    if (comparison.failure.empty()) return std::nullopt;
    return Failure(kReasonWrong, std::move(comparison.failure));
  }

  std::vector<int64_t> SampleAtFullSpeed(const MeasureRequest& request, const SamplingOptions& options,
                                         const TwCall& call, ReadyCandidate& candidate) {
    size_t set = 0;
    std::vector<int64_t> best;
    for (int attempt = 0; attempt < kMostAttempts; ++attempt) {
      const bool full = gauge_->Await();
      const int64_t begin = runtime::NowNanoseconds();
      const auto prepare = [&] {
        if (request.caches == Caches::kWarm) return;
        set = set + 1 < candidate.calls.size() ? set + 1 : 0;
        if (request.caches == Caches::kCold) FlushAll(candidate, set);
      };
      const auto run = [&] { candidate.calls[set].Run(call); };
      std::vector<int64_t> samples = Sample(prepare, run, options, runtime::NowNanoseconds);
      gauge_->Spent(runtime::NowNanoseconds() - begin);
      if (attempt == 0 || Median(samples) < Median(best)) best = std::move(samples);
      if (!full || gauge_->IsFull()) break;
    }
    return best;
  }

  // What a call reads and writes.
  void FlushAll(const ReadyCandidate& candidate, size_t set) const {
    for (size_t i = 0; i < tensors_->num_params(); ++i) {
      const NDArray& array = tensors_->tensor(set, i);
      Flush(array.data(), array.bytes());
    }
    for (const NDArray& array : candidate.packed) Flush(array.data(), array.bytes());
    Flush(candidate.workspace.get(), candidate.workspace_bytes);
  }

  int64_t ReadyBytes() const {
    int64_t bytes = 0;
    for (const ReadyCandidate& candidate : ready_) bytes += candidate.bytes();
    return bytes;
  }

  static void* Workspace(int64_t bytes) {
    return bytes <= 0 ? nullptr : aligned_alloc(64, (static_cast<size_t>(bytes) + 63) / 64 * 64);
  }

  const std::vector<int> cpus_ = runtime::AvailableCpus();
  std::unique_ptr<Tensors> tensors_;
  std::unique_ptr<runtime::ThreadPool> pool_;
  std::unique_ptr<SpeedGauge> gauge_;  // of the pool
  std::vector<ReadyCandidate> ready_;  // for these tensors; the last measured one at the end
  int64_t last_end_ = 0;               // of the last sampling
};

}  // namespace

std::function<WorkerAnswer(const std::string& line)> MeasuringWorker() {
  return [worker = std::make_shared<Worker>()](const std::string& line) { return worker->Answer(line); };
}

}  // namespace tilewright
