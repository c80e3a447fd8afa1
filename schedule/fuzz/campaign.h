// Random schedules of the corpus, each judged: the measure of how sound the primitives and verify are.
//
//   Campaign campaign({.seed = 1, .count = 10000, .reproducers = "/tmp/found"});
//   campaign.Run();
//   std::cout << campaign.Report();
//
// A schedule counts once: programs that are equal up to names, or equal to what they came from, are left out. It is
// accepted when verify has nothing against it. Then the interpreter must find nothing with all of its detectors on, and
// give the original's results: else it is a mismatch, which is shrunk and written down.
#pragma once

#include <cstdint>
#include <map>
#include <memory>
#include <string>
#include <unordered_set>
#include <utility>
#include <vector>

#include "intrin/registry.h"
#include "schedule/fuzz/families.h"
#include "schedule/fuzz/moves.h"
#include "schedule/fuzz/oracle.h"
#include "schedule/recorder/schedule.h"

namespace tilewright::fuzz {

struct CampaignOptions {
  uint64_t seed = 1;
  uint64_t first = 0;       // the round to begin with: an earlier campaign goes on
  int64_t count = 1000;     // accepted schedules to reach
  double seconds = 1e9;     // or the time after which to stop
  std::string reproducers;  // folder for what was found; empty: none
  std::string family;       // only this one; empty: all
  bool mutate = false;      // also make one change to each right schedule that should make it wrong
};

// A schedule that shows a bug.
struct Finding {
  uint64_t seed = 0;
  std::string family, reason, program, schedule, result;
};

struct CampaignCounts {
  int64_t drawn = 0;                                       // schedules
  int64_t repeated = 0;                                    // seen before, or nothing was changed
  int64_t accepted = 0;                                    // distinct, verify has nothing against them
  int64_t mismatched = 0;                                  // accepted, but wrong
  int64_t sharp = 0;                                       // refused by verify, and wrong
  int64_t blunt = 0;                                       // refused by verify, but right
  std::map<std::string, int64_t> by_family, by_primitive;  // accepted schedules
  std::map<int, int64_t> by_length;                        // accepted schedules by structural primitives
  std::map<std::string, int64_t> sharp_by_check, blunt_by_check;
  std::map<std::string, std::pair<int64_t, int64_t>> calls;  // accepted and refused calls of each primitive
  struct Mutants {
    int64_t refused = 0, missed = 0;  // wrong ones that verify refuses, and that it accepts
    int64_t right = 0;                // what makes no difference
  };
  std::map<std::string, Mutants> by_mutation;
  // Mutants that verify accepts, by the mutation and what the interpreter says: "another result", "undeclared access".
  std::map<std::pair<std::string, std::string>, int64_t> missed;
  int64_t MedianLength() const;
};

class Campaign {
 public:
  explicit Campaign(CampaignOptions options);
  void Run();

  const CampaignCounts& counts() const { return counts_; }
  const std::vector<Finding>& mismatches() const { return mismatches_; }
  // Why verify refuses right schedules, names and numbers left out, each with the shortest example that was looked at;
  // the commonest first.
  struct Reason {
    std::string shape;
    int64_t count = 0;
    std::map<std::string, int64_t> by_family;
    Finding example;
  };
  std::vector<Reason> Reasons() const;
  // A few of the wrong schedules that primitives accept.
  const std::vector<Finding>& sharp() const { return sharp_; }
  // A few of the wrong programs, by mutation, that verify accepts. The folder of reproducers gets all of them.
  const std::vector<Finding>& missed() const { return missed_; }
  // Tables for people.
  std::string Report() const;

 private:
  struct Start {
    const Family* family;
    Function program;
    std::unique_ptr<Oracle> oracle;
    uint64_t hash;
  };
  const std::vector<Start>& AnyFamily(const Move& focus, Random& random) const;
  void One(uint64_t seed);
  void Mutate(const Start& start, const Function& function, uint64_t seed);
  Finding Describe(const Start& start, uint64_t seed, const Trace& trace, const Judgement& judgement);
  Trace Shrunk(const Start& start, uint64_t seed, const Trace& trace, const Judgement& judgement);
  void Refused(const Start& start, uint64_t seed, const Trace& trace, const Judgement& judgement);
  void Save(const std::string& kind, const Finding& finding) const;

  const CampaignOptions options_;
  const std::vector<Family> families_;
  std::vector<std::vector<Start>> starts_;  // by family
  std::vector<size_t> drawn_;               // of starts_, each as often as its weight
  IntrinRegistry intrins_;
  std::unordered_set<uint64_t> seen_;
  CampaignCounts counts_;
  std::map<std::string, Reason> reasons_;  // by shape
  std::vector<Finding> mismatches_, sharp_, missed_;
};

}  // namespace tilewright::fuzz
