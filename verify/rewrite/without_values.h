// A program that touches all that another one may touch, whatever memory holds.
//
//   if L[v] > 0:                         touches L[v], then A[v + 4], and stores Y[v]; whether the original
//       Y[v] = A[v + 4]                  stores Y[v] is not known, so that Y counts as written in part
//   Y[v] = X[P[v], 8]                    touches P[v], then X[p, 8] for all rows p, and stores Y[v]
//
// Conditions that say something about loops and sizes stay conditions; of those about values both cases run. Values are
// not computed, but for known contents (verify/rewrite/known_contents.h), which count as no values. Scalar
// parameters count as values. What functions outside do is taken to be what the block around them declares.
#pragma once

#include <cstdint>
#include <optional>
#include <unordered_set>

#include "ir/function.h"
#include "verify/rewrite/known_contents.h"

namespace tilewright {

// Whether where the function goes and what it touches depends on values in memory or on scalar parameters, or is
// decided outside of it.
bool DependsOnValues(const Function& function, const KnownContents& known);

struct WithoutValues {
  Function function;
  // Data of buffers of which some elements are written only where a value says so, or at places that values name.
  std::unordered_set<const VarNode*> written_in_part;
  // Blocks that were replaced by touches of what they declare, by id.
  std::unordered_set<uint32_t> as_declared;
};

// Nothing where values decide what a block or a thread is: its iterators, threads and barriers.
std::optional<WithoutValues> RemoveValues(const Function& function, const KnownContents& known);

}  // namespace tilewright
