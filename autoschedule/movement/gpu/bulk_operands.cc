#include "autoschedule/movement/gpu/bulk_operands.h"

#include <algorithm>
#include <optional>

#include "codegen/lower/gpu/images/image_rows.h"
#include "ir/analysis.h"
#include "ir/arith/analyzer.h"
#include "ir/substitute.h"

namespace tilewright {
namespace {

// What the block copies of one step of K, or of one tile: an iterator is what was passed, times an extent, and `inside`
// of that.
class TileCopy {
 public:
  explicit TileCopy(const BlockNode& block) {
    for (const IterVar& iter : block.iter_vars) analyzer_.Bind(iter.var, iter.domain);
  }
  Var Divide(const IterVar& iter, int64_t by) {
    const DataType type = iter.var.dtype();
    const Var outer(iter.var.name(), type), inner(iter.var.name(), type);
    analyzer_.Bind(outer, Range{Const(type, 0),
                                arith::Simplify(FloorDiv(iter.domain.extent + Const(type, by - 1), Const(type, by)))});
    analyzer_.Bind(inner, Range{Const(type, 0), Const(type, by)});
    divided_[iter.var] = outer * Const(type, by) + inner;
    return inner;
  }
  // What is loaded, as simple as it is where something is.
  Expr Loaded(const CopiedElement& element) {
    arith::Analyzer::Scope scope(&analyzer_);
    analyzer_.Assume(Inside(element));
    std::vector<Expr> indices;
    for (const Expr& index : element.load->indices) indices.push_back(analyzer_.Simplify(Substitute(index, divided_)));
    return element.load->buffer.Load(std::move(indices));
  }
  Expr Inside(const CopiedElement& element) { return element.inside ? Substitute(element.inside, divided_) : Expr(); }
  arith::Analyzer* analyzer() { return &analyzer_; }

 private:
  arith::Analyzer analyzer_;
  VarMap divided_;
};

// Whether one of the iterators runs along the last dimension, the other along another, and rows begin where the engine
// can read them.
bool CopiesBoxes(const LoadNode& load, const Var& row, const Var& column, const GpuTarget& gpu) {
  const Buffer& buffer = load.buffer;
  const size_t rank = load.indices.size();
  if (rank < 2 || rank > static_cast<size_t>(gpu.max_map_rank)) return false;
  for (const Var& var : {row, column}) {
    if (std::ranges::count_if(load.indices, [&](const Expr& e) { return UsesVar(e, var); }) != 1) return false;
  }
  int64_t stride = buffer->dtype.bytes();
  for (size_t d = rank; d-- > 0;) {
    const bool along_row = UsesVar(load.indices[d], row), along_column = UsesVar(load.indices[d], column);
    if (along_column != (d + 1 == rank) || (along_row && along_column)) return false;
    for (const Var& var : {row, column}) {
      if (!UsesVar(load.indices[d], var)) continue;
      const Expr rest = arith::Simplify(load.indices[d] - CastTo(load.indices[d].dtype(), var));
      if (UsesVar(rest, var)) return false;
    }
    if (d + 1 < rank && stride % gpu.bulk_alignment != 0) return false;
    const std::optional<int64_t> extent = AsInt(buffer->shape[d]);
    if (!extent) return false;
    stride *= *extent;
  }
  return true;
}

bool CopiesPixels(const OperandCopy& copy, const CopiedElement& element, int64_t side) {
  const std::vector<IterVar>& iters = copy.block->iter_vars;
  TileCopy tile(*copy.block);
  const Var row = tile.Divide(iters[iters.size() - 2], side), column = tile.Divide(iters.back(), copy.depth);
  const Expr load = tile.Loaded(element);
  const ImageNest nest = {cast<LoadNode>(load), row, column, side, copy.depth, tile.Inside(element), copy.gpu};
  const absl::StatusOr<ImageRows> rows = FindImageRows(nest, 0, tile.analyzer());
  return rows.ok() && BoxOf(*rows, element.load->buffer, LeastShifts(*rows)).ok();
}

}  // namespace

BulkCopy BulkCopyOf(const OperandCopy& copy) {
  const auto* store = dyn_cast<StoreNode>(copy.block->body);
  const std::optional<CopiedElement> element = store == nullptr ? std::nullopt : CopiedBy(store->value);
  if (!element || element->load->buffer->layout || !element->load->buffer->strides.empty()) return BulkCopy::kNone;
  const std::vector<IterVar>& iters = copy.block->iter_vars;
  const size_t depth = iters.size() - (copy.depth_is_last ? 1 : 2), other = iters.size() - (copy.depth_is_last ? 2 : 1);
  TileCopy step(*copy.block);
  const Var along_depth = step.Divide(iters[depth], copy.depth), &across = iters[other].var;
  const Expr load = step.Loaded(*element);
  if (CopiesBoxes(*cast<LoadNode>(load), copy.depth_is_last ? across : along_depth,
                  copy.depth_is_last ? along_depth : across, *copy.gpu)) {
    return BulkCopy::kBoxes;
  }
  const bool pixels = copy.depth_is_last &&
                      std::ranges::all_of(copy.sides, [&](int64_t side) { return CopiesPixels(copy, *element, side); });
  return pixels ? BulkCopy::kPixels : BulkCopy::kNone;
}

}  // namespace tilewright
