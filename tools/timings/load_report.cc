#include "tools/timings/load_report.h"

#include <algorithm>
#include <map>
#include <tuple>
#include <vector>

#include "absl/strings/str_cat.h"
#include "absl/strings/str_format.h"

namespace tilewright {
namespace {

using Entry = PhaseReport::Entry;

// Kernels that are listed, and phases of each.
constexpr size_t kListedKernels = 20, kListedPhases = 3;

int64_t PeakOf(const std::vector<Entry>& phases) {
  int64_t peak = 0;
  for (const Entry& phase : phases) peak = std::max(peak, phase.peak_bytes);
  return peak;
}

std::vector<Entry> Slowest(std::vector<Entry> entries) {
  std::ranges::sort(entries, [](const Entry& a, const Entry& b) {
    return std::tie(b.seconds, a.subject, a.path) < std::tie(a.seconds, b.subject, b.path);
  });
  return entries;
}

// The phases of each subject that have no phases inside.
std::map<std::string, std::vector<Entry>> InnermostBySubject(const std::vector<Entry>& entries) {
  std::map<std::string, std::vector<Entry>> phases;
  for (const Entry& entry : entries) {
    const bool holds_others = std::ranges::any_of(entries, [&](const Entry& other) {
      return other.subject == entry.subject && other.path.starts_with(entry.path + "/");
    });
    if (!entry.subject.empty() && !holds_others) phases[entry.subject].push_back(entry);
  }
  return phases;
}

nlohmann::json ToJson(const Entry& entry) {
  nlohmann::json json = {{"cpu_seconds", entry.seconds}, {"calls", entry.calls}, {"peak_bytes", entry.peak_bytes}};
  if (entry.nodes_before >= 0) {
    json["nodes_before"] = entry.nodes_before;
    json["nodes_after"] = entry.nodes_after;
  }
  return json;
}

}  // namespace

void LoadReport::Finish() {
  seconds_ = Seconds();
  here_.reset();
}

double LoadReport::Seconds() const {
  if (seconds_) return *seconds_;
  return std::chrono::duration<double>(std::chrono::steady_clock::now() - start_).count();
}

std::string LoadReport::ToText() const {
  const std::vector<Entry> phases = phases_.Phases();
  const double all = phases_.Seconds();
  std::string text = absl::StrFormat("loaded in %.3f s, %.3f s of processors, peak memory %.1f MiB\n", Seconds(), all,
                                     static_cast<double>(PeakOf(phases)) / 1048576);
  absl::StrAppendFormat(&text, "%12s %6s %7s %9s %9s %9s  %s\n", "cpu ms", "share", "calls", "nodes", "after",
                        "peak MiB", "phase");
  for (const Entry& phase : phases) {
    const auto count = [](int64_t n) { return n < 0 ? std::string("-") : absl::StrCat(n); };
    absl::StrAppendFormat(&text, "%12.3f %5.1f%% %7d %9s %9s %9.1f  %s%s\n", phase.seconds * 1e3,
                          all > 0 ? 100 * phase.seconds / all : 0, phase.calls, count(phase.nodes_before),
                          count(phase.nodes_after), static_cast<double>(phase.peak_bytes) / 1048576,
                          std::string(2 * static_cast<size_t>(phase.depth()), ' '), phase.name());
  }
  const std::vector<Entry> kernels = Slowest(phases_.Subjects());
  if (kernels.empty()) return text;
  const auto innermost = InnermostBySubject(phases_.entries());
  absl::StrAppendFormat(&text, "%12s %6s  kernel, its longest phases\n", "cpu ms", "share");
  for (size_t i = 0; i < std::min(kernels.size(), kListedKernels); ++i) {
    absl::StrAppendFormat(&text, "%12.3f %5.1f%%  %s:", kernels[i].seconds * 1e3,
                          all > 0 ? 100 * kernels[i].seconds / all : 0, kernels[i].subject);
    const std::vector<Entry> parts = Slowest(innermost.at(kernels[i].subject));
    for (size_t p = 0; p < std::min(parts.size(), kListedPhases); ++p) {
      absl::StrAppendFormat(&text, "%s %s %.3f", p == 0 ? "" : ",", parts[p].name(), parts[p].seconds * 1e3);
    }
    text += "\n";
  }
  if (kernels.size() > kListedKernels) {
    absl::StrAppendFormat(&text, "%21s and %d more\n", "", kernels.size() - kListedKernels);
  }
  return text;
}

nlohmann::json LoadReport::ToJson() const {
  const std::vector<Entry> phases = phases_.Phases();
  nlohmann::json json = {{"seconds", Seconds()},
                         {"cpu_seconds", phases_.Seconds()},
                         {"peak_bytes", PeakOf(phases)},
                         {"phases", nlohmann::json::array()},
                         {"kernels", nlohmann::json::array()}};
  for (const Entry& phase : phases) {
    json["phases"].push_back(tilewright::ToJson(phase));
    json["phases"].back()["phase"] = phase.path;
  }
  const std::vector<Entry> entries = phases_.entries();
  for (const Entry& kernel : Slowest(phases_.Subjects())) {
    nlohmann::json parts = nlohmann::json::array();
    for (const Entry& entry : entries) {
      if (entry.subject != kernel.subject) continue;
      parts.push_back(tilewright::ToJson(entry));
      parts.back()["phase"] = entry.path;
    }
    json["kernels"].push_back(
        {{"kernel", kernel.subject}, {"cpu_seconds", kernel.seconds}, {"phases", std::move(parts)}});
  }
  return json;
}

}  // namespace tilewright
