// The HTML form of a report: no scripts, nothing loaded from elsewhere.
#include <algorithm>
#include <string>

#include "absl/strings/str_cat.h"
#include "absl/strings/str_format.h"
#include "autoschedule/tune/html.h"
#include "bench/report/report.h"

namespace tilewright::bench {
namespace {

constexpr double kBarsWidth = 560;  // Pixels from zero to the peak.
constexpr double kLabelWidth = 190;
constexpr double kLineHeight = 22;

// One bar: as long as the percentage of peak, a thin line from the 10th to the 90th percentile.
std::string Bar(const Report& report, const Result& result, double scale, double y) {
  std::string svg = absl::StrFormat("<text x=\"%.0f\" y=\"%.0f\" text-anchor=\"end\">%s</text>", kLabelWidth - 8,
                                    y + 14, EscapeHtml(result.implementation));
  if (!result.ok()) {
    absl::StrAppendFormat(&svg, "<text x=\"%.0f\" y=\"%.0f\" class=\"error\">%s</text>\n", kLabelWidth, y + 14,
                          EscapeHtml(result.error));
    return svg;
  }
  const double percent = PercentOfPeak(result, report.peak);
  if (result.best().emulated) {
    absl::StrAppendFormat(&svg, "<text x=\"%.0f\" y=\"%.0f\">emulated, %.1f%% projected</text>\n", kLabelWidth, y + 14,
                          percent);
    return svg;
  }
  const Timing& timing = result.best().timing;
  const double slow = percent * timing.median_ms / timing.p90_ms, fast = percent * timing.median_ms / timing.p10_ms;
  absl::StrAppendFormat(&svg, "<rect x=\"%.1f\" y=\"%.1f\" width=\"%.1f\" height=\"16\" class=\"%s\"/>", kLabelWidth,
                        y + 2, percent * scale, IsOwn(result) ? "own" : "peer");
  absl::StrAppendFormat(&svg, "<line x1=\"%.1f\" y1=\"%.1f\" x2=\"%.1f\" y2=\"%.1f\" class=\"spread\"/>",
                        kLabelWidth + slow * scale, y + 10, kLabelWidth + fast * scale, y + 10);
  absl::StrAppendFormat(&svg, "<text x=\"%.1f\" y=\"%.1f\">%.1f%%</text>\n",
                        kLabelWidth + std::max(percent, fast) * scale + 6, y + 14, percent);
  return svg;
}

std::string Chart(const Report& report, size_t begin, size_t end) {
  double most = 100;
  for (size_t i = begin; i < end; ++i) most = std::max(most, PercentOfPeak(report.results[i], report.peak));
  const double scale = kBarsWidth / most;
  const double height = kLineHeight * static_cast<double>(end - begin) + 6;
  std::string svg = absl::StrFormat("<svg width=\"%.0f\" height=\"%.0f\">\n", kLabelWidth + kBarsWidth + 80, height);
  for (size_t i = begin; i < end; ++i) {
    svg += Bar(report, report.results[i], scale, kLineHeight * static_cast<double>(i - begin));
  }
  absl::StrAppendFormat(&svg, "<line x1=\"%.1f\" y1=\"0\" x2=\"%.1f\" y2=\"%.0f\" class=\"peak\"/></svg>\n",
                        kLabelWidth + 100 * scale, kLabelWidth + 100 * scale, height);
  return svg;
}

constexpr char kStyle[] = R"(.own { fill: #c2571a; } .peer { fill: #7d9ab5; } .error { fill: #777; }
.spread { stroke: #000; stroke-width: 2; } .peak { stroke: #b00; stroke-dasharray: 4 3; }
)";

}  // namespace

std::string ToHtml(const Report& report) {
  std::string html = PageBegin("Benchmark of operators", kStyle);
  absl::StrAppend(&html, "<p>Bars show the share of the machine's measured peak, which ",
                  "is the dashed line; the black line on a bar runs from the 90th to the 10th percentile.</p>\n");
  for (size_t begin = 0; begin < report.results.size();) {
    size_t end = begin + 1;
    while (end < report.results.size() && SameWorkload(report.results[begin], report.results[end])) ++end;
    const Workload& workload = report.results[begin].workload;
    absl::StrAppend(&html, "<h3>", std::string(Name(workload.shape.op)), " ", NumbersText(workload.shape), " ",
                    std::string(Name(workload.dtype)), "</h3>\n", Chart(report, begin, end));
    begin = end;
  }
  absl::StrAppend(&html, "<h2>All numbers</h2>\n<pre>", EscapeHtml(report.command), "\n\n", EscapeHtml(ToText(report)),
                  "</pre>\n</body></html>\n");
  return html;
}

}  // namespace tilewright::bench
