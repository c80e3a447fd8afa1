// The parts of the table of primitives, by what they are about. Private to the table.
#pragma once

#include <vector>

#include "schedule/core/primitive.h"

namespace tilewright {

std::vector<Primitive> QueryPrimitives();
std::vector<Primitive> SamplingPrimitives();
std::vector<Primitive> LoopPrimitives();
std::vector<Primitive> MovementPrimitives();  // caches, compute locations
std::vector<Primitive> LayoutPrimitives();    // layouts of buffers and blocks, inlining
std::vector<Primitive> CachePrimitives();     // caches other than cache_read's and cache_write's
std::vector<Primitive> BufferPrimitives();    // types, strides and declared regions of buffers, padding
std::vector<Primitive> ReductionPrimitives();
std::vector<Primitive> BlockPrimitives();  // tiles, tensorization, annotations

}  // namespace tilewright
