// How many loop nests stand at the top of a function.
//
//   for i in T.parallel(m): ...        two nests: on a CPU two loops that are entered, on a GPU two launches
//   for i in T.parallel(m): ...
//
// Blocks and temporaries around nests do not count; a statement without a loop is a nest of its own.
#pragma once

#include "ir/function.h"

namespace tilewright {

int CountTopNests(const Function& function);

}  // namespace tilewright
