#include "autoschedule/normalize/fuse_depth.h"

#include "autoschedule/normalize/split_iterators.h"
#include "autoschedule/program/access_strides.h"
#include "autoschedule/program/block_loops.h"
#include "autoschedule/program/contraction.h"
#include "base/math.h"
#include "target/costs.h"

namespace tilewright {

std::optional<FusibleDepth> FindFusibleDepth(const BlockRealizeNode& realize, int group, const Target& target) {
  const auto contraction = MatchContraction(realize);
  if (!contraction.ok()) return std::nullopt;
  const BlockNode& block = *realize.block;
  const Access* rows = nullptr;
  const std::vector<Access> accesses = AccessesOf(block);
  for (const Access& access : accesses) {
    if (!access.store && access.buffer.same_as(contraction->row_operand)) rows = &access;
  }
  if (rows == nullptr) return std::nullopt;
  std::optional<FusibleDepth> found;
  for (int a : contraction->inner) {
    const auto inner = static_cast<size_t>(a);
    const std::optional<int64_t> extent = ExtentOf(block.iter_vars[inner]);
    if (!extent || rows->strides[inner] != 1) continue;
    for (int b : contraction->inner) {
      const auto outer = static_cast<size_t>(b);
      const std::optional<int64_t> times = ExtentOf(block.iter_vars[outer]);
      if (outer + 1 != inner || !times || rows->strides[outer] != *extent) continue;
      const auto apart = static_cast<double>(*times * RoundUp(*extent, group));
      const auto together = static_cast<double>(RoundUp(*times * *extent, group));
      if (together <= (1 - CpuCostsOf(target).fused_depth) * apart) return FusibleDepth{inner, *extent, true};
      if (together < apart && !found) found = FusibleDepth{inner, *extent, false};
    }
  }
  return found;
}

bool FuseDepth(Schedule& sch, BlockRv block, const FusibleDepth& depth) {
  return FuseIterators(sch, block, depth.inner, depth.inner_extent);
}

}  // namespace tilewright
