#include "base/phases.h"

#include <sys/resource.h>

#include <algorithm>
#include <ctime>

namespace tilewright {
namespace {

PhaseContext& Current() {
  static thread_local PhaseContext context;
  return context;
}

double& SecondsOfChildren() {
  static thread_local double seconds = 0;
  return seconds;
}

double ThreadSeconds() {
  timespec time;
  clock_gettime(CLOCK_THREAD_CPUTIME_ID, &time);
  return static_cast<double>(time.tv_sec) + static_cast<double>(time.tv_nsec) * 1e-9 + SecondsOfChildren();
}

int64_t PeakBytes() {
  rusage usage;
  return getrusage(RUSAGE_SELF, &usage) == 0 ? int64_t{usage.ru_maxrss} * 1024 : 0;
}

void Join(const PhaseReport::Entry& from, PhaseReport::Entry* to) {
  to->calls += from.calls;
  to->seconds += from.seconds;
  to->peak_bytes = std::max(to->peak_bytes, from.peak_bytes);
  if (from.nodes_before < 0) return;
  to->nodes_before = std::max<int64_t>(to->nodes_before, 0) + from.nodes_before;
  to->nodes_after = std::max<int64_t>(to->nodes_after, 0) + from.nodes_after;
}

}  // namespace

std::string_view PhaseReport::Entry::name() const { return std::string_view(path).substr(path.rfind('/') + 1); }

int PhaseReport::Entry::depth() const { return static_cast<int>(std::count(path.begin(), path.end(), '/')); }

double PhaseReport::Seconds() const {
  double seconds = 0;
  for (const Entry& entry : entries()) seconds += entry.depth() == 0 ? entry.seconds : 0;
  return seconds;
}

std::vector<PhaseReport::Entry> PhaseReport::entries() const {
  const std::lock_guard<std::mutex> lock(mutex_);
  return {entries_.begin(), entries_.end()};
}

std::vector<PhaseReport::Entry> PhaseReport::Phases() const {
  // A phase stands behind the one around it, whichever subject began it first.
  std::vector<Entry> phases;
  for (const Entry& entry : entries()) {
    const auto known = std::ranges::find(phases, entry.path, &Entry::path);
    if (known != phases.end()) {
      Join(entry, &*known);
      continue;
    }
    Entry phase = entry;
    phase.subject.clear();
    const std::string around = entry.path.substr(0, entry.path.size() - entry.name().size());
    auto place = phases.end();
    while (place != phases.begin() && !around.empty()) {
      const std::string& before = std::prev(place)->path;
      if (before + "/" == around || before.starts_with(around)) break;
      --place;
    }
    phases.insert(place == phases.begin() ? phases.end() : place, std::move(phase));
  }
  return phases;
}

std::vector<PhaseReport::Entry> PhaseReport::Subjects() const {
  std::vector<Entry> subjects;
  const std::vector<Entry> all = entries();
  for (const Entry& entry : all) {
    if (entry.subject.empty()) continue;
    const bool inside = std::ranges::any_of(all, [&](const Entry& other) {
      return other.subject == entry.subject && entry.path.starts_with(other.path + "/");
    });
    if (inside) continue;
    auto known = std::ranges::find(subjects, entry.subject, &Entry::subject);
    if (known == subjects.end()) {
      subjects.push_back({.subject = entry.subject});
      known = std::prev(subjects.end());
    }
    Join(entry, &*known);
  }
  return subjects;
}

size_t PhaseReport::Begin(const std::string& subject, const std::string& path) {
  const std::lock_guard<std::mutex> lock(mutex_);
  const auto [known, is_new] = numbers_.try_emplace({subject, path}, entries_.size());
  if (is_new) entries_.push_back({.subject = subject, .path = path});
  return known->second;
}

void PhaseReport::End(size_t entry, double seconds) {
  const int64_t peak = PeakBytes();
  const std::lock_guard<std::mutex> lock(mutex_);
  ++entries_[entry].calls;
  entries_[entry].seconds += seconds;
  entries_[entry].peak_bytes = peak;
}

void PhaseReport::AddSeconds(const std::vector<size_t>& entries, double seconds) {
  const std::lock_guard<std::mutex> lock(mutex_);
  for (const size_t entry : entries) entries_[entry].seconds += seconds;
}

void PhaseReport::AddNodes(size_t entry, int64_t before, int64_t after) {
  const std::lock_guard<std::mutex> lock(mutex_);
  Join({.nodes_before = before, .nodes_after = after}, &entries_[entry]);
}

PhaseContext PhaseContext::OfThisThread() { return Current(); }

ReportPhases::ReportPhases(PhaseContext context) : before_(std::exchange(Current(), std::move(context))) {
  if (Current().report != nullptr) start_ = ThreadSeconds();
}
ReportPhases::~ReportPhases() {
  const PhaseContext& context = Current();
  if (context.report != nullptr && context.thread != std::this_thread::get_id()) {
    context.report->AddSeconds(context.open, ThreadSeconds() - start_);
  }
  Current() = std::move(before_);
}

PhaseSubject::PhaseSubject(std::string_view subject) {
  if (Current().report != nullptr) before_ = std::exchange(Current().subject, std::string(subject));
}
PhaseSubject::~PhaseSubject() {
  if (Current().report != nullptr) Current().subject = std::move(before_);
}

Phase::Phase(std::string_view name) : report_(Current().report) {
  if (report_ == nullptr) return;
  std::string& path = Current().path;
  outer_ = path.size();
  if (!path.empty()) path += '/';
  path += name;
  entry_ = report_->Begin(Current().subject, path);
  Current().open.push_back(entry_);
  start_ = ThreadSeconds();
}

void Phase::End() {
  if (report_ == nullptr || ended_) return;
  ended_ = true;
  report_->End(entry_, ThreadSeconds() - start_);
  Current().path.resize(outer_);
  Current().open.pop_back();
}

void Phase::Nodes(int64_t before, int64_t after) {
  if (report_ != nullptr) report_->AddNodes(entry_, before, after);
}

void AddSecondsOfChild(double seconds) { SecondsOfChildren() += seconds; }

}  // namespace tilewright
