// Vector clocks of programs whose threads issue asynchronous work: what each agent knows to have happened.
//
// An *agent* is whoever accesses memory: a thread, the copies that a thread has issued, the operations of a matrix
// unit. Agents come in groups (the agents of one block of threads), so that knowledge of a large grid stays small.
// Each agent counts its own *time*; an access is an *epoch*, the agent and its time. A thread that meets another one
// at a barrier learns what that one knew. An access that is not known to whoever conflicts with it is a race
// (history.h).
//
//   Domain domain;
//   Clock producer(&domain, MakeAgent(0, 0)), consumer(&domain, MakeAgent(0, 1));
//   Epoch stored = producer.Now();
//   Published barrier;
//   producer.Release(barrier);                 // "everything up to here has happened"
//   consumer.Acquire(barrier.knowledge());
//   consumer.Knows(stored)                     // true
//
// Some engines see memory through a path of their own (CUDA's asynchronous proxy): they need not only that a store has
// happened, but that it was fenced. So each time is kept twice, as seen and as fenced.
//
// Objects of one domain belong to one operating-system thread. Nothing here depends on another library.
#pragma once

#include <cstdint>
#include <utility>
#include <vector>

namespace tilewright::clocks {

// Group << kIndexBits | index within the group.
using Agent = uint32_t;
inline constexpr int kIndexBits = 12;
inline constexpr uint32_t kMostAgentsOfGroup = 1u << kIndexBits;

constexpr Agent MakeAgent(uint32_t group, uint32_t index) { return group << kIndexBits | index; }
constexpr uint32_t GroupOf(Agent agent) { return agent >> kIndexBits; }
constexpr uint32_t IndexOf(Agent agent) { return agent & (kMostAgentsOfGroup - 1); }

// A point of an agent's time. Time 0 is before everything: every clock knows it.
struct Epoch {
  Agent agent = 0;
  uint32_t time = 0;
  friend bool operator==(const Epoch&, const Epoch&) = default;
};

// The times of a knowledge: for each group that it knows something of, how far it knows each agent. Shared, so
// immutable except for its only owner.
class Knowledge {
 public:
  Knowledge() = default;
  Knowledge(const Knowledge& other);
  Knowledge(Knowledge&& other) noexcept : body_(std::exchange(other.body_, nullptr)) {}
  Knowledge& operator=(Knowledge other) noexcept {
    std::swap(body_, other.body_);
    return *this;
  }
  ~Knowledge();

  // How far `agent` is known to have come, and how far what it did is known to be fenced.
  uint32_t Seen(Agent agent) const;
  uint32_t Fenced(Agent agent) const;

  // Whether both are one object. Equal knowledge may be two objects.
  bool SameObject(const Knowledge& other) const { return body_ == other.body_; }
  bool empty() const { return body_ == nullptr; }

 private:
  friend class Domain;
  friend class Clock;
  friend class Published;

  struct Times {  // of the agents of one group, by index; agents beyond the end are unknown
    int references = 0;
    std::vector<uint32_t> seen, fenced;
  };
  struct Body {
    int references = 0;
    std::vector<std::pair<uint32_t, Times*>> groups;  // ascending by group
  };

  const Times* Find(uint32_t group) const {
    if (body_ == nullptr) return nullptr;
    for (const auto& [id, times] : body_->groups) {
      if (id == group) return times;
    }
    return nullptr;
  }
  static void Unreference(Times* times);
  static void Unreference(Body* body);
  Body* Own();                 // a body that no other knowledge shares
  Times* Own(uint32_t group);  // the same for a group's times
  void Raise(Agent agent, uint32_t seen, uint32_t fenced);
  void Join(const Knowledge& other);
  void FenceAll();

  Body* body_ = nullptr;
};

// What clocks of one program share: memory of the last joins, since the threads that pass a barrier all join the same
// two.
class Domain {
 public:
  Domain() = default;
  Domain(const Domain&) = delete;
  Domain& operator=(const Domain&) = delete;

  // Adds to `into` what `other` knows.
  void Join(Knowledge& into, const Knowledge& other);
  // Everything that is seen counts as fenced from here on.
  void Fence(Knowledge& knowledge);

 private:
  struct Joined {
    Knowledge into, other, result;
  };
  static constexpr int kRemembered = 4;
  Joined joined_[kRemembered];
  int next_joined_ = 0;
  Knowledge fence_of_, fenced_;
};

// What several agents have released into one place, such as a barrier in one of its phases.
class Published {
 public:
  // An agent without a clock (a copy engine) came as far as `epoch`; its accesses need no fence.
  void Add(Epoch epoch) { Raise(epoch, epoch.time); }
  // The same of one whose accesses do.
  void AddUnfenced(Epoch epoch) { Raise(epoch, 0); }
  const Knowledge& knowledge() const { return knowledge_; }
  // Empties it.
  Knowledge Take();

 private:
  friend class Clock;
  void Join(const Knowledge& other);
  void Raise(Epoch epoch, uint32_t fenced) { knowledge_.Raise(epoch.agent, epoch.time, fenced); }

  Knowledge knowledge_, last_;  // `last_` was joined last
};

// The clock of an agent that runs: its own time and what it knows of the others.
class Clock {
 public:
  Clock(Domain* domain, Agent self) : domain_(domain), self_(self) {}

  Agent self() const { return self_; }
  Epoch Now() const { return {self_, now_}; }

  bool Knows(Epoch epoch) const {
    if (epoch.time == 0 || epoch.agent == self_) return true;
    if (base_.Seen(epoch.agent) >= epoch.time) return true;
    return !since_.empty() && SeenSince(epoch.agent) >= epoch.time;
  }
  bool KnowsFenced(Epoch epoch) const;

  // `epoch.agent` was waited for: it came as far as `epoch`.
  void Learn(Epoch epoch);
  // Tells `object` all that this agent did and knows. What the agent does next is later.
  void Release(Published& object);
  void Acquire(const Knowledge& knowledge);
  // All that this agent did and knows is fenced.
  void Fence();
  // What Release() would publish, as a value.
  Knowledge Snapshot();

 private:
  struct Known {
    Agent agent;
    uint32_t seen, fenced;
  };
  uint32_t SeenSince(Agent agent) const;

  Domain* domain_;
  Agent self_;
  uint32_t now_ = 1, fenced_ = 0;  // of this agent itself
  Knowledge base_;                 // shared with others that met at the same barrier
  std::vector<Known> since_;       // learned since, and not in `base_`
};

}  // namespace tilewright::clocks
