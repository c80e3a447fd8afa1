#include "autoschedule/tune/tune_page.h"

#include <algorithm>
#include <cmath>
#include <limits>
#include <utility>

#include "absl/strings/str_cat.h"
#include "absl/strings/str_format.h"
#include "autoschedule/tune/html.h"
#include "base/rank_correlation.h"

namespace tilewright {
namespace {

// Pixels: the plots, and the room left of and below them for numbers.
constexpr double kWidth = 760, kHeight = 300, kLeft = 90, kBelow = 40;

constexpr char kStyle[] = R"(.measured { fill: #7d9ab5; } .best { stroke: #c2571a; stroke-width: 2; fill: none; }
.bound { stroke: #b00; stroke-dasharray: 4 3; } .axis { stroke: #999; }
td, th { padding: 2px 12px 2px 0; text-align: left; } td.number { text-align: right; }
)";

// An axis, logarithmic or not, from values to pixels.
class Axis {
 public:
  Axis(double least, double most, bool logarithmic) : logarithmic_(logarithmic), least_(At(least)), most_(At(most)) {
    if (!(most_ > least_)) most_ = least_ + 1;
  }
  double Part(double value) const { return (At(value) - least_) / (most_ - least_); }

 private:
  double At(double value) const { return logarithmic_ ? std::log(std::max(value, 1e-12)) : value; }
  bool logarithmic_;
  double least_, most_;
};

struct Point {
  double x, y;
};

struct Extremes {
  double least = std::numeric_limits<double>::infinity(), most = 0;
  void Add(double value) {
    least = std::min(least, value);
    most = std::max(most, value);
  }
};

// A frame with the least and greatest value at the ends of both axes, and what `contents` draws in it.
std::string Plot(const char* x_label, const Extremes& x, const char* y_label, const Extremes& y,
                 const std::string& contents) {
  return absl::StrFormat(
      "<svg width=\"%.0f\" height=\"%.0f\"><line class=\"axis\" x1=\"%.0f\" y1=\"%.0f\" x2=\"%.0f\" y2=\"%.0f\"/>"
      "<line class=\"axis\" x1=\"%.0f\" y1=\"10\" x2=\"%.0f\" y2=\"%.0f\"/>\n"
      "<text x=\"%.0f\" y=\"%.0f\">%.4g</text><text x=\"%.0f\" y=\"%.0f\" text-anchor=\"end\">%.4g</text>"
      "<text x=\"%.0f\" y=\"%.0f\" text-anchor=\"middle\">%s</text>\n"
      "<text x=\"%.0f\" y=\"%.0f\" text-anchor=\"end\">%.4g</text><text x=\"%.0f\" y=\"20\" "
      "text-anchor=\"end\">%.4g</text><text x=\"%.0f\" y=\"%.0f\" text-anchor=\"end\">%s</text>\n%s</svg>\n",
      kLeft + kWidth + 20, kHeight + kBelow, kLeft, kHeight, kLeft + kWidth, kHeight, kLeft, kLeft, kHeight, kLeft,
      kHeight + 18, x.least, kLeft + kWidth, kHeight + 18, x.most, kLeft + kWidth / 2, kHeight + 32, x_label, kLeft - 6,
      kHeight, y.least, kLeft - 6, y.most, kLeft - 6, kHeight / 2, y_label, contents);
}

double PixelX(const Axis& axis, double value) { return kLeft + kWidth * axis.Part(value); }
double PixelY(const Axis& axis, double value) { return kHeight - (kHeight - 10) * axis.Part(value); }

std::string Dot(double x, double y) {
  return absl::StrFormat("<circle class=\"measured\" cx=\"%.1f\" cy=\"%.1f\" r=\"3\"/>", x, y);
}

// Every measured candidate by the time at which it was measured, the best so far as a line, and the bound.
std::string BestOverTime(const TuningRun& run) {
  Extremes when, how_long;
  when.least = 0;
  for (const TuneMeasurement& m : run.measurements) {
    if (!m.failure.empty()) continue;
    when.Add(m.at_seconds);
    how_long.Add(m.seconds * 1e3);
  }
  if (how_long.most == 0) return "<p>Nothing was measured.</p>\n";
  if (run.bound_seconds > 0) how_long.Add(run.bound_seconds * 1e3);
  const Axis x(when.least, when.most, false), y(how_long.least, how_long.most, true);
  std::string dots, line;
  double best = std::numeric_limits<double>::infinity();
  for (const TuneMeasurement& m : run.measurements) {
    if (!m.failure.empty()) continue;
    const double px = PixelX(x, m.at_seconds);
    dots += Dot(px, PixelY(y, m.seconds * 1e3));
    if (!line.empty()) absl::StrAppendFormat(&line, " L %.1f %.1f", px, PixelY(y, best));
    best = std::min(best, m.seconds * 1e3);
    absl::StrAppendFormat(&line, "%s %.1f %.1f", line.empty() ? "M" : " L", px, PixelY(y, best));
  }
  std::string contents = absl::StrCat(dots, "\n<path class=\"best\" d=\"", line, "\"/>\n");
  if (run.bound_seconds > 0) {
    const double bound = PixelY(y, run.bound_seconds * 1e3);
    absl::StrAppendFormat(&contents, "<line class=\"bound\" x1=\"%.0f\" y1=\"%.1f\" x2=\"%.0f\" y2=\"%.1f\"/>\n", kLeft,
                          bound, kLeft + kWidth, bound);
  }
  return Plot("seconds since the start", when, "ms", how_long, contents);
}

// Predicted against measured times of the candidates for which a model had an answer.
std::string Prediction(const char* model, const std::vector<Point>& points) {
  if (points.size() < 3) return absl::StrCat("<p>The ", model, " model predicted too few of them.</p>\n");
  Extremes xs, ys;
  std::vector<double> predicted, measured;
  for (const Point& point : points) {
    xs.Add(point.x);
    ys.Add(point.y);
    predicted.push_back(point.x);
    measured.push_back(point.y);
  }
  const Axis x(xs.least, xs.most, xs.least > 0), y(ys.least, ys.most, true);
  std::string dots;
  for (const Point& point : points) dots += Dot(PixelX(x, point.x), PixelY(y, point.y));
  return absl::StrFormat(
             "<p>The %s model, asked before each was measured: rank correlation %.3f over %d candidates.</p>\n", model,
             RankCorrelation(predicted, measured), points.size()) +
         Plot("predicted", xs, "ms", ys, dots + "\n");
}

std::string StatisticsTable(const TuningRun& run) {
  const SearchStatistics& s = run.statistics;
  std::string rows;
  auto row = [&](const std::string& what, int64_t count) {
    absl::StrAppendFormat(&rows, "<tr><td>%s</td><td class=\"number\">%d</td></tr>\n", EscapeHtml(what), count);
  };
  row("made", s.tries);
  row("known before", s.repeated);
  for (const auto& [reason, count] : s.refused) row("refused: " + reason, count);
  row("measured", s.measured);
  int64_t failed = 0;
  for (const auto& [reason, count] : s.failed) {
    row("failed: " + reason, count);
    failed += count;
  }
  row("with a time", s.measured - failed);
  return absl::StrCat("<table><tr><th>candidates</th><th></th></tr>\n", rows, "</table>\n",
                      absl::StrFormat("<p>%.1f s to make them, %.1f s to predict, %.1f s to compile and measure.</p>\n",
                                      s.propose_seconds, s.predict_seconds, s.measure_seconds));
}

}  // namespace

std::string ToHtml(const TuningRun& run) {
  std::vector<Point> projected, learned;
  for (const TuneMeasurement& m : run.measurements) {
    if (!m.failure.empty()) continue;
    projected.push_back({m.projected, m.seconds * 1e3});
    if (m.learned) learned.push_back({*m.learned, m.seconds * 1e3});
  }
  std::string html = PageBegin("Tuning of " + run.title, kStyle);
  absl::StrAppend(&html, "<p>", EscapeHtml(run.command), "<br>", EscapeHtml(run.target), "</p>\n",
                  absl::StrFormat("<p>Best: %.6g ms", run.best_seconds * 1e3));
  if (run.bound_seconds > 0 && run.best_seconds > 0) {
    absl::StrAppendFormat(&html, ", %.1f%% of what no schedule passes (the dashed line, %.6g ms)",
                          100 * run.bound_seconds / run.best_seconds, run.bound_seconds * 1e3);
  }
  absl::StrAppend(&html, "</p>\n<h2>Best over time</h2>\n", BestOverTime(run), "<h2>Candidates</h2>\n",
                  StatisticsTable(run), "<h2>Cost models</h2>\n", Prediction("projected", projected),
                  Prediction("learned", learned), "<h2>Best schedule</h2>\n<pre>", EscapeHtml(run.trace),
                  "</pre>\n<h2>Scheduled program</h2>\n<pre>", EscapeHtml(run.program), "</pre>\n</body></html>\n");
  return html;
}

}  // namespace tilewright
