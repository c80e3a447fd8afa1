// Results of //bench:models as text, JSON or HTML.
#pragma once

#include <map>
#include <string>
#include <vector>

#include "bench/harness/statistics.h"
#include "bench/models/own_model.h"
#include "bench/operators/result.h"
#include "bench/report/report.h"

namespace tilewright::bench {

struct ModelResult {
  std::string model;
  std::map<std::string, int64_t> dims;
  std::map<std::string, int64_t> symbolic = {};  // dimensions that the model keeps, and what they were in the runs
  std::string dtype = "f32";
  std::string implementation, version;
  double flops = 0, bytes = 0;
  std::string error;   // why there are no times
  bool wrong = false;  // an output is wrong: an error of this compiler; of a peer, nobody is compared with it
  Timing timing;
  int opt_level = 0, kernels = 0;  // this compiler's; 0 for others
  double load_ms = 0, peak_mib = 0;
  double max_rel_error = 0, tolerance = 0;  // relative to the largest magnitude of each output
  std::string not_compared;                 // why the times of a peer are compared with nobody's
  std::vector<KernelTime> profile;

  bool ok() const { return error.empty(); }
  bool own() const { return implementation.starts_with(kOwnName); }
  bool comparable() const { return ok() && !wrong && not_compared.empty(); }
};

// Percent of the peak of f32; 0 where there is no time or no peak. Convolutions may need fewer operations than count.
double PercentOfPeak(const ModelResult& result, const Peak& peak);

// `head` gives machine, peak, commit and command; its own results are not printed.
std::string ModelsToText(const Report& head, const std::vector<ModelResult>& results);
std::string ModelsToJson(const Report& head, const std::vector<ModelResult>& results);
// A page with the calls of each model as a picture.
std::string ModelsToHtml(const Report& head, const std::vector<ModelResult>& results);

}  // namespace tilewright::bench
