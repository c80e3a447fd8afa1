#include "bench/search/search_report.h"

#include <algorithm>
#include <cmath>
#include <iterator>
#include <limits>
#include <span>

#include "absl/strings/str_cat.h"
#include "absl/strings/str_format.h"
#include "base/statistics.h"
#include "bench/harness/statistics.h"

namespace tilewright::bench {
namespace {

constexpr const char* kColors[] = {"#c2571a", "#888888", "#3d3d3d", "#2f7fb5", "#3a9a4b", "#8a4fb0"};
constexpr double kWidth = 640, kHeight = 320, kLeft = 60, kTop = 20, kLegend = 190;
// Seconds at which the searches are compared.
constexpr double kMoments[] = {0.25, 0.5, 1, 2, 5, 10, 20, 60};
// Parts over the best time at which it counts who is the first; times that differ by less than kSameMoment are equal.
constexpr double kParts[] = {0.1, 0.05, 0.02, 0.01}, kSameMoment = 0.1;
constexpr double kTaskHeight = 20, kTaskLeft = 230;

std::vector<std::string> TasksOf(const std::vector<SearchGroup>& groups) {
  std::vector<std::string> tasks;
  for (const SearchGroup& group : groups) {
    if (std::ranges::find(tasks, group.task) == tasks.end()) tasks.push_back(group.task);
  }
  return tasks;
}

const SearchRun* RunOf(const SearchGroup& group, std::string_view variant) {
  const auto found = std::ranges::find(group.runs, variant, &SearchRun::variant);
  return found == group.runs.end() || found->milliseconds <= 0 ? nullptr : &*found;
}

// The median over the seeds of a task; 0 where nothing was found.
double TimeOf(const std::vector<SearchGroup>& groups, const std::string& task, std::string_view variant) {
  std::vector<double> times;
  for (const SearchGroup& group : groups) {
    const SearchRun* run = group.task == task ? RunOf(group, variant) : nullptr;
    if (run != nullptr) times.push_back(run->milliseconds);
  }
  return times.empty() ? 0 : Median(std::move(times));
}

// Times over those of the full search, task by task.
std::vector<double> RatiosOf(const std::vector<SearchGroup>& groups, std::string_view variant) {
  std::vector<double> ratios;
  for (const std::string& task : TasksOf(groups)) {
    const double full = TimeOf(groups, task, Variants()[0].name), time = TimeOf(groups, task, variant);
    if (full > 0 && time > 0) ratios.push_back(time / full);
  }
  return ratios;
}

double LeastTime(const SearchGroup& group) {
  double least = std::numeric_limits<double>::infinity();
  for (const SearchRun& run : group.runs) {
    for (const auto& [seconds, milliseconds] : run.progress) least = std::min(least, milliseconds);
  }
  return least;
}

// The time of the candidate that a run preferred then; of the first one before it was there.
double PreferredAt(const SearchRun& run, double seconds) {
  double best = run.progress.front().second;
  for (const auto& [at, milliseconds] : run.progress) {
    if (at <= seconds) best = milliseconds;
  }
  return best;
}

// What a run has not found, or not yet.
constexpr double kNothing = 1e30;

// Until a run prefers a candidate within `part` of the best of all variants.
double SecondsUntil(const SearchGroup& group, const SearchRun& run, double part) {
  const double goal = LeastTime(group) * (1 + part);
  const auto reached = std::ranges::find_if(run.progress, [&](const auto& point) { return point.second <= goal; });
  return reached == run.progress.end() ? kNothing : reached->first;
}

// The median time over all groups in which a search came to a part of the best, and the share of those groups.
struct Reached {
  double seconds = 0, share = 0;
};
Reached TimeToReach(const std::vector<SearchGroup>& groups, std::string_view variant, double part) {
  std::vector<double> times;
  size_t all = 0;
  for (const SearchGroup& group : groups) {
    const SearchRun* run = RunOf(group, variant);
    if (run == nullptr) continue;
    ++all;
    if (const double seconds = SecondsUntil(group, *run, part); seconds < kNothing) times.push_back(seconds);
  }
  const double share = all == 0 ? 0 : static_cast<double>(times.size()) / static_cast<double>(all);
  return {times.empty() ? 0 : Median(std::move(times)), share};
}

std::string Comparison(const std::vector<SearchGroup>& groups) {
  std::string text =
      "| compared with | full ahead | level | behind | time over full | spent s | measured | within 5% after s "
      "| within 1% after s |\n|---|---|---|---|---|---|---|---|---|\n";
  for (const Variant& variant : Variants()) {
    const std::vector<double> ratios = RatiosOf(groups, variant.name);
    const auto ahead = std::ranges::count_if(ratios, [](double ratio) { return ratio > 1 + kNoise; });
    const auto behind = std::ranges::count_if(ratios, [](double ratio) { return ratio < 1 / (1 + kNoise); });
    double spent = 0, measured = 0, runs = 0;
    for (const SearchGroup& group : groups) {
      const SearchRun* run = RunOf(group, variant.name);
      if (run == nullptr) continue;
      spent += run->spent;
      measured += static_cast<double>(run->measured);
      ++runs;
    }
    const Reached near = TimeToReach(groups, variant.name, 0.05), nearer = TimeToReach(groups, variant.name, 0.01);
    absl::StrAppendFormat(&text, "| %s | %d | %d | %d | %.3f | %.1f | %.0f | %.1f (%.0f%%) | %.1f (%.0f%%) |\n",
                          variant.name, ahead, std::ssize(ratios) - ahead - behind, behind, GeometricMean(ratios),
                          spent / std::max(runs, 1.0), measured / std::max(runs, 1.0), near.seconds, 100 * near.share,
                          nearer.seconds, 100 * nearer.share);
  }
  return text;
}

double FoundBy(const SearchRun& run, double seconds) {
  return run.progress.empty() || run.progress.front().first > seconds ? kNothing : PreferredAt(run, seconds);
}

// The geometric mean over the time of a run of what it preferred, or was to find first.
double MeanOverTime(const SearchGroup& group, const SearchRun& run) {
  double sum = 0, since = 0;
  for (size_t i = 0; i < run.progress.size(); ++i) {
    const bool last = i + 1 == run.progress.size();
    const double until = last ? group.seconds : std::clamp(run.progress[i + 1].first, since, group.seconds);
    sum += (until - since) * std::log(run.progress[i].second);
    since = until;
  }
  return std::exp(sum / group.seconds);
}

std::string TableHead(std::string_view first, std::span<const Variant> variants) {
  std::string text = absl::StrCat("| ", std::string(first), " |"), rule = "|---|";
  for (const Variant& variant : variants) {
    absl::StrAppend(&text, " ", variant.name, " |");
    rule += "---|";
  }
  return absl::StrCat(text, "\n", rule, "\n");
}

// In how many tasks the full search is ahead of each variant, level with it, and behind: by the median over the seeds
// of `value_of(group, run)`, of which less is better, and what differs by less than `noise` is level.
template <typename ValueOf>
std::string Outcomes(const std::vector<SearchGroup>& groups, double noise, const ValueOf& value_of) {
  std::string text;
  for (const Variant& variant : Variants().subspan(1)) {
    int ahead = 0, level = 0, behind = 0;
    for (const std::string& task : TasksOf(groups)) {
      std::vector<double> full_values, values;
      for (const SearchGroup& group : groups) {
        const SearchRun* full = RunOf(group, Variants()[0].name);
        const SearchRun* run = RunOf(group, variant.name);
        if (group.task != task || full == nullptr || run == nullptr) continue;
        full_values.push_back(value_of(group, *full));
        values.push_back(value_of(group, *run));
      }
      if (values.empty()) continue;
      const double full = Median(std::move(full_values)), other = Median(std::move(values));
      ++(other > full * (1 + noise) ? ahead : full > other * (1 + noise) ? behind : level);
    }
    absl::StrAppendFormat(&text, " %d, %d, %d |", ahead, level, behind);
  }
  return text + "\n";
}

// What each search had found at moments before its end.
std::string EqualTimeTable(const std::vector<SearchGroup>& groups) {
  std::string text = TableHead("after s", Variants().subspan(1));
  for (const double seconds : kMoments) {
    std::vector<SearchGroup> longer;
    std::ranges::copy_if(groups, std::back_inserter(longer),
                         [&](const SearchGroup& group) { return group.seconds >= seconds; });
    if (longer.empty()) continue;
    absl::StrAppendFormat(
        &text, "| %g |%s", seconds,
        Outcomes(longer, kNoise, [&](const SearchGroup&, const SearchRun& run) { return FoundBy(run, seconds); }));
  }
  return absl::StrCat(text, "| mean |", Outcomes(groups, kNoise, MeanOverTime));
}

// Which search is the first to come within a part of the best.
std::string FirstTable(const std::vector<SearchGroup>& groups) {
  std::string text = TableHead("first within", Variants().subspan(1));
  for (const double part : kParts) {
    absl::StrAppendFormat(&text, "| %g%% |%s", 100 * part,
                          Outcomes(groups, kSameMoment, [&](const SearchGroup& group, const SearchRun& run) {
                            return SecondsUntil(group, run, part);
                          }));
  }
  return text;
}

std::string TaskTable(const std::vector<SearchGroup>& groups) {
  std::string text = TableHead("task", Variants());
  for (const std::string& task : TasksOf(groups)) {
    absl::StrAppend(&text, "| ", task, " |");
    for (const Variant& variant : Variants()) {
      absl::StrAppendFormat(&text, " %.4f |", TimeOf(groups, task, variant.name));
    }
    text += "\n";
  }
  return text;
}

std::string RankTable(const std::vector<SearchGroup>& groups) {
  std::string text =
      "| task | candidates | speed of light | projected | learned, other tasks | learned, other half |\n"
      "|---|---|---|---|---|---|\n";
  ModelRanks sum;
  double count = 0;
  for (const std::string& task : TasksOf(groups)) {
    ModelRanks of_task;
    double seeds = 0;
    for (const SearchGroup& group : groups) {
      if (group.task != task) continue;
      of_task.candidates += group.ranks.candidates;
      of_task.speed_of_light += group.ranks.speed_of_light;
      of_task.projected += group.ranks.projected;
      of_task.other_tasks += group.ranks.other_tasks;
      of_task.learned += group.ranks.learned;
      ++seeds;
    }
    absl::StrAppendFormat(&text, "| %s | %d | %.2f | %.2f | %.2f | %.2f |\n", task, of_task.candidates,
                          of_task.speed_of_light / seeds, of_task.projected / seeds, of_task.other_tasks / seeds,
                          of_task.learned / seeds);
    sum.candidates += of_task.candidates;
    sum.speed_of_light += of_task.speed_of_light / seeds;
    sum.projected += of_task.projected / seeds;
    sum.other_tasks += of_task.other_tasks / seeds;
    sum.learned += of_task.learned / seeds;
    ++count;
  }
  count = std::max(count, 1.0);
  absl::StrAppendFormat(&text, "| mean | %d | %.2f | %.2f | %.2f | %.2f |\n", sum.candidates,
                        sum.speed_of_light / count, sum.projected / count, sum.other_tasks / count,
                        sum.learned / count);
  return text;
}

std::string Text(double x, double y, std::string_view text, const char* anchor = "start") {
  return absl::StrFormat("<text x=\"%.0f\" y=\"%.0f\" text-anchor=\"%s\">%s</text>\n", x, y, anchor, std::string(text));
}

std::string Line(double x1, double y1, double x2, double y2) {
  return absl::StrFormat("<line x1=\"%.1f\" y1=\"%.1f\" x2=\"%.1f\" y2=\"%.1f\" stroke=\"#ccc\"/>\n", x1, y1, x2, y2);
}

std::string Head(double width, double height) {
  return absl::StrFormat(
      "<svg xmlns=\"http://www.w3.org/2000/svg\" width=\"%.0f\" height=\"%.0f\" font-family=\"sans-serif\" "
      "font-size=\"12\">\n<rect width=\"100%%\" height=\"100%%\" fill=\"#fff\"/>\n",
      width, height);
}

std::string Legend(double x, double y) {
  std::string svg;
  for (size_t v = 0; v < Variants().size(); ++v) {
    const double at = y + 18 * static_cast<double>(v);
    absl::StrAppendFormat(&svg, "<rect x=\"%.0f\" y=\"%.0f\" width=\"14\" height=\"4\" fill=\"%s\"/>\n", x, at,
                          kColors[v]);
    svg += Text(x + 20, at + 6, Variants()[v].name);
  }
  return svg;
}

}  // namespace

std::string SearchTables(const std::vector<SearchGroup>& groups) {
  return absl::StrCat(Comparison(groups), "\n", EqualTimeTable(groups), "\n", FirstTable(groups), "\n",
                      TaskTable(groups), "\n", RankTable(groups));
}

std::string ProgressPlot(const std::vector<SearchGroup>& groups) {
  constexpr int kPoints = 60;
  constexpr double kHighest = 2;  // times the best
  double longest = 0;
  for (const SearchGroup& group : groups) longest = std::max(longest, group.seconds);
  const auto x_of = [&](double seconds) { return kLeft + seconds / longest * kWidth; };
  const auto y_of = [&](double ratio) {
    return kTop + kHeight * (1 - std::log(std::min(ratio, kHighest)) / std::log(kHighest));
  };
  std::string svg = Head(kLeft + kWidth + kLegend, kTop + kHeight + 50);
  for (double ratio : {1.0, 1.05, 1.1, 1.2, 1.5, 2.0}) {
    svg += Line(kLeft, y_of(ratio), kLeft + kWidth, y_of(ratio));
    svg += Text(kLeft - 6, y_of(ratio) + 4, absl::StrFormat("%.2f", ratio), "end");
  }
  for (int tick = 0; tick <= 6; ++tick) {
    const double seconds = longest * tick / 6;
    svg += Text(x_of(seconds), kTop + kHeight + 18, absl::StrFormat("%.0f s", seconds), "middle");
  }
  svg += Text(kLeft + kWidth / 2, kTop + kHeight + 40, "time over the best that any variant measured", "middle");
  for (size_t v = 0; v < Variants().size(); ++v) {
    std::string points;
    for (int point = 1; point <= kPoints; ++point) {
      const double seconds = longest * point / kPoints;
      std::vector<double> ratios;
      for (const SearchGroup& group : groups) {
        const SearchRun* run = RunOf(group, Variants()[v].name);
        if (run == nullptr || run->progress.empty()) continue;
        ratios.push_back(PreferredAt(*run, seconds) / LeastTime(group));
      }
      if (ratios.empty()) continue;
      absl::StrAppendFormat(&points, "%.1f,%.1f ", x_of(seconds), y_of(GeometricMean(ratios)));
    }
    absl::StrAppendFormat(&svg, "<polyline points=\"%s\" fill=\"none\" stroke=\"%s\" stroke-width=\"2\"/>\n", points,
                          kColors[v]);
  }
  return svg + Legend(kLeft + kWidth + 20, kTop) + "</svg>\n";
}

std::string TaskPlot(const std::vector<SearchGroup>& groups) {
  constexpr double kLeast = 0.9, kMost = 1.5;
  const std::vector<std::string> tasks = TasksOf(groups);
  const double height = kTaskHeight * static_cast<double>(tasks.size());
  const auto x_of = [&](double ratio) {
    return kTaskLeft + kWidth * (std::clamp(ratio, kLeast, kMost) - kLeast) / (kMost - kLeast);
  };
  std::string svg = Head(kTaskLeft + kWidth + kLegend, kTop + std::max(height, 120.0) + 50);
  for (double ratio : {0.9, 1.0, 1.1, 1.2, 1.3, 1.4, 1.5}) {
    svg += Line(x_of(ratio), kTop, x_of(ratio), kTop + height);
    svg += Text(x_of(ratio), kTop + height + 18, absl::StrFormat("%.1f%s", ratio, ratio < kMost ? "" : " or more"),
                "middle");
  }
  svg += Text(kTaskLeft + kWidth / 2, kTop + height + 40, "time over that of the full search", "middle");
  for (size_t t = 0; t < tasks.size(); ++t) {
    const double y = kTop + kTaskHeight * (static_cast<double>(t) + 0.5);
    svg += Text(kTaskLeft - 10, y + 4, tasks[t], "end");
    const double full = TimeOf(groups, tasks[t], Variants()[0].name);
    for (size_t v = 0; v < Variants().size(); ++v) {
      const double time = TimeOf(groups, tasks[t], Variants()[v].name);
      if (full <= 0 || time <= 0) continue;
      absl::StrAppendFormat(&svg, "<circle cx=\"%.1f\" cy=\"%.1f\" r=\"5\" fill=\"%s\" fill-opacity=\"0.8\"/>\n",
                            x_of(time / full), y, kColors[v]);
    }
  }
  return svg + Legend(kTaskLeft + kWidth + 20, kTop) + "</svg>\n";
}

}  // namespace tilewright::bench
