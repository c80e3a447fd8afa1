// Draws applications of primitives to whatever a schedule holds at the time: random arguments, most of them of the
// right kind, many of them illegal.
#pragma once

#include <cstdint>
#include <map>
#include <string>
#include <utility>
#include <vector>

#include "schedule/core/random.h"
#include "schedule/recorder/schedule.h"

namespace tilewright::fuzz {

class Drawer {
 public:
  Drawer(const Function& program, uint64_t seed, IntrinRegistry* intrins)
      : random_(seed), sch_(Module(program), {.seed = seed, .intrins = intrins}) {}

  Schedule& schedule() { return sch_; }
  Random& random() { return random_; }

  // Random pieces of arguments.
  template <class T>
  const T& Pick(const std::vector<T>& from) {
    return from[random_.Below(from.size())];
  }
  bool Coin() { return random_.Below(2) == 0; }
  int64_t Below(int64_t n) { return static_cast<int64_t>(random_.Below(static_cast<uint64_t>(n))); }
  Value Factor() { return 1 + Below(5); }

  // Looks at the program anew: a block to work on, its loops, the loops of another one. False when there is no block.
  bool Look();
  const std::string& block() const { return block_; }
  const std::string& other_block() const { return other_block_; }
  Value AnyLoop() { return loops_.empty() ? Value(Rv{0}) : Value(Rv(Pick(loops_))); }
  // Among the loops of the other block.
  Value OtherLoop() { return other_loops_.empty() ? AnyLoop() : Value(Rv(Pick(other_loops_))); }
  const std::vector<LoopRv>& loops() const { return loops_; }
  const std::vector<LoopRv>& other_loops() const { return other_loops_; }
  const BlockNode& block_node() const;
  // One to three loops of the block, each inside of the one before.
  Value::List ConsecutiveLoops();
  Value::List ShuffledLoops();
  // Iterators of a block (or dimensions of a buffer) reversed, the last two fused, the first one split, or rotated.
  IndexMap AnyIndexMap(size_t rank);
  // Begin and end of each dimension of the first buffer that the block reads, in terms of its iterators.
  IndexMap WholeDimensions();

  // Applies a primitive; whether it was accepted. Counts.
  bool Try(const char* primitive, std::vector<Value> args);
  // The same for steps that must be undone together: restores the schedule when `steps` returns false.
  template <class Steps>
  bool AllOrNothing(Steps steps) {
    const Schedule before = sch_;
    const auto counts = accepted_;
    if (steps()) return true;
    sch_ = before;
    accepted_ = counts;
    return false;
  }

  const std::map<std::string, int>& accepted() const { return accepted_; }
  const std::map<std::string, int>& refused() const { return refused_; }

 private:
  Random random_;
  Schedule sch_;
  std::string block_, other_block_;
  std::vector<LoopRv> loops_, other_loops_;
  std::map<std::string, int> accepted_, refused_;
};

}  // namespace tilewright::fuzz
