#include "autoschedule/movement/cpu/pitched_rows.h"

#include <algorithm>
#include <utility>

#include "autoschedule/movement/cpu/operand_stages.h"
#include "autoschedule/program/block_loops.h"
#include "autoschedule/program/fuse_consumers.h"
#include "ir/analysis.h"
#include "ir/arith/linear.h"

namespace tilewright {
namespace {

bool Uses(const BlockNode& block, const Range& range, int iterator) {
  const IterVar& iter = block.iter_vars[static_cast<size_t>(iterator)];
  return ExtentOf(iter) != 1 && UsesVar(range.min, iter.var);
}

// The dimension of a region along which the iterator, and no other dimension, moves by one.
std::optional<size_t> DimensionOf(const BlockNode& block, const BufferRegion& region, int iterator) {
  std::optional<size_t> found;
  const Var& var = block.iter_vars[static_cast<size_t>(iterator)].var;
  for (size_t d = 0; d < region.region.size(); ++d) {
    if (!UsesVar(region.region[d].min, var)) continue;
    arith::Analyzer analyzer;
    const auto form = arith::DetectLinear(region.region[d].min, {var}, &analyzer);
    if (found || !form || !IsInt(form->coefficients[0], 1)) return std::nullopt;
    found = d;
  }
  return found;
}

// Dimensions whose windows are not copied: those of rows, and that of the outer one of two that become one.
Value::List KeptDimensions(const BlockNode& block, const Contraction& contraction, size_t outer) {
  Value::List kept;
  const std::vector<Range>& region = ReadOf(block, contraction.row_operand).region;
  for (size_t d = 0; d < region.size(); ++d) {
    const auto uses = [&](int iterator) { return Uses(block, region[d], iterator); };
    const bool windows = std::ranges::any_of(contraction.rows, uses) && std::ranges::any_of(contraction.inner, uses);
    if (d == outer || windows) kept.emplace_back(static_cast<int64_t>(d));
  }
  return kept;
}

// The position of the iterator that is the index of a region along a dimension.
std::optional<int> IteratorAt(const BlockNode& block, const BufferRegion& region, size_t dim) {
  for (size_t i = 0; i < block.iter_vars.size(); ++i) {
    if (region.region[dim].min.same_as(block.iter_vars[i].var)) return static_cast<int>(i);
  }
  return std::nullopt;
}

}  // namespace

std::optional<PitchedRows> FuseRowsAtPitch(Schedule& sch, BlockRv block, const Contraction& contraction) {
  if (contraction.rows.size() < 2) return std::nullopt;
  const int outer = contraction.rows[contraction.rows.size() - 2], inner = contraction.rows.back();
  const auto now = [&]() -> const BlockNode& { return *RealizeOf(sch, block).block; };
  const auto dimensions = [&](const BufferRegion& region) -> std::optional<std::pair<size_t, size_t>> {
    const auto y = DimensionOf(now(), region, outer), x = DimensionOf(now(), region, inner);
    if (!y || !x || *y == *x) return std::nullopt;
    return std::pair(*y, *x);
  };
  const BufferRegion read = ReadOf(now(), contraction.row_operand);
  const auto dims = dimensions(read);
  if (!dims || ExtentOf(now().iter_vars[static_cast<size_t>(outer)]) == 1) return std::nullopt;
  PitchedRows result;
  bool along = false;
  for (int window : contraction.inner) {
    const bool moves_along = Uses(now(), read.region[dims->second], window);
    along |= moves_along;
    if (!moves_along && !Uses(now(), read.region[dims->first], window)) continue;
    // The fused iterator is in the place of the outer one.
    result.windows.push_back(window - (window > inner ? 1 : 0));
  }
  if (!along) return std::nullopt;

  const Outcome<BlockRv> copy =
      ReindexRead(sch, block, contraction.row_operand, KeptDimensions(now(), contraction, dims->first));
  const Outcome<BlockRv> write_back = StageOutput(sch, block, "global");
  if (!copy.ok() || !write_back.ok()) return std::nullopt;
  result.copy = *copy;
  result.write_back = *write_back;
  SplitIntoPieces(sch, result.write_back);
  FuseConsumers(sch, result.write_back);
  const Outcome<std::vector<BlockRv>> consumers = sch.GetConsumers(result.write_back);
  if (!IsTrue(RealizeOf(sch, result.write_back).predicate) || !consumers.ok() || !consumers->empty()) {
    return std::nullopt;
  }

  const Buffer rows = RealizeOf(sch, result.copy).block->writes[0].buffer, sums = now().writes[0].buffer;
  const auto from = dimensions(ReadOf(now(), rows)), to = dimensions(now().writes[0]);
  if (!from || !to || from->second != from->first + 1) return std::nullopt;
  const BlockNode& writer = *RealizeOf(sch, result.write_back).block;
  const auto h = IteratorAt(writer, ReadOf(writer, sums), to->first);
  const auto w = IteratorAt(writer, ReadOf(writer, sums), to->second);
  const int64_t pitch = AsInt(rows->shape[from->second]).value_or(0);
  if (!h || !w || pitch == 0 || !FuseCopiedDimensions(sch, result.copy, from->second) ||
      !sch.FuseWithGaps(result.write_back, *h, *w, static_cast<int>(pitch)).ok() ||
      !sch.FuseWithGaps(block, outer, inner, static_cast<int>(pitch), true).ok()) {
    return std::nullopt;
  }
  return result;
}

}  // namespace tilewright
