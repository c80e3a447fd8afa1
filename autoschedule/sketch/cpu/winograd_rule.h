// Convolutions as fewer products of transformed operands (schedule/algebra/winograd.h), in the order of these stages:
//
//   for tile rows of all images in T.parallel(...):
//       Y_input[products, tile row]         vectors of channels, the products written out; padding computed here
//       Y_products[products, tile row]      the contraction (autoschedule/sketch/cpu/contraction_rule.h)
//       Y[rows of the tile]                 vectors of channels, the rows written out; elementwise consumers here
//
// so that a tile row's transforms stay in a core's caches, where the kernel does too. Otherwise each stage runs in
// parallel for itself. The kernel, a constant, is transformed ahead of time while it is packed.
//
// Results differ by rounding (docs/numerics.md). Programs that do not want that say so:
//
//   T.func_attr({"tilewright.winograd": False})
//
// Along one window or along two, one after the other: what lies between their transforms stays in vector registers.
//
// Choice: NAME.winograd: 4, tiles of 4 outputs along one window; 42, of 4 and of 2 along two (winograd_ways.h). Those
// of the contraction come after it.
#pragma once

#include <variant>
#include <vector>

#include "autoschedule/program/choices.h"
#include "autoschedule/sketch/cpu/winograd_ways.h"
#include "schedule/recorder/schedule.h"
#include "target/target.h"

namespace tilewright {

// The ways for a block that sums f32 products with a constant kernel over a window of stride 1. None for other blocks,
// for blocks that would become much slower, and if the function forbids it.
WinogradWays WaysByWinograd(Schedule& sch, BlockRv block, const Target& target);

// Whether the fastest way is clearly faster than the direct contraction.
bool PaysByWinograd(const WinogradWays& found);

// `ways`: of WaysByWinograd, at least one. On a refusal the steps before it stay applied.
Outcome<std::monostate> ScheduleWinograd(Schedule& sch, BlockRv block, const std::vector<WinogradWay>& ways,
                                         const Target& target, Choices& choices);

}  // namespace tilewright
