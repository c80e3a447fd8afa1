// The parts of the table of primitives, by what they are about. Private to the table.
#pragma once

#include <vector>

#include "schedule/primitive.h"

namespace tilewright {

std::vector<Primitive> QueryPrimitives();
std::vector<Primitive> SamplingPrimitives();
std::vector<Primitive> LoopPrimitives();
std::vector<Primitive> MovementPrimitives();  // caches, layouts, compute locations
std::vector<Primitive> BlockPrimitives();     // reductions, tiles, tensorization, annotations

}  // namespace tilewright
