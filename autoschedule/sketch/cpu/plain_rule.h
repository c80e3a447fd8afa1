// Schedules for blocks that have no tensor form: elementwise, broadcasting and copying blocks, reductions, pooling,
// stencils and depthwise convolutions.
//
// The vector axis is the spatial iterator along which the block stores neighbouring elements.
//
// Without a reduction: elementwise_rule.h. With a reduction that reads along the vector axis: window_rule.h.
//
// Every other reduction (along the contiguous dimension, say) has its spatial loops in parallel. Loops that computed
// places (autoschedule/program/computed_places.h) do not depend on are inside of those that they do.
//
// Reductions whose results so far are places (node[i] = next[node[i]]) have walks of neighbouring elements side by side
// inside of the steps.
//
// Choices: those of these rules, and of RunInParallel (plain_plan.h).
#pragma once

#include <variant>

#include "autoschedule/program/choices.h"
#include "schedule/recorder/schedule.h"
#include "target/target.h"

namespace tilewright {

// A refusal of "plain_rule" for blocks that share loops with others or whose iterators are not bound to loops of their
// own; on it the steps before stay applied.
Outcome<std::monostate> SchedulePlain(Schedule& sch, BlockRv block, const Target& target, Choices& choices);

// For blocks in loops that a user arranged: keeps the order, runs the outermost possible loop in parallel if that pays,
// and vectorizes the innermost one if it is the vector axis.
void KeepLoops(Schedule& sch, BlockRv block, const Target& target);

}  // namespace tilewright
