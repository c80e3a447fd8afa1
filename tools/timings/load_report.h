// The time of a load by phase and by kernel, as commands print it.
//
//   LoadReport report;             // phases of this thread are reported from now on
//   ... load a model, or compile a program ...
//   args.out() << report.ToText();
#pragma once

#include <chrono>
#include <optional>
#include <string>

#include "base/phases.h"
#include "nlohmann/json.hpp"

namespace tilewright {

class LoadReport {
 public:
  LoadReport() { here_.emplace(PhaseContext{.report = &phases_}); }
  // What comes now is not part of it.
  void Finish();

  // A line for each phase: processor time and its share, calls, nodes of the IR before and after, peak memory of the
  // process when it ended; then a line for each kernel, those that took longest first, with its longest phases.
  std::string ToText() const;
  // "seconds", "cpu_seconds", "peak_bytes", "phases", "kernels".
  nlohmann::json ToJson() const;

 private:
  double Seconds() const;  // up to Finish(), or now

  PhaseReport phases_;
  std::optional<ReportPhases> here_;
  const std::chrono::steady_clock::time_point start_ = std::chrono::steady_clock::now();
  std::optional<double> seconds_;
};

}  // namespace tilewright
