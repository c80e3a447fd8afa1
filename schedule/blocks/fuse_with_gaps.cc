#include "schedule/blocks/fuse_with_gaps.h"

#include <algorithm>
#include <limits>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "base/status_macros.h"
#include "ir/analysis.h"
#include "ir/arith/analyzer.h"
#include "ir/functor.h"
#include "ir/structural.h"
#include "schedule/layout/layout_rewriter.h"
#include "schedule/program/buffer_uses.h"
#include "schedule/program/common_refusals.h"
#include "schedule/program/instances.h"
#include "schedule/program/loop_tree.h"
#include "schedule/program/own_loops.h"
#include "schedule/program/simplify_block.h"
#include "verify/structure/block_scope.h"
#include "verify/structure/instance_order.h"

namespace tilewright {
namespace {

constexpr const char* kName = "fuse_with_gaps";
constexpr int64_t kMostValues = std::numeric_limits<int32_t>::max();

// The extent of a spatial iterator that counts from 0; nothing for others.
std::optional<int64_t> SpatialExtent(const BlockNode& block, int64_t iterator) {
  if (iterator < 0 || iterator >= std::ssize(block.iter_vars)) return std::nullopt;
  const IterVar& iter = block.iter_vars[static_cast<size_t>(iterator)];
  return iter.kind == IterKind::kSpatial && IsInt(iter.domain.min, 0) ? AsInt(iter.domain.extent) : std::nullopt;
}

// Whether computing `e` does nothing but give a value, whatever the elements are that it loads.
bool IsHarmless(const Expr& e) {
  if (isa<VarNode>(e) || isa<IntImmNode>(e) || isa<FloatImmNode>(e) || isa<LoadNode>(e)) return true;
  if (const auto* conversion = dyn_cast<CastNode>(e)) {
    const bool rounds = conversion->value.dtype().is_float() && !e.dtype().is_float();
    return !rounds && IsHarmless(conversion->value);
  }
  const auto* binary = dyn_cast<BinaryNode>(e);
  if (binary == nullptr) return false;
  switch (binary->op) {
    case BinaryOp::kAdd:
    case BinaryOp::kSub:
    case BinaryOp::kMul:
    case BinaryOp::kMin:
    case BinaryOp::kMax:
      return IsHarmless(binary->a) && IsHarmless(binary->b);
    default:
      return false;
  }
}

bool StaysInside(const Buffer& buffer, const std::vector<Expr>& indices, arith::Analyzer* analyzer) {
  for (size_t d = 0; d < indices.size(); ++d) {
    if (!analyzer->CanProveLessEqual(Const(indices[d].dtype(), 0), indices[d])) return false;
    if (!analyzer->CanProveLess(indices[d], buffer->shape[d])) return false;
  }
  return true;
}

bool EqualIndices(const Expr& a, const Expr& b) { return StructuralEqual(a, b); }

// The two iterators.
struct Rows {
  Var outer, inner;
  int64_t pitch;
};

// The function with the two dimensions at which the block stores as one, in which rows are a pitch apart.
Outcome<Function> StoreRowsAtPitch(const Function& function, const BlockNode& block, const Rows& rows) {
  const auto no = [&](const char* reason, const Buffer& buffer, std::vector<int64_t> numbers = {}) {
    return Refusal{kName, reason, {block.id}, {}, {buffer->name}, std::move(numbers)};
  };
  const auto* store = dyn_cast<StoreNode>(block.body);
  if (store == nullptr) return Refusal{kName, "{block0} is not a single store", {block.id}};
  const Buffer& buffer = store->buffer;
  const auto dimension = [&](const Var& iterator) -> std::optional<size_t> {
    const auto is_it = [&](const Expr& index) { return index.same_as(iterator); };
    const auto uses = [&](const Expr& index) { return UsesVar(index, iterator); };
    if (std::ranges::count_if(store->indices, uses) != 1) return std::nullopt;
    const auto at = std::ranges::find_if(store->indices, is_it);
    if (at == store->indices.end()) return std::nullopt;
    return static_cast<size_t>(at - store->indices.begin());
  };
  const auto outer = dimension(rows.outer), inner = dimension(rows.inner);
  if (!outer || !inner) return no("{block0} does not store into {text0} at the two iterators themselves", buffer);
  const BlockScope scope = BlockScope::Around(function, block.id);
  if (scope.Find(block.id) == nullptr) return Refusal{kName, "{block0} lies in the init of a block", {block.id}};
  const BufferUses uses = FindBufferUses(function, buffer);
  if (uses.addressed_by != nullptr) return no("the address of {text0} is taken", buffer);
  if (uses.allocated_by == nullptr || uses.allocated_by->id != scope.block()->id || scope.Writers(buffer).size() != 1) {
    return no("{text0} is not allocated by the block around {block0}, or others write it too", buffer);
  }
  if (!buffer->strides.empty() || buffer->layout) return no("{text0} has strides or a layout of its own", buffer);
  const auto count = AsInt(buffer->shape[*outer]), row = AsInt(buffer->shape[*inner]);
  if (!count || !row || *row > rows.pitch || *count > kMostValues / rows.pitch) {
    return no("rows of {text0} do not follow each other at the pitch {num0}", buffer, {rows.pitch});
  }
  std::vector<Var> inputs;
  std::vector<Expr> outputs;
  BufferNode::Fields fields = buffer->fields();
  fields.shape.clear();
  fields.data = Var();
  for (size_t d = 0; d < buffer->shape.size(); ++d) {
    inputs.emplace_back("i" + std::to_string(d), buffer->shape[d].dtype());
  }
  for (size_t d = 0; d < buffer->shape.size(); ++d) {
    if (d == *inner) continue;
    const DataType type = buffer->shape[d].dtype();
    const bool rows_here = d == *outer;
    outputs.push_back(rows_here ? inputs[d] * Const(type, rows.pitch) + CastTo(type, inputs[*inner]) : Expr(inputs[d]));
    fields.shape.push_back(rows_here ? Const(type, (*count - 1) * rows.pitch + *row) : buffer->shape[d]);
  }
  return ChangeLayout(kName, function,
                      {buffer, Buffer(std::move(fields)), IndexMap(std::move(inputs), std::move(outputs))});
}

// Why instances that depend on each other would change their order: loops become those of the iterators, in which the
// inner one follows the outer one.
std::optional<Refusal> WhyOrderChanges(const Path& path, const BlockRealizeNode& realize, size_t outer, size_t inner) {
  const OrderedInstances ordered = FindOrderedInstances(*realize.block);
  const std::vector<const ForNode*> loops = LoopsAbove(path);
  const auto loop_of = [&](size_t iterator) {
    const auto feeds = [&](const ForNode* loop) { return UsesVar(realize.bindings[iterator], loop->var); };
    return std::ranges::find_if(loops, feeds) - loops.begin();
  };
  std::vector<size_t> after;
  for (size_t i = 0; i < realize.bindings.size(); ++i) {
    for (const size_t iterator : i == inner   ? std::vector<size_t>{}
                                 : i == outer ? std::vector{i, inner}
                                              : std::vector{i}) {
      if (std::ranges::find(ordered.iterators, iterator) != ordered.iterators.end()) after.push_back(iterator);
    }
  }
  if (std::ranges::is_sorted(after, {}, loop_of)) return std::nullopt;
  return WhyInstancesDepend(kName, *realize.block);
}

// Why the block may not run in gaps. `now`: the block with its new iterator; `child` as it was.
std::optional<Refusal> WhyNotInGaps(const Function& function, const BlockScope& scope, const ScopeChild& child,
                                    const BlockNode& now) {
  const uint32_t id = child.id();
  arith::Analyzer analyzer;
  for (const IterVar& iter : now.iter_vars) analyzer.Bind(iter.var, iter.domain);
  const auto* store = cast<StoreNode>(now.body);
  const auto* init = now.init ? dyn_cast<StoreNode>(now.init) : store;
  if (init == nullptr || !IsHarmless(store->value) || !IsHarmless(init->value) ||
      !init->buffer.same_as(store->buffer) || !std::ranges::equal(init->indices, store->indices, EqualIndices)) {
    return Refusal{kName, "{block0} does more than store sums, products and extremes of elements", {id}};
  }
  std::optional<Refusal> refusal;
  const auto check = [&](const Expr& e) {
    const auto* load = dyn_cast<LoadNode>(e);
    if (load == nullptr || refusal) return !refusal;
    const char* reason = nullptr;
    if (!StaysInside(load->buffer, load->indices, &analyzer)) {
      reason = "{block0} may read outside of {text0} in gaps";
    } else if (!load->buffer.same_as(store->buffer) && !HasValuesBefore(function, scope, child, load->buffer)) {
      reason = "{block0} may read elements of {text0} in gaps that have no value";
    }
    if (reason != nullptr) refusal = Refusal{kName, reason, {id}, {}, {load->buffer->name}};
    return !refusal;
  };
  PreOrder(store->value, check);
  PreOrder(init->value, check);
  return refusal;
}

// Two spatial iterators, by number.
struct Fused {
  size_t outer, inner;
  int64_t rows, row;  // extents
};

Outcome<Fused> ReadIterators(const BlockNode& block, int64_t outer, int64_t inner, int64_t pitch) {
  const std::optional<int64_t> rows = SpatialExtent(block, outer), row = SpatialExtent(block, inner);
  if (!rows || !row || outer == inner) {
    return Refusal{kName,      "{num0} and {num1} are not two spatial iterators of {block0} of constant extents",
                   {block.id}, {},
                   {},         {outer, inner}};
  }
  if (pitch < *row || *rows > kMostValues / pitch) {
    return Refusal{
        kName, "rows of {num0} values do not follow each other at the pitch {num1}", {block.id}, {}, {}, {*row, pitch}};
  }
  return Fused{static_cast<size_t>(outer), static_cast<size_t>(inner), *rows, *row};
}

std::optional<Refusal> WhyNotFused(const Path& path, const BlockRealizeNode& realize, const Fused& fused) {
  if (auto refusal = WhyNotInOwnLoops(kName, path, LoopLoss::kKinds)) return refusal;
  if (auto refusal = WhyOrderChanges(path, realize, fused.outer, fused.inner)) return refusal;
  for (const IterVar& iter : realize.block->iter_vars) {
    for (const ForNode* loop : LoopsAbove(path)) {
      if (!UsesVar(iter.domain.min, loop->var) && !UsesVar(iter.domain.extent, loop->var)) continue;
      return Refusal{kName,
                     "the range of {text0} of {block0} depends on {loop1}",
                     {realize.block->id, loop->id},
                     {},
                     {iter.var.name()}};
    }
  }
  return std::nullopt;
}

}  // namespace

Outcome<FuseWithGapsResult> FuseWithGaps(const Function& function, uint32_t block_id, int64_t outer, int64_t inner,
                                         int64_t pitch, bool run_in_gaps) {
  Outcome<Path> path = PathToInnerBlock(kName, function, block_id);
  if (!path.ok()) return path.refusal();
  const auto* realize = cast<BlockRealizeNode>(path->back());
  const std::vector<IterVar>& iters = realize->block->iter_vars;
  TW_ASSIGN_OR_RETURN(const Fused both, ReadIterators(*realize->block, outer, inner, pitch));
  if (auto refusal = WhyNotFused(*path, *realize, both)) return *refusal;
  const Var outer_var = iters[both.outer].var, inner_var = iters[both.inner].var;

  Function stored = function;
  if (run_in_gaps && both.row == 1 && pitch > 1) {
    return Refusal{kName, "rows of {block0} have one value: there is nothing to run in gaps", {block_id}};
  }
  if (run_in_gaps) {
    TW_ASSIGN_OR_RETURN(stored, StoreRowsAtPitch(function, *realize->block, {outer_var, inner_var, pitch}));
    path = PathToInnerBlock(kName, stored, block_id);
  }
  const DataType type = outer_var.dtype();
  BlockNode::Fields fields = cast<BlockRealizeNode>(path->back())->block->fields();
  fields.iter_vars.clear();
  uint32_t next_id = function->next_id;
  std::vector<ForNode::Fields> loops;
  std::vector<Expr> bindings;
  Var fused, fused_loop;
  for (const IterVar& old : iters) {
    if (old.var.same_as(inner_var)) continue;
    const Var loop("ax" + std::to_string(loops.size()), old.var.dtype());
    IterVar iter = old;
    if (old.var.same_as(outer_var)) {
      fused = Var(outer_var.name() + "_" + inner_var.name(), type);
      fused_loop = loop;
      iter = {fused, {Const(type, 0), Const(type, (both.rows - 1) * pitch + both.row)}, IterKind::kSpatial};
    }
    loops.push_back({.id = next_id++, .var = loop, .min = iter.domain.min, .extent = iter.domain.extent});
    bindings.push_back(loop);
    fields.iter_vars.push_back(std::move(iter));
  }
  const Expr step = Const(type, pitch);
  arith::Analyzer analyzer;
  ReplaceInBlock(&fields,
                 {{outer_var, FloorDiv(fused, step)}, {inner_var, CastTo(inner_var.dtype(), FloorMod(fused, step))}},
                 &analyzer);
  const Block now(std::move(fields));
  Expr predicate = True();
  if (run_in_gaps) {
    const BlockScope scope = BlockScope::Around(stored, block_id);
    if (auto refusal = WhyNotInGaps(stored, scope, *scope.Find(block_id), *now)) return *refusal;
  } else if (both.rows > 1 && pitch > both.row) {
    predicate = FloorMod(fused_loop, step) < Const(type, both.row);
  }
  Stmt nest = Nest(std::move(loops), Realize(std::move(bindings), predicate, now));
  return FuseWithGapsResult{ReplaceIn(stored, OutermostOwnLoop(*path), nest, next_id)};
}

}  // namespace tilewright
