#include "autoschedule/sketch/cpu/output_order.h"

#include <algorithm>

#include "autoschedule/cost/machine_costs.h"
#include "autoschedule/normalize/split_iterators.h"
#include "autoschedule/program/access_strides.h"
#include "autoschedule/program/attempt.h"
#include "autoschedule/program/block_loops.h"
#include "base/status_macros.h"

namespace tilewright {
namespace {

// Whether the block stores adjacent elements along one of its iterators, but not along the last one.
bool StoresAcross(const BlockNode& block) {
  const size_t last = block.iter_vars.size() - 1;
  if (block.iter_vars.empty() || ExtentOf(block.iter_vars[last]) == 1) return false;
  for (const Access& access : AccessesOf(block)) {
    if (!access.store) continue;
    if (!access.strides[last] || *access.strides[last] == 1) return false;
    for (size_t i = 0; i < last; ++i) {
      if (access.strides[i] == 1 && ExtentOf(block.iter_vars[i]) != 1) return true;
    }
  }
  return false;
}

// Fuses iterators of a copy that traverse all of its buffers as one.
void FuseFollowing(Schedule& sch, BlockRv copy) {
  for (size_t inner = RealizeOf(sch, copy).block->iter_vars.size(); inner-- > 1;) {
    const BlockNode& block = *RealizeOf(sch, copy).block;
    const std::optional<int64_t> extent = ExtentOf(block.iter_vars[inner]);
    if (!extent || !ExtentOf(block.iter_vars[inner - 1])) continue;
    const bool follow = std::ranges::all_of(AccessesOf(block), [&](const Access& access) {
      const std::optional<int64_t>&outer = access.strides[inner - 1], &stride = access.strides[inner];
      return outer && stride && *outer == *stride * *extent;
    });
    if (follow) Attempt(sch, [&](Schedule& attempt) { return FuseIterators(attempt, copy, inner, *extent); });
  }
}

// Whether storing elements one by one takes longer than a copy in a stage of its own. Each 32-bit element takes one
// instruction, which overlaps with the products of the next tile.
bool PaysToCopy(const BlockRealizeNode& likely, const Target& target) {
  if (likely.block->writes[0].buffer->dtype.bits() >= DataType::Int(32).bits()) return false;
  double elements = 1;
  for (const IterVar& iter : likely.block->iter_vars) elements *= static_cast<double>(ExtentOf(iter).value_or(1));
  const double bytes = elements * likely.block->writes[0].buffer->dtype.bytes();
  const bool scattered = bytes > static_cast<double>(target.Near().bytes * target.cores);
  return CyclesToStage(bytes, target) + CyclesToCopy(bytes, scattered, target) <
         elements / target.cpu_part().stores_per_cycle / target.cores;
}

}  // namespace

Outcome<std::optional<BlockRv>> ChooseOutputOrder(Schedule& sch, BlockRv write_back, const std::string& name,
                                                  const Target& target, Choices& choices) {
  if (!StoresAcross(*RealizeOf(sch, write_back).block)) return std::optional<BlockRv>();
  std::optional<BlockRv> copy;
  const auto reindex = [&](Schedule& attempt) -> Outcome<std::monostate> {
    TW_ASSIGN_OR_RETURN(copy, attempt.Reindex(write_back, Value::List{Value("write"), Value(0)}, Value::List{},
                                              /*skip_simplify=*/true));
    return std::monostate();
  };
  Schedule possible = sch;
  if (!reindex(possible).ok()) return std::optional<BlockRv>();
  const size_t preferred = PaysToCopy(*LikelyRealizeOf(sch, write_back), target) ? 1 : 0;
  TW_ASSIGN_OR_RETURN(const Choices::Pick pick,
                      choices.Take(sch, name + ".output", {0, 1}, preferred, {{"scattered"}, {"copied"}}));
  if (pick.value == 0) return std::optional<BlockRv>();
  TW_RETURN_IF_ERROR(reindex(sch));
  FuseFollowing(sch, *copy);
  return copy;
}

}  // namespace tilewright
