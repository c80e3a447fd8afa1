// How long a value gets that takes others in, in operations that are written out.
//
// A value that its reader mentions twice is in the reader twice: of a chain of n blocks, each x -> max(x, y) with NaN
// passed on, which mentions x three times, one block with all of them has 3^n.
#pragma once

#include <cstdint>

#include "ir/stmt.h"

namespace tilewright {

// Operations of the block's value.
int64_t OperationsOf(const BlockNode& block);

// How often `consumer` mentions elements of what `producer` writes.
int64_t UsesOf(const BlockNode& producer, const BlockNode& consumer);

// Whether the consumer, with the producer's value in place of what it loads, is longer than what pays: what it saves of
// memory is small by then, and rewriting it is slow. `ahead_of_time`: the consumer runs once, before all calls.
bool GrowsTooLong(const BlockNode& producer, const BlockNode& consumer, bool ahead_of_time = false);

}  // namespace tilewright
