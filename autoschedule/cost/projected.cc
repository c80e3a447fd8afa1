#include "autoschedule/cost/projected.h"

#include <algorithm>
#include <cmath>
#include <map>

#include "autoschedule/cost/gpu/kernel_time.h"
#include "autoschedule/cost/memory_traffic.h"
#include "target/costs.h"

namespace tilewright {
namespace {

// Cycles of one iteration, by the unit that is busy.
struct Cycles {
  double arithmetic = 0, loads = 0, stores = 0, issue = 0, latency = 0;

  double Throughput() const { return std::max({arithmetic, loads, stores, issue}); }
};

Cycles CyclesOf(const Region& region, const Target& target) {
  const InstructionCounts& n = region.counts;
  const CpuCosts& costs = CpuCostsOf(target);
  // What does not fit into registers is stored and loaded again.
  const double spilled = std::max(0.0, region.register_vectors - target.cpu_part().vector_registers);
  // Units that execute a wide operation in two halves take two narrow ones.
  const double units = std::max(target.FmaPerCycle(), region.vectorized ? 1 : 2);
  Cycles cycles;
  cycles.arithmetic = (n.multiply_adds + n.dots + n.arithmetic / 2 + n.converts + n.divides * costs.divide_cycles +
                       n.transcendentals * costs.function_cycles) /
                          units +
                      n.tile_rows + n.calls * costs.call_cycles;
  cycles.loads =
      (n.loads + spilled) /
          std::max(target.cpu_part().loads_per_cycle, region.vectorized ? 0 : costs.narrow_loads_per_cycle) +
      (n.narrow_loads + n.gathered) / std::max(target.cpu_part().loads_per_cycle, costs.narrow_loads_per_cycle);
  cycles.stores = (n.stores + spilled) / std::max(target.cpu_part().stores_per_cycle, region.vectorized ? 0 : 1.0);
  cycles.issue = (n.Total() + n.gathered + 2 * spilled + 2) / target.cpu_part().issue_per_cycle;
  cycles.latency = region.chained * target.FmaLatency();
  return cycles;
}

double EntryCycles(const Region& region, const Target& target) {
  if (region.chained == 0) return CpuCostsOf(target).loop_entry_cycles;
  const double sums = (region.counts.multiply_adds + region.counts.dots) / region.chained;
  return sums / target.cpu_part().stores_per_cycle * sums / CpuCostsOf(target).serialized_sums;
}

void ProjectCompute(const Target& target, Projection* p, std::map<std::string, double>* seconds_by_limiter) {
  const double cycle = 1e-9 / target.clock_ghz;
  for (const Region& region : p->regions) {
    const Cycles c = CyclesOf(region, target);
    const double time = std::max(c.Throughput(), c.latency) * region.iterations * cycle;
    const char* limiter = c.latency > c.Throughput()       ? "latency"
                          : c.Throughput() == c.arithmetic ? "arithmetic"
                          : c.Throughput() == c.loads      ? "loads"
                          : c.Throughput() == c.stores     ? "stores"
                                                           : "issue";
    (*seconds_by_limiter)[limiter] += time;
    p->throughput_seconds += c.Throughput() * region.iterations * cycle;
    p->latency_seconds += c.latency * region.iterations * cycle;
    p->compute_seconds += time;
    p->instructions += region.counts * region.iterations;
    p->register_vectors = std::max(p->register_vectors, region.register_vectors);
    if (region.loop >= 0 && !region.has_inner_loops) {
      const double entries = region.iterations / std::max(1.0, p->iterations[static_cast<size_t>(region.loop)]);
      p->compute_seconds += entries * EntryCycles(region, target) * cycle;
    }
  }
}

void ProjectParallel(const ProgramFacts& facts, const Target& target, Projection* p) {
  double all = 0, busiest = 0;
  for (size_t l = 0; l < facts.loops.size(); ++l) {
    const LoopFacts& loop = facts.loops[l];
    const bool first_piece = loop.parent < 0 || facts.loops[static_cast<size_t>(loop.parent)].loop != loop.loop;
    if (loop.kind != ForKind::kParallel || !first_piece) continue;
    double count = 1, of_core = 1;
    for (size_t piece = l; piece < facts.loops.size() && facts.loops[piece].loop == loop.loop; ++piece) {
      count *= static_cast<double>(facts.loops[piece].extent);
      of_core *= p->iterations[piece];
    }
    p->forks += facts.Iterations(loop.parent);
    p->cores_used = std::max(p->cores_used, static_cast<int>(std::min<double>(target.cores, count)));
    all += count;
    busiest += of_core;
  }
  if (busiest > 0) p->balance = all / target.cores / busiest;
  p->fork_seconds = p->forks * target.cpu_part().fork_join_seconds;
}

void ProjectTraffic(const ProgramFacts& facts, const Target& target, double beside, Projection* p) {
  const MemoryTraffic traffic = TrafficOf(facts, target, p->iterations, p->cores_used, beside);
  for (size_t i = 0; i < traffic.levels.size(); ++i) {
    const LevelTraffic& level = traffic.levels[i];
    const double bytes = level.read_bytes + level.written_bytes;
    const bool memory = i + 1 == traffic.levels.size();
    const double per_second = memory ? target.memory_gbs * 1e9 / p->cores_used
                                     : target.levels[i + 1].bytes_per_cycle * target.clock_ghz * 1e9;
    p->levels.push_back({level.from, level.read_bytes, level.written_bytes, per_second > 0 ? bytes / per_second : 0});
    if (i == 1 && !memory)
      p->scattered_seconds = level.scattered_lines * CpuCostsOf(target).scattered_line_cycles * 1e-9 / target.clock_ghz;
  }
}

}  // namespace

Projection ProjectBeside(const ProgramFacts& facts, const Target& target, double beside) {
  if (target.is_gpu()) return ProjectKernels(facts, target);
  Projection p;
  p.iterations = CoreIterations(facts, target.cores);
  p.regions = RegionsOf(facts, target, p.iterations);
  std::map<std::string, double> by_limiter;
  ProjectCompute(target, &p, &by_limiter);
  ProjectParallel(facts, target, &p);
  ProjectTraffic(facts, target, beside, &p);

  const auto compute = std::max_element(by_limiter.begin(), by_limiter.end(),
                                        [](const auto& a, const auto& b) { return a.second < b.second; });
  if (compute != by_limiter.end()) p.limiter = compute->first;
  double slowest = 0, traffic = 0;
  for (const Projection::Level& level : p.levels) {
    traffic += level.seconds;
    if (level.seconds > std::max(slowest, p.compute_seconds)) p.limiter = level.from;
    slowest = std::max(slowest, level.seconds);
  }
  const CpuCosts& costs = CpuCostsOf(target);
  traffic = slowest + costs.farther_levels * (traffic - slowest);
  const double order = costs.overlap_order;
  p.seconds = std::pow(std::pow(p.compute_seconds, order) + std::pow(traffic, order), 1 / order) + p.scattered_seconds +
              p.fork_seconds;
  if (p.fork_seconds > std::max(p.compute_seconds, traffic)) p.limiter = "threads";
  return p;
}

Projection Project(const ProgramFacts& facts, const Target& target) { return ProjectBeside(facts, target, 0); }

double FootprintBytes(const ProgramFacts& facts, const Target& target) {
  return FootprintBytes(facts, target, CoreIterations(facts, target.cores));
}

Projection Project(const Function& function, const Target& target) { return Project(GatherFacts(function), target); }

std::vector<double> ProjectedModel::Predict(std::span<const Function> scheduled) const {
  std::vector<double> seconds;
  seconds.reserve(scheduled.size());
  for (const Function& function : scheduled) seconds.push_back(Project(function, target_).seconds);
  return seconds;
}

}  // namespace tilewright
