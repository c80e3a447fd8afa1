// Conditions that many primitives share, and the refusals when they do not hold.
#pragma once

#include <cstdint>
#include <optional>

#include "ir/function.h"
#include "schedule/core/refusal.h"

namespace tilewright {

// The path to the loop (block) with that id, or the refusal that there is none: a handle outlives what it names.
Outcome<Path> PathToLoop(const char* primitive, const Function& function, uint32_t id);
Outcome<Path> PathToBlock(const char* primitive, const Function& function, uint32_t id);
// The same for a block that is not the root block.
Outcome<Path> PathToInnerBlock(const char* primitive, const Function& function, uint32_t id);

// Why a primitive that replaces the loop by others would lose something: it has annotations, is bound to a thread, does
// not start at 0, or its range may change while it runs.
std::optional<Refusal> WhyNotReplaceable(const char* primitive, const ForNode& loop);
// Why a loop's range may not be evaluated at another time: its body stores to what it is read from
// (ir/changes/may_change.h).
std::optional<Refusal> WhyRangeMayChange(const char* primitive, const ForNode& loop);

// Why instances of a block may not run in any order: they depend on each other (verify/structure/instance_order.h).
std::optional<Refusal> WhyInstancesDepend(const char* primitive, const BlockNode& block);

}  // namespace tilewright
