// Loop nests at the top of a function become one where an iteration of the later one needs nothing that other
// iterations of the earlier one make, and both use a buffer: threads are started once, and what they share is near.
//
//   for i in T.parallel(16):                        for i in T.parallel(16):
//       Q[i * 6 + ...] = tiles of X times A    ->       Q[i * 6 + ...] = tiles of X times A
//   for i in T.parallel(16):                            K[i * 6 + ...] = tiles of X times B
//       K[i * 6 + ...] = tiles of X times B
//
// Products of one input, reductions of its columns, and whatever else has the same outermost loop after each block was
// scheduled by itself. NAME.nests is the choice, of the first block of the later nest: "apart" or "together", which is
// preferred where the projected time hardly grows.
//
// On a GPU a nest is a launch: two become one whose loops over blocks agree. Where the loops over threads agree, too,
// each thread does both.
//
// A nest grows to kMostJoinedBlocks blocks: by then a start of threads is little beside what they do. Long chains stay
// lists of short nests. The time to compile these grows as the list does, and nests that are alike share a function.
#pragma once

#include <cstddef>
#include <functional>
#include <string>

#include "autoschedule/program/choices.h"
#include "schedule/recorder/schedule.h"
#include "target/target.h"

namespace tilewright {

inline constexpr size_t kMostJoinedBlocks = 64;

// Whether a function may stay as a step has made it.
using Accepts = std::function<bool(const Function&)>;

// `accepts`, which may be null, is asked for each two nests that become one.
void JoinNests(Schedule& sch, const std::string& function, const Target& target, Choices& choices,
               const Accepts& accepts = nullptr);

}  // namespace tilewright
