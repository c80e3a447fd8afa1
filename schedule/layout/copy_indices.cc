#include "schedule/layout/copy_indices.h"

#include <algorithm>
#include <cstddef>
#include <string>

#include "ir/analysis.h"
#include "ir/arith/iter_map.h"
#include "ir/structural.h"
#include "schedule/layout/index_multiples.h"
#include "schedule/program/simplify_block.h"

namespace tilewright {
namespace {

Refusal Refuse(const CopiedAccess& access, const char* reason) {
  return {access.primitive, reason, {access.block->id}, {}, {access.buffer->name}};
}

// The shape of the copy where its indices are those of the buffer, in some order.
std::optional<std::vector<Expr>> ShapeOfReordered(const Buffer& buffer, const CopyIndices& copy) {
  std::vector<Expr> shape;
  std::vector<bool> taken(copy.accessed.size());
  for (const Expr& index : copy.at_copy) {
    size_t d = 0;
    while (d < copy.accessed.size() && (taken[d] || !StructuralEqual(copy.accessed[d], index))) ++d;
    if (d == copy.accessed.size()) return std::nullopt;
    taken[d] = true;
    shape.push_back(buffer->shape[d]);
  }
  if (shape.size() != copy.accessed.size()) return std::nullopt;
  return shape;
}

// Why the results of the map and the indices of the buffer do not use the same iterators of more than one value.
std::optional<Refusal> WhyOtherIterators(const CopiedAccess& access, const std::vector<Expr>& results,
                                         const std::vector<Expr>& indices) {
  for (const IterVar& iter : access.block->iter_vars) {
    if (IsInt(iter.domain.extent, 1)) continue;  // tells nothing apart
    const auto uses = [&](const Expr& e) { return UsesVar(e, iter.var); };
    const bool in_copy = std::any_of(results.begin(), results.end(), uses);
    if (in_copy == std::any_of(indices.begin(), indices.end(), uses)) continue;
    return Refusal{access.primitive,
                   in_copy ? "the map uses the iterator {text1} of {block0}, the indices of {text0} do not"
                           : "the indices of {text0} use the iterator {text1} of {block0}, the map does not",
                   {access.block->id},
                   {},
                   {access.buffer->name, iter.var.name()}};
  }
  return std::nullopt;
}

std::optional<Refusal> WhyNotInShape(const CopiedAccess& access, const CopyIndices& copy, arith::Analyzer* analyzer) {
  for (size_t d = 0; d < copy.at_copy.size(); ++d) {
    if (analyzer->CanProve(Const(copy.at_copy[d].dtype(), 0) <= copy.at_copy[d]) &&
        analyzer->CanProveLess(copy.at_copy[d], copy.shape[d])) {
      continue;
    }
    return Refusal{access.primitive,
                   "the result {expr0} of the map may leave [0, {expr1})",
                   {access.block->id},
                   {copy.at_copy[d], copy.shape[d]}};
  }
  return std::nullopt;
}

}  // namespace

std::optional<Refusal> MapIndices(const CopiedAccess& access, const IndexMap& index_map, CopyIndices* copy) {
  if (!index_map) {
    for (const IterVar& iter : copy->iters) {
      copy->at_copy.push_back(iter.var);
      copy->shape.push_back(iter.domain.extent);
    }
    copy->used_at = copy->at_copy;
    return std::nullopt;
  }
  const std::vector<IterVar>& iters = access.block->iter_vars;
  if (index_map->inputs.size() != iters.size()) {
    return Refusal{access.primitive,
                   "the map takes {num0} indices, {block0} has {num1} iterators",
                   {access.block->id},
                   {},
                   {},
                   {std::ssize(index_map->inputs), std::ssize(iters)}};
  }
  // Iterators of one value that index the buffer index the copy too, so that later copies have them.
  arith::Analyzer analyzer, in_indices;
  std::vector<Expr> vars, extents;
  arith::Domain domain;
  for (const IterVar& iter : iters) {
    vars.push_back(iter.var);
    extents.push_back(iter.domain.extent);
    analyzer.Bind(iter.var, iter.domain);
    const bool indexes =
        std::ranges::any_of(copy->iters, [&](const IterVar& other) { return other.var.same_as(iter.var); });
    if (!indexes || !IsInt(iter.domain.extent, 1)) in_indices.Bind(iter.var, iter.domain);
  }
  for (const IterVar& iter : copy->iters) domain.push_back({iter.var, iter.domain});
  const IndexMap map_of_iters = WithTypesOf(index_map, iters);
  const std::vector<Expr> results = map_of_iters.Apply(vars);
  for (const Expr& index : results) copy->at_copy.push_back(in_indices.Simplify(index));
  if (std::optional<Refusal> refusal = WhyOtherIterators(access, results, copy->accessed)) return refusal;
  const auto map = arith::DetectIterMap(copy->at_copy, domain, {}, arith::IterMapLevel::kNone, &analyzer);
  const std::optional<std::vector<Expr>> reordered = ShapeOfReordered(access.buffer, *copy);
  if ((!map || !map->injective) && !reordered) {
    return Refuse(access, "the map may give elements of {text0} that {block0} tells apart the same place");
  }
  if (const auto shape = arith::MapShape(map_of_iters, extents, &analyzer)) {
    copy->shape = *shape;
  } else if (reordered) {
    copy->shape = *reordered;
  } else if (copy->at_copy.size() == copy->accessed.size()) {
    copy->shape = access.buffer->shape;  // where the results stay inside of it
  } else {
    return Refuse(access,
                  "the results of the map over {block0} do not fill a shape, and are not the indices of {text0}");
  }
  if (auto refusal = WhyNotInShape(access, *copy, &analyzer)) return refusal;
  copy->used_at = copy->at_copy;
  return std::nullopt;
}

std::optional<Refusal> KeepDimensions(const CopiedAccess& access, const std::vector<int64_t>& dims, CopyIndices* copy) {
  for (const int64_t dim : dims) {
    if (std::ranges::count(dims, dim) > 1) {
      return Refusal{access.primitive,      "dimension {num0} of {text0} is to be kept twice",
                     {access.block->id},    {},
                     {access.buffer->name}, {dim}};
    }
    if (access.written) return Refuse(access, "dimensions of {text0}, which {block0} writes, cannot be kept");
    if (dim < 0 || dim >= std::ssize(copy->accessed)) {
      return Refusal{
          access.primitive, "{text0} has no dimension {num0}", {access.block->id}, {}, {access.buffer->name}, {dim}};
    }
    Expr& index = copy->accessed[static_cast<size_t>(dim)];
    const auto indexes = [&](const IterVar& iter) { return UsesVar(index, iter.var); };
    for (const IterVar& iter : copy->iters) {
      const auto uses = [&](const Expr& e) { return UsesVar(e, iter.var); };
      if (!indexes(iter) || std::ranges::count_if(copy->accessed, uses) == 1) continue;
      return Refusal{access.primitive,
                     "the iterator {text1} is in the index {expr0} of {text0}, which is to be kept, and in another",
                     {access.block->id},
                     {index},
                     {access.buffer->name, iter.var.name()}};
    }
    const std::optional<IndexMultiples> values = MultiplesIn(index, copy->iters);
    if (!values || values->count == 1) {
      return Refusal{access.primitive,
                     "the index {expr0} of {text0}, which is to be kept, does not take all multiples of a number",
                     {access.block->id},
                     {index},
                     {access.buffer->name}};
    }
    const Var kept("y" + std::to_string(dim), index.dtype());
    const auto first = std::ranges::find_if(copy->iters, indexes);
    const auto at = first - copy->iters.begin();
    copy->used_at[static_cast<size_t>(at)] = values->number;
    *first = {kept, {Const(index.dtype(), 0), Const(index.dtype(), values->count)}, IterKind::kSpatial};
    for (size_t k = copy->iters.size(); k-- > 0;) {
      if (!indexes(copy->iters[k])) continue;
      copy->iters.erase(copy->iters.begin() + static_cast<std::ptrdiff_t>(k));
      copy->used_at.erase(copy->used_at.begin() + static_cast<std::ptrdiff_t>(k));
    }
    index = values->step == 1 ? Expr(kept) : kept * Const(index.dtype(), values->step);
  }
  if (dims.empty()) return std::nullopt;
  copy->at_copy.clear();
  copy->shape.clear();
  for (const IterVar& iter : copy->iters) {
    copy->at_copy.push_back(iter.var);
    copy->shape.push_back(iter.domain.extent);
  }
  return std::nullopt;
}

}  // namespace tilewright
