// Random small programs that are right: well formed, in bounds, free of races and uninitialized reads, with declared
// regions that hold, and exact.
//
//   for (uint64_t seed = 0; seed < 1000; ++seed) {
//     Function f = RandomProgram(seed);
//     ... transform it; run both on FillIntegers inputs; the results are equal bit for bit ...
//   }
//
// A program is a few stages, each computing a buffer from buffers before it: elementwise, stencils, transposes,
// broadcasts, padding, reductions. A seed gives the same program everywhere. Values stay so small (tracked through
// every operation, for inputs of magnitude up to 4) that all results are exact: no rewrite of a reduction's order
// changes them.
#pragma once

#include <cstdint>

#include "ir/function.h"

namespace tilewright {

struct RandomProgramOptions {
  int max_stages = 4;
  int max_extent = 7;  // of a dimension; small primes and unit extents included
  // Besides stages in te.create_prim_func's form: loops of every kind, split loops with predicates, nested blocks,
  // temporaries inside of loops, sub-buffers, vectors, `while`, `let`, threads that meet at barriers.
  bool all_constructs = false;
};

// Parameters are the inputs ("in0", ...), then the outputs (the last stage and some others). All elements are float32,
// or all int32.
Function RandomProgram(uint64_t seed, const RandomProgramOptions& options = {});

}  // namespace tilewright
