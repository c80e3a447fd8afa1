#include "autoschedule/search/evolution.h"

#include <algorithm>
#include <cmath>
#include <functional>

namespace tilewright {
namespace {

// Share of children that are mixed from two parents; the others are mutations.
constexpr double kCrossed = 0.2;
// Tries for each candidate that is asked for.
constexpr size_t kTriesPerCandidate = 8;

uint64_t HashOf(const std::vector<Choice>& choices) {
  uint64_t hash = choices.size();
  for (const Choice& choice : choices) {
    for (const uint64_t part : {std::hash<std::string>()(choice.name), static_cast<uint64_t>(choice.value)}) {
      hash = (hash ^ part) * 0x9e3779b97f4a7c15;
      hash ^= hash >> 32;
    }
  }
  return hash;
}

}  // namespace

const std::vector<Choice>& Evolution::Parent(std::span<const std::vector<Choice>> parents) {
  // The square of a uniform number: the best tenth of the parents gets a third of the children.
  const double u = random_.Unit();
  return parents[static_cast<size_t>(u * u * static_cast<double>(parents.size()))];
}

void Evolution::Mutate(std::vector<Choice>& choices) {
  std::vector<Choice*> open;
  for (Choice& choice : choices) {
    if (choice.candidates.size() > 1) open.push_back(&choice);
  }
  if (open.empty()) return;
  for (uint64_t changes = 1 + random_.Below(2); changes > 0; --changes) {
    Choice& choice = *open[random_.Below(open.size())];
    if (!choice.meanings.empty()) {
      choice.value = choice.candidates[Draw(choice, random_)];
      continue;
    }
    const size_t size = choice.candidates.size();
    const auto now =
        static_cast<size_t>(std::ranges::find(choice.candidates, choice.value) - choice.candidates.begin());
    // Half of the time a neighbour: candidates that are numbers stand in their order.
    size_t next = (now + 1 + random_.Below(size - 1)) % size;
    if (random_.Below(2) == 0) next = random_.Below(2) == 0 ? std::min(now + 1, size - 1) : now - (now > 0 ? 1 : 0);
    choice.value = choice.candidates[next];
  }
}

std::optional<Choices> Evolution::Next(std::span<const std::vector<Choice>> parents) {
  // What resembles the preferred schedule shares its mistakes: the fewer parents there are, the more is drawn.
  if (!from_parents_ || parents.empty() || random_.Below(parents.size()) == 0) return Choices::Drawn(random_.Next());
  std::vector<Choice> child = Parent(parents);
  if (random_.Unit() < kCrossed) {
    const std::vector<Choice>& other = Parent(parents);
    for (Choice& choice : child) {
      const auto same = std::ranges::find(other, choice.name, &Choice::name);
      if (same != other.end() && random_.Below(2) == 0) choice.value = same->value;
    }
  } else {
    Mutate(child);
  }
  if (!tried_.insert(HashOf(child)).second) return std::nullopt;
  // Choices that only the changed ones bring about, and values that no longer fit, are preferred ones.
  return Choices::GivenOrPreferred(std::move(child));
}

std::map<std::string, int64_t> Evolution::refused() const {
  std::map<std::string, int64_t> by_sentence;
  for (const auto& [reason, refused] : refused_) by_sentence[refused.sentence] += refused.count;
  return by_sentence;
}

std::optional<Candidate> Evolution::Make(Choices choices) {
  ++tries_;
  Outcome<Candidate> made = space_.Make(std::move(choices));
  if (!made.ok()) {
    // Counted by the sentence without its objects; the first one is rendered for people.
    Refused& refused = refused_[std::string(made.refusal().primitive) + ": " + made.refusal().reason];
    if (refused.count++ == 0) refused.sentence = RenderLine(made.refusal(), space_.module().Main());
    return std::nullopt;
  }
  if (!seen_.insert(made->hash).second) {
    ++repeated_;
    return std::nullopt;
  }
  return std::move(made).value();
}

std::vector<Candidate> Evolution::Propose(std::span<const std::vector<Choice>> parents, size_t count) {
  std::vector<Candidate> proposed;
  for (size_t i = 0; i < count * kTriesPerCandidate && proposed.size() < count; ++i) {
    std::optional<Choices> choices = Next(parents);
    if (!choices) continue;
    if (std::optional<Candidate> candidate = Make(*std::move(choices))) proposed.push_back(*std::move(candidate));
  }
  return proposed;
}

}  // namespace tilewright
