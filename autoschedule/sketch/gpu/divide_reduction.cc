#include "autoschedule/sketch/gpu/divide_reduction.h"

#include <algorithm>
#include <vector>

#include "autoschedule/program/block_loops.h"
#include "autoschedule/program/row_chain.h"
#include "base/math.h"
#include "ir/reducer.h"
#include "target/costs.h"

namespace tilewright {
namespace {

constexpr const char* kName = "divide_reduction";

// The largest number of equal parts of `extent` up to `most`, each a multiple of `unit`.
int64_t EqualParts(int64_t extent, int64_t most, int64_t unit) {
  for (int64_t parts = std::min(most, extent / unit); parts > 1; --parts) {
    if (extent % parts == 0 && extent / parts % unit == 0) return parts;
  }
  return 1;
}

}  // namespace

std::optional<BlockRv> DivideReduction(Schedule& sch, BlockRv block, const Target& target) {
  const Block node = RealizeOf(sch, block).block;
  if (!node->init || !std::holds_alternative<Reducer>(DetectReducer(*node))) return std::nullopt;
  const int lanes = LaneIterator(*node);
  int64_t results = 1, terms = 1, longest = 0;
  size_t divided = 0;
  for (size_t i = 0; i < node->iter_vars.size(); ++i) {
    const std::optional<int64_t> extent = ExtentOf(node->iter_vars[i]);
    if (!extent) return std::nullopt;
    const bool reduces = node->iter_vars[i].kind == IterKind::kReduce;
    (reduces ? terms : results) *= *extent;
    if (!reduces || *extent <= longest) continue;
    longest = *extent;
    divided = i;
  }
  const int64_t blocks = lanes >= 0 ? results : CeilDiv(results, target.gpu_part().warp_size);
  if (blocks >= target.cores / 2) return std::nullopt;
  const int64_t wanted =
      std::min(2 * target.cores / std::max<int64_t>(blocks, 1), terms / GpuCostsOf(target).divided_terms);
  // Lanes of a part are whole vectors of any type.
  const int64_t vector = target.gpu_part().max_access_bytes;
  const int64_t parts = EqualParts(longest, wanted, static_cast<int>(divided) == lanes ? vector : 1);
  if (parts < 2) return std::nullopt;
  Schedule attempt = sch;
  const Outcome<std::vector<LoopRv>> loops = LoopsByIterator(attempt, block, kName);
  if (!loops.ok()) return std::nullopt;
  const Outcome<std::vector<LoopRv>> split = attempt.Split((*loops)[divided], {Value(parts), Value()});
  if (!split.ok()) return std::nullopt;
  const Outcome<BlockRv> partial = attempt.Rfactor((*split)[0], 0);
  if (!partial.ok()) return std::nullopt;
  sch = std::move(attempt);
  return *partial;
}

}  // namespace tilewright
