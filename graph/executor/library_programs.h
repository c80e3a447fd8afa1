// Programs of operators that `run` leaves to the host: a library has no host beside it.
//
//   LoweringTable lowerings;
//   AddLibraryPrograms(&lowerings);     // for OptimizeOptions::lowerings
//
// They take more steps than the host's functions, so that a model that runs here does not use them.
#pragma once

#include "graph/rewrite/lowering.h"

namespace tilewright::graph {

// host.determinant; host.top_k. An error of the lowering says what it does not do.
void AddLibraryPrograms(LoweringTable* lowerings);

}  // namespace tilewright::graph
