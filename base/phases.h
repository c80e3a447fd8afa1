// The processor time of a compilation, by phases that lie inside of each other, and by what is compiled (subjects).
//
//   PhaseReport report;
//   {
//     const ReportPhases here({.report = &report});   // of this thread
//     const PhaseSubject subject("k3");               // what is compiled
//     Phase phase("verify");                          // lasts until End() or the end of the scope
//   }
//   for (const PhaseReport::Entry& entry : report.entries()) ...   // subject "k3", path "verify"
//
// A phase where nobody asked for a report costs a comparison with null. Other threads join a report by the context of
// the one that starts them: PhaseContext::OfThisThread().
#pragma once

#include <cstdint>
#include <deque>
#include <map>
#include <mutex>
#include <string>
#include <string_view>
#include <thread>
#include <utility>
#include <vector>

namespace tilewright {

class PhaseReport {
 public:
  struct Entry {
    std::string subject;  // empty: the whole
    std::string path;     // "kernels/lower/unroll": names of phases, the outer ones first
    int64_t calls = 0;
    double seconds = 0;                           // of processors, with those of the phases inside
    int64_t nodes_before = -1, nodes_after = -1;  // sums over the calls that said them; -1 where none did
    int64_t peak_bytes = 0;  // largest resident memory of the process up to the end of the last call

    // The last name of the path, and how many stand before it.
    std::string_view name() const;
    int depth() const;
  };

  // Processor time of the phases that lie in no other one.
  double Seconds() const;
  // In the order in which phases first began.
  std::vector<Entry> entries() const;
  // The same by path alone: subjects are added up.
  std::vector<Entry> Phases() const;
  // By subject: the phases that lie in no other phase of their subject.
  std::vector<Entry> Subjects() const;

 private:
  friend class Phase;
  friend class ReportPhases;
  size_t Begin(const std::string& subject, const std::string& path);
  void End(size_t entry, double seconds);
  void AddSeconds(const std::vector<size_t>& entries, double seconds);
  void AddNodes(size_t entry, int64_t before, int64_t after);

  mutable std::mutex mutex_;
  std::map<std::pair<std::string, std::string>, size_t> numbers_;
  std::deque<Entry> entries_;
};

// What phases of a thread belong to.
struct PhaseContext {
  PhaseReport* report = nullptr;  // null: phases are not reported
  std::string subject = {};
  std::string path = {};
  std::vector<size_t> open = {};  // entries of the phases on the path
  std::thread::id thread = std::this_thread::get_id();

  static PhaseContext OfThisThread();
};

// For the time of a scope, phases of this thread belong to a context. The phases on the path of another thread's
// context count the time of both threads.
class ReportPhases {
 public:
  explicit ReportPhases(PhaseContext context);
  ~ReportPhases();
  ReportPhases(const ReportPhases&) = delete;
  ReportPhases& operator=(const ReportPhases&) = delete;

 private:
  PhaseContext before_;
  double start_ = 0;
};

class PhaseSubject {
 public:
  explicit PhaseSubject(std::string_view subject);
  ~PhaseSubject();
  PhaseSubject(const PhaseSubject&) = delete;
  PhaseSubject& operator=(const PhaseSubject&) = delete;

 private:
  std::string before_;
};

class Phase {
 public:
  explicit Phase(std::string_view name);
  ~Phase() { End(); }
  Phase(const Phase&) = delete;
  Phase& operator=(const Phase&) = delete;

  bool reported() const { return report_ != nullptr; }
  void End();
  // How large what the phase worked on is, in nodes. Counting is best done after End().
  void Nodes(int64_t before, int64_t after);

 private:
  PhaseReport* const report_;
  size_t entry_ = 0;
  double start_ = 0;
  size_t outer_ = 0;  // bytes of the path around this phase
  bool ended_ = false;
};

// Another program that ran for this thread took so long: the phases around count it.
void AddSecondsOfChild(double seconds);

}  // namespace tilewright
