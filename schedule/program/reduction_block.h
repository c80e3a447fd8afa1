// Taking a reduction block apart: its init by itself, and what is left without it.
#pragma once

#include <cstdint>
#include <vector>

#include "ir/stmt.h"
#include "schedule/core/refusal.h"

namespace tilewright {

// The read regions of the block as an update: what it writes, since it accumulates, then what it reads. A block with an
// init leaves the former out.
std::vector<BufferRegion> ReadsOfUpdate(const BlockNode& block);

struct InitNest {
  Stmt nest;
  uint32_t block = 0;  // its id
};
struct InitNames {
  const char* loop_suffix = "";
  const char* iter_suffix = "";
  bool keeps_annotations = true;
};
// A block "<name>_init" that runs the init of `realize`'s block over its spatial iterators, inside of copies of those
// `loops` (around the realize, outermost first) that these need. Loops, block and iterators are fresh.
//
//   for i, k: block C with init        ->    for i_init: block C_init
//
// `around`: the loops outside of those. Refused, in the name of `primitive`, when a condition of the predicate is on
// loops that are left out and on others too, and does not hold at the start of those that are left out: the init would
// run where the block never does. Refused as well when one of `loops` runs instances of the block again: each time it
// adds the same, and the init would run once; and when one of them runs over the threads of a block, which combine
// their results only in a block with an init.
Outcome<InitNest> MakeInitNest(const char* primitive, const BlockRealizeNode& realize,
                               const std::vector<const ForNode*>& around, const std::vector<const ForNode*>& loops,
                               const InitNames& names, uint32_t* next_id);

}  // namespace tilewright
