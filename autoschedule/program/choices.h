// The open decisions of a schedule under construction.
//
// A rule (autoschedule/README.md) is a function that applies primitives and picks where there is something to decide.
// The same function is the deterministic rule, when every pick takes its preferred candidate, and a search space, when
// picks are drawn or given:
//
//   Choices choices = Choices::Drawn(7);
//   Outcome<std::monostate> done = ScheduleContraction(sch, block, target, choices);
//   std::vector<Choice> made = choices.made().ToVector();   // {"C.tile_rows", 12}, {"C.tile_vectors", 2}, ...
//   made[0].value = 6;                                       // a mutation
//   Choices again = Choices::GivenOrPreferred(made);
//
// Each pick is a sample_categorical instruction in the trace, with its name. Which picks there are may depend on
// earlier ones.
#pragma once

#include <cstddef>
#include <cstdint>
#include <memory>
#include <optional>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "base/forked_list.h"
#include "schedule/core/random.h"
#include "schedule/core/trace.h"
#include "schedule/recorder/schedule.h"

namespace tilewright {

// How many candidates a rule offers in one choice at most, where more are possible: a search tries few of them.
inline constexpr int64_t kMostCandidates = 16;

struct Choice {
  // What a candidate that is not a quantity stands for, and how often it is drawn.
  struct Meaning {
    std::string label;
    double weight = 1;
    friend bool operator==(const Meaning&, const Meaning&) = default;
  };

  std::string name;  // unique in one schedule; empty for one of a trace that was recorded before choices had names
  int64_t value = 0;
  std::vector<int64_t> candidates;
  std::vector<Meaning> meanings = {};  // one for each candidate; none where candidates are quantities

  // The choice of what the label names, to be given.
  static Choice Of(std::string name, std::string label) { return {std::move(name), 0, {0}, {{std::move(label)}}}; }
  // What the value stands for; empty for quantities.
  std::string_view label() const;

  friend bool operator==(const Choice&, const Choice&) = default;
};

// The place of a candidate that is drawn: each quantity with equal probability, others by their weights.
size_t Draw(const Choice& choice, Random& random);

class Choices {
 public:
  static Choices Preferred() { return Choices(Mode::kPreferred, {}, 0); }
  // Every pick by Draw.
  static Choices Drawn(uint64_t seed) { return Choices(Mode::kDrawn, {}, seed); }
  // Picks take the value given under their name where it is among the candidates, the preferred one elsewhere: how a
  // schedule of another program is taken over.
  static Choices GivenOrPreferred(std::vector<Choice> given) { return Choices(Mode::kPreferred, std::move(given), 0); }
  // The choices recorded in the trace of a schedule that the rules made, of the same program or a similar one: a pick
  // takes the value recorded under its name, where that is among the candidates. In a trace without names the n-th pick
  // takes the n-th value.
  static Choices OfTrace(const Trace& trace);

  struct Pick {
    IntRv rv;  // of the sample_categorical instruction
    int64_t value = 0;
    operator Value() const { return rv; }
  };
  // One of `candidates`, which must not be empty; `preferred`: the index a rule takes when nothing was measured.
  // A name that was taken before gets a number: "C.tile_rows#2". With `meanings`, one for each candidate, a candidate
  // is drawn by its weight, and what was given is the candidate with the same label, whatever its value.
  Outcome<Pick> Take(Schedule& sch, std::string name, std::vector<int64_t> candidates, size_t preferred,
                     std::vector<Choice::Meaning> meanings = {});

  const ForkedList<Choice>& made() const { return made_; }

 private:
  enum class Mode { kPreferred, kDrawn };
  Choices(Mode mode, std::vector<Choice> given, uint64_t seed)
      : mode_(mode), given_(std::make_shared<const std::vector<Choice>>(std::move(given))), random_(seed) {}
  // The place of what was given for this pick, if it is among the candidates.
  std::optional<size_t> Given(const Choice& pick) const;

  Mode mode_;
  std::shared_ptr<const std::vector<Choice>> given_;
  Random random_;
  ForkedList<Choice> made_;
};

}  // namespace tilewright
