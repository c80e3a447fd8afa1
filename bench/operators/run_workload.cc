#include "bench/operators/run_workload.h"

#include <algorithm>
#include <optional>
#include <string>
#include <utility>

#include "absl/status/status.h"
#include "absl/strings/str_cat.h"
#include "bench/operators/operands.h"
#include "bench/operators/reduce_shape.h"
#include "bench/operators/reference.h"
#include "bench/operators/tensor_sets.h"

namespace tilewright::bench {
namespace {

// A set that every timed runner has written: runs rotate from set 0 on, and there are at least two.
constexpr int kTimedSet = 1;

class WorkloadRun {
 public:
  // `workload` runs, in place of `full`.
  WorkloadRun(const Workload& full, const Workload& workload, const Operands& operands, const Reference& reference,
              runtime::Tensor output)
      : full_(full), workload_(workload), operands_(operands), reference_(reference), output_(std::move(output)) {}

  void Prepare(Implementation& implementation, const RunSettings& settings) {
    Result& result = NewResult(implementation);
    auto runners = implementation.Prepare(workload_, operands_, settings);
    // A peer in another process knows its version when it has started.
    result.version = implementation.version();
    if (!runners.ok()) {
      result.error = std::string(runners.status().message());
      return;
    }
    for (std::unique_ptr<Runner>& runner : *runners) {
      runner->SpoilOutput(0);
      if (absl::Status status = runner->FirstRun(0); !status.ok()) {
        result.error = std::string(status.message());
        return;
      }
      runner->Park();
      result.tune_seconds += runner->tune_seconds();
      result.trials += runner->trials();
      VariantResult variant = {.variant = runner->variant()};
      if (!CheckOutput(*runner, 0, result, variant)) return;
      variant.emulated = runner->LastEmulatedRun();
      if (variant.emulated) {
        result.variants.push_back(std::move(variant));
        continue;
      }
      for (int set = 0; set < settings.num_sets; ++set) runner->SpoilOutput(set);
      result.variants.push_back(std::move(variant));
      timed_.push_back(
          {.runner = std::move(runner), .result = results_.size() - 1, .variant = result.variants.size() - 1});
    }
  }

  std::vector<Result> Measure(const MeasureOptions& options) {
    std::vector<Runner*> runners;
    for (const Timed& timed : timed_) {
      if (results_[timed.result].ok()) runners.push_back(timed.runner.get());
    }
    std::vector<Timing> timings;
    if (!runners.empty()) timings = MeasureAlternating(runners, options);
    auto timing = timings.begin();
    for (const Timed& timed : timed_) {
      Result& result = results_[timed.result];
      if (!timings.empty() && std::find(runners.begin(), runners.end(), timed.runner.get()) != runners.end()) {
        result.variants[timed.variant].timing = *timing++;
        CheckOutput(*timed.runner, kTimedSet, result, result.variants[timed.variant]);
      }
    }
    for (Result& result : results_) {
      std::sort(result.variants.begin(), result.variants.end(),
                [](const VariantResult& a, const VariantResult& b) { return a.timing.median_ms < b.timing.median_ms; });
    }
    return std::move(results_);
  }

 private:
  struct Timed {
    std::unique_ptr<Runner> runner;
    size_t result;   // Index into results_.
    size_t variant;  // Index into the result's variants before they are sorted.
  };

  Result& NewResult(const Implementation& implementation) {
    results_.push_back({.workload = full_,
                        .checked_shape = SmallerShape(),
                        .implementation = implementation.name(),
                        .version = implementation.version(),
                        .tolerance = reference_.tolerance});
    slack_.push_back(IsRequantized(workload_.dtype) ? implementation.requantization_slack() : 0);
    return results_.back();
  }

  std::optional<Shape> SmallerShape() const {
    return workload_.shape == full_.shape ? std::nullopt : std::optional(workload_.shape);
  }

  bool CheckOutput(Runner& runner, int set, Result& result, VariantResult& variant) {
    if (absl::Status status = runner.CopyOutput(set, output_); !status.ok()) {
      result.error = std::string(status.message());
      return false;
    }
    const CheckResult check = Check(reference_, output_, slack_[static_cast<size_t>(&result - results_.data())]);
    variant.max_relative_error = std::max(variant.max_relative_error, check.max_relative_error);
    if (check.failure.empty()) return true;
    result.wrong = true;
    const std::string name = runner.variant().empty() ? "" : absl::StrCat(" (", runner.variant(), ")");
    result.error = absl::StrCat("wrong result", name, ": ", check.failure);
    return false;
  }

  const Workload& full_;
  const Workload& workload_;
  const Operands& operands_;
  const Reference& reference_;
  runtime::Tensor output_;
  std::vector<Result> results_;
  std::vector<double> slack_;  // of each result's outputs
  std::vector<Timed> timed_;
};

std::vector<Result> AllFailed(const Workload& workload,
                              const std::vector<std::unique_ptr<Implementation>>& implementations,
                              const absl::Status& status) {
  std::vector<Result> results;
  for (const auto& implementation : implementations) {
    results.push_back({.workload = workload,
                       .implementation = implementation->name(),
                       .version = implementation->version(),
                       .error = std::string(status.message())});
  }
  return results;
}

}  // namespace

std::vector<Result> RunWorkload(const Workload& workload,
                                const std::vector<std::unique_ptr<Implementation>>& implementations,
                                RunSettings settings, MeasureOptions options, const WorkloadLimits& limits) {
  Workload run_workload = workload;
  if (limits.most_operations > 0) {
    run_workload.shape = ReduceShape(workload.shape, limits.most_operations);
    run_workload.problem = MakeProblem(run_workload.shape).value();
    if (run_workload.shape != workload.shape) settings.full = &workload;
  }
  const absl::StatusOr<Operands> operands = MakeOperands(run_workload);
  if (!operands.ok()) return AllFailed(workload, implementations, operands.status());
  absl::StatusOr<runtime::Tensor> output = MakeOutput(run_workload);
  if (!output.ok()) return AllFailed(workload, implementations, output.status());
  const absl::StatusOr<Reference> reference = ComputeReference(run_workload, *operands);
  if (!reference.ok()) return AllFailed(workload, implementations, reference.status());

  const int64_t cache = limits.cache_bytes > 0 ? limits.cache_bytes : SecondLevelBytes(settings.num_threads);
  settings.num_sets = options.num_sets = ChooseNumSets(run_workload, cache, limits.most_sets);
  WorkloadRun run(workload, run_workload, *operands, *reference, *std::move(output));
  for (const auto& implementation : implementations) run.Prepare(*implementation, settings);
  return run.Measure(options);
}

}  // namespace tilewright::bench
