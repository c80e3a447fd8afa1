#include "autoschedule/sketch/gpu/column_threads_rule.h"

#include <algorithm>
#include <string>
#include <vector>

#include "autoschedule/movement/gpu/bind_threads.h"
#include "autoschedule/program/block_loops.h"
#include "autoschedule/program/fuse_consumers.h"
#include "autoschedule/sketch/gpu/plain_gpu_rule.h"
#include "base/status_macros.h"
#include "target/costs.h"

namespace tilewright {
namespace {

using Done = std::monostate;
constexpr const char* kName = "column_threads_rule";

Outcome<Choices::Pick> TakeThreads(Schedule& sch, const std::string& name, int64_t results, int64_t terms,
                                   int64_t columns, const Target& target, Choices& choices) {
  const GpuTarget& gpu = target.gpu_part();
  const int64_t most = std::min<int64_t>(gpu.warp_size, gpu.max_threads_per_block / columns);
  std::vector<int64_t> counts = {1};
  size_t preferred = 0;
  while (counts.back() * 2 <= std::min(most, terms)) {
    const int64_t idle = target.cores * gpu.max_threads_per_core / 2 - results * counts.back();
    counts.push_back(counts.back() * 2);
    if (idle > 0 && counts.back() * GpuCostsOf(target).least_terms <= terms) preferred = counts.size() - 1;
  }
  return choices.Take(sch, name + ".column_threads", counts, preferred);
}

}  // namespace

Outcome<Done> ScheduleColumnThreads(Schedule& sch, BlockRv block, const Target& target, Choices& choices) {
  const Block node = RealizeOf(sch, block).block;
  InlineCheapProducers(sch, block);
  TW_ASSIGN_OR_RETURN(const BlockRv write_back, SumInLocalMemory(sch, block));
  FuseConsumers(sch, write_back);
  TW_ASSIGN_OR_RETURN(const std::vector<LoopRv> columns, LoopsByIterator(sch, write_back, kName));
  int64_t results = 1, terms = 1;
  for (const LoopRv& loop : columns) results *= LikelyExtent(sch, loop);
  TW_ASSIGN_OR_RETURN(const ThreadLoops threads, BindThreads(sch, columns, 1, node->name, target, choices));
  TW_RETURN_IF_ERROR(sch.ComputeAt(block, threads.thread));
  TW_ASSIGN_OR_RETURN(const std::vector<LoopRv> inside, LoopsInside(sch, block, threads.thread));
  for (const LoopRv& loop : inside) terms *= LikelyExtent(sch, loop);
  const size_t fused = LoopsToFuse(sch, inside);
  TW_ASSIGN_OR_RETURN(const LoopRv first, FuseFirst(sch, inside, fused));
  TW_ASSIGN_OR_RETURN(
      const Choices::Pick shared,
      TakeThreads(sch, node->name, results, terms, ExtentOf(sch, threads.thread).value_or(1), target, choices));
  if (shared.value == 1) return Done();
  TW_ASSIGN_OR_RETURN(const std::vector<LoopRv> parts, sch.Split(first, {Value(), shared}));
  return sch.Bind(parts[1], "threadIdx.y");
}

}  // namespace tilewright
