#include "autoschedule/cost/machine_costs.h"

#include <algorithm>

#include "base/math.h"

namespace tilewright {
namespace {

// Parallel loops without work in the time that a stage of its own costs; in which results are combined.
constexpr double kForksOfStage = 5, kForksToCombine = 4;
// An operation on an element, what it waits for included.
constexpr double kCyclesOfOperation = 1.5;
// Bytes that a core copies in a cycle to where others may read, near and scattered; bytes of sums that it writes out.
constexpr double kCopiedPerCycle = 8, kScatteredPerCycle = 2, kStagedPerCycle = 16;

// Bytes of all caches of a level.
double AllBytes(const MemoryLevel& level, const Target& target) {
  return static_cast<double>(level.bytes * target.cores / level.shared_by);
}

}  // namespace

double ForkJoinCycles(const Target& target) { return target.cpu_part().fork_join_seconds * target.clock_ghz * 1e9; }

double StageCycles(const Target& target) { return kForksOfStage * ForkJoinCycles(target); }

bool IsWorthThreads(int64_t operations, const Target& target, bool combines) {
  return target.cores > 1 && kCyclesOfOperation * static_cast<double>(operations) >=
                                 (combines ? kForksToCombine : 1) * ForkJoinCycles(target);
}

double CyclesToCopy(double bytes, bool scattered, const Target& target) {
  return StageCycles(target) + bytes / (scattered ? kScatteredPerCycle : kCopiedPerCycle) / target.cores;
}

double CyclesToStage(double bytes, const Target& target) { return bytes / kStagedPerCycle / target.cores; }

double CyclesToMove(double bytes, double held, size_t nearest, const Target& target) {
  size_t level = std::min(nearest, target.levels.size() - 1);
  while (level + 1 < target.levels.size() && AllBytes(target.levels[level], target) < held) ++level;
  return bytes / target.levels[level].bytes_per_cycle / target.cores;
}

double CyclesFromMemory(double bytes, const Target& target) {
  return bytes <= AllBytes(target.Farthest(), target) ? 0 : bytes / (target.memory_gbs / target.clock_ghz);
}

bool PaysToFlipAhead(int64_t columns, int64_t windows) {
  // Columns of a tile; writing and reading a flipped copy takes as long as flipping it in so many tiles.
  constexpr int64_t kTypicalColumns = 12, kTilesOfACopy = 4;
  return CeilDiv(columns, kTypicalColumns) * windows >= kTilesOfACopy;
}

}  // namespace tilewright
