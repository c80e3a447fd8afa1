#include "autoschedule/measure/builder/library_builder.h"

#include <unistd.h>

#include <algorithm>
#include <utility>

#include "absl/strings/str_cat.h"
#include "base/status_macros.h"
#include "ir/script/printer.h"
#include "ir/structural.h"

namespace tilewright {
namespace {

// Compiled libraries that are kept after they were measured.
constexpr size_t kMostLibraries = 64;

std::string MemoryFlag(const RunnerOptions& options, const std::vector<TensorSpec>& params) {
  int64_t bytes = options.memory_bytes;
  for (const TensorSpec& spec : params) bytes += spec.bytes() * 12;
  return absl::StrCat("--memory-bytes=", bytes);
}

// What packs ahead of time is compiled too, and may fail, but what its code costs does not count.
void AddPrepack(const Measurement& prepack, Measurement& result) {
  if (!result.ok()) return;
  if (!prepack.ok()) {
    result = prepack;
    return;
  }
  result.code_bytes += prepack.code_bytes;
  result.compile_seconds += prepack.compile_seconds;
}

Measurement Compiled(const WorkerReply& reply) {
  if (reply.outcome != WorkerReply::Outcome::kAnswered) {
    return MeasurementOfEnded(reply, MeasureFailure::kCompileCrash, MeasureFailure::kCompileTimeout);
  }
  const auto answer = ReadWorkerAnswer(reply.text);
  if (!answer.ok() || !answer->ok) {
    return FailedMeasurement(MeasureFailure::kCompileError,
                             answer.ok() ? answer->error : std::string(answer.status().message()));
  }
  return {.code_bytes = answer->code_bytes, .counters = answer->counters, .compile_seconds = answer->seconds};
}

}  // namespace

LibraryBuilder::LibraryBuilder(const std::string& worker, Target target, const RunnerOptions& options,
                               std::string folder, std::string function, std::vector<TensorSpec> params,
                               MachineLock& lock, bool project)
    : target_(std::move(target)),
      options_(options),
      folder_(std::move(folder)),
      function_(std::move(function)),
      params_(std::move(params)),
      lock_(lock),
      project_(project),
      compilers_(worker, {MemoryFlag(options_, params_)}, options_.compile_workers) {}

LibraryBuilder::Part LibraryBuilder::PartOf(Module module) {
  const uint64_t hash = StructuralHash(module);
  return {std::move(module), hash};
}

LibraryBuilder::Parts LibraryBuilder::PartsOf(const Module& candidate) const {
  const Function prepack = candidate.PrepackOf(function_);
  if (!prepack) return {.main = PartOf(candidate), .prepack = std::nullopt};
  Module rest = candidate;
  rest.Remove(prepack->name);
  return {.main = PartOf(std::move(rest)), .prepack = PartOf(Module(prepack))};
}

std::string LibraryBuilder::LibraryPath(uint64_t hash) const {
  return absl::StrCat(folder_, "/", absl::Hex(hash), ".so");
}

CompileRequest LibraryBuilder::RequestFor(const Part& part) const {
  CompileRequest request;
  request.program = Print(part.module);
  request.hash = part.hash;
  request.target = target_;
  return request;
}

absl::Status LibraryBuilder::ComputeReference(const Module& program, std::string* caution) {
  CompileRequest request = RequestFor(PartOf(program));
  request.reference = true;
  if (!CheckRunsOn(target_, HostTarget()).ok()) request.target = HostTarget();
  request.tensors = params_;
  request.seed = options_.seed;
  request.folder = folder_;
  MachineLock::Guard working = lock_.Shared();
  const std::string line = ToLine(request);
  const WorkerReply reply = compilers_.Run({&line, 1}, options_.reference_timeout)[0];
  if (reply.outcome != WorkerReply::Outcome::kAnswered) {
    *caution = absl::StrCat("results are not compared: the reference cannot be computed: ", reply.text);
    return absl::OkStatus();
  }
  TW_ASSIGN_OR_RETURN(const auto answer, ReadWorkerAnswer(reply.text));
  *caution = answer.error;
  return answer.ok ? absl::OkStatus() : absl::UnimplementedError(answer.error);
}

std::map<uint64_t, Measurement> LibraryBuilder::Compile(const std::vector<Parts>& candidates) {
  std::map<uint64_t, Measurement> outcomes;
  std::vector<uint64_t> compiled;
  std::vector<std::string> requests;
  const auto request = [&](const Part& part) {
    if (libraries_.contains(part.hash) || std::ranges::find(compiled, part.hash) != compiled.end()) return;
    CompileRequest request = RequestFor(part);
    request.library = LibraryPath(part.hash);
    request.project = project_;
    compiled.push_back(part.hash);
    requests.push_back(ToLine(request));
  };
  for (const Parts& parts : candidates) {
    if (parts.prepack) request(*parts.prepack);
    request(parts.main);
  }
  if (requests.empty()) return outcomes;
  MachineLock::Guard working = lock_.Shared();
  const std::vector<WorkerReply> replies = compilers_.Run(requests, options_.compile_timeout);
  for (size_t k = 0; k < compiled.size(); ++k) outcomes[compiled[k]] = Compiled(replies[k]);
  return outcomes;
}

std::vector<BuiltCandidate> LibraryBuilder::Build(std::span<const Module> candidates, const Counters& limits) {
  ForgetOldest();
  std::vector<Parts> all;
  for (const Module& candidate : candidates) all.push_back(PartsOf(candidate));
  std::map<uint64_t, Measurement> outcomes = Compile(all);
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
  std::vector<BuiltCandidate> built;
  for (const Parts& parts : all) {
    BuiltCandidate& candidate = built.emplace_back(BuiltCandidate{.measurement = outcome_of(parts.main)});
    candidate.main = parts.main.module.Find(function_);
    candidate.library = LibraryPath(parts.main.hash);
    if (parts.prepack) {
      AddPrepack(outcome_of(*parts.prepack), candidate.measurement);
      candidate.prepack = parts.prepack->module.functions()[0];
      candidate.prepack_library = LibraryPath(parts.prepack->hash);
    }
    if (!candidate.measurement.ok()) continue;
    if (!candidate.main) {
      candidate.measurement =
          FailedMeasurement(MeasureFailure::kRunError, absl::StrCat("the candidate has no function ", function_));
    } else if (auto exceeded = ExceededLimit(candidate.measurement.counters, limits)) {
      candidate.measurement.failure = MeasureFailure::kOverLimit;
      candidate.measurement.message = *std::move(exceeded);
    }
  }
  return built;
}

// Libraries stay for a while: a search measures its best candidates again and again.
void LibraryBuilder::ForgetOldest() {
  while (libraries_.size() > kMostLibraries) {
    const auto oldest =
        std::ranges::min_element(libraries_, {}, [](const auto& entry) { return entry.second.last_run; });
    unlink(LibraryPath(oldest->first).c_str());
    libraries_.erase(oldest);
  }
}

}  // namespace tilewright
