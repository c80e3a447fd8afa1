// Sketches: what can be done with a loop nest, as values.
//
// A sketch meets a block and has a structure for it or none; a structure is applied to a schedule and leaves its own
// decisions to choices. Which sketches there are depends on the kind of machine (autoschedule/sketch/sketches.h); the
// order in which a function's blocks meet them does not (autoschedule/sketch/auto_schedule.h).
#pragma once

#include <cstdint>
#include <functional>
#include <optional>
#include <span>
#include <variant>

#include "autoschedule/program/choices.h"
#include "intrin/registry.h"
#include "schedule/recorder/schedule.h"
#include "target/target.h"
#include "verify/structure/block_scope.h"

namespace tilewright {

// What a sketch may look at besides the block. Valid until the schedule is changed; the target and the registry stay.
struct SketchContext {
  const Target& target;
  IntrinRegistry* intrins;          // null: without
  const BlockScope& scope;          // of the function's root block
  const ScopeChild& child;          // the block in it
  std::span<const BlockRv> blocks;  // blocks of the scope

  // Whether another block of the scope stands in the outermost loop around the block.
  bool SharesLoops() const;
};

// How well a structure suits the block. The preferred structure is the first one of the best fit.
enum class Fit : uint8_t {
  kBest,       // made for such blocks, or estimated to be the fastest
  kPossible,   // made for such blocks, where another one is estimated to be faster
  kGeneral,    // schedules nearly any block
  kOtherwise,  // only for blocks that no other structure schedules
};

struct Structure {
  Fit fit = Fit::kBest;
  // On a refusal the steps before it stay applied.
  std::function<Outcome<std::monostate>(Schedule& sch, Choices& choices)> apply;
  // What is left of the structure where `apply` refuses the block: a chain without the blocks that cannot join it. May
  // be null. AutoScheduled::reduced receives the refusal.
  std::function<Outcome<std::monostate>(Schedule& sch, Choices& choices)> otherwise = {};
  // Preferred where the projected time of the function is shorter with it, as all structures of Sketch::judged are.
  bool judged = false;
};

struct Sketch {
  const char* name;  // in traces and databases: it stays what it is
  // The structure for a block, which is directly in the root block; nothing when the sketch is not made for it. May
  // apply queries to the schedule, whose trace is thrown away.
  std::optional<Structure> (*meet)(Schedule& sch, BlockRv block, const SketchContext& context);
  // Users are told when the structure refuses a block: it was made for the block.
  bool reports = false;
  // Structures take several reductions: such blocks are scheduled before others.
  bool takes_chains = false;
  // Preferred where the projected time of the function is shorter with the structure than without.
  bool judged = false;
};

// The sketches of a kind of machine.
struct SketchList {
  // The first one of those with the same fit is preferred. One of them must have a structure for any block.
  std::span<const Sketch> sketches;
  // Divides a block before sketches meet it, and returns the part that is new; null where blocks stay as they are.
  std::optional<BlockRv> (*divide)(Schedule& sch, BlockRv block, const Target& target) = nullptr;
  // A structure whose program verification refutes, for its shared memory for example, is not a candidate. Where
  // sketches make what fits by themselves this costs time alone.
  bool verified = false;
};

}  // namespace tilewright
