#include "schedule/reduction/rfactor.h"

#include <algorithm>
#include <iterator>
#include <string>
#include <utility>
#include <vector>

#include "base/status_macros.h"
#include "ir/analysis.h"
#include "ir/arith/analyzer.h"
#include "ir/functor.h"
#include "ir/regions.h"
#include "ir/substitute.h"
#include "schedule/program/cache_stage.h"
#include "schedule/program/common_refusals.h"
#include "schedule/program/instances.h"
#include "schedule/program/loop_tree.h"
#include "schedule/program/reducer.h"
#include "schedule/program/relaxed_region.h"
#include "verify/regions/init_order.h"
#include "verify/structure/block_scope.h"

namespace tilewright {
namespace {

constexpr const char* kName = "rfactor";

// How a loop takes part in the block's iterators.
struct LoopUse {
  const ForNode* loop;
  bool in_spatial = false, in_reduce = false;
};

struct Reduction {
  const BlockNode* scope;
  const BlockRealizeNode* realize;
  const ForNode* factor;
  std::vector<LoopUse> loops;  // above the block, outermost first
  Reducer reducer;

  const BlockNode& block() const { return *realize->block; }
  // Whether the loop reduces within the first step, and is not in the second.
  bool IsDropped(const LoopUse& use) const { return use.in_reduce && use.loop != factor; }
};

std::vector<LoopUse> FindUses(const BlockRealizeNode& realize, const std::vector<const ForNode*>& loops) {
  std::vector<LoopUse> uses;
  for (const ForNode* loop : loops) {
    LoopUse use{loop};
    for (size_t i = 0; i < realize.bindings.size(); ++i) {
      if (!UsesVar(realize.bindings[i], loop->var)) continue;
      (realize.block->iter_vars[i].kind == IterKind::kReduce ? use.in_reduce : use.in_spatial) = true;
    }
    uses.push_back(use);
  }
  return uses;
}

std::optional<Refusal> WhyLoopsDoNotFit(const Reduction& reduction) {
  const uint32_t block = reduction.block().id;
  bool reached_factor = false;
  for (const LoopUse& use : reduction.loops) {
    if (use.loop == reduction.factor && use.in_spatial && !use.in_reduce) {
      return Refusal{kName, "{loop0} takes part in spatial iterators of {block1}", {use.loop->id, block}};
    }
    if (use.in_spatial && use.in_reduce) {
      return Refusal{kName, "{loop0} takes part in spatial and in reduce iterators of {block1}", {use.loop->id, block}};
    }
    if (use.loop == reduction.factor && !use.in_reduce && !IsInt(use.loop->extent, 1)) {
      return Refusal{kName, "{loop0} takes no part in the reduction of {block1}", {use.loop->id, block}};
    }
    reached_factor |= use.loop == reduction.factor;
    if (reduction.reducer.in_order && !reached_factor && reduction.IsDropped(use) && !IsInt(use.loop->extent, 1)) {
      return Refusal{kName,
                     "of equal values {block1} keeps one by the order they come in, and {loop0} is outside of {loop2}",
                     {use.loop->id, block, reduction.factor->id}};
    }
    if (reduction.IsDropped(use) && BlocksBelow(Stmt(use.loop)).size() != 1) {
      return Refusal{
          kName, "{loop0}, a loop of the reduction, holds other blocks than {block1}", {use.loop->id, block}};
    }
    for (const LoopUse& outer : reduction.loops) {
      // Loops of the reduction become iterators.
      const bool independent = use.in_reduce || use.loop == reduction.factor || reduction.IsDropped(outer);
      if (independent && UsesVar({use.loop->min, use.loop->extent}, outer.loop->var)) {
        return Refusal{kName, "the range of {loop0} depends on {loop1}", {use.loop->id, outer.loop->id}};
      }
    }
    if (use.loop->kind != ForKind::kThreadBound) continue;
    for (const Reducer::Component& component : reduction.reducer.components) {
      const Buffer& buffer = component.accumulator.buffer;
      if (buffer->scope.kind() == MemoryKind::kGlobal) continue;
      return Refusal{kName,
                     "partial results of {text0} in {text1} memory would leave the threads that {loop0} is bound to",
                     {use.loop->id},
                     {},
                     {buffer->name, buffer->scope.text()}};
    }
  }
  return std::nullopt;
}

// The first step runs as a whole before everything below the outermost loop.
std::optional<Refusal> WhyNotFirst(const Reduction& reduction) {
  const ForNode* outermost = reduction.loops.front().loop;
  const std::vector<const BlockRealizeNode*> blocks = BlocksBelow(Stmt(outermost));
  if (blocks.front() != reduction.realize) {
    return Refusal{kName,
                   "{block1}, not {block2}, is the first block below {loop0}",
                   {outermost->id, blocks.front()->block->id, reduction.block().id}};
  }
  for (const BlockRealizeNode* other : blocks) {
    if (other == reduction.realize) continue;
    for (const BufferRegion& write : other->block->writes) {
      for (const BufferRegion& read : reduction.block().reads) {
        if (!read.buffer.same_as(write.buffer)) continue;
        return Refusal{kName,
                       "{block1} is also below {loop0} and writes {text0}, which {block2} reads",
                       {outermost->id, other->block->id, reduction.block().id},
                       {},
                       {write.buffer->name}};
      }
    }
  }
  return std::nullopt;
}

// Whether the predicate is about the reduction's own loops alone.
bool IsOnOwnLoops(const Reduction& reduction) {
  return std::ranges::all_of(reduction.loops, [&](const LoopUse& use) {
    return use.in_reduce || !UsesVar(reduction.realize->predicate, use.loop->var);
  });
}

// Whether each partial result with a value has one from the start of its reduction on, where it is initialized: of even
// terms d = k_0 * 3 + k_1, that of k_1 = 1 begins at k_0 = 1.
bool BeginsAtStart(const Reduction& reduction) {
  std::vector<const ForNode*> dropped;
  for (const LoopUse& use : reduction.loops) {
    if (reduction.IsDropped(use)) dropped.push_back(use.loop);
  }
  return HoldsBelow(reduction.realize->predicate, dropped);
}

Outcome<Reduction> Check(const Function& function, uint32_t loop_id) {
  TW_ASSIGN_OR_RETURN(Path path, PathToLoop(kName, function, loop_id));
  const auto* loop = cast<ForNode>(path.back());
  if (loop->kind != ForKind::kSerial) return Refusal{kName, "{loop0} is not serial", {loop_id}};
  const std::vector<const BlockRealizeNode*> blocks = BlocksBelow(Stmt(loop));
  if (blocks.size() != 1) return Refusal{kName, "{loop0} does not hold one block alone", {loop_id}};
  const uint32_t block_id = blocks[0]->block->id;
  const BlockScope scope = BlockScope::Around(function, block_id);
  const ScopeChild* child = scope.Find(block_id);
  if (child == nullptr) return Refusal{kName, "{block0} lies in the init of a block", {block_id}};
  if (auto why = WhyNotReduction(scope, *child)) {
    return Refusal{kName, "{block0} is not a reduction block: {text0}", {block_id}, {}, {*why}};
  }
  if (scope.has_other_statements()) {
    return Refusal{kName, "the scope of {block0} holds statements other than loops and blocks", {block_id}};
  }
  TW_ASSIGN_OR_RETURN(Reducer reducer, DetectReducer(kName, *child->realize->block));
  Reduction reduction{scope.block(), child->realize, loop, FindUses(*child->realize, child->loops), reducer};
  if (auto refusal = WhyLoopsDoNotFit(reduction)) return *refusal;
  if (auto refusal = WhyNotFirst(reduction)) return *refusal;
  if (!BeginsAtStart(reduction) && !IsOnOwnLoops(reduction)) {
    return Refusal{kName,
                   "the predicate {expr0} may leave out the first term of a partial result of {block0}",
                   {block_id},
                   {child->realize->predicate}};
  }
  // An instance that runs again starts its sum anew, or adds what it added before: partial sums would add it twice.
  arith::Analyzer analyzer;
  if (!RunsEachInstanceOnce(*child->realize, child->loops, &analyzer)) {
    return Refusal{kName, "the loops around {block0} may run an instance of it twice", {block_id}};
  }
  return reduction;
}

// The place of the new dimension, from `axis` as given.
Outcome<size_t> Place(const Reduction& reduction, const Buffer& buffer, int axis) {
  const int rank = static_cast<int>(buffer->ndim());
  if (axis >= -rank - 1 && axis <= rank) return static_cast<size_t>(axis < 0 ? axis + rank + 1 : axis);
  return Refusal{kName,
                 "the factor axis {num0} is not in [{num1}, {num2}]: {text0} has {num2} dimensions",
                 {reduction.factor->id},
                 {},
                 {buffer->name},
                 {axis, -rank - 1, rank}};
}

// The buffers of partial results, and the places of the new dimension in them.
struct Partial {
  std::vector<Buffer> buffers;
  std::vector<size_t> places;

  Element At(size_t i, std::vector<Expr> indices, const Expr& factor) const {
    indices.insert(indices.begin() + static_cast<ptrdiff_t>(places[i]), factor);
    return {buffers[i], std::move(indices)};
  }
};

Outcome<Partial> MakePartial(const Reduction& reduction, int axis) {
  Partial partial;
  for (const Reducer::Component& component : reduction.reducer.components) {
    const Buffer& buffer = component.accumulator.buffer;
    TW_ASSIGN_OR_RETURN(size_t place, Place(reduction, buffer, axis));
    std::vector<Expr> shape = buffer->shape;
    shape.insert(shape.begin() + static_cast<ptrdiff_t>(place), reduction.factor->extent);
    partial.buffers.push_back(Buffer(buffer->name + ".rf", std::move(shape), buffer->dtype, buffer->scope));
    partial.places.push_back(place);
  }
  return partial;
}

std::vector<BufferRegion> Points(const std::vector<Element>& elements) {
  std::vector<BufferRegion> points;
  for (const Element& element : elements) points.push_back(BufferRegion::Point(element.buffer, element.indices));
  return points;
}

Expr FromZero(const Var& var, const Expr& min) { return IsInt(min, 0) ? Expr(var) : arith::Simplify(var - min); }

IterVar IteratorOf(const ForNode& loop, IterKind kind) {
  return {Var("v" + loop.var.name(), loop.var.dtype()), {loop.min, loop.extent}, kind};
}

// The condition under which a partial result has a value: the predicate of the first step's block at the start of its
// reduction.
Expr PredicateOfSecond(const Reduction& reduction) {
  arith::Analyzer analyzer;
  VarMap start;
  for (const LoopUse& use : reduction.loops) {
    if (reduction.IsDropped(use)) {
      start[use.loop->var] = use.loop->min;
    } else {
      analyzer.Bind(use.loop->var, Range{use.loop->min, use.loop->extent});
    }
  }
  return analyzer.Simplify(Substitute(reduction.realize->predicate, start));
}

// Whether each loop that the second step is without has an iteration. Where one has none, no partial result is set, and
// neither was the result.
Expr DroppedLoopsRun(const Reduction& reduction) {
  arith::Analyzer analyzer;
  Expr run = True();
  for (const LoopUse& use : reduction.loops) {
    if (!reduction.IsDropped(use)) continue;
    const Expr runs = analyzer.Simplify(Const(use.loop->extent.dtype(), 0) < use.loop->extent);
    if (!IsTrue(runs)) run = IsTrue(run) ? runs : And(run, runs);
  }
  return run;
}

// Whether partial results get the identity where no terms, or not the first ones, are in them. A symbolic size may
// decide whether there are any. Predicates on the reduction's own loops alone allow it.
bool SomeTermsAreLeftOut(const Reduction& reduction) {
  bool symbolic = !BeginsAtStart(reduction);
  PreOrder(PredicateOfSecond(reduction), [&](const Expr& e) {
    const auto is_loop = [&](const LoopUse& use) { return use.loop->var.get() == e.get(); };
    symbolic |= isa<VarNode>(e) && std::ranges::none_of(reduction.loops, is_loop);
    return !symbolic;
  });
  return symbolic && IsOnOwnLoops(reduction);
}

// Loops that become iterators of the first step: the one that is factored, and all that bindings tie to it, k_0 and f
// of k_0 * 2 + f // 2 and f % 2. Iterators made of the same loop would not be independent.
std::vector<const ForNode*> LoopsTiedToFactor(const Reduction& reduction) {
  std::vector<const ForNode*> tied = {reduction.factor};
  const auto is_tied = [&](const Expr& binding) {
    return std::ranges::any_of(tied, [&](const ForNode* loop) { return UsesVar(binding, loop->var); });
  };
  for (size_t before = 0; before < tied.size();) {
    before = tied.size();
    for (const Expr& binding : reduction.realize->bindings) {
      if (!is_tied(binding)) continue;
      for (const LoopUse& use : reduction.loops) {
        if (UsesVar(binding, use.loop->var) && std::ranges::find(tied, use.loop) == tied.end())
          tied.push_back(use.loop);
      }
    }
  }
  return tied;
}

// Loops of the reduction with variables of their own.
std::vector<ForNode::Fields> FreshLoops(const Reduction& reduction, VarMap* loop_vars, uint32_t* next_id) {
  std::vector<ForNode::Fields> loops;
  for (const LoopUse& use : reduction.loops) {
    ForNode::Fields fields = use.loop->fields();
    fields.id = (*next_id)++;
    fields.var = Var(use.loop->var.name(), use.loop->var.dtype());
    fields.min = Substitute(fields.min, *loop_vars);
    fields.extent = Substitute(fields.extent, *loop_vars);
    (*loop_vars)[use.loop->var] = fields.var;
    loops.push_back(std::move(fields));
  }
  return loops;
}

// Iterators of the first step: the factor, the block's own, and one for each loop that the factor is tied to.
struct FirstIterators {
  std::vector<IterVar> all;
  std::vector<Expr> bindings;
  Var factor;
  VarMap of_block, of_loops;  // values of the block's iterators; iterators for the loops that these are made of
};

FirstIterators MakeFirstIterators(const Reduction& reduction, const VarMap& loop_vars) {
  const BlockNode& block = reduction.block();
  FirstIterators result;
  const auto add = [&](IterVar iter, const Expr& binding) {
    result.bindings.push_back(Substitute(binding, loop_vars));
    result.all.push_back(std::move(iter));
    return result.all.back().var;
  };
  result.factor = add(IteratorOf(*reduction.factor, IterKind::kSpatial), reduction.factor->var);
  result.of_loops[reduction.factor->var] = result.factor;
  const std::vector<const ForNode*> tied = LoopsTiedToFactor(reduction);
  for (size_t i = 0; i < block.iter_vars.size(); ++i) {
    const IterVar& iter = block.iter_vars[i];
    const Expr& binding = reduction.realize->bindings[i];
    if (std::ranges::none_of(tied, [&](const ForNode* loop) { return UsesVar(binding, loop->var); })) {
      result.of_block[iter.var] = add({Var(iter.var.name(), iter.var.dtype()), iter.domain, iter.kind}, binding);
      continue;
    }
    for (const LoopUse& use : reduction.loops) {
      if (UsesVar(binding, use.loop->var) && !result.of_loops.contains(use.loop->var)) {
        result.of_loops[use.loop->var] = add(IteratorOf(*use.loop, IterKind::kReduce), use.loop->var);
      }
    }
    result.of_block[iter.var] = Substitute(binding, result.of_loops);
  }
  return result;
}

// The first step: the loops and the block, all fresh.
Stmt MakeFirstStep(const Reduction& reduction, const Partial& partial, uint32_t* next_id, uint32_t* block_id) {
  const BlockNode& block = reduction.block();
  VarMap loop_vars;
  std::vector<ForNode::Fields> loops = FreshLoops(reduction, &loop_vars, next_id);
  FirstIterators iterators = MakeFirstIterators(reduction, loop_vars);
  const VarMap& iters = iterators.of_block;
  BlockNode::Fields first;
  first.id = *block_id = (*next_id)++;
  first.name = block.name + "_rf";
  first.annotations = block.annotations;
  first.iter_vars = std::move(iterators.all);
  Expr predicate = Substitute(reduction.realize->predicate, loop_vars), inside;
  if (SomeTermsAreLeftOut(reduction)) {
    inside = Substitute(reduction.realize->predicate, iterators.of_loops);
    predicate = True();
  }

  std::vector<Element> targets;
  std::vector<Expr> values, identities;
  for (size_t i = 0; i < reduction.reducer.components.size(); ++i) {
    const Reducer::Component& component = reduction.reducer.components[i];
    targets.push_back(partial.At(i, Substitute(component.accumulator.indices, iters),
                                 FromZero(iterators.factor, reduction.factor->min)));
    identities.push_back(Substitute(component.identity, iters));
    const Expr value = Substitute(component.value, iters);
    values.push_back(inside ? IfThenElse(inside, value, identities.back()) : value);
  }
  const bool reduces = std::any_of(first.iter_vars.begin(), first.iter_vars.end(),
                                   [](const IterVar& iter) { return iter.kind == IterKind::kReduce; });
  if (reduces) first.init = StoreInto(targets, identities);
  first.body = reduces ? CombineInto(reduction.reducer, targets, values) : StoreInto(targets, values);
  for (const BufferRegion& read : block.reads) first.reads.push_back(Substitute(read, iters));
  first.writes = Points(targets);
  return Nest(std::move(loops), Realize(std::move(iterators.bindings), std::move(predicate), Block(std::move(first))));
}

// The second step's block, with the id and the spatial iterators of the original.
Stmt MakeSecondStep(const Reduction& reduction, const Partial& partial) {
  const BlockNode& block = reduction.block();
  BlockNode::Fields second = block.fields();
  const IterVar factor = IteratorOf(*reduction.factor, IterKind::kReduce);
  second.iter_vars = {factor};
  std::vector<Expr> bindings = {reduction.factor->var};
  for (size_t i = 0; i < block.iter_vars.size(); ++i) {
    if (block.iter_vars[i].kind == IterKind::kReduce) continue;
    second.iter_vars.push_back(block.iter_vars[i]);
    bindings.push_back(reduction.realize->bindings[i]);
  }
  std::vector<Element> targets, partials;
  std::vector<Expr> values;
  for (size_t i = 0; i < reduction.reducer.components.size(); ++i) {
    targets.push_back(reduction.reducer.components[i].accumulator);
    partials.push_back(partial.At(i, targets.back().indices, FromZero(factor.var, reduction.factor->min)));
    values.push_back(partials.back().buffer.Load(partials.back().indices));
  }
  second.body = CombineInto(reduction.reducer, targets, values);
  // What the init reads; the values that are combined may be of the same buffers, at iterators that are gone.
  second.reads = Points(partials);
  AccessRegions of_init = DetectRegions(block.init);
  for (BufferRegion& read : of_init.reads) second.reads.push_back(std::move(read));
  Expr predicate = SomeTermsAreLeftOut(reduction) ? True() : PredicateOfSecond(reduction);
  if (const Expr run = DroppedLoopsRun(reduction); !IsTrue(run)) {
    predicate = IsTrue(predicate) ? run : And(predicate, run);
  }
  return Realize(std::move(bindings), std::move(predicate), Block(std::move(second)));
}

}  // namespace

Outcome<RfactorResult> Rfactor(const Function& function, uint32_t loop_id, int factor_axis) {
  TW_ASSIGN_OR_RETURN(Reduction reduction, Check(function, loop_id));
  TW_ASSIGN_OR_RETURN(Partial partial, MakePartial(reduction, factor_axis));
  uint32_t next_id = function->next_id;
  RfactorResult result;
  const Stmt first = MakeFirstStep(reduction, partial, &next_id, &result.block);
  const Stmt second = MakeSecondStep(reduction, partial);
  const ForNode* outermost = reduction.loops.front().loop;
  const Stmt body = RewriteStmt(reduction.scope->body, [&](const Stmt& s) -> Stmt {
    if (const auto* realize = dyn_cast<BlockRealizeNode>(s)) {
      return realize->block->id == reduction.block().id ? second : s;
    }
    const auto* loop = dyn_cast<ForNode>(s);
    if (loop == nullptr) return s;
    Stmt replaced = s;
    for (const LoopUse& use : reduction.loops) {
      if (use.loop->id == loop->id && reduction.IsDropped(use)) replaced = loop->body;
    }
    return loop->id == outermost->id ? Sequence({first, replaced}) : replaced;
  });
  result.function = WithScopeBody(function, *reduction.scope, body, partial.buffers, next_id);
  return result;
}

}  // namespace tilewright
