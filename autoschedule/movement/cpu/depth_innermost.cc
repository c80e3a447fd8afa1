#include "autoschedule/movement/cpu/depth_innermost.h"

#include <algorithm>
#include <string>
#include <utility>
#include <vector>

#include "autoschedule/movement/cpu/operand_stages.h"
#include "autoschedule/program/access_strides.h"
#include "autoschedule/program/attempt.h"
#include "autoschedule/program/block_loops.h"
#include "autoschedule/program/contraction.h"
#include "base/math.h"
#include "ir/analysis.h"
#include "ir/builtin.h"
#include "ir/functor.h"

namespace tilewright {
namespace {

// The only access of a block that loads from the buffer; nothing where there are several.
std::optional<Access> LoadFrom(const BlockNode& block, const Buffer& buffer) {
  std::optional<Access> found;
  for (Access& access : AccessesOf(block)) {
    if (access.store || !access.buffer.same_as(buffer)) continue;
    if (found) return std::nullopt;
    found = std::move(access);
  }
  return found;
}

// The dimension along which the iterator moves by one, where it moves along no other; nothing else.
std::optional<size_t> DimensionOf(const Access& access, size_t iterator, const Var& var) {
  std::optional<size_t> found;
  for (size_t d = 0; d < access.indices.size(); ++d) {
    if (!UsesVar(access.indices[d], var)) continue;
    if (found || access.steps[d][iterator] != 1) return std::nullopt;
    found = d;
  }
  return found;
}

// The dimension of the row operand that belongs to one inner iterator and to no row: of several such the one that has
// the least padding in groups, or is the longest.
std::optional<size_t> DepthDimension(const BlockNode& block, const Contraction& contraction, const Access& rows,
                                     int group) {
  std::optional<size_t> best;
  int64_t padded = 0, length = 0;
  for (const int i : contraction.inner) {
    const IterVar& iter = block.iter_vars[static_cast<size_t>(i)];
    const std::optional<int64_t> extent = ExtentOf(iter);
    const std::optional<size_t> dim = DimensionOf(rows, static_cast<size_t>(i), iter.var);
    if (!extent || !dim) continue;
    const bool has_rows = std::ranges::any_of(contraction.rows, [&](int row) {
      return UsesVar(rows.indices[*dim], block.iter_vars[static_cast<size_t>(row)].var);
    });
    if (has_rows) continue;
    // By cross-multiplication, as ratios of integers.
    const int64_t all = RoundUp(*extent, group);
    const int64_t mine = all * length, best_so_far = padded * *extent;
    if (best && (mine > best_so_far || (mine == best_so_far && *extent <= length))) continue;
    best = dim;
    padded = all;
    length = *extent;
  }
  return best;
}

// Makes dimensions of what a copy writes at its iterators one where they follow each other, but for `dim`; the place of
// that one afterwards. Symbolic ones stay apart.
size_t FuseOthers(Schedule& sch, BlockRv copy, size_t dim) {
  for (size_t inner = RealizeOf(sch, copy).block->iter_vars.size(); inner-- > 1;) {
    if (inner == dim || inner - 1 == dim) continue;
    const BlockNode& block = *RealizeOf(sch, copy).block;
    if (!ExtentOf(block.iter_vars[inner]) || !ExtentOf(block.iter_vars[inner - 1])) continue;
    if (Attempt(sch, [&](Schedule& attempt) { return FuseCopiedDimensions(attempt, copy, inner); }) && inner < dim)
      --dim;
  }
  return dim;
}

// Makes a dimension of what the block writes the last one.
bool MoveToEnd(Schedule& sch, BlockRv block, size_t dim) {
  const size_t dims = RealizeOf(sch, block).block->writes[0].buffer->shape.size();
  if (dim + 1 == dims) return true;
  std::vector<Var> inputs;
  std::vector<Expr> outputs;
  for (size_t d = 0; d < dims; ++d) inputs.emplace_back("i" + std::to_string(d));
  for (size_t d = 0; d < dims; ++d) {
    if (d != dim) outputs.push_back(inputs[d]);
  }
  outputs.push_back(inputs[dim]);
  const Value::List written = {Value("write"), Value(0)};
  return sch.TransformLayout(block, Value(written), IndexMap(std::move(inputs), std::move(outputs))).ok();
}

// Whether the block stores once, at its iterators in their order, without a reduction.
bool WritesElements(const BlockNode& block) {
  const auto* store = dyn_cast<StoreNode>(block.body);
  return store != nullptr && !block.init && block.writes.size() == 1 && WritesAtIterators(block) &&
         block.writes[0].region.size() == block.iter_vars.size();
}

bool HasConditions(const BlockNode& block) {
  bool conditional = false;
  PreOrderExprs(block.body, [&](const Expr& e) {
    const auto* call = dyn_cast<CallNode>(e);
    conditional |= isa<SelectNode>(e) || (call != nullptr && call->op == kIfThenElse);
    return !conditional;
  });
  return conditional;
}

// Lets `reader` read a copy of the buffer with a dimension of it as the last one.
std::optional<BlockRv> CopyRead(Schedule& sch, BlockRv reader, const Buffer& buffer, size_t dim) {
  const std::vector<BufferRegion>& reads = RealizeOf(sch, reader).block->reads;
  const auto number = static_cast<int>(&ReadOf(*RealizeOf(sch, reader).block, buffer) - reads.data());
  const Outcome<BlockRv> copy = sch.CacheRead(reader, number, "global", {reader});
  if (!copy.ok() || !WritesElements(*RealizeOf(sch, *copy).block)) return std::nullopt;
  if (!MoveToEnd(sch, *copy, FuseOthers(sch, *copy, dim))) return std::nullopt;
  return *copy;
}

// The elements that a writer reads apart where it writes neighbours along its iterator `depth`: a buffer, and the
// dimension in which they are neighbours.
struct Apart {
  Buffer buffer;
  size_t dim = 0;
};
// Nothing where there are none, or where several are or are computed.
std::optional<Apart> FindApart(const BlockNode& writer, size_t depth) {
  std::optional<Apart> found;
  for (const Access& access : AccessesOf(writer)) {
    if (access.store || access.strides[depth] == 1 || access.strides[depth] == 0) continue;
    const std::optional<size_t> dim = DimensionOf(access, depth, writer.iter_vars[depth].var);
    if (found || !dim || !LoadFrom(writer, access.buffer)) return std::nullopt;
    found = Apart{access.buffer, *dim};
  }
  return found;
}

std::optional<BlockRv> Copy(Schedule& sch, BlockRv block, int group) {
  const BlockRealizeNode& realize = RealizeOf(sch, block);
  const absl::StatusOr<Contraction> contraction = MatchContraction(realize);
  if (!contraction.ok() || contraction->rows.empty()) return std::nullopt;
  const Buffer rows = contraction->row_operand;
  const std::optional<Access> access = LoadFrom(*realize.block, rows);
  if (!access) return std::nullopt;
  const std::optional<size_t> dim = DepthDimension(*realize.block, *contraction, *access, group);
  if (!dim) return std::nullopt;
  const bool last = *dim + 1 == rows->shape.size();
  const std::optional<BlockRv> writer = WriterOf(sch, block, rows);
  if (!writer) return last ? std::nullopt : CopyRead(sch, block, rows, *dim);
  if (IsScheduled(sch, *writer) || !WritesElements(*RealizeOf(sch, *writer).block)) {
    return last ? std::nullopt : CopyRead(sch, block, rows, *dim);
  }
  const std::optional<Apart> apart = FindApart(*RealizeOf(sch, *writer).block, *dim);
  if (HasConditions(*RealizeOf(sch, *writer).block)) {
    if (!MoveToEnd(sch, *writer, *dim)) return std::nullopt;
    return apart ? CopyRead(sch, *writer, apart->buffer, apart->dim) : std::nullopt;
  }
  if (last && !apart) return std::nullopt;
  if (!MoveToEnd(sch, *writer, FuseOthers(sch, *writer, *dim))) return std::nullopt;
  return *writer;
}

}  // namespace

std::optional<BlockRv> CopyDepthInnermost(Schedule& sch, BlockRv block, int group) {
  Schedule attempt = sch;
  const std::optional<BlockRv> copy = Copy(attempt, block, group);
  if (copy) sch = std::move(attempt);
  return copy;
}

}  // namespace tilewright
