// The parts of the table of primitives, by what they are about, and how their rows give results. Private to the table.
#pragma once

#include <type_traits>
#include <vector>

#include "schedule/core/primitive.h"

namespace tilewright {

std::vector<Primitive> QueryPrimitives();
std::vector<Primitive> SamplingPrimitives();
std::vector<Primitive> LoopPrimitives();      // nests
std::vector<Primitive> LoopKindPrimitives();  // how the iterations of one loop run
std::vector<Primitive> MovementPrimitives();  // caches, compute locations
std::vector<Primitive> PaddingPrimitives();   // contractions on padded operands, packing ahead of time
std::vector<Primitive> LayoutPrimitives();    // layouts of buffers and blocks
std::vector<Primitive> SumPrimitives();       // terms, factors and windows of sums
std::vector<Primitive> InlinePrimitives();    // copies in a block's layout, inlining
std::vector<Primitive> CachePrimitives();     // caches other than cache_read's and cache_write's
std::vector<Primitive> BufferPrimitives();    // types and strides of buffers
std::vector<Primitive> RegionPrimitives();    // declared regions of buffers, padding
std::vector<Primitive> ReductionPrimitives();
std::vector<Primitive> BlockPrimitives();  // tiles, tensorization, annotations

inline int IntArg(const Application& call, size_t i) { return static_cast<int>(call.Int(i)); }

// A row's result: the refusal of a primitive, or the function that it gives, with its block, loop or loops.
template <class Result>
Outcome<Applied> Changed(const Application& call, const Outcome<Result>& result) {
  if (!result.ok()) return result.refusal();
  if constexpr (std::is_same_v<Result, Function>) {
    return call.Changed(*result);
  } else {
    return call.Changed(result->function);
  }
}
template <class Result>
Outcome<Applied> WithBlock(const Application& call, const Outcome<Result>& result) {
  if (!result.ok()) return result.refusal();
  return call.WithBlock(result->function, result->block);
}
template <class Result>
Outcome<Applied> WithLoop(const Application& call, const Outcome<Result>& result) {
  if (!result.ok()) return result.refusal();
  return call.WithLoop(result->function, result->loop);
}
template <class Result>
Outcome<Applied> WithLoops(const Application& call, const Outcome<Result>& result) {
  if (!result.ok()) return result.refusal();
  return call.WithLoops(result->function, result->loops);
}

}  // namespace tilewright
