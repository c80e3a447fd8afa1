#include "bench/operators/run_workload.h"

#include <algorithm>
#include <cstdio>
#include <memory>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "absl/status/status.h"
#include "absl/strings/str_cat.h"
#include "bench/harness/feature_cap.h"
#include "bench/operators/operands.h"
#include "bench/operators/reduce_shape.h"
#include "bench/operators/reference.h"
#include "bench/operators/tensor_sets.h"

namespace tilewright::bench {
namespace {

// A set that every timed runner has written: runs rotate from set 0 on, and there are at least two.
constexpr int kTimedSet = 1;

// Operands with the right results of them.
struct Checked {
  Operands operands;
  Reference reference;
  std::string note;  // what is particular to them; empty for the workload's own
};

// The variants of an implementation on one kind of operands, each checked on its first run.
struct Attempt {
  struct Variant {
    std::unique_ptr<Runner> runner;
    VariantResult result;
  };
  std::vector<Variant> variants;
  std::string error;    // of the whole implementation
  std::string failure;  // the first wrong element, for people

  size_t exact() const {
    return static_cast<size_t>(std::ranges::count_if(variants, [](const Variant& v) { return !v.result.inexact; }));
  }
  bool all_exact() const { return exact() == variants.size(); }
};

class WorkloadRun {
 public:
  // `workload` runs, in place of `full`.
  WorkloadRun(const Workload& full, const Workload& workload, Checked checked, runtime::Tensor output)
      : full_(full), workload_(workload), output_(std::move(output)) {
    checked_.push_back(std::make_unique<Checked>(std::move(checked)));
  }

  void Prepare(Implementation& implementation, const RunSettings& settings) {
    results_.push_back({.workload = full_,
                        .checked_shape = SmallerShape(),
                        .implementation = implementation.name(),
                        .not_compared = WhyNotCapped(implementation.name())});
    Result& result = results_.back();
    size_t operands = 0;
    Attempt best = Try(implementation, settings, operands);
    const bool own = IsOwn(result);
    if (own && !best.all_exact()) {
      result.wrong = true;
      best.error = best.failure;
    }
    if (!own && best.error.empty() && !best.all_exact()) PrepareExactly(implementation, settings, best, operands);
    result.version = implementation.version();
    result.tolerance = checked_[operands]->reference.tolerance;
    result.operands = checked_[operands]->note;
    result.error = best.error;
    if (!result.ok()) return;
    for (Attempt::Variant& variant : best.variants) {
      result.tune_seconds += variant.runner->tune_seconds();
      result.trials += variant.runner->trials();
      result.variants.push_back(std::move(variant.result));
      if (result.variants.back().emulated) continue;
      for (int set = 0; set < settings.num_sets; ++set) variant.runner->SpoilOutput(set);
      timed_.push_back({.runner = std::move(variant.runner),
                        .result = results_.size() - 1,
                        .variant = result.variants.size() - 1,
                        .operands = operands,
                        .slack = SlackOf(implementation)});
    }
  }

  std::vector<Result> Measure(const MeasureOptions& options) {
    std::vector<Runner*> runners;
    for (const Timed& timed : timed_) runners.push_back(timed.runner.get());
    std::vector<Timing> timings;
    if (!runners.empty()) timings = MeasureAlternating(runners, options);
    for (size_t i = 0; i < timings.size(); ++i) {
      Result& result = results_[timed_[i].result];
      VariantResult& variant = result.variants[timed_[i].variant];
      variant.timing = timings[i];
      std::string failure;
      const absl::Status read =
          CheckOutput(*timed_[i].runner, kTimedSet, timed_[i].operands, timed_[i].slack, variant, failure);
      if (!read.ok()) result.error = std::string(read.message());
      if (variant.inexact && IsOwn(result)) {
        result.wrong = true;
        result.error = failure;
      }
    }
    for (Result& result : results_) {
      std::sort(result.variants.begin(), result.variants.end(), [](const VariantResult& a, const VariantResult& b) {
        return std::pair(a.inexact, a.timing.median_ms) < std::pair(b.inexact, b.timing.median_ms);
      });
    }
    return std::move(results_);
  }

 private:
  struct Timed {
    std::unique_ptr<Runner> runner;
    size_t result;    // Index into results_.
    size_t variant;   // Index into the result's variants before they are sorted.
    size_t operands;  // Index into checked_.
    double slack;     // By which outputs may be off beyond their errors.
  };

  std::optional<Shape> SmallerShape() const {
    return workload_.shape == full_.shape ? std::nullopt : std::optional(workload_.shape);
  }

  double SlackOf(const Implementation& implementation) const {
    return IsRequantized(workload_.dtype) ? implementation.requantization_slack() : 0;
  }

  Attempt Try(Implementation& implementation, const RunSettings& settings, size_t operands) {
    Attempt attempt;
    auto runners = implementation.Prepare(workload_, checked_[operands]->operands, settings);
    if (!runners.ok()) {
      attempt.error = std::string(runners.status().message());
      return attempt;
    }
    for (std::unique_ptr<Runner>& runner : *runners) {
      runner->SpoilOutput(0);
      absl::Status status = runner->FirstRun(0);
      VariantResult variant = {.variant = runner->variant()};
      if (status.ok()) {
        runner->Park();
        status = CheckOutput(*runner, 0, operands, SlackOf(implementation), variant, attempt.failure);
      }
      if (!status.ok()) {
        attempt.error = std::string(status.message());
        return attempt;
      }
      variant.emulated = runner->LastEmulatedRun();
      attempt.variants.push_back({std::move(runner), std::move(variant)});
    }
    return attempt;
  }

  // Replaces an attempt that is not exact by one on weights of seven bits where more of the variants are exact.
  void PrepareExactly(Implementation& implementation, const RunSettings& settings, Attempt& best, size_t& operands) {
    std::fprintf(stderr, "%s is inexact: %s\n", implementation.name().c_str(), best.failure.c_str());
    if (!HasWeightsOf8Bits(workload_)) return;
    for (const SevenBits bits : {SevenBits::kLower, SevenBits::kUpper}) {
      const absl::StatusOr<size_t> place = Narrowed(bits);
      if (!place.ok()) return;
      Attempt attempt = Try(implementation, settings, *place);
      if (attempt.error.empty() && attempt.exact() > best.exact()) {
        best = std::move(attempt);
        operands = *place;
      }
      if (best.all_exact()) return;
    }
    // A peer in another process keeps what it prepared last alone.
    Attempt again = Try(implementation, settings, operands);
    if (again.error.empty()) best = std::move(again);
  }

  // The place of such operands in checked_, where they stay for other peers.
  absl::StatusOr<size_t> Narrowed(SevenBits bits) {
    const std::string note = kSevenBitsNames[static_cast<size_t>(bits)];
    for (size_t i = 0; i < checked_.size(); ++i) {
      if (checked_[i]->note == note) return i;
    }
    absl::StatusOr<Operands> operands = WithWeightsOf7Bits(checked_[0]->operands, bits);
    if (!operands.ok()) return operands.status();
    absl::StatusOr<Reference> reference = ComputeReference(workload_, *operands);
    if (!reference.ok()) return reference.status();
    checked_.push_back(std::make_unique<Checked>(Checked{*std::move(operands), *std::move(reference), note}));
    return checked_.size() - 1;
  }

  // Marks the variant as inexact if its output is wrong, and names the element in `failure` if that is empty. An error
  // when the output cannot be read.
  absl::Status CheckOutput(Runner& runner, int set, size_t operands, double slack, VariantResult& variant,
                           std::string& failure) {
    if (absl::Status status = runner.CopyOutput(set, output_); !status.ok()) return status;
    const CheckResult check = Check(checked_[operands]->reference, output_, slack);
    variant.max_relative_error = std::max(variant.max_relative_error, check.max_relative_error);
    if (check.failure.empty()) return absl::OkStatus();
    variant.inexact = true;
    const std::string name = runner.variant().empty() ? "" : absl::StrCat(" (", runner.variant(), ")");
    if (failure.empty()) failure = absl::StrCat("wrong result", name, ": ", check.failure);
    return absl::OkStatus();
  }

  const Workload& full_;
  const Workload& workload_;
  runtime::Tensor output_;
  std::vector<std::unique_ptr<Checked>> checked_;  // the workload's own operands first
  std::vector<Result> results_;
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
  absl::StatusOr<Operands> operands = MakeOperands(run_workload);
  if (!operands.ok()) return AllFailed(workload, implementations, operands.status());
  absl::StatusOr<runtime::Tensor> output = MakeOutput(run_workload);
  if (!output.ok()) return AllFailed(workload, implementations, output.status());
  absl::StatusOr<Reference> reference = ComputeReference(run_workload, *operands);
  if (!reference.ok()) return AllFailed(workload, implementations, reference.status());

  const int64_t cache = limits.cache_bytes > 0 ? limits.cache_bytes : SecondLevelBytes(settings.num_threads);
  settings.num_sets = options.num_sets = ChooseNumSets(run_workload, cache, limits.most_sets);
  WorkloadRun run(workload, run_workload, {*std::move(operands), *std::move(reference), /*note=*/""},
                  *std::move(output));
  for (const auto& implementation : implementations) run.Prepare(*implementation, settings);
  return run.Measure(options);
}

}  // namespace tilewright::bench
