#include "schedule/blocks/annotate_buffer_access.h"

#include <algorithm>
#include <utility>
#include <vector>

#include "base/status_macros.h"
#include "ir/annotations.h"
#include "ir/arith/analyzer.h"
#include "ir/regions.h"
#include "schedule/blocks/all_values.h"
#include "schedule/program/common_refusals.h"
#include "schedule/program/loop_tree.h"
#include "schedule/program/simplify_block.h"

namespace tilewright {
namespace {

constexpr const char* kName = "annotate_buffer_access";

bool IsWhole(const Range& range, const Expr& extent) {
  return IsInt(range.min, 0) && arith::Analyzer().CanProveEqual(range.extent, extent);
}

// Whether one range lies in another for all values of the block's iterators.
bool LiesInside(const Range& inner, const Range& outer, const BlockNode& block, arith::Analyzer* analyzer) {
  const Expr end = inner.min + inner.extent, outer_end = outer.min + outer.extent;
  if (analyzer->CanProveLessEqual(outer.min, inner.min) && analyzer->CanProveLessEqual(end, outer_end)) return true;
  return HoldsForAllValues(And(outer.min <= inner.min, end <= outer_end), block.iter_vars);
}

// An access of the body whose place is known, and that the region does not stand for.
std::optional<Refusal> WhyWrong(const BlockNode& block, const BufferRegion& region, bool read) {
  arith::Analyzer analyzer;
  for (const IterVar& iter : block.iter_vars) analyzer.Bind(iter.var, iter.domain);
  const AccessRegions accessed = DetectRegions(block);
  for (const BufferRegion& access : read ? accessed.reads : accessed.writes) {
    if (!access.buffer.same_as(region.buffer)) continue;
    for (size_t d = 0; d < region.region.size(); ++d) {
      const Range &inner = access.region[d], &outer = region.region[d];
      if (IsWhole(inner, region.buffer->shape[d])) continue;  // not known
      const bool inside = LiesInside(inner, outer, block, &analyzer);
      const bool whole = read || LiesInside(outer, inner, block, &analyzer);
      if (inside && whole) continue;
      return Refusal{
          kName,
          inside
              ? "{block0} writes only [{expr0}, {expr1}) in dimension {num0} of {text0}, not all of [{expr2}, {expr3})"
              : "{block0} accesses [{expr0}, {expr1}) in dimension {num0} of {text0}, not inside of [{expr2}, {expr3})",
          {block.id},
          {inner.min, analyzer.Simplify(inner.min + inner.extent), outer.min,
           analyzer.Simplify(outer.min + outer.extent)},
          {region.buffer->name},
          {static_cast<int64_t>(d)}};
    }
  }
  return std::nullopt;
}

// The block's annotation that regions were given, with one more number where it is not there yet.
Annotation WithNumber(const BlockNode& block, const char* key, int index) {
  Annotation::List numbers;
  if (const auto old = block.annotations.find(key); old != block.annotations.end()) {
    if (const auto* list = std::get_if<Annotation::List>(&old->second.value)) numbers = *list;
  }
  const bool known = std::any_of(numbers.begin(), numbers.end(), [&](const Annotation& entry) {
    const auto* number = std::get_if<Expr>(&entry.value);
    return number != nullptr && IsInt(*number, index);
  });
  if (!known) numbers.push_back(MakeAnnotation(Expr(index)));
  return {std::move(numbers)};
}

}  // namespace

Outcome<Function> AnnotateBufferAccess(const Function& function, uint32_t block_id, BufferSelector::Access access,
                                       int index, const IndexMap& ranges) {
  TW_ASSIGN_OR_RETURN(Path path, PathToInnerBlock(kName, function, block_id));
  const auto* realize = cast<BlockRealizeNode>(path.back());
  const bool read = access == BufferSelector::Access::kRead;
  TW_ASSIGN_OR_RETURN(BufferRegion region,
                      read ? ReadRegion(kName, *realize->block, index) : WriteRegion(kName, *realize->block, index));
  BlockNode::Fields block = realize->block->fields();
  const size_t rank = region.buffer->ndim(), results = ranges->outputs.size();
  if (ranges->inputs.size() != block.iter_vars.size()) {
    return Refusal{kName, "the map takes {num0} indices, {block0} has {num1} iterators", {block_id}, {},
                   {},    {std::ssize(ranges->inputs), std::ssize(block.iter_vars)}};
  }
  if (results != 2 * rank && results != rank) {
    return Refusal{kName,
                   "the map does not give a range for each of the {num0} dimensions of {text0}",
                   {block_id},
                   {},
                   {region.buffer->name},
                   {static_cast<int64_t>(rank)}};
  }
  std::vector<Expr> iters;
  for (const IterVar& iter : block.iter_vars) iters.push_back(iter.var);
  const std::vector<Expr> ends = WithTypesOf(ranges, block.iter_vars).Apply(iters);
  BufferRegion given{region.buffer, {}};
  for (size_t d = 0; d < rank; ++d) {
    const Expr min = arith::Simplify(results == rank ? ends[d] : ends[2 * d]);
    if (results == rank) {
      given.region.push_back({min, Const(min.dtype(), 1)});
      continue;
    }
    // Both in the wider of their types: 0 to n of 64 bits.
    const Expr extent = arith::Simplify(ends[2 * d + 1] - ends[2 * d]);
    const DataType type = min.dtype().bits() >= extent.dtype().bits() ? min.dtype() : extent.dtype();
    given.region.push_back({CastTo(type, min), CastTo(type, extent)});
  }
  if (auto refusal = WhyWrong(*realize->block, given, read)) return *refusal;
  const char* key = read ? kExplicitReads : kExplicitWrites;
  (read ? block.reads : block.writes)[index] = std::move(given);
  block.annotations[key] = WithNumber(*realize->block, key, index);
  return ReplaceIn(function, realize, Realize(realize->bindings, realize->predicate, Block(std::move(block))),
                   function->next_id);
}

}  // namespace tilewright
