#include "tools/profile/profile.h"

#include <algorithm>
#include <ostream>

#include "absl/strings/str_cat.h"
#include "absl/strings/str_format.h"
#include "base/statistics.h"
#include "tools/arrays/array_summary.h"

namespace tilewright {
namespace {

// Lines of the table; files with more parts say how many are left out.
constexpr size_t kMostLines = 40;

double MedianOf(const std::vector<Span>& spans) { return spans.empty() ? 0 : Median(SecondsOf(spans)); }

std::string Milliseconds(double seconds) { return absl::StrFormat("%.4g", seconds * 1e3); }

std::string Percent(double part, double whole) {
  return whole > 0 ? absl::StrFormat("%.1f%%", 100 * part / whole) : "-";
}

void PrintLine(std::ostream& out, const std::string& share, const std::string& median, const std::string& spread,
               const std::string& bound, const std::string& of_bound, const std::string& name) {
  out << absl::StrFormat("%7s %10s  %-20s %10s %8s  %s\n", share, median, spread, bound, of_bound, name);
}

void PrintPart(const ProfiledPart& part, double call, std::ostream& out) {
  const double median = MedianOf(part.times);
  const auto [least, most] = std::ranges::minmax(SecondsOf(part.times));
  PrintLine(out, Percent(median, call), Milliseconds(median),
            absl::StrCat(Milliseconds(least), " to ", Milliseconds(most)),
            part.bound_seconds > 0 ? Milliseconds(part.bound_seconds) : "-",
            part.bound_seconds > 0 ? Percent(part.bound_seconds, median) : "-",
            absl::StrCat(part.name, "  (", part.place, ")"));
}

// What calls took outside of all parts.
double RestOf(const Profile& profile) {
  double rest = MedianOf(profile.calls);
  for (const ProfiledPart& part : profile.parts) rest -= MedianOf(part.times);
  return std::max(rest, 0.0);
}

}  // namespace

std::vector<double> SecondsOf(const std::vector<Span>& spans) {
  std::vector<double> seconds;
  for (const Span& span : spans) seconds.push_back(span.seconds);
  return seconds;
}

void PrintProfile(const Profile& profile, std::ostream& out) {
  const double call = MedianOf(profile.calls);
  std::vector<const ProfiledPart*> parts;
  for (const ProfiledPart& part : profile.parts) parts.push_back(&part);
  std::ranges::sort(parts, [](const ProfiledPart* a, const ProfiledPart* b) {
    const double of_a = MedianOf(a->times), of_b = MedianOf(b->times);
    return of_a != of_b ? of_a > of_b : a < b;
  });
  out << "profile of " << profile.calls.size() << " calls, in ms\n";
  PrintLine(out, "share", "median", "least to most", "bound", "of bound", "part");
  double left_out = 0;
  for (size_t i = 0; i < parts.size(); ++i) {
    if (i < kMostLines) {
      PrintPart(*parts[i], call, out);
    } else {
      left_out += MedianOf(parts[i]->times);
    }
  }
  if (parts.size() > kMostLines) {
    PrintLine(out, Percent(left_out, call), Milliseconds(left_out), "", "", "",
              absl::StrCat(parts.size() - kMostLines, " parts more (--json has all)"));
  }
  const double rest = RestOf(profile);
  PrintLine(out, Percent(rest, call), Milliseconds(rest), "", "", "", "between the parts");
  const double bound = profile.bound_seconds;
  PrintLine(out, "100.0%", Milliseconds(call), "", bound > 0 ? Milliseconds(bound) : "-",
            bound > 0 ? Percent(bound, call) : "-", "a call");
}

nlohmann::json ToJson(const Profile& profile) {
  const double call = MedianOf(profile.calls);
  nlohmann::json parts = nlohmann::json::array();
  for (const ProfiledPart& part : profile.parts) {
    const double median = MedianOf(part.times);
    nlohmann::json line = TimesJson(SecondsOf(part.times));
    line["name"] = part.name;
    line["place"] = part.place;
    line["percent"] = OrNull(100 * median / call);
    if (part.bound_seconds > 0) {
      line["bound_ms"] = part.bound_seconds * 1e3;
      line["percent_of_bound"] = OrNull(100 * part.bound_seconds / median);
    }
    parts.push_back(std::move(line));
  }
  nlohmann::json whole = TimesJson(SecondsOf(profile.calls));
  if (profile.bound_seconds > 0) {
    whole["bound_ms"] = profile.bound_seconds * 1e3;
    whole["percent_of_bound"] = OrNull(100 * profile.bound_seconds / call);
  }
  return {{"call", std::move(whole)}, {"parts", std::move(parts)}, {"between_ms", RestOf(profile) * 1e3}};
}

nlohmann::json TraceEvents(const Profile& profile, const std::string& title) {
  double first = profile.calls.empty() ? 0 : profile.calls.front().start;
  nlohmann::json events = nlohmann::json::array();
  const auto add = [&](const std::string& name, const char* category, const Span& span, nlohmann::json args) {
    events.push_back({{"name", name},
                      {"cat", category},
                      {"ph", "X"},
                      {"ts", (span.start - first) * 1e6},
                      {"dur", span.seconds * 1e6},
                      {"pid", 1},
                      {"tid", 1},
                      {"args", std::move(args)}});
  };
  for (size_t c = 0; c < profile.calls.size(); ++c) {
    add(title, "call", profile.calls[c], {{"call", c}});
    for (const ProfiledPart& part : profile.parts) {
      if (part.times[c].seconds <= 0) continue;  // it did not run
      add(part.name, "kernel", part.times[c], {{"place", part.place}, {"bound_us", part.bound_seconds * 1e6}});
    }
  }
  return {{"traceEvents", std::move(events)}, {"displayTimeUnit", "ms"}};
}

}  // namespace tilewright
