#include "autoschedule/measure/executor/process_executor.h"

#include <algorithm>
#include <utility>

#include "absl/strings/str_cat.h"
#include "autoschedule/measure/executor/sampling.h"
#include "autoschedule/measure/reference/param_specs.h"
#include "base/status_macros.h"
#include "codegen/remote/projection.h"

namespace tilewright {
namespace {

constexpr size_t kMeasureInOnePiece = 16;

// Room for up to 32 rotating sets, those of at least the caches' size, and what is kept ready.
// A process that drives a GPU has no limit: addresses of all the device's memory count as its own.
std::vector<std::string> WorkerFlags(const RunnerOptions& options, const std::vector<TensorSpec>& params,
                                     const Target& target, bool elsewhere) {
  if (target.is_gpu()) return {};
  int64_t bytes = options.memory_bytes + kMostReadyBytes;
  for (const TensorSpec& spec : params) bytes += spec.bytes() * 40;
  std::vector<std::string> flags = {absl::StrCat("--memory-bytes=", bytes)};
  // The limit is that of the processes that it starts, too: emulators take addresses as they like.
  if (elsewhere) return {};
  for (const std::string& library : options.libraries) flags.push_back("--library=" + library);
  return flags;
}

// Parameters of the same name are the same tensor, whatever a candidate for all sizes calls its extents.
absl::StatusOr<std::vector<int64_t>> Positions(const Function& function, bool may_add,
                                               std::vector<TensorSpec>& tensors) {
  std::vector<int64_t> positions;
  for (size_t i = 0; i < function->params.size(); ++i) {
    const Param& param = function->params[i];
    const std::string& name = param.buffer ? param.buffer->name : param.var.name();
    auto found =
        std::find_if(tensors.begin(), tensors.end(), [&](const TensorSpec& tensor) { return tensor.name == name; });
    if (found == tensors.end()) {
      if (!may_add) {
        return absl::InvalidArgumentError(
            absl::StrCat("parameter ", name, " is neither one of the program nor packed"));
      }
      TW_ASSIGN_OR_RETURN(const auto specs, ParamSpecs(function));
      found = tensors.insert(tensors.end(), specs[i]);
    }
    positions.push_back(found - tensors.begin());
  }
  return positions;
}

// samples[candidate][round], of those that did not fail.
void TakeSamples(std::vector<std::vector<std::vector<double>>> samples, std::vector<Measurement>& results) {
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

void Read(const WorkerReply& reply, Measurement& result) {
  const Measurement compiled = result;
  if (reply.outcome != WorkerReply::Outcome::kAnswered) {
    result = MeasurementOfEnded(reply, MeasureFailure::kCrash, MeasureFailure::kTimeout);
  } else if (const auto answer = ReadWorkerAnswer(reply.text); !answer.ok()) {
    result = FailedMeasurement(MeasureFailure::kRunError, std::string(answer.status().message()));
  } else if (!answer->ok) {
    const MeasureFailure failure = answer->reason == kReasonWrong    ? MeasureFailure::kWrongResult
                                   : answer->reason == kReasonMemory ? MeasureFailure::kMemory
                                                                     : MeasureFailure::kRunError;
    result = FailedMeasurement(failure, answer->error);
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

}  // namespace

ProcessExecutor::ProcessExecutor(const std::string& worker, const RunnerOptions& options, std::string folder,
                                 std::vector<TensorSpec> params, MachineLock& lock, Target target,
                                 std::vector<std::string> command)
    : options_(options),
      folder_(std::move(folder)),
      params_(std::move(params)),
      lock_(lock),
      target_(std::move(target)),
      command_(std::move(command)),
      measurer_(worker, WorkerFlags(options_, params_, target_, !command_.empty()), 1) {}

std::vector<Measurement> ProcessExecutor::Measure(std::span<const BuiltCandidate> candidates,
                                                  const RunOptions& options) {
  std::vector<Measurement> results;
  for (const BuiltCandidate& candidate : candidates) results.push_back(candidate.measurement);
  std::vector<std::vector<std::vector<double>>> samples(candidates.size());
  for (int round = 0; round < options.rounds; ++round) {
    MeasureOnce(candidates, options, results);
    for (size_t i = 0; i < candidates.size(); ++i) samples[i].push_back(std::move(results[i].seconds));
  }
  TakeSamples(std::move(samples), results);
  return results;
}

// Nothing else of ours runs on the machine meanwhile.
void ProcessExecutor::MeasureOnce(std::span<const BuiltCandidate> candidates, const RunOptions& options,
                                  std::vector<Measurement>& results) {
  std::vector<size_t> measured;
  std::vector<std::string> requests;
  for (size_t i = 0; i < candidates.size(); ++i) {
    if (!results[i].ok()) continue;
    auto request = RequestFor(candidates[i], options);
    if (!request.ok()) {
      results[i] = FailedMeasurement(MeasureFailure::kRunError, std::string(request.status().message()));
      continue;
    }
    measured.push_back(i);
    requests.push_back(ToLine(*request));
  }
  const double timeout = options_.run_timeout + options.seconds;
  for (size_t begin = 0; begin < requests.size(); begin += kMeasureInOnePiece) {
    const size_t count = std::min(kMeasureInOnePiece, requests.size() - begin);
    const MachineLock::Guard alone = lock_.Exclusive();
    if (!alone.held()) {
      for (size_t k = 0; k < count; ++k) {
        results[measured[begin + k]] =
            FailedMeasurement(MeasureFailure::kBusy, "other processes measured all the time");
      }
      continue;
    }
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

absl::StatusOr<MeasureRequest> ProcessExecutor::RequestFor(const BuiltCandidate& candidate,
                                                           const RunOptions& options) const {
  MeasureRequest request{.library = candidate.library,
                         .prepack_library = candidate.prepack_library,
                         .function = candidate.main->name,
                         .prepack_function = candidate.prepack ? candidate.prepack->name : "",
                         .tensors = params_,
                         .num_params = static_cast<int64_t>(params_.size()),
                         .seed = options_.seed,
                         .folder = folder_,
                         .threads = options_.threads,
                         .half_width = options.half_width,
                         .most_nanoseconds = static_cast<int64_t>(options.seconds * 1e9),
                         .least_nanoseconds = static_cast<int64_t>(options.least_seconds * 1e9),
                         .most_samples = options.most_samples,
                         .give_up_nanoseconds = static_cast<int64_t>(options.give_up_seconds * 1e9),
                         .caches = options.caches};
  request.command = command_;
  if (!command_.empty()) request.libraries = options_.libraries;
  request.nanoseconds_per_instruction = remote::NanosecondsPerInstruction(candidate.measurement.counters, target_);
  if (candidate.prepack) {
    TW_ASSIGN_OR_RETURN(auto positions, Positions(candidate.prepack, /*may_add=*/true, request.tensors));
    request.prepack = std::move(positions);
  }
  TW_ASSIGN_OR_RETURN(auto positions, Positions(candidate.main, /*may_add=*/false, request.tensors));
  request.main = std::move(positions);
  return request;
}

}  // namespace tilewright
