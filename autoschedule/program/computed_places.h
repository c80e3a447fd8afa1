// Which iterators decide the places that a block computes: indices that are not linear in iterators but made of floats,
// such as those of samples between the elements of an image.
//
//   y[c, i, j] = x[c, int(p[i, j, 1]), int(p[i, j, 0])] * (p[i, j, 1] - floor(p[i, j, 1])) + ...
//
// Places of an element are the same for each c: with the loop over c inside of those over i and j, they are computed
// once for all of them.
//
// Reductions may have places as results too, in which they walk from one to the next.
#pragma once

#include <cstdint>
#include <vector>

#include "ir/stmt.h"

namespace tilewright {

// For each iterator of the block whether the places depend on it. `along`: only those that depend on this iterator,
// which are computed lane by lane where it is a vector axis; -1: all of them. Empty where no place is computed.
std::vector<bool> IteratorsOfPlaces(const BlockNode& block, int along = -1);

// The innermost iterator with more than one value, probably (`likely`), that the places of lanes along the iterator
// `along` do not depend on, where they are divided by a symbolic size. -1: there is none.
//
//   y[i, j] = x[i, j % n]
//
// With the loop over i inside of that over vectors along j, what is divided lane by lane is divided once for all i.
int IteratorOfSameLanes(const BlockNode& block, int along, const std::vector<int64_t>& likely);

// Whether a reduction loads at places that its result so far decides, so that each step waits for the one before:
//
//   node[i] = next[node[i]]
bool WalksByResult(const BlockNode& block);

}  // namespace tilewright
