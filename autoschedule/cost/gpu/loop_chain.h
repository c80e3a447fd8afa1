// The loops of a kernel around a place: what one thread runs one after the other, and how many threads run it.
//
//   for bx in blocks:  for k in range(8):  for tx in threads(128):  for v in vectors(4):     serial: k, v; threads: 128
#pragma once

#include <vector>

#include "autoschedule/cost/program_facts.h"

namespace tilewright {

bool IsLoopOverThreads(const LoopFacts& loop);
bool IsLoopOverBlocks(const LoopFacts& loop);  // or clusters

struct LoopChain {
  std::vector<int> serial;  // in the kernel, outermost first; vectors and unrolled loops too
  double threads = 1;       // of a block that execute the place
  int first_inside = 0;     // depth of the first loop that is not a loop over blocks
  int pipelined = -1;       // the loop around whose iterations overlap, by copies that are asynchronous
  double stages_ahead = 1;  // by which copies of the pipeline run ahead
  // The first piece of the innermost loop over threads, and how many there are: those of an instruction.
  int innermost_thread = -1;
  double innermost_threads = 1;
};

// The loops around `place`, the number of a loop, or -1. `extents`: of all loops.
LoopChain ChainOf(const ProgramFacts& facts, const std::vector<double>& extents, int place);

}  // namespace tilewright
