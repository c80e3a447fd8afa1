// What the threads of a warp ask of memory in one access: neighbours that read neighbours are served together.
#pragma once

#include "autoschedule/cost/program_facts.h"

namespace tilewright {

struct LaneRequests {
  double bytes = 0;    // different ones
  double sectors = 0;  // pieces of memory that are fetched as a whole
};

// The requests of the first warp of a block; `vector`: neighbours along the last dimension that a thread asks for at
// once. Threads are counted along threadIdx.x first.
LaneRequests RequestsOfWarp(const ProgramFacts& facts, const AccessFacts& access, int vector, int warp_size,
                            double sector_bytes);

}  // namespace tilewright
