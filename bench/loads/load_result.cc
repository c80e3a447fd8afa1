#include "bench/loads/load_result.h"

#include <algorithm>
#include <utility>

#include "absl/strings/str_cat.h"
#include "absl/strings/str_format.h"
#include "autoschedule/tune/html.h"

namespace tilewright::bench {
namespace {

using nlohmann::json;

constexpr double kBarPixels = 400;

json ToJson(const OneLoad& load) {
  return {{"seconds", load.seconds}, {"cpu_seconds", load.cpu_seconds}, {"peak_mib", load.peak_mib}};
}

std::string HeadText(const LoadReportHead& head) {
  return absl::StrCat(head.machine.cpu, ", ", head.machine.threads, " of ", head.machine.cpus, " CPUs, ",
                      head.machine.system, ", commit ", head.commit);
}

double LongestLoad(const std::vector<LoadResult>& results) {
  double most = 1e-9;
  for (const LoadResult& result : results) most = std::max({most, result.first.seconds, result.second.seconds});
  return most;
}

std::string Bar(double share, const std::string& label) {
  return absl::StrFormat("<td><div class=\"bar\" style=\"width:%.0fpx\"></div> %s</td>", share * kBarPixels,
                         EscapeHtml(label));
}

}  // namespace

std::string ToText(const LoadReportHead& head, const std::vector<LoadResult>& results) {
  std::string text = HeadText(head) + "\n";
  absl::StrAppendFormat(&text, "%-22s %-12s %9s %9s %9s %9s %8s\n", "model", "by", "first s", "cpu s", "second s",
                        "peak MiB", "kernels");
  for (const LoadResult& result : results) {
    absl::StrAppendFormat(&text, "%-22s %-12s ", result.model, result.implementation);
    if (!result.error.empty()) {
      absl::StrAppend(&text, result.error, "\n");
      continue;
    }
    const auto number = [](double value, const char* format) {
      return value > 0 ? absl::StrFormat(*absl::ParsedFormat<'f'>::New(format), value) : std::string("-");
    };
    absl::StrAppendFormat(&text, "%9s %9s %9s %9s %8s\n", number(result.first.seconds, "%.3f"),
                          number(result.first.cpu_seconds, "%.3f"), number(result.second.seconds, "%.3f"),
                          number(std::max(result.first.peak_mib, result.second.peak_mib), "%.0f"),
                          result.kernels > 0 ? absl::StrCat(result.kernels) : "-");
  }
  return text;
}

std::string ToJson(const LoadReportHead& head, const std::vector<LoadResult>& results) {
  json all = {{"cpu", head.machine.cpu}, {"threads", head.machine.threads}, {"system", head.machine.system},
              {"commit", head.commit},   {"command", head.command},         {"loads", json::array()}};
  for (const LoadResult& result : results) {
    json one = {{"model", result.model}, {"implementation", result.implementation}};
    if (!result.error.empty()) {
      one["error"] = result.error;
    } else {
      one["first"] = ToJson(result.first);
      if (result.second.seconds > 0) one["second"] = ToJson(result.second);
      if (result.kernels > 0) one["kernels"] = result.kernels;
      if (!result.phases.is_null()) one["phases"] = result.phases;
    }
    all["loads"].push_back(std::move(one));
  }
  return all.dump(2, ' ', false, json::error_handler_t::replace) + "\n";
}

std::string ToHtml(const LoadReportHead& head, const std::vector<LoadResult>& results) {
  std::string page = PageBegin("Loads of models", ".bar { display: inline-block; height: 0.8em; background: #4a7; }");
  absl::StrAppend(&page, "<h1>Loads of models</h1>\n<p>", EscapeHtml(HeadText(head)), "</p>\n<p><code>",
                  EscapeHtml(head.command), "</code></p>\n<table>\n",
                  "<tr><th>model</th><th>by</th><th>first load</th><th>second load</th><th>peak MiB</th></tr>\n");
  const double longest = LongestLoad(results);
  for (const LoadResult& result : results) {
    absl::StrAppend(&page, "<tr><td>", EscapeHtml(result.model), "</td><td>", EscapeHtml(result.implementation),
                    "</td>");
    if (!result.error.empty()) {
      absl::StrAppend(&page, "<td colspan=\"3\">", EscapeHtml(result.error), "</td></tr>\n");
      continue;
    }
    for (const OneLoad* load : {&result.first, &result.second}) {
      absl::StrAppend(&page, load->seconds > 0 ? Bar(load->seconds / longest, absl::StrFormat("%.3f s", load->seconds))
                                               : std::string("<td></td>"));
    }
    absl::StrAppendFormat(&page, "<td>%.0f</td></tr>\n", std::max(result.first.peak_mib, result.second.peak_mib));
  }
  page += "</table>\n";
  for (const LoadResult& result : results) {
    if (result.phases.empty()) continue;
    double most = 1e-9;
    for (const auto& [phase, seconds] : result.phases.items()) most = std::max(most, seconds.get<double>());
    absl::StrAppend(&page, "<h2>", EscapeHtml(result.model), "</h2>\n<table>\n");
    for (const auto& [phase, seconds] : result.phases.items()) {
      absl::StrAppend(&page, "<tr><td>", EscapeHtml(phase), "</td>",
                      Bar(seconds.get<double>() / most, absl::StrFormat("%.3f s", seconds.get<double>())), "</tr>\n");
    }
    page += "</table>\n";
  }
  return page + "</body></html>\n";
}

}  // namespace tilewright::bench
