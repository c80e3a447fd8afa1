#include "schedule/reduction/online_blocks.h"

#include <algorithm>
#include <utility>

#include "ir/analysis.h"
#include "ir/arith/analyzer.h"
#include "ir/builder.h"
#include "ir/builtin.h"
#include "ir/functor.h"
#include "schedule/program/loop_tree.h"
#include "schedule/program/make_block.h"

namespace tilewright {
namespace {

std::vector<Expr> With(std::vector<Expr> indices, const Expr& step) {
  indices.push_back(step);
  return indices;
}

}  // namespace

OnlineBlocks::Fresh OnlineBlocks::FreshBlock(const std::string& name, size_t first_own) {
  Fresh fresh;
  VarMap loop_vars;
  for (size_t i = 0; i < first_own; ++i) loop_vars[divided_.combining.loops[i]->var] = divided_.shared[i]->var;
  for (size_t i = first_own; i < divided_.combining.loops.size(); ++i) {
    ForNode::Fields fields = divided_.combining.loops[i]->fields();
    fields.id = next_id_++;
    fields.var = Var(fields.var.name(), fields.var.dtype());
    fields.min = Substitute(fields.min, loop_vars);
    fields.extent = Substitute(fields.extent, loop_vars);
    loop_vars[divided_.combining.loops[i]->var] = fields.var;
    fresh.loops.push_back(std::move(fields));
  }
  fresh.bindings = Substitute(divided_.combining.realize->bindings, loop_vars);
  fresh.predicate = Substitute(divided_.combining.realize->predicate, loop_vars);
  fresh.block.name = name;
  fresh.block.id = next_id_++;
  for (const IterVar& iter : divided_.combining.realize->block->iter_vars) {
    IterVar copy{Var(iter.var.name(), iter.var.dtype()), iter.domain, IterKind::kSpatial};
    fresh.iters[iter.var] = copy.var;
    fresh.block.iter_vars.push_back(std::move(copy));
  }
  const IterVar& step = fresh.block.iter_vars[0];  // rfactor's
  fresh.step = step.var;
  fresh.last = idle_ && idle_->last ? LastWithTerms(fresh) : arith::Simplify(step.domain.extent - 1);
  fresh.indices = With(Substitute(divided_.reducer.components[0].accumulator.indices, fresh.iters),
                       CastTo(step.var.dtype(), fresh.step));
  return fresh;
}

Expr OnlineBlocks::LastWithTerms(const Fresh& fresh) const {
  const std::vector<Expr>& row = divided_.reducer.components[0].accumulator.indices;
  const std::vector<Expr>& given = divided_.chain.first.component().accumulator.indices;
  VarMap rows;
  for (size_t d = 0; d < given.size(); ++d) {
    if (const auto* var = dyn_cast<VarNode>(given[d])) rows[Var(var)] = Substitute(row[d], fresh.iters);
  }
  return CastTo(fresh.step.dtype(), Substitute(idle_->last, rows));
}

Stmt OnlineBlocks::Finish(Fresh fresh, std::vector<Stmt> body) {
  fresh.block.body = Sequence(std::move(body));
  return Nest(std::move(fresh.loops),
              Realize(std::move(fresh.bindings), fresh.predicate, TouchingBlock(std::move(fresh.block))));
}

Stmt OnlineBlocks::Start() {
  Fresh fresh = FreshBlock(divided_.Reduced()->name + "_init");
  // No iterator of the shared loop.
  fresh.block.iter_vars.erase(fresh.block.iter_vars.begin());
  fresh.bindings.erase(fresh.bindings.begin());
  const Reducer::Component& component = divided_.reducer.components[0];
  const Stmt start = Store(divided_.Reduced(), Substitute(component.init, fresh.iters),
                           Substitute(component.accumulator.indices, fresh.iters));
  return Finish(std::move(fresh), {start});
}

// What the block keeps of each iteration is meant to be read before the reduction is done: the shared loop is not a
// reduce iterator.
Stmt OnlineBlocks::Running() {
  const BlockNode& reduction = *divided_.combining.realize->block;
  Fresh fresh = FreshBlock(reduction.name);
  fresh.block.id = reduction.id;
  fresh.block.annotations = reduction.annotations;
  fresh.block.iter_vars[0].kind = IterKind::kOpaque;
  const Reducer::Component& component = divided_.reducer.components[0];
  const std::vector<Expr> at = fresh.indices, element = Substitute(component.accumulator.indices, fresh.iters);
  const Expr value = divided_.Reduced().Load(element);
  const VarMap combine = {{component.old, value}, {component.fresh, Substitute(component.value, fresh.iters)}};
  return Finish(std::move(fresh), {Store(divided_.buffers.before, value, at),
                                   Store(divided_.Reduced(), Substitute(component.combined, combine), element),
                                   Store(divided_.buffers.running, value, at)});
}

Stmt OnlineBlocks::Rescale(size_t i) {
  const ValueFactor& factor = divided_.chain.factors[i];
  Fresh fresh = FreshBlock(divided_.buffers.rescales[i]->name);
  const DataType type = divided_.Reduced()->dtype;
  const std::vector<Expr> at = fresh.indices;
  const Expr now = divided_.buffers.running.Load(at), old = divided_.buffers.before.Load(at);
  const Expr other = ConstFloat(type, *InvertibleAt(factor, divided_.chain.m));
  const Expr from = Select(IsInvertible(factor, divided_.chain.m, old), old, other);
  const Expr to = Select(Or(IsInvertible(factor, divided_.chain.m, now), fresh.step == fresh.last), now, other);
  // A sum that is zero stays zero: no infinite correction. T.min gives its second operand where that is NaN.
  const Expr ratio = FactorRatio(factor, divided_.chain.m, from, divided_.buffers.references[i].Load(at), type);
  const Expr correction = Min(GreatestValue(type), Max(LeastValue(type), ratio));
  return Finish(std::move(fresh),
                {Store(divided_.buffers.references[i], to, at), Store(divided_.buffers.rescales[i], correction, at)});
}

Stmt OnlineBlocks::Reference(size_t i) {
  const ValueFactor& factor = divided_.chain.factors[i];
  Fresh fresh = FreshBlock(divided_.buffers.references[i]->name);
  const Expr part = Substitute(divided_.reducer.components[0].value, fresh.iters);
  const Expr other = ConstFloat(divided_.Reduced()->dtype, *InvertibleAt(factor, divided_.chain.m));
  const Stmt store = Store(divided_.buffers.references[i],
                           Select(IsInvertible(factor, divided_.chain.m, part), part, other), fresh.indices);
  return Finish(std::move(fresh), {store});
}

// All terms are what the factor makes of zero or of infinity where it cannot be inverted at the final value.
Stmt OnlineBlocks::Correction(size_t i, uint32_t* id) {
  const ValueFactor& factor = divided_.chain.factors[i];
  Fresh fresh = FreshBlock(divided_.buffers.rescales[i]->name, 0);
  *id = fresh.block.id;
  const DataType type = divided_.Reduced()->dtype;
  const std::vector<Expr> at = fresh.indices;
  const Expr last =
      divided_.Reduced().Load(Substitute(divided_.reducer.components[0].accumulator.indices, fresh.iters));
  const Expr ratio = FactorRatio(factor, divided_.chain.m, divided_.buffers.references[i].Load(at), last, type);
  const Expr finite = Min(GreatestValue(type), Max(LeastValue(type), ratio));
  const Expr value = Select(IsInvertible(factor, divided_.chain.m, last), finite, ratio);
  return Finish(std::move(fresh), {Store(divided_.buffers.rescales[i], value, at)});
}

Stmt OnlineBlocks::Inner(uint32_t id, const OnlineBlock& block, const Stmt& realize) {
  const PlacedBlock placed = Place(divided_.function, id);
  emptied_.push_back(placed.loops[0]->id);
  Stmt body = placed.loops[block.outer - 1]->body;
  if (realize) body = ReplaceStmt(body, placed.realize, realize);
  VarMap vars;
  for (size_t i = 0; i < divided_.chain.first.outer; ++i) vars[placed.loops[i]->var] = divided_.shared[i]->var;
  return Substitute(body, vars);
}

Expr OnlineBlocks::UseReference(const OnlineBlock& block, const Expr& e, const Expr& step) const {
  const auto* load = dyn_cast<LoadNode>(e);
  if (load == nullptr || !load->buffer.same_as(divided_.Reduced())) return e;
  return divided_.buffers.references[ReferenceOf(block)].Load(With(load->indices, step));
}

size_t OnlineBlocks::ReferenceOf(const OnlineBlock& block) const {
  if (block.reduces) return block.factor;
  for (const OnlineBlock& other : divided_.chain.others) {
    if (&other != &block && Mentions(other.block().reads, block.output())) return ReferenceOf(other);
  }
  return 0;
}

Stmt OnlineBlocks::Partial(const OnlineBlock& block, uint32_t part) {
  const PlacedBlock placed = Place(divided_.function, part);
  BlockNode::Fields fields = placed.realize->block->fields();
  const Expr step = fields.iter_vars[0].var;  // rfactor's
  fields.body = RewriteExprs(fields.body, [&](const Expr& e) { return UseReference(block, e, step); });
  return Inner(part, block,
               Realize(placed.realize->bindings, placed.realize->predicate, TouchingBlock(std::move(fields))));
}

Stmt OnlineBlocks::Combining(const OnlineBlock& block) const {
  const PlacedBlock placed = Place(divided_.function, block.id());
  BlockNode::Fields fields = placed.realize->block->fields();
  const Buffer& sum = block.component().accumulator.buffer;
  const Expr correction =
      divided_.buffers.rescales[block.factor].Load(With(block.indices, Expr(fields.iter_vars[0].var)));
  fields.body = RewriteExprs(fields.body, [&](const Expr& e) -> Expr {
    const auto* load = dyn_cast<LoadNode>(e);
    const bool corrects = load != nullptr && load->buffer.same_as(sum) != divided_.apart;
    return corrects ? e * CastTo(sum->dtype, correction) : e;
  });
  return Realize(placed.realize->bindings, placed.realize->predicate, TouchingBlock(std::move(fields)));
}

Stmt OnlineBlocks::Elementwise(const OnlineBlock& block) {
  const PlacedBlock placed = Place(divided_.function, block.id());
  const ForNode* shared = placed.loops[block.outer - 1];
  BlockNode::Fields fields = placed.realize->block->fields();
  std::vector<IterVar> iters;
  std::vector<Expr> bindings;
  VarMap made, old;  // loops and former iterators as iterators
  const auto add_loop = [&](const ForNode* loop) {
    if (made.contains(loop->var)) return;
    const IterVar iter{Var("v" + loop->var.name(), loop->var.dtype()), {loop->min, loop->extent}, IterKind::kSpatial};
    made[loop->var] = iter.var;
    iters.push_back(iter);
    bindings.push_back(loop->var);
  };
  add_loop(shared);
  for (size_t i = 0; i < fields.iter_vars.size(); ++i) {
    const Expr& binding = placed.realize->bindings[i];
    const bool tied = std::ranges::any_of(
        placed.loops, [&](const ForNode* loop) { return made.contains(loop->var) && UsesVar(binding, loop->var); });
    if (!tied) {
      iters.push_back(fields.iter_vars[i]);
      bindings.push_back(binding);
      continue;
    }
    for (const ForNode* loop : placed.loops) {
      if (UsesVar(binding, loop->var)) add_loop(loop);
    }
    old[fields.iter_vars[i].var] = Substitute(binding, made);
  }
  const Expr step = made[shared->var];
  Stmt body = RewriteExprs(fields.body, [&](const Expr& e) { return UseReference(block, e, step); });
  fields.iter_vars = std::move(iters);
  fields.body = Substitute(body, old);
  return Inner(block.id(), block,
               Realize(std::move(bindings), placed.realize->predicate, TouchingBlock(std::move(fields))));
}

}  // namespace tilewright
