// New candidates of a space from good ones.
//
//   Evolution evolution(space, seed);
//   std::vector<Candidate> first = evolution.Propose({}, 64);           // drawn
//   std::vector<Candidate> next = evolution.Propose(best_choices, 64);  // mutated, crossed, some drawn
//
// A program is proposed once: choices that were tried before are skipped, and so are candidates with the same
// structural hash as an earlier one.
#pragma once

#include <cstdint>
#include <map>
#include <optional>
#include <span>
#include <string>
#include <unordered_set>
#include <vector>

#include "autoschedule/sketch/space.h"
#include "schedule/core/random.h"

namespace tilewright {

class Evolution {
 public:
  // The space must outlive the evolution. Without `from_parents`, every candidate is drawn anew.
  Evolution(const Space& space, uint64_t seed, bool from_parents = true)
      : space_(space), from_parents_(from_parents), random_(seed) {}

  // The candidate that these choices make, or nothing when it is refused or was proposed before.
  std::optional<Candidate> Make(Choices choices);
  // Up to `count` new candidates; fewer when most tries are refused or repeat earlier ones, none when the space seems
  // exhausted. `parents` stand from best to worst; the first ones are taken more often. With n of them one candidate in
  // n is drawn anew.
  std::vector<Candidate> Propose(std::span<const std::vector<Choice>> parents, size_t count);

  int64_t tries() const { return tries_; }
  int64_t repeated() const { return repeated_; }
  // How often candidates were refused, by primitive and reason, with the objects of the first refusal of each kind.
  std::map<std::string, int64_t> refused() const;

 private:
  // A parent with one or two choices changed, two parents mixed, or drawn anew. Nothing for a child that was tried
  // before.
  std::optional<Choices> Next(std::span<const std::vector<Choice>> parents);
  const std::vector<Choice>& Parent(std::span<const std::vector<Choice>> parents);
  void Mutate(std::vector<Choice>& choices);

  const Space& space_;
  const bool from_parents_;
  Random random_;
  std::unordered_set<uint64_t> seen_;   // programs
  std::unordered_set<uint64_t> tried_;  // children, by their choices
  int64_t tries_ = 0, repeated_ = 0;
  struct Refused {
    std::string sentence;
    int64_t count = 0;
  };
  std::map<std::string, Refused> refused_;  // by the sentence without its objects
};

}  // namespace tilewright
