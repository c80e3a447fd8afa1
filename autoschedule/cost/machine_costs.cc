#include "autoschedule/cost/machine_costs.h"

#include <algorithm>
#include <cmath>

#include "base/math.h"
#include "target/costs.h"

namespace tilewright {
namespace {

// Bytes of all caches of a level.
double AllBytes(const MemoryLevel& level, const Target& target) {
  return static_cast<double>(level.bytes * target.cores / level.shared_by);
}

}  // namespace

double ForkJoinCycles(const Target& target) { return target.cpu_part().fork_join_seconds * target.clock_ghz * 1e9; }

double StageCycles(const Target& target) { return CpuCostsOf(target).stage_forks * ForkJoinCycles(target); }

bool IsWorthThreads(int64_t operations, const Target& target, bool combines) {
  const CpuCosts& costs = CpuCostsOf(target);
  return target.cores > 1 && costs.element_cycles * static_cast<double>(operations) >=
                                 (combines ? costs.combine_forks : 1) * ForkJoinCycles(target);
}

int64_t OperationsWorthThreads(const Target& target) {
  return static_cast<int64_t>(std::ceil(ForkJoinCycles(target) / CpuCostsOf(target).element_cycles));
}

double CyclesToCopy(double bytes, bool scattered, const Target& target) {
  const CpuCosts& costs = CpuCostsOf(target);
  return StageCycles(target) +
         bytes / (scattered ? costs.scatter_bytes_per_cycle : costs.copy_bytes_per_cycle) / target.cores;
}

double CyclesToStage(double bytes, const Target& target) {
  return bytes / CpuCostsOf(target).stage_bytes_per_cycle / target.cores;
}

double CyclesToMove(double bytes, double held, size_t nearest, const Target& target) {
  size_t level = std::min(nearest, target.levels.size() - 1);
  while (level + 1 < target.levels.size() && AllBytes(target.levels[level], target) < held) ++level;
  return bytes / target.levels[level].bytes_per_cycle / target.cores;
}

double CyclesFromMemory(double bytes, const Target& target) {
  return bytes <= AllBytes(target.Farthest(), target) ? 0 : bytes / (target.memory_gbs / target.clock_ghz);
}

bool PaysToFlipAhead(int64_t columns, int64_t windows, const Target& target) {
  const TileCosts& costs = TileCostsOf(target);
  return CeilDiv(columns, costs.flip_columns) * windows >= costs.flip_tiles;
}

}  // namespace tilewright
