#include "autoschedule/movement/gpu/bind_threads.h"

#include <algorithm>

#include "autoschedule/program/block_loops.h"
#include "base/status_macros.h"
#include "target/costs.h"

namespace tilewright {
namespace {

// Blocks that a core should have, so that it is busy while one of them waits.
constexpr int64_t kBlocksOfCore = 2;

size_t IndexOf(const std::vector<int64_t>& values, int64_t value) {
  return static_cast<size_t>(std::ranges::find(values, value) - values.begin());
}

Outcome<Choices::Pick> TakeThreads(Schedule& sch, int64_t work, const std::string& name, const Target& target,
                                   Choices& choices) {
  const GpuTarget& gpu = target.gpu_part();
  std::vector<int64_t> threads;
  for (int64_t count = gpu.warp_size; count <= gpu.max_threads_per_block; count *= 2) threads.push_back(count);
  return choices.Take(sch, name + ".threads", threads, IndexOf(threads, PreferredThreads(work, target)));
}

}  // namespace

int64_t PreferredThreads(int64_t work, const Target& target) {
  int64_t threads = GpuCostsOf(target).block_threads;
  const int64_t warp = target.gpu_part().warp_size;
  while (threads > warp && work / threads < kBlocksOfCore * target.cores) threads /= 2;
  return threads;
}

Outcome<ThreadLoops> BindThreads(Schedule& sch, std::vector<LoopRv> loops, int64_t most_vector, const std::string& name,
                                 const Target& target, Choices& choices) {
  int64_t work = 1;
  for (const LoopRv& loop : loops) work *= LikelyExtent(sch, loop);
  std::vector<int64_t> widths = {1};
  const std::optional<int64_t> last = ExtentOf(sch, loops.back());
  while (last && *last % (widths.back() * 2) == 0 && widths.back() * 2 <= most_vector)
    widths.push_back(widths.back() * 2);
  size_t preferred = widths.size() - 1;
  while (preferred > 0 && work / widths[preferred] < target.cores * GpuCostsOf(target).busy_threads) --preferred;
  TW_ASSIGN_OR_RETURN(const Choices::Pick width, choices.Take(sch, name + ".vector", widths, preferred));
  ThreadLoops result;
  if (width.value > 1) {
    // Before loops are fused, so that a vector lies in one row for all to see.
    TW_ASSIGN_OR_RETURN(const std::vector<LoopRv> parts, sch.Split(loops.back(), {Value(), width}));
    loops.back() = parts[0];
    result.vector = parts[1];
  }
  TW_ASSIGN_OR_RETURN(const Choices::Pick threads, TakeThreads(sch, work / width.value, name, target, choices));
  const size_t fused = LoopsToFuse(sch, loops);
  TW_ASSIGN_OR_RETURN(const LoopRv first, FuseFirst(sch, loops, fused));
  const bool one = fused == loops.size();
  TW_ASSIGN_OR_RETURN(const std::vector<LoopRv> parts, sch.Split(one ? first : loops.back(), {Value(), threads}));
  if (!one) TW_RETURN_IF_ERROR(sch.Bind(first, "blockIdx.x"));
  TW_RETURN_IF_ERROR(sch.Bind(parts[0], one ? "blockIdx.x" : "blockIdx.y"));
  TW_RETURN_IF_ERROR(sch.Bind(parts[1], "threadIdx.x"));
  result.thread = parts[1];
  return result;
}

}  // namespace tilewright
