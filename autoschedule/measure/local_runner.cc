#include <algorithm>
#include <filesystem>
#include <limits>
#include <map>
#include <optional>
#include <utility>

#include "absl/strings/match.h"
#include "absl/strings/str_cat.h"
#include "autoschedule/measure/executor/machine_lock.h"
#include "autoschedule/measure/executor/sampling.h"
#include "autoschedule/measure/protocol/protocol.h"
#include "autoschedule/measure/protocol/run_folder.h"
#include "autoschedule/measure/protocol/worker_path.h"
#include "autoschedule/measure/protocol/worker_pool.h"
#include "autoschedule/measure/reference/param_specs.h"
#include "autoschedule/measure/runner.h"
#include "codegen/runtime/available_cpus.h"
#include "ir/script/printer.h"
#include "ir/structural.h"

namespace tilewright {
namespace {

constexpr size_t kMeasureInOnePiece = 16;
// That are kept after they were measured.
constexpr size_t kMostLibraries = 64;

Measurement Failed(MeasureFailure failure, std::string message) {
  return {.failure = failure, .message = std::move(message)};
}

// What the end of a worker means.
Measurement Ended(const WorkerReply& reply, MeasureFailure crash, MeasureFailure timeout) {
  if (reply.outcome == WorkerReply::Outcome::kTimedOut) return Failed(timeout, reply.text);
  const bool memory = reply.killed || absl::StrContains(reply.text, "std::bad_alloc");
  return Failed(memory ? MeasureFailure::kMemory : crash, reply.text);
}

class Local : public Runner {
 public:
  Local(Target target, RunnerOptions options, RunFolder folder, MachineLock lock, std::string function,
        std::vector<TensorSpec> params, const std::string& compile_worker, const std::string& measuring_worker)
      : target_(std::move(target)),
        options_(std::move(options)),
        folder_(std::move(folder)),
        lock_(std::move(lock)),
        function_(std::move(function)),
        params_(std::move(params)),
        compilers_(compile_worker, {MemoryFlag(Bytes() * 12)}, options.compile_workers),
        // Up to 32 rotating sets, those of at least the caches' size, and what is kept ready.
        measurer_(measuring_worker, MeasurerFlags(), 1) {}

  absl::Status ComputeReference(const Module& program) {
    CompileRequest request = RequestFor(PartOf(program));
    request.reference = true;
    request.tensors = params_;
    request.seed = options_.seed;
    request.folder = folder_.path();
    MachineLock::Guard working = lock_.Shared();
    const std::string line = ToLine(request);
    const WorkerReply reply = compilers_.Run({&line, 1}, options_.reference_timeout)[0];
    if (reply.outcome != WorkerReply::Outcome::kAnswered) {
      caution_ = absl::StrCat("results are not compared: the reference cannot be computed: ", reply.text);
      return absl::OkStatus();
    }
    const auto answer = ReadWorkerAnswer(reply.text);
    if (!answer.ok()) return answer.status();
    caution_ = answer->error;
    return answer->ok ? absl::OkStatus() : absl::UnimplementedError(answer->error);
  }
  std::string caution() const override { return caution_; }

  std::vector<Measurement> Run(std::span<const Module> candidates, const RunOptions& options) override {
    std::vector<Measurement> results(candidates.size());
    std::vector<Parts> parts;
    for (const Module& candidate : candidates) parts.push_back(PartsOf(candidate));
    Compile(parts, options, results);
    std::vector<std::vector<std::vector<double>>> samples(candidates.size());
    for (int round = 0; round < options.rounds; ++round) {
      Measure(parts, options, results);
      for (size_t i = 0; i < candidates.size(); ++i) samples[i].push_back(std::move(results[i].seconds));
    }
    TakeSamples(std::move(samples), results);
    ForgetOldest();
    return results;
  }

 private:
  int64_t Bytes() const {
    int64_t bytes = 0;
    for (const TensorSpec& spec : params_) bytes += spec.bytes();
    return bytes;
  }
  std::string MemoryFlag(int64_t bytes) const { return absl::StrCat("--memory-bytes=", options_.memory_bytes + bytes); }
  std::vector<std::string> MeasurerFlags() const {
    std::vector<std::string> flags = {MemoryFlag(Bytes() * 40 + kMostReadyBytes)};
    for (const std::string& library : options_.libraries) flags.push_back("--library=" + library);
    return flags;
  }
  // Each is a library of its own: many candidates have what packs ahead of time in common, which takes as long to
  // compile as the rest where it transforms (schedule/algebra/winograd.h).
  struct Part {
    Module module;
    uint64_t hash = 0;
  };
  struct Parts {
    Part main;
    std::optional<Part> prepack;
  };
  static Part PartOf(Module module) {
    const uint64_t hash = StructuralHash(module);
    return {std::move(module), hash};
  }
  Parts PartsOf(const Module& candidate) const {
    const Function prepack = candidate.Find(PrepackName());
    if (!prepack) return {.main = PartOf(candidate), .prepack = std::nullopt};
    Module rest = candidate;
    rest.Remove(prepack->name);
    return {.main = PartOf(std::move(rest)), .prepack = PartOf(Module(prepack))};
  }
  std::string PrepackName() const { return function_ + "_prepack"; }

  std::string LibraryPath(uint64_t hash) const { return absl::StrCat(folder_.path(), "/", absl::Hex(hash), ".so"); }

  CompileRequest RequestFor(const Part& part) const {
    CompileRequest request;
    request.program = Print(part.module);
    request.hash = part.hash;
    request.target = target_;
    return request;
  }

  // Compiles the parts of which there is no library yet.
  void Compile(const std::vector<Parts>& candidates, const RunOptions& options, std::vector<Measurement>& results) {
    std::map<uint64_t, Measurement> outcomes;
    std::vector<uint64_t> compiled;
    std::vector<std::string> requests;
    const auto request = [&](const Part& part) {
      if (libraries_.contains(part.hash) || std::ranges::find(compiled, part.hash) != compiled.end()) return;
      CompileRequest request = RequestFor(part);
      request.library = LibraryPath(part.hash);
      compiled.push_back(part.hash);
      requests.push_back(ToLine(request));
    };
    for (const Parts& parts : candidates) {
      if (parts.prepack) request(*parts.prepack);
      request(parts.main);
    }
    if (!requests.empty()) {
      MachineLock::Guard working = lock_.Shared();
      const std::vector<WorkerReply> replies = compilers_.Run(requests, options_.compile_timeout);
      for (size_t k = 0; k < compiled.size(); ++k) outcomes[compiled[k]] = Compiled(replies[k]);
    }
    for (const auto& [hash, outcome] : outcomes) {
      if (outcome.ok()) libraries_[hash] = {.compiled = outcome};
    }
    ++runs_;
    const auto outcome_of = [&](const Part& part) {
      const auto library = libraries_.find(part.hash);
      if (library == libraries_.end()) return outcomes[part.hash];
      library->second.last_run = runs_;
      return library->second.compiled;
    };
    for (size_t i = 0; i < candidates.size(); ++i) {
      results[i] = outcome_of(candidates[i].main);
      if (candidates[i].prepack) AddPrepack(outcome_of(*candidates[i].prepack), results[i]);
      if (!results[i].ok()) continue;
      if (auto exceeded = ExceededLimit(results[i].counters, options.limits)) {
        results[i].failure = MeasureFailure::kOverLimit;
        results[i].message = *std::move(exceeded);
      }
    }
  }

  // What packs ahead of time is compiled too, and may fail, but what its code costs does not count.
  static void AddPrepack(const Measurement& prepack, Measurement& result) {
    if (!result.ok()) return;
    if (!prepack.ok()) {
      result = prepack;
      return;
    }
    result.code_bytes += prepack.code_bytes;
    result.compile_seconds += prepack.compile_seconds;
  }

  static Measurement Compiled(const WorkerReply& reply) {
    if (reply.outcome != WorkerReply::Outcome::kAnswered) {
      return Ended(reply, MeasureFailure::kCompileCrash, MeasureFailure::kCompileTimeout);
    }
    const auto answer = ReadWorkerAnswer(reply.text);
    if (!answer.ok() || !answer->ok) {
      return Failed(MeasureFailure::kCompileError,
                    answer.ok() ? answer->error : std::string(answer.status().message()));
    }
    return {.code_bytes = answer->code_bytes, .counters = answer->counters, .compile_seconds = answer->seconds};
  }

  // Libraries stay for a while: a search measures its best candidates again and again.
  void ForgetOldest() {
    while (libraries_.size() > kMostLibraries) {
      const auto oldest =
          std::ranges::min_element(libraries_, {}, [](const auto& entry) { return entry.second.last_run; });
      unlink(LibraryPath(oldest->first).c_str());
      libraries_.erase(oldest);
    }
  }

  // Nothing else of ours runs on the machine meanwhile.
  void Measure(const std::vector<Parts>& candidates, const RunOptions& options, std::vector<Measurement>& results) {
    std::vector<size_t> measured;
    std::vector<std::string> requests;
    for (size_t i = 0; i < candidates.size(); ++i) {
      if (!results[i].ok()) continue;
      auto request = MeasureRequestFor(candidates[i], options);
      if (!request.ok()) {
        results[i] = Failed(MeasureFailure::kRunError, std::string(request.status().message()));
        continue;
      }
      measured.push_back(i);
      requests.push_back(ToLine(*request));
    }
    const double timeout = options_.run_timeout + options.seconds;
    for (size_t begin = 0; begin < requests.size(); begin += kMeasureInOnePiece) {
      const size_t count = std::min(kMeasureInOnePiece, requests.size() - begin);
      MachineLock::Guard alone = lock_.Exclusive();
      const std::vector<WorkerReply> replies =
          measurer_.Run(std::span<const std::string>(requests).subspan(begin, count), timeout);
      for (size_t k = 0; k < count; ++k) {
        Measurement& result = results[measured[begin + k]];
        Read(replies[k], result);
        if (result.failure != MeasureFailure::kWrongResult) continue;
        // It may be wrong because of what an earlier candidate wrote where it should not.
        measurer_.Restart();
        Read(measurer_.Run({&requests[begin + k], 1}, timeout)[0], result);
        measurer_.Restart();
      }
    }
  }

  absl::StatusOr<MeasureRequest> MeasureRequestFor(const Parts& parts, const RunOptions& options) {
    MeasureRequest request{.library = LibraryPath(parts.main.hash),
                           .prepack_library = parts.prepack ? LibraryPath(parts.prepack->hash) : "",
                           .function = function_,
                           .tensors = params_,
                           .num_params = static_cast<int64_t>(params_.size()),
                           .seed = options_.seed,
                           .folder = folder_.path(),
                           .threads = options_.threads,
                           .half_width = options.half_width,
                           .most_nanoseconds = static_cast<int64_t>(options.seconds * 1e9),
                           .least_nanoseconds = static_cast<int64_t>(options.least_seconds * 1e9),
                           .most_samples = options.most_samples,
                           .give_up_nanoseconds = static_cast<int64_t>(options.give_up_seconds * 1e9),
                           .caches = options.caches};
    const Function main = parts.main.module.Find(function_);
    if (!main) return absl::InvalidArgumentError(absl::StrCat("the candidate has no function ", function_));
    if (parts.prepack) {
      auto positions = Positions(parts.prepack->module.Find(PrepackName()), /*may_add=*/true, request.tensors);
      if (!positions.ok()) return positions.status();
      request.prepack = *std::move(positions);
    }
    auto positions = Positions(main, /*may_add=*/false, request.tensors);
    if (!positions.ok()) return positions.status();
    request.main = *std::move(positions);
    return request;
  }

  // Parameters of the same name are the same tensor.
  static absl::StatusOr<std::vector<int64_t>> Positions(const Function& function, bool may_add,
                                                        std::vector<TensorSpec>& tensors) {
    const auto params = ParamSpecs(function);
    if (!params.ok()) return params.status();
    std::vector<int64_t> positions;
    for (const TensorSpec& param : *params) {
      auto found = std::find_if(tensors.begin(), tensors.end(),
                                [&](const TensorSpec& tensor) { return tensor.name == param.name; });
      if (found == tensors.end()) {
        if (!may_add) {
          return absl::InvalidArgumentError(
              absl::StrCat("parameter ", param.name, " is neither one of the program nor packed"));
        }
        found = tensors.insert(tensors.end(), param);
      }
      positions.push_back(found - tensors.begin());
    }
    return positions;
  }

  // samples[candidate][round], of those that did not fail.
  static void TakeSamples(std::vector<std::vector<std::vector<double>>> samples, std::vector<Measurement>& results) {
    size_t next = 0;
    std::erase_if(samples, [&](const auto&) { return !results[next++].ok(); });
    LevelRounds(samples);
    auto rounds = samples.begin();
    for (Measurement& result : results) {
      if (!result.ok()) continue;
      for (const std::vector<double>& round : *rounds) {
        result.seconds.insert(result.seconds.end(), round.begin(), round.end());
      }
      ++rounds;
    }
  }

  static void Read(const WorkerReply& reply, Measurement& result) {
    const Measurement compiled = result;
    if (reply.outcome != WorkerReply::Outcome::kAnswered) {
      result = Ended(reply, MeasureFailure::kCrash, MeasureFailure::kTimeout);
    } else if (const auto answer = ReadWorkerAnswer(reply.text); !answer.ok()) {
      result = Failed(MeasureFailure::kRunError, std::string(answer.status().message()));
    } else if (!answer->ok) {
      const MeasureFailure failure = answer->reason == kReasonWrong    ? MeasureFailure::kWrongResult
                                     : answer->reason == kReasonMemory ? MeasureFailure::kMemory
                                                                       : MeasureFailure::kRunError;
      result = Failed(failure, answer->error);
    } else {
      result.failure = MeasureFailure::kNone;
      result.message.clear();
      result.seconds.clear();
      for (int64_t nanoseconds : answer->nanoseconds) {
        result.seconds.push_back(static_cast<double>(nanoseconds) * 1e-9);
      }
      result.max_error = answer->max_error;
    }
    result.code_bytes = compiled.code_bytes;
    result.counters = compiled.counters;
    result.compile_seconds = compiled.compile_seconds;
  }

  const Target target_;
  const RunnerOptions options_;
  const RunFolder folder_;
  MachineLock lock_;
  const std::string function_;  // that is measured
  const std::vector<TensorSpec> params_;
  WorkerPool compilers_, measurer_;

  std::string caution_;
  struct Library {
    Measurement compiled;  // without times
    int64_t last_run = 0;
  };
  std::map<uint64_t, Library> libraries_;  // by the hash of the part
  int64_t runs_ = 0;
};

}  // namespace

std::string_view FailureName(MeasureFailure failure) {
  switch (failure) {
    case MeasureFailure::kNone:
      return "";
    case MeasureFailure::kCompileError:
      return "compile error";
    case MeasureFailure::kCompileCrash:
      return "compile crash";
    case MeasureFailure::kCompileTimeout:
      return "compile timeout";
    case MeasureFailure::kOverLimit:
      return "over a limit";
    case MeasureFailure::kRunError:
      return "run error";
    case MeasureFailure::kWrongResult:
      return "wrong result";
    case MeasureFailure::kCrash:
      return "crash";
    case MeasureFailure::kTimeout:
      return "timeout";
    case MeasureFailure::kMemory:
      return "out of memory";
  }
  return "";
}

double Measurement::MedianSeconds() const {
  return ok() && !seconds.empty() ? Median(seconds) : std::numeric_limits<double>::infinity();
}

absl::StatusOr<std::unique_ptr<Runner>> LocalRunner::Start(const Module& program, const Target& target,
                                                           const RunnerOptions& options) {
  const Function main = program.Main();
  if (!main) return absl::InvalidArgumentError("which function? there are several, and none is main");
  auto params = ParamSpecs(main);
  if (!params.ok()) return params.status();
  const auto compile_worker = WorkerPath("compile_worker"), measuring_worker = WorkerPath("measuring_worker");
  if (!compile_worker.ok()) return compile_worker.status();
  if (!measuring_worker.ok()) return measuring_worker.status();
  auto lock = MachineLock::Open();
  if (!lock.ok()) return lock.status();
  auto folder = RunFolder::Make();
  if (!folder.ok()) return folder.status();
  RunnerOptions complete = options;
  if (complete.threads <= 0) complete.threads = target.cores;
  if (const size_t cpus = runtime::AffinityCpus().size(); static_cast<size_t>(complete.threads) > cpus) {
    return absl::FailedPreconditionError(absl::StrCat("candidates are to use ", complete.threads,
                                                      " threads, and workers that start here may use ", cpus, " CPUs"));
  }
  // The library that a worker opens is the one that the caller means, whatever its folder.
  for (std::string& library : complete.libraries) {
    const std::filesystem::path path = std::filesystem::absolute(library);
    if (!std::filesystem::exists(path)) return absl::NotFoundError(absl::StrCat("there is no library ", library));
    library = path;
  }
  if (complete.compile_workers <= 0) complete.compile_workers = target.cores;
  auto runner = std::make_unique<Local>(target, complete, *std::move(folder), *std::move(lock), main->name,
                                        *std::move(params), *compile_worker, *measuring_worker);
  if (absl::Status status = runner->ComputeReference(program); !status.ok()) return status;
  return std::unique_ptr<Runner>(std::move(runner));
}

}  // namespace tilewright
