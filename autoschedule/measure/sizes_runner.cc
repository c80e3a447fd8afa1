#include "autoschedule/measure/sizes_runner.h"

#include <algorithm>
#include <cmath>
#include <utility>

#include "autoschedule/program/sizes.h"
#include "base/status_macros.h"

namespace tilewright {
namespace {

class SizesRunner : public Runner {
 public:
  void Add(std::unique_ptr<Runner> runner, int64_t count) {
    runners_.push_back(std::move(runner));
    counts_.push_back(count);
  }

  std::vector<Measurement> Run(std::span<const Module> candidates, const RunOptions& options) override {
    RunOptions each = options;
    // A candidate that is slow at one size may be fast at others.
    if (runners_.size() > 1) each.give_up_seconds = 0;
    std::vector<std::vector<Measurement>> measured(candidates.size());
    for (const std::unique_ptr<Runner>& runner : runners_) {
      std::vector<Measurement> here = runner->Run(candidates, each);
      for (size_t i = 0; i < here.size(); ++i) measured[i].push_back(std::move(here[i]));
    }
    std::vector<Measurement> result;
    for (const std::vector<Measurement>& of_candidate : measured) result.push_back(Together(of_candidate, counts_));
    return result;
  }
  std::string caution() const override {
    for (const std::unique_ptr<Runner>& runner : runners_) {
      if (!runner->caution().empty()) return runner->caution();
    }
    return {};
  }
  double WaitedSeconds() const override {
    double seconds = 0;
    for (const std::unique_ptr<Runner>& runner : runners_) seconds += runner->WaitedSeconds();
    return seconds;
  }

 private:
  std::vector<std::unique_ptr<Runner>> runners_;
  std::vector<int64_t> counts_;
};

Module ModuleAtSizes(const Module& module, const std::map<std::string, int64_t>& sizes) {
  Module result = module;
  for (const Function& function : module.functions()) result.Set(AtSizes(function, sizes));
  return result;
}

}  // namespace

Measurement Together(const std::vector<Measurement>& each, const std::vector<int64_t>& counts) {
  Measurement result = each.front();
  size_t samples = 0;
  for (const Measurement& measurement : each) {
    if (!measurement.ok()) return measurement;
    samples = std::max(samples, measurement.seconds.size());
    result.max_error = std::max(result.max_error, measurement.max_error);
  }
  int64_t total = 0;
  for (const int64_t count : counts) total += count;
  result.seconds.clear();
  for (size_t s = 0; s < samples; ++s) {
    double logarithm = 0;
    for (size_t i = 0; i < each.size(); ++i) {
      const std::vector<double>& seconds = each[i].seconds;
      logarithm += static_cast<double>(counts[i]) * std::log(seconds[s % seconds.size()]);
    }
    result.seconds.push_back(std::exp(logarithm / static_cast<double>(total)));
  }
  return result;
}

absl::StatusOr<std::unique_ptr<Runner>> StartAtSizes(const Module& program, const Target& target,
                                                     const std::vector<std::map<std::string, int64_t>>& sizes,
                                                     const RunnerOptions& options) {
  if (sizes.empty()) return LocalRunner::Start(program, target, options);
  std::map<std::map<std::string, int64_t>, int64_t> counts;
  for (const auto& size : sizes) ++counts[size];
  auto result = std::make_unique<SizesRunner>();
  for (const auto& [size, count] : counts) {
    TW_ASSIGN_OR_RETURN(auto runner, LocalRunner::Start(ModuleAtSizes(program, size), target, options));
    result->Add(std::move(runner), count);
  }
  return std::unique_ptr<Runner>(std::move(result));
}

}  // namespace tilewright
