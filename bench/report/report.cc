#include "bench/report/report.h"

#include <algorithm>
#include <cmath>

#include "absl/strings/str_cat.h"
#include "absl/strings/str_format.h"
#include "bench/report/head_json.h"
#include "nlohmann/json.hpp"

namespace tilewright::bench {
namespace {

// Whether so few blocks were quiet that even the best were hardly so.
bool IsDisturbed(const Timing& timing) { return 10 * timing.quiet_blocks < timing.blocks; }

std::string WorkloadText(const Workload& workload) {
  return absl::StrCat(std::string(Name(workload.shape.op)), " ", NumbersText(workload.shape), " ",
                      std::string(Name(workload.dtype)));
}

// The line of a run in an emulator.
std::string EmulatedLine(const Report& report, const Result& result, const EmulatedRun& run) {
  std::string line = absl::StrFormat("  %-24s emulated", result.implementation);
  if (result.checked_shape) absl::StrAppend(&line, ", right at ", NumbersText(*result.checked_shape));
  if (run.instructions > 0) absl::StrAppendFormat(&line, ": %d instructions", run.instructions);
  if (run.projected_ms > 0) {
    absl::StrAppendFormat(&line, ", projected %.5f ms, %.1f GFLOP/s, %.1f%% of peak", run.projected_ms, result.gflops(),
                          PercentOfPeak(result, report.peak));
  }
  if (run.inner_loop_rate > 0) absl::StrAppendFormat(&line, ", inner loop at %.1f%%", 100 * run.inner_loop_rate);
  if (const double ratio = RatioToBestPeer(report.results, result); ratio > 0) {
    absl::StrAppendFormat(&line, ", ratio %.3f", ratio);
  }
  for (const auto& [name, count] : run.counters) absl::StrAppend(&line, ", ", count, " ", name);
  return line;
}

std::string InexactText(const VariantResult& variant) {
  return absl::StrFormat("  inexact by %.2g", variant.max_relative_error);
}

// JSON has no number for the error of a result that is none.
nlohmann::ordered_json ErrorJson(double error) {
  if (std::isfinite(error)) return error;
  return "not a number";
}

// The line of one variant. Only the first variant, which stands for the implementation, is compared.
std::string VariantLine(const Report& report, const Result& result, size_t index) {
  const VariantResult& variant = result.variants[index];
  if (variant.emulated) return EmulatedLine(report, result, *variant.emulated);
  const bool has_products = Flops(result.workload.problem) > 0;
  const double rate =
      (has_products ? Flops(result.workload.problem) : Bytes(result.workload)) / variant.timing.median_ms * 1e-6;
  const std::string name =
      variant.variant.empty() ? result.implementation : absl::StrCat(result.implementation, " ", variant.variant);
  std::string line = absl::StrFormat("  %-24s %10.5f %10.5f %10.5f %8d %9.1f %s", name, variant.timing.median_ms,
                                     variant.timing.p10_ms, variant.timing.p90_ms, variant.timing.samples, rate,
                                     has_products ? "GFLOP/s" : "GB/s   ");
  const std::string remarks =
      absl::StrCat(variant.inexact ? InexactText(variant) : "", IsDisturbed(variant.timing) ? "  disturbed" : "");
  if (index > 0) return line + remarks;
  if (const double percent = PercentOfPeak(result, report.peak); percent > 0) {
    absl::StrAppendFormat(&line, " %6.1f%%", percent);
  } else {
    line += "       -";
  }
  if (const double ratio = RatioToBestPeer(report.results, result); ratio > 0) {
    absl::StrAppendFormat(&line, " %6.3f", ratio);
  }
  if (const double ratio = RatioToConstant(report.results, result); ratio > 0) {
    absl::StrAppendFormat(&line, "  %.3f times the time of constant extents", ratio);
  }
  for (const std::string& remark : {result.operands, result.not_compared}) {
    if (!remark.empty()) absl::StrAppend(&line, "  ", remark);
  }
  return line + remarks;
}

nlohmann::ordered_json TimingJson(const Timing& timing) {
  return {{"median_ms", timing.median_ms}, {"p10_ms", timing.p10_ms}, {"p90_ms", timing.p90_ms},
          {"samples", timing.samples},     {"blocks", timing.blocks}, {"quiet_blocks", timing.quiet_blocks}};
}

nlohmann::ordered_json ResultJson(const Report& report, const Result& result) {
  const Workload& workload = result.workload;
  nlohmann::ordered_json json = {{"op", Name(workload.shape.op)}, {"shape", NumbersText(workload.shape)},
                                 {"dtype", Name(workload.dtype)}, {"flops", Flops(workload.problem)},
                                 {"bytes", Bytes(workload)},      {"impl", result.implementation},
                                 {"version", result.version}};
  if (!result.ok()) {
    json["error"] = result.error;
    return json;
  }
  if (const auto& run = result.best().emulated) {
    json["emulated"] = true;
    json["instructions"] = run->instructions;
    json["projected_ms"] = run->projected_ms;
    json["inner_loop_rate"] = run->inner_loop_rate;
    if (result.checked_shape) json["checked_shape"] = NumbersText(*result.checked_shape);
    if (!run->counters.empty()) json["counters"] = run->counters;
  } else {
    json.update(TimingJson(result.best().timing));
  }
  json["gflops"] = result.gflops();
  json["percent_of_peak"] = PercentOfPeak(result, report.peak);
  if (const double ratio = RatioToConstant(report.results, result); ratio > 0) json["ratio_to_constant"] = ratio;
  json["max_rel_error"] = ErrorJson(result.best().max_relative_error);
  if (result.inexact()) json["inexact"] = ErrorJson(result.best().max_relative_error);
  if (!result.operands.empty()) json["operands"] = result.operands;
  if (!result.not_compared.empty()) json["not_compared"] = result.not_compared;
  json["tolerance"] = result.tolerance;
  json["checked"] = true;
  json["tune_seconds"] = result.tune_seconds;
  json["trials"] = result.trials;
  json["variant"] = result.best().variant;
  if (result.best().emulated) return json;
  json["variants"] = nlohmann::ordered_json::array();
  for (const VariantResult& variant : result.variants) {
    nlohmann::ordered_json entry = {{"variant", variant.variant}};
    entry.update(TimingJson(variant.timing));
    entry["max_rel_error"] = ErrorJson(variant.max_relative_error);
    if (variant.inexact) entry["inexact"] = ErrorJson(variant.max_relative_error);
    json["variants"].push_back(std::move(entry));
  }
  return json;
}

}  // namespace

std::vector<Comparison> Compare(const std::vector<Result>& results) {
  std::vector<std::string> names;
  for (const Result& result : results) {
    if (std::find(names.begin(), names.end(), result.implementation) == names.end()) {
      names.push_back(result.implementation);
    }
  }
  std::vector<Comparison> comparisons;
  for (const std::string& name : names) {
    std::vector<double> ratios;
    for (const Result& result : results) {
      if (result.implementation != name) continue;
      if (const double ratio = RatioToBestPeer(results, result); ratio > 0) ratios.push_back(ratio);
    }
    comparisons.push_back({name, GeometricMean(ratios), static_cast<int>(ratios.size())});
  }
  return comparisons;
}

std::string PeakText(const Peak& peak) {
  const auto number = [](double value, const char* unit) {
    return value == 0 ? std::string("not on this CPU") : absl::StrFormat("%.0f %s", value, unit);
  };
  std::string text = absl::StrCat("Peak: f32 ", number(peak.f32_gflops, "GFLOP/s"), ", bf16 dot ",
                                  number(peak.bf16_gflops, "GFLOP/s"), ", int8 dot ", number(peak.int8_gops, "GOP/s"));
  if (peak.f16_gflops > 0) absl::StrAppend(&text, ", f16 ", number(peak.f16_gflops, "GFLOP/s"));
  if (peak.fp8_gflops > 0) absl::StrAppend(&text, ", fp8 ", number(peak.fp8_gflops, "GFLOP/s"));
  return absl::StrCat(text, ", read ", number(peak.read_gbs, "GB/s"));
}

std::string HeadText(const Report& report) {
  std::string text;
  absl::StrAppend(&text, report.machine.cpu, ", ", report.machine.threads, " of ", report.machine.cpus, " CPUs, ",
                  report.machine.system, "\n", PeakText(report.peak), "; ", report.peak_source, "\nCommit ",
                  report.commit, "\n");
  absl::StrAppendFormat(&text, "Other processes took %.1f%% of the CPU time\n\n", 100 * report.other_load);
  return text;
}

std::string ToText(const Report& report) {
  std::string text = HeadText(report);
  absl::StrAppendFormat(&text, "  %-24s %10s %10s %10s %8s %9s %-7s %7s %6s\n", "", "median ms", "10th", "90th",
                        "samples", "rate", "", "of peak", "ratio");
  const Result* previous = nullptr;
  for (const Result& result : report.results) {
    if (previous == nullptr || !SameWorkload(*previous, result)) {
      absl::StrAppend(&text, WorkloadText(result.workload), "\n");
    }
    previous = &result;
    if (!result.ok()) absl::StrAppendFormat(&text, "  %-24s %s\n", result.implementation, result.error);
    for (size_t i = 0; result.ok() && i < result.variants.size(); ++i) {
      absl::StrAppend(&text, VariantLine(report, result, i), "\n");
    }
  }
  absl::StrAppend(&text, "\nRatio: time of the fastest other peer over the time of the line; above 1 is faster.\n");
  absl::StrAppend(&text, "Disturbed: other processes left less than a tenth of the blocks alone; measure again.\n");
  const auto any = [&](const auto& has) { return std::ranges::any_of(report.results, has); };
  if (any([](const Result& r) { return std::ranges::any_of(r.variants, &VariantResult::inexact); })) {
    absl::StrAppend(&text,
                    "Inexact: the result is off by that part of its greatest element; nobody is compared with it.\n");
  }
  if (any([](const Result& r) { return !r.operands.empty(); })) {
    absl::StrAppend(&text, "Weights of 7 bits: sums of two products of 8 bits saturate in this peer on this CPU.\n");
  }
  for (const Comparison& comparison : Compare(report.results)) {
    if (comparison.workloads == 0) continue;
    absl::StrAppendFormat(&text, "Geometric mean of %s against the fastest other peer: %.3f over %d workloads\n",
                          comparison.implementation, comparison.mean_ratio, comparison.workloads);
  }
  return text;
}

nlohmann::ordered_json HeadJson(const Report& report) {
  const Machine& machine = report.machine;
  return {{"machine",
           {{"cpu", machine.cpu},
            {"cpus", machine.cpus},
            {"threads", machine.threads},
            {"l1d_bytes", machine.l1d_bytes},
            {"l2_bytes", machine.l2_bytes},
            {"l3_bytes", machine.l3_bytes},
            {"memory_bytes", machine.memory_bytes},
            {"system", machine.system},
            {"compiler", machine.compiler}}},
          {"peak",
           {{"f32", report.peak.f32_gflops},
            {"bf16", report.peak.bf16_gflops},
            {"int8", report.peak.int8_gops},
            {"f16", report.peak.f16_gflops},
            {"fp8", report.peak.fp8_gflops},
            {"read_gbs", report.peak.read_gbs},
            {"source", report.peak_source}}},
          {"commit", report.commit},
          {"command", report.command},
          {"other_load", report.other_load}};
}

std::string ToJson(const Report& report) {
  nlohmann::ordered_json json = HeadJson(report);
  json["results"] = nlohmann::ordered_json::array();
  for (const Result& result : report.results) json["results"].push_back(ResultJson(report, result));
  // What is not UTF-8, such as an odd command line, is replaced rather than refused.
  return json.dump(2, ' ', false, nlohmann::ordered_json::error_handler_t::replace) + "\n";
}

}  // namespace tilewright::bench
