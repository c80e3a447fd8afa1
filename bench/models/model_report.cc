#include "bench/models/model_report.h"

#include <algorithm>
#include <set>

#include "absl/strings/str_cat.h"
#include "absl/strings/str_format.h"
#include "autoschedule/tune/html.h"
#include "bench/operators/result.h"
#include "bench/report/head_json.h"

namespace tilewright::bench {
namespace {

// Time of the fastest other implementation over the result's; 0 where there is none.
double RatioToBest(const std::vector<ModelResult>& results, const ModelResult& result) {
  double best = 0;
  for (const ModelResult& other : results) {
    if (other.model != result.model || other.implementation == result.implementation) continue;
    if (!other.comparable()) continue;
    if (best == 0 || other.timing.median_ms < best) best = other.timing.median_ms;
  }
  return result.comparable() && result.timing.median_ms > 0 ? best / result.timing.median_ms : 0;
}

std::string DimsText(const std::map<std::string, int64_t>& dims) {
  std::string text;
  for (const auto& [name, value] : dims) absl::StrAppend(&text, " ", name, "=", value);
  return text;
}

nlohmann::ordered_json ToJson(const ModelResult& result, const Peak& peak) {
  const bool own = result.own();
  nlohmann::ordered_json json = {{"model", result.model},     {"dims", result.dims},   {"dtype", result.dtype},
                                 {"flops", result.flops},     {"bytes", result.bytes}, {"impl", result.implementation},
                                 {"version", result.version}, {"opt_level", nullptr},  {"kernels", nullptr}};
  if (own) json["opt_level"] = result.opt_level;
  if (own) json["kernels"] = result.kernels;
  if (!result.symbolic.empty()) json["symbolic"] = result.symbolic;
  if (!result.ok()) {
    json["error"] = result.error;
    json["checked"] = result.wrong;
    return json;
  }
  json["median_ms"] = result.timing.median_ms;
  json["p10_ms"] = result.timing.p10_ms;
  json["p90_ms"] = result.timing.p90_ms;
  json["samples"] = result.timing.samples;
  if (result.wrong) json["inexact"] = result.max_rel_error;
  if (!result.not_compared.empty()) json["not_compared"] = result.not_compared;
  json["gflops"] = result.flops / result.timing.median_ms * 1e-6;
  json["percent_of_peak"] = PercentOfPeak(result, peak);
  json["load_ms"] = result.load_ms;
  json["peak_mib"] = result.peak_mib;
  json["max_rel_error"] = result.max_rel_error;
  json["tolerance"] = result.tolerance;
  json["checked"] = true;
  json["tune_seconds"] = 0;
  json["trials"] = 0;
  for (const KernelTime& time : result.profile) {
    json["profile"].push_back({{"value", time.value}, {"kernel", time.kernel}, {"ms", time.ms}});
  }
  return json;
}

// One bar for the whole model, a part for each call, as wide as its time; equal kernels have the same colour.
std::string Picture(const std::vector<KernelTime>& profile) {
  constexpr double kWidth = 1000;
  double total = 0;
  for (const KernelTime& time : profile) total += time.ms;
  std::string svg = absl::StrFormat("<svg width=\"%.0f\" height=\"40\">\n", kWidth);
  double x = 0;
  for (const KernelTime& time : profile) {
    const double width = total > 0 ? time.ms / total * kWidth : 0;
    absl::StrAppendFormat(&svg,
                          "<rect x=\"%.2f\" y=\"2\" width=\"%.2f\" height=\"36\" fill=\"hsl(%d, 55%%, 60%%)\">"
                          "<title>%s: kernel %d, %.3f ms</title></rect>\n",
                          x, width, time.kernel * 47 % 360, EscapeHtml(time.value), time.kernel, time.ms);
    x += width;
  }
  return svg + "</svg>\n";
}

// The calls by kernel, those that take longest first.
std::string KernelTable(const std::vector<KernelTime>& profile) {
  struct Sum {
    int calls = 0;
    double ms = 0;
    std::string first;
  };
  std::map<int, Sum> sums;
  double total = 0;
  for (const KernelTime& time : profile) {
    Sum& sum = sums[time.kernel];
    if (sum.calls++ == 0) sum.first = time.value;
    sum.ms += time.ms;
    total += time.ms;
  }
  std::vector<std::pair<int, Sum>> order(sums.begin(), sums.end());
  std::sort(order.begin(), order.end(), [](const auto& a, const auto& b) { return a.second.ms > b.second.ms; });
  std::string text = "<pre>";
  for (const auto& [kernel, sum] : order) {
    absl::StrAppendFormat(&text, "kernel %-4d %4d calls %9.3f ms %5.1f%%  %s\n", kernel, sum.calls, sum.ms,
                          total > 0 ? 100 * sum.ms / total : 0, EscapeHtml(sum.first));
  }
  return text + "</pre>\n";
}

}  // namespace

double PercentOfPeak(const ModelResult& result, const Peak& peak) {
  const double most = peak.f32_gflops * result.timing.median_ms * 1e6;
  return result.ok() && most > 0 ? 100 * result.flops / most : 0;
}

std::string ModelsToText(const Report& head, const std::vector<ModelResult>& results) {
  std::string text = HeadText(head);
  absl::StrAppendFormat(&text, "  %-14s %10s %10s %10s %8s %8s %10s %10s %9s %7s %6s\n", "", "median ms", "10th",
                        "90th", "samples", "of peak", "load ms", "peak MiB", "error", "kernels", "ratio");
  std::string previous;
  std::map<std::string, std::vector<double>> ratios;
  for (const ModelResult& r : results) {
    if (r.model != previous) absl::StrAppend(&text, r.model, DimsText(r.dims), "\n");
    previous = r.model;
    if (!r.ok()) {
      absl::StrAppendFormat(&text, "  %-14s %s\n", r.implementation, r.error);
      continue;
    }
    const double ratio = RatioToBest(results, r);
    if (ratio > 0) ratios[r.implementation].push_back(ratio);
    absl::StrAppendFormat(&text, "  %-14s %10.3f %10.3f %10.3f %8d %7.1f%% %10.1f %10.1f %9.1e %7s %6.3f%s%s\n",
                          r.implementation, r.timing.median_ms, r.timing.p10_ms, r.timing.p90_ms, r.timing.samples,
                          PercentOfPeak(r, head.peak), r.load_ms, r.peak_mib, r.max_rel_error,
                          r.kernels > 0 ? absl::StrCat(r.kernels) : "", ratio, r.wrong ? "  inexact" : "",
                          r.not_compared.empty() ? "" : absl::StrCat("  ", r.not_compared));
  }
  absl::StrAppend(&text,
                  "\nRatio: time of the fastest other implementation over the time of the line; "
                  "inexact ones do not count.\n");
  for (const auto& [name, all] : ratios) {
    absl::StrAppendFormat(&text, "Geometric mean of %s: %.3f over %d models\n", name, GeometricMean(all), all.size());
  }
  return text;
}

std::string ModelsToJson(const Report& head, const std::vector<ModelResult>& results) {
  nlohmann::ordered_json json = HeadJson(head);
  json["results"] = nlohmann::ordered_json::array();
  for (const ModelResult& result : results) json["results"].push_back(ToJson(result, head.peak));
  return json.dump(2, ' ', false, nlohmann::ordered_json::error_handler_t::replace) + "\n";
}

std::string ModelsToHtml(const Report& head, const std::vector<ModelResult>& results) {
  std::string html = PageBegin("Benchmark of models", "");
  absl::StrAppend(
      &html, "<pre>", EscapeHtml(head.command), "\n\n", EscapeHtml(ModelsToText(head, results)),
      "</pre>\n<p>Below, one part of a bar is one call of a kernel; equal colours are the same code.</p>\n");
  for (const ModelResult& result : results) {
    if (result.profile.empty()) continue;
    absl::StrAppend(&html, "<h3>", EscapeHtml(result.model), "</h3>\n", Picture(result.profile),
                    KernelTable(result.profile));
  }
  return html + "</body></html>\n";
}

}  // namespace tilewright::bench
