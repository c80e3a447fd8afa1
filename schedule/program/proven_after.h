// What verify asks of one block, where the form that a primitive gives it does not show it yet.
//
//   for i in range(8):                                 compute_at below i_0 asks for all instances that write into the
//       with T.block("B"): B[v % 4, v] = A[v]          box B[0:4, i_0 * 4:i_0 * 4 + 4] that C reads: more than C needs,
//   for i_0, i_1 in T.grid(2, 4): block C              of which some may read elements of A that are not there yet
//
// A fault that the program had before is nobody's refusal.
#pragma once

#include <cstdint>
#include <optional>

#include "ir/function.h"
#include "verify/structure/diagnostic.h"

namespace tilewright {

// The first element that the block may read in `after` though nothing wrote it, where that was not so before: null
// where all that it reads is written. `before` may not have the block.
std::optional<Diagnostic> FindUnwrittenRead(const Function& before, const Function& after, uint32_t block);

// Whether instances of the block that differ in a spatial iterator may write the same element.
std::optional<Diagnostic> FindInstancesThatMeet(const Function& function, uint32_t block);

}  // namespace tilewright
