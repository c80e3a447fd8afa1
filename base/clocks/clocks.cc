#include "base/clocks/clocks.h"

#include <algorithm>
#include <cstdint>
#include <utility>

namespace tilewright::clocks {

Knowledge::Knowledge(const Knowledge& other) : body_(other.body_) {
  if (body_ != nullptr) ++body_->references;
}

Knowledge::~Knowledge() { Unreference(body_); }

void Knowledge::Unreference(Times* times) {
  if (--times->references == 0) delete times;
}

void Knowledge::Unreference(Body* body) {
  if (body == nullptr || --body->references > 0) return;
  for (auto& [group, times] : body->groups) Unreference(times);
  delete body;
}

uint32_t Knowledge::Seen(Agent agent) const {
  const Times* times = Find(GroupOf(agent));
  const uint32_t index = IndexOf(agent);
  return times == nullptr || index >= times->seen.size() ? 0 : times->seen[index];
}

uint32_t Knowledge::Fenced(Agent agent) const {
  const Times* times = Find(GroupOf(agent));
  const uint32_t index = IndexOf(agent);
  return times == nullptr || index >= times->fenced.size() ? 0 : times->fenced[index];
}

Knowledge::Body* Knowledge::Own() {
  if (body_ != nullptr && body_->references == 1) return body_;
  Body* copy = new Body;
  if (body_ != nullptr) {
    copy->groups = body_->groups;
    for (auto& [group, times] : copy->groups) ++times->references;
    --body_->references;
  }
  copy->references = 1;
  return body_ = copy;
}

Knowledge::Times* Knowledge::Own(uint32_t group) {
  Body* body = Own();
  auto at = std::lower_bound(body->groups.begin(), body->groups.end(), group,
                             [](const auto& entry, uint32_t wanted) { return entry.first < wanted; });
  if (at == body->groups.end() || at->first != group) {
    at = body->groups.insert(at, {group, new Times});
    at->second->references = 1;
  } else if (at->second->references > 1) {
    Times* copy = new Times(*at->second);
    --at->second->references;
    copy->references = 1;
    at->second = copy;
  }
  return at->second;
}

void Knowledge::Raise(Agent agent, uint32_t seen, uint32_t fenced) {
  Times* times = Own(GroupOf(agent));
  const uint32_t index = IndexOf(agent);
  if (index >= times->seen.size()) {
    times->seen.resize(index + 1);
    times->fenced.resize(index + 1);
  }
  times->seen[index] = std::max(times->seen[index], seen);
  times->fenced[index] = std::max(times->fenced[index], fenced);
}

void Knowledge::Join(const Knowledge& other) {
  if (other.body_ == nullptr || body_ == other.body_) return;
  if (body_ == nullptr) {
    *this = other;
    return;
  }
  for (const auto& [group, theirs] : other.body_->groups) {
    if (Find(group) == theirs) continue;
    Times* ours = Own(group);
    if (ours->seen.size() < theirs->seen.size()) {
      ours->seen.resize(theirs->seen.size());
      ours->fenced.resize(theirs->seen.size());
    }
    for (size_t i = 0; i < theirs->seen.size(); ++i) {
      ours->seen[i] = std::max(ours->seen[i], theirs->seen[i]);
      ours->fenced[i] = std::max(ours->fenced[i], theirs->fenced[i]);
    }
  }
}

void Knowledge::FenceAll() {
  if (body_ == nullptr) return;
  std::vector<uint32_t> groups;
  for (const auto& [group, times] : body_->groups) {
    if (times->seen != times->fenced) groups.push_back(group);
  }
  for (const uint32_t group : groups) {
    Times* times = Own(group);
    times->fenced = times->seen;
  }
}

void Domain::Join(Knowledge& into, const Knowledge& other) {
  if (other.empty() || into.SameObject(other)) return;
  if (into.empty()) {
    into = other;
    return;
  }
  for (const Joined& joined : joined_) {
    if (joined.into.SameObject(into) && joined.other.SameObject(other)) {
      into = joined.result;
      return;
    }
  }
  Joined& joined = joined_[next_joined_];
  next_joined_ = (next_joined_ + 1) % kRemembered;
  joined = {into, other, {}};
  into.Join(other);
  joined.result = into;
}

void Domain::Fence(Knowledge& knowledge) {
  if (knowledge.empty() || knowledge.SameObject(fenced_)) return;
  if (!knowledge.SameObject(fence_of_)) {
    fence_of_ = knowledge;
    fenced_ = knowledge;
    fenced_.FenceAll();
  }
  knowledge = fenced_;
}

void Published::Join(const Knowledge& other) {
  if (other.empty() || other.SameObject(last_)) return;
  if (knowledge_.empty()) {
    knowledge_ = other;
  } else {
    knowledge_.Join(other);
  }
  last_ = other;
}

Knowledge Published::Take() {
  last_ = Knowledge();
  return std::exchange(knowledge_, Knowledge());
}

uint32_t Clock::SeenSince(Agent agent) const {
  for (const Known& known : since_) {
    if (known.agent == agent) return known.seen;
  }
  return 0;
}

bool Clock::KnowsFenced(Epoch epoch) const {
  if (epoch.agent == self_ && fenced_ >= epoch.time) return true;
  if (base_.Fenced(epoch.agent) >= epoch.time) return true;
  for (const Known& known : since_) {
    if (known.agent == epoch.agent) return known.fenced >= epoch.time;
  }
  return false;
}

void Clock::Learn(Epoch epoch) {
  if (epoch.time == 0) return;
  for (Known& known : since_) {
    if (known.agent == epoch.agent) {
      known.seen = std::max(known.seen, epoch.time);
      return;
    }
  }
  since_.push_back({epoch.agent, epoch.time, 0});
}

void Clock::Release(Published& object) {
  object.Join(base_);
  object.knowledge_.Raise(self_, now_, fenced_);
  for (const Known& known : since_) object.knowledge_.Raise(known.agent, known.seen, known.fenced);
  ++now_;
}

Knowledge Clock::Snapshot() {
  Published object;
  Release(object);
  return object.Take();
}

void Clock::Acquire(const Knowledge& knowledge) {
  domain_->Join(base_, knowledge);
  std::erase_if(since_, [&](const Known& known) {
    return base_.Seen(known.agent) >= known.seen && base_.Fenced(known.agent) >= known.fenced;
  });
}

void Clock::Fence() {
  domain_->Fence(base_);
  fenced_ = now_;
  for (Known& known : since_) known.fenced = known.seen;
}

}  // namespace tilewright::clocks
