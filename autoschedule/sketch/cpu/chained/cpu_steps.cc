#include "autoschedule/sketch/cpu/chained/cpu_steps.h"

#include <algorithm>
#include <vector>

#include "autoschedule/movement/cpu/operand_stages.h"
#include "autoschedule/program/block_loops.h"
#include "base/status_macros.h"

namespace tilewright {
namespace {

// The greatest divisor of the extent that is at most `most`, where it is at least half of it. Else `most`: the last
// tile is not whole.
int64_t PreferredTile(int64_t extent, int64_t most) {
  if (extent <= most) return extent;
  int64_t best = 1;
  for (int64_t d = 2; d <= most; ++d) {
    if (extent % d == 0) best = d;
  }
  return 2 * best >= most ? best : most;
}

}  // namespace

Outcome<BlockRv> CpuChainedSteps::KeepSums(BlockRv product) { return StageOutput(sch_, product, sum_scope_); }

Outcome<int64_t> CpuChainedSteps::TileOf(const std::string& name, int64_t extent, int64_t most) {
  std::vector<int64_t> sizes = {PreferredTile(extent, most)};
  for (int64_t size : {8, 6, 4, 12, 2, 1}) {
    if (size <= std::min(most, extent) && size != sizes[0]) sizes.push_back(size);
  }
  TW_ASSIGN_OR_RETURN(const Choices::Pick pick, choices_.Take(sch_, name_ + name, sizes, 0));
  return pick.value;
}

int64_t CpuChainedSteps::MostBroadcast(int64_t vectors) const {
  return std::max<int64_t>(1, (target_.cpu_part().vector_registers - vectors - 1) / vectors);
}

Outcome<CpuChainedSteps::Done> CpuChainedSteps::RunInParallel() {
  TW_ASSIGN_OR_RETURN(const LoopRv fused, FuseFirst(sch_, outer_, LoopsToFuse(sch_, outer_)));
  return sch_.Parallel(fused);
}

}  // namespace tilewright
