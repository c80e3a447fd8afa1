// How many bytes a program moves between the levels of the memory hierarchy, from footprints and reuse.
//
//   for i in range(128):             B (128 KiB) does not fit into L1 next to what else one i touches: it comes from L2
//       for k in range(512):         for every i, 128 times. It fits into L2: from L3 once.
//           ... A[i, k] * B[k, 0:64]
//
// Terms: the footprint of a loop is the set of cache lines touched while it runs once; the working set of a loop is the
// footprint of one of its iterations, over all buffers. Where the working set fits into a cache, what one iteration
// leaves there serves the next; where it does not, every iteration starts anew.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "autoschedule/cost/program_facts.h"
#include "target/target.h"

namespace tilewright {

// Between a level and the next cheaper one: bytes that this level delivers (and takes back).
struct LevelTraffic {
  std::string from;  // "L2", "L3", "memory"
  double read_bytes = 0;
  double written_bytes = 0;
  // Lines among those written that do not follow each other: few at a time from here and there. Prefetchers and
  // tables of pages cannot keep up with these.
  double scattered_lines = 0;
};

struct MemoryTraffic {
  std::vector<LevelTraffic> levels;  // L2 first, memory last
};

// The traffic of one of `cores` cores, which runs iterations[l] of loop l: its part of the parallel ones
// (CoreIterations). Buffers in registers do not count. Caches are warm: the program ran before, on the same data, and
// since then others touched `beside` bytes.
MemoryTraffic TrafficOf(const ProgramFacts& facts, const Target& target, const std::vector<double>& iterations,
                        int cores, double beside = 0);

// Bytes that a core touches while the program runs once.
double FootprintBytes(const ProgramFacts& facts, const Target& target, const std::vector<double>& iterations);

// Bytes of the cache lines that an access touches while the loops from depth `outermost` inwards run once.
double FootprintBytes(const ProgramFacts& facts, const AccessFacts& access, int outermost, int line_bytes,
                      const std::vector<double>& iterations);

}  // namespace tilewright
