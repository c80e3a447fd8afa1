// Reorder: loops of a nest change places.
//
//   for i, j, k in T.grid(4, 8, 16):             for k, j, i in T.grid(16, 8, 4):
//       with T.block("B"): ...             ->        with T.block("B"): ...
//
// with the order (k, i): the places of the loops named are filled in that order, loops between them stay.
//
// Conditions: the loops lie on one path, and from the outermost to the innermost each holds nothing but the next; no
// loop's range depends on a loop that would end up inside of it; every block below has only spatial or reduce
// iterators, and affine bindings, unless it reduces nothing and only these loops see what it writes; where one block
// below uses what another wrote, it uses what was written in the same iteration; the init of a block runs first in the
// new order too: loops that feed spatial and reduce iterators of it alike keep their order among themselves, and so do
// those of a reduce iterator that does not begin with its least value; instances of a block that depend on each other
// keep their order: those that read what others wrote, and those of a reduction whose updates do not commute
// (verify/structure/instance_order.h).
//
// Ids: all survive.
#pragma once

#include <cstdint>
#include <vector>

#include "ir/function.h"
#include "schedule/core/refusal.h"

namespace tilewright {

struct ReorderResult {
  Function function;
};

// `loops`: the new order, outermost first; each once.
Outcome<ReorderResult> Reorder(const Function& function, const std::vector<uint32_t>& loops);

}  // namespace tilewright
