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

// Rows of the table of candidates.
constexpr size_t kShownCandidates = 20, kShownFailures = 10;

constexpr char kStyle[] = R"(.measured { fill: #7d9ab5; } .best { stroke: #c2571a; stroke-width: 2; fill: none; }
.bound { stroke: #b00; stroke-dasharray: 4 3; } .axis { stroke: #999; }
.tick { stroke: #eee; } td.choices { font-size: 12px; }
)";

// An axis, logarithmic or not, from values to pixels.
class Axis {
 public:
  Axis(double least, double most, bool logarithmic) : logarithmic_(logarithmic), least_(At(least)), most_(At(most)) {
    if (!(most_ > least_)) most_ = least_ + 1;
  }
  double Part(double value) const { return (At(value) - least_) / (most_ - least_); }
  std::vector<double> Ticks(double least, double most) const {
    return logarithmic_ ? RoundTicksOfLogarithm(least, most) : RoundTicks(least, most, 8);
  }

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

double PixelX(const Axis& axis, double value) { return kLeft + kWidth * axis.Part(value); }
double PixelY(const Axis& axis, double value) { return kHeight - (kHeight - 10) * axis.Part(value); }

// Lines at round values of both axes with their numbers, and what `contents` draws over them.
std::string Plot(const char* x_label, const Extremes& x, const Axis& x_axis, const char* y_label, const Extremes& y,
                 const Axis& y_axis, const std::string& contents) {
  std::string ticks;
  for (const double tick : x_axis.Ticks(x.least, x.most)) {
    const double at = PixelX(x_axis, tick);
    absl::StrAppendFormat(&ticks,
                          "<line class=\"tick\" x1=\"%.1f\" y1=\"10\" x2=\"%.1f\" y2=\"%.0f\"/>"
                          "<text x=\"%.1f\" y=\"%.0f\" text-anchor=\"middle\">%.6g</text>\n",
                          at, at, kHeight, at, kHeight + 18, tick);
  }
  for (const double tick : y_axis.Ticks(y.least, y.most)) {
    const double at = PixelY(y_axis, tick);
    absl::StrAppendFormat(&ticks,
                          "<line class=\"tick\" x1=\"%.0f\" y1=\"%.1f\" x2=\"%.0f\" y2=\"%.1f\"/>"
                          "<text x=\"%.0f\" y=\"%.1f\" text-anchor=\"end\">%.6g</text>\n",
                          kLeft, at, kLeft + kWidth, at, kLeft - 6, at + 4, tick);
  }
  return absl::StrFormat(
      "<svg width=\"%.0f\" height=\"%.0f\">%s<line class=\"axis\" x1=\"%.0f\" y1=\"%.0f\" x2=\"%.0f\" y2=\"%.0f\"/>"
      "<line class=\"axis\" x1=\"%.0f\" y1=\"10\" x2=\"%.0f\" y2=\"%.0f\"/>\n"
      "<text x=\"%.0f\" y=\"%.0f\" text-anchor=\"middle\">%s</text>"
      "<text x=\"14\" y=\"%.0f\" text-anchor=\"middle\" transform=\"rotate(-90 14 %.0f)\">%s</text>\n%s</svg>\n",
      kLeft + kWidth + 20, kHeight + kBelow, ticks, kLeft, kHeight, kLeft + kWidth, kHeight, kLeft, kLeft, kHeight,
      kLeft + kWidth / 2, kHeight + 34, x_label, kHeight / 2, kHeight / 2, y_label, contents);
}

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
  return Plot("seconds since the start", when, x, "ms", how_long, y, contents);
}

// Predicted against measured times of the candidates for which a model had an answer.
std::string Prediction(const char* model, const char* unit, const std::vector<Point>& points) {
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
         Plot(unit, xs, x, "measured, ms", ys, y, dots + "\n");
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

std::string TextOf(const Choice& choice) {
  const std::string label(choice.label());
  return absl::StrCat(choice.name, "=", label.empty() ? absl::StrCat(choice.value) : label);
}

// Choices of a candidate that another one does not have, "C.tile_rows=5 ..."; all where there is no other.
std::string Differing(const TuneMeasurement& candidate, const TuneMeasurement* other) {
  std::string text;
  for (const Choice& choice : candidate.choices) {
    const bool same = other != nullptr && std::ranges::find(other->choices, choice) != other->choices.end();
    if (!same) absl::StrAppend(&text, text.empty() ? "" : " ", TextOf(choice));
  }
  return text;
}

// The schedule of the rules; null where it has no time.
const TuneMeasurement* OfRules(const TuningRun& run) {
  return run.measurements.empty() || !run.measurements[0].failure.empty() ? nullptr : &run.measurements[0];
}

std::vector<const TuneMeasurement*> FastestFirst(const TuningRun& run) {
  std::vector<const TuneMeasurement*> all;
  for (const TuneMeasurement& m : run.measurements) {
    if (m.failure.empty()) all.push_back(&m);
  }
  std::ranges::sort(all, {}, &TuneMeasurement::seconds);
  return all;
}

// What was gained over the schedule of the rules, and by which choices.
std::string AgainstRules(const TuningRun& run) {
  const TuneMeasurement* rules = OfRules(run);
  const std::vector<const TuneMeasurement*> fastest = FastestFirst(run);
  if (rules == nullptr || fastest.empty()) return "<p>The schedule of the rules has no time.</p>\n";
  if (fastest[0] == rules) return "<p>No candidate was faster than the schedule of the rules.</p>\n";
  return absl::StrFormat(
      "<p>The rules' schedule took %.6g ms, %.3g times as long as the fastest, which differs in: %s</p>\n",
      rules->seconds * 1e3, rules->seconds / fastest[0]->seconds, EscapeHtml(Differing(*fastest[0], rules)));
}

std::string CandidateRow(const TuneMeasurement& m, const TuneMeasurement* rules) {
  const std::string time = m.failure.empty() ? absl::StrFormat("%.6g", m.seconds * 1e3) : EscapeHtml(m.failure);
  const std::string spread =
      m.failure.empty() ? absl::StrFormat("%.4g to %.4g", m.least_seconds * 1e3, m.most_seconds * 1e3) : "";
  const std::string choices = &m == rules ? "the rules' schedule: " + Differing(m, nullptr) : Differing(m, rules);
  return absl::StrCat("<tr><td class=\"number\">", time, "</td><td>", spread, "</td><td class=\"number\">",
                      absl::StrFormat("%.1f", m.at_seconds), "</td><td class=\"choices\">", EscapeHtml(choices),
                      "</td></tr>\n");
}

// The fastest candidates, and some that failed, with the choices that the rules' schedule does not have.
std::string CandidateTable(const TuningRun& run) {
  const TuneMeasurement* rules = OfRules(run);
  std::string rows;
  size_t shown = 0;
  for (const TuneMeasurement* m : FastestFirst(run)) {
    if (shown++ < kShownCandidates || m == rules) rows += CandidateRow(*m, rules);
  }
  shown = 0;
  for (const TuneMeasurement& m : run.measurements) {
    if (!m.failure.empty() && shown++ < kShownFailures) rows += CandidateRow(m, rules);
  }
  std::string failures;
  for (const std::string& failure : run.failures) absl::StrAppend(&failures, EscapeHtml(failure), "\n");
  if (!failures.empty()) failures = absl::StrCat("<p>The first failure of each kind:</p>\n<pre>", failures, "</pre>\n");
  if (rows.empty()) return failures;
  return absl::StrCat("<table><tr><th>ms</th><th>samples, ms</th><th>at, s</th><th>choices</th></tr>\n", rows,
                      "</table>\n", failures);
}

}  // namespace

std::string ToHtml(const TuningRun& run) {
  std::vector<Point> projected, learned;
  for (const TuneMeasurement& m : run.measurements) {
    if (!m.failure.empty()) continue;
    projected.push_back({m.projected * 1e3, m.seconds * 1e3});
    if (m.learned) learned.push_back({*m.learned, m.seconds * 1e3});
  }
  std::string html = PageBegin("Tuning of " + run.title, kStyle);
  absl::StrAppend(&html, "<p>", EscapeHtml(run.command), "<br>", EscapeHtml(run.target), "</p>\n",
                  absl::StrFormat("<p>Best: %.6g ms", run.best_seconds * 1e3));
  if (run.bound_seconds > 0 && run.best_seconds > 0) {
    absl::StrAppendFormat(&html, ", %.1f%% of what no schedule passes (the dashed line, %.6g ms)",
                          100 * run.bound_seconds / run.best_seconds, run.bound_seconds * 1e3);
  }
  absl::StrAppend(
      &html, "</p>\n", AgainstRules(run), FactsTable(run.facts), "<h2>Best over time</h2>\n", BestOverTime(run),
      "<p>One dot for each candidate, when it was measured. The time above is that of the last measurement, "
      "in turn with the rules' schedule, which may be longer.</p>\n<h2>Candidates</h2>\n",
      StatisticsTable(run), CandidateTable(run), "<h2>Cost models</h2>\n",
      Prediction("projected", "projected, ms", projected), Prediction("learned", "predicted, less is better", learned),
      "<h2>Best schedule</h2>\n<pre>", EscapeHtml(run.trace), "</pre>\n<h2>Scheduled program</h2>\n<pre>",
      EscapeHtml(run.program), "</pre>\n</body></html>\n");
  return html;
}

}  // namespace tilewright
