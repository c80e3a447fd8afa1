// Counts the instructions of a program, innermost loop by innermost loop.
//
//   for k in range(512):                        a region: straight-line code per iteration of k
//       for i in T.unroll(4): A_reg[i] = A[i, k]                             4 narrow loads (broadcast)
//       for i, v in unrolled: for l in T.vectorized(16): C_reg[...] += ...   16 multiply-adds, 4 loads of B, which
//                                                                            does not vary with i
//
// Terms: a region is what runs straight through in one iteration of a loop that is neither unrolled nor vectorized,
// deeper such loops left out (they are regions of their own). What is computed twice from the same values counts once;
// what does not vary with the region's loop is moved out of it, as compilers do.
#pragma once

#include <vector>

#include "autoschedule/cost/program_facts.h"
#include "target/target.h"

namespace tilewright {

// Instructions of a CPU, per iteration.
struct InstructionCounts {
  double multiply_adds = 0, dots = 0, arithmetic = 0, divides = 0, transcendentals = 0, converts = 0, calls = 0;
  double loads = 0;         // of vectors
  double narrow_loads = 0;  // of scalars, and of elements that are broadcast
  double stores = 0;
  double tile_rows = 0;  // that tile registers multiply by a tile, one a cycle
  double gathered = 0;   // elements that are loaded or stored one by one for a vector

  double Total() const;
  InstructionCounts& operator+=(const InstructionCounts& other);
  InstructionCounts operator*(double factor) const;
};

struct Region {
  int loop = -1;
  double iterations = 1;  // of one core
  InstructionCounts counts;
  double chained = 0;            // multiply-adds of one iteration that wait for each other, and for the last iteration
  double register_vectors = 0;   // vector registers that hold buffers or operands at the same time
  bool has_inner_loops = false;  // its iterations run loops that are regions of their own
  bool vectorized = false;       // by a vectorized loop, or by the compiler
};

// `iterations`: of each loop on one core (CoreIterations). Regions in the order of their loops; those without
// instructions are left out.
std::vector<Region> RegionsOf(const ProgramFacts& facts, const Target& target, const std::vector<double>& iterations);

// How many iterations of each loop the busiest of `cores` cores runs. Outermost parallel loops are divided into
// contiguous parts.
std::vector<double> CoreIterations(const ProgramFacts& facts, int cores);

}  // namespace tilewright
