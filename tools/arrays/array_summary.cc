#include "tools/arrays/array_summary.h"

#include <algorithm>
#include <cmath>
#include <ostream>
#include <vector>

#include "absl/strings/str_format.h"
#include "absl/strings/str_join.h"
#include "base/statistics.h"

namespace tilewright {
namespace {

struct Summary {
  double sum = 0, least = INFINITY, largest = -INFINITY;
  std::vector<double> first;
};

Summary Summarize(const NDArray& array) {
  Summary summary;
  for (int64_t i = 0; i < array.size(); ++i) {
    const double value = array.Get(i);
    summary.sum += value;
    summary.least = std::min(summary.least, value);
    summary.largest = std::max(summary.largest, value);
    if (i < 6) summary.first.push_back(value);
  }
  return summary;
}

}  // namespace

void PrintArray(std::ostream& out, const std::string& name, const NDArray& array) {
  const Summary summary = Summarize(array);
  out << name << ": " << array.dtype().ToString() << "[" << absl::StrJoin(array.shape(), ", ") << "] sum "
      << summary.sum << " least " << summary.least << " largest " << summary.largest << " first";
  for (double value : summary.first) out << " " << value;
  out << "\n";
}

nlohmann::json OrNull(double value) { return std::isfinite(value) ? nlohmann::json(value) : nlohmann::json(); }

nlohmann::json ToJson(const std::string& name, const NDArray& array) {
  const Summary summary = Summarize(array);
  nlohmann::json first = nlohmann::json::array();
  for (double value : summary.first) first.push_back(OrNull(value));
  return {{"name", name},
          {"dtype", array.dtype().ToString()},
          {"shape", array.shape()},
          {"sum", OrNull(summary.sum)},
          {"least", OrNull(summary.least)},
          {"largest", OrNull(summary.largest)},
          {"first", std::move(first)}};
}

namespace {

double Percentile(const std::vector<double>& sorted, double part) {
  return sorted[static_cast<size_t>(part * static_cast<double>(sorted.size() - 1) + 0.5)];
}

}  // namespace

std::string TimesText(std::vector<double> seconds) {
  std::ranges::sort(seconds);
  return absl::StrFormat("median %.4g ms, %.4g to %.4g in %d runs", Median(seconds) * 1e3,
                         Percentile(seconds, 0.1) * 1e3, Percentile(seconds, 0.9) * 1e3, seconds.size());
}

nlohmann::json TimesJson(std::vector<double> seconds) {
  std::ranges::sort(seconds);
  return {{"median_ms", Median(seconds) * 1e3},
          {"p10_ms", Percentile(seconds, 0.1) * 1e3},
          {"p90_ms", Percentile(seconds, 0.9) * 1e3},
          {"samples", seconds.size()}};
}

}  // namespace tilewright
