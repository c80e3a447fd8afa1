#include "schedule/reduction/rescale_reduction.h"

#include <algorithm>
#include <functional>
#include <optional>
#include <string>
#include <utility>

#include "base/check.h"
#include "base/status_macros.h"
#include "ir/analysis.h"
#include "ir/arith/analyzer.h"
#include "ir/builder.h"
#include "ir/builtin.h"
#include "ir/functor.h"
#include "ir/substitute.h"
#include "schedule/program/loop_tree.h"
#include "schedule/program/make_block.h"
#include "schedule/program/reducer.h"
#include "schedule/reduction/decompose_reduction.h"
#include "schedule/reduction/idle_terms.h"
#include "schedule/reduction/online_chain.h"
#include "schedule/reduction/rfactor.h"

namespace tilewright {
namespace {

constexpr const char *kName = "rescale_reduction", *kApart = "rescale_parts";

// A block with the loops around it, after the reductions have been taken apart.
struct Placed {
  const BlockRealizeNode* realize = nullptr;
  std::vector<const ForNode*> loops;
};
Placed Place(const Function& function, uint32_t block) {
  const Path path = FindPath(function, block);
  return {cast<BlockRealizeNode>(path.back()), LoopsAbove(path)};
}

// What running values and corrections are stored to: the shape of the first reduction's partial results, whose last
// dimension counts iterations.
struct Running {
  Buffer before, running;
  std::vector<Buffer> references, rescales;  // one of each factor
};

std::vector<Expr> With(std::vector<Expr> indices, const Expr& step) {
  indices.push_back(step);
  return indices;
}

// Whether a condition leaves m out of some terms. Such a sum may be a number where the factor of the others is none.
bool LeavesOutFactor(const Expr& value, const Var& m) {
  bool found = false;
  const auto check = [&](const Expr& condition, const Expr& a, const Expr& b) {
    found |= !UsesVar(condition, m) && UsesVar(a, m) != UsesVar(b, m);
  };
  PreOrder(value, [&](const Expr& e) {
    const auto* call = dyn_cast<CallNode>(e);
    if (const auto* select = dyn_cast<SelectNode>(e)) check(select->condition, select->true_value, select->false_value);
    if (call != nullptr && call->op == kIfThenElse) check(call->args[0], call->args[1], call->args[2]);
    return !found;
  });
  return found;
}

class Builder {
 public:
  // `apart`: the parts do not follow each other.
  Builder(Function function, OnlineChain chain, bool apart)
      : function_(std::move(function)),
        chain_(std::move(chain)),
        apart_(apart),
        idle_(apart ? std::nullopt : FindIdleTerms(function_, chain_)) {}

  Outcome<RescaleReductionResult> Build(bool skip_leading) {
    TW_RETURN_IF_ERROR(TakeAllApart());
    std::vector<Stmt> body = {InnerOf(parts_[0], chain_.first), RunningBlock()};
    for (size_t i = 0; i < chain_.factors.size(); ++i) body.push_back(RescaleBlock(i));
    size_t part = 1;
    for (const OnlineBlock& block : chain_.others) {
      if (!block.reduces) {
        body.push_back(ElementwiseBlock(block));
        continue;
      }
      body.push_back(PartialBlock(block, parts_[part++]));
      body.push_back(InnerOf(block.id(), block, CombiningBlock(block)));
    }
    Function assembled = Assemble(StartBlock(), Sequence(std::move(body)));
    return RescaleReductionResult{skip_leading && idle_ && idle_->begin ? BeginWithTerms(assembled) : assembled,
                                  parts_};
  }

  Outcome<RescaleReductionResult> BuildApart() {
    TW_RETURN_IF_ERROR(TakeAllApart());
    std::vector<Stmt> body = {InnerOf(parts_[0], chain_.first)}, corrections;
    for (size_t i = 0; i < chain_.factors.size(); ++i) {
      body.push_back(ReferenceBlock(i));
      corrections.push_back(CorrectionNest(i));
    }
    std::vector<uint32_t> made = parts_;
    size_t part = 1;
    for (const OnlineBlock& block : chain_.others) {
      body.push_back(block.reduces ? PartialBlock(block, parts_[part++]) : ElementwiseBlock(block));
    }
    made.insert(made.end(), corrections_.begin(), corrections_.end());
    return RescaleReductionResult{AssembleApart(Sequence(std::move(body)), corrections), std::move(made)};
  }

 private:
  using Done = std::monostate;
  const char* name() const { return apart_ ? kApart : kName; }

  Outcome<Done> TakeAllApart() {
    TW_RETURN_IF_ERROR(TakeApart(chain_.first));
    for (const OnlineBlock& block : chain_.others) {
      if (block.reduces) TW_RETURN_IF_ERROR(TakeApart(block));
    }
    next_id_ = function_->next_id;
    combining_ = Place(function_, chain_.first.id());
    // It may leave out rows, which all blocks do, and no part of one.
    if (UsesVar(combining_.realize->predicate, combining_.loops[chain_.first.outer - 1]->var)) {
      return Refusal{name(),
                     "some iterations of {loop0} hold no term of {block1}",
                     {chain_.first.loop, chain_.first.id()},
                     {combining_.realize->predicate}};
    }
    TW_ASSIGN_OR_RETURN(reducer_, DetectReducer(name(), *combining_.realize->block));
    shared_ = apart_ ? Place(function_, parts_[0]).loops : combining_.loops;
    MakeBuffers();
    return Done();
  }

  Outcome<Done> TakeApart(const OnlineBlock& block) {
    Outcome<RfactorResult> result = Rfactor(function_, block.loop, -1);
    if (!result.ok()) {
      Refusal refusal = result.refusal();
      refusal.primitive = name();
      return refusal;
    }
    function_ = result->function;
    parts_.push_back(result->block);
    return Done();
  }

  void MakeBuffers() {
    const Buffer& partial = cast<LoadNode>(reducer_.components[0].value)->buffer;
    const std::string& name = Reduced()->name;
    const auto make = [&](const std::string& suffix) {
      return Buffer(name + suffix, partial->shape, partial->dtype, partial->scope);
    };
    if (!apart_) {
      buffers_.before = make("_before");
      buffers_.running = make("_running");
    }
    for (size_t i = 0; i < chain_.factors.size(); ++i) {
      const std::string number = i == 0 ? "" : "_" + std::to_string(i);
      buffers_.references.push_back(make("_reference" + number));
      buffers_.rescales.push_back(make("_rescale" + number));
    }
  }
  const Buffer& Reduced() const { return chain_.first.component().accumulator.buffer; }

  // ---- Blocks that run once for each partial result of the first reduction

  struct Fresh {
    std::vector<ForNode::Fields> loops;  // inside of the shared ones
    std::vector<Expr> bindings;
    Expr predicate;
    BlockNode::Fields block;
    VarMap iters;               // of the first reduction, as those of the block
    std::vector<Expr> indices;  // of its partial results
    Expr step, last;            // of the shared loop
  };
  Fresh FreshBlock(const std::string& name) { return FreshBlock(name, chain_.first.outer); }
  // With its own loops from that one on.
  Fresh FreshBlock(const std::string& name, size_t first_own) {
    Fresh fresh;
    VarMap loop_vars;
    for (size_t i = 0; i < first_own; ++i) loop_vars[combining_.loops[i]->var] = shared_[i]->var;
    for (size_t i = first_own; i < combining_.loops.size(); ++i) {
      ForNode::Fields fields = combining_.loops[i]->fields();
      fields.id = next_id_++;
      fields.var = Var(fields.var.name(), fields.var.dtype());
      fields.min = Substitute(fields.min, loop_vars);
      fields.extent = Substitute(fields.extent, loop_vars);
      loop_vars[combining_.loops[i]->var] = fields.var;
      fresh.loops.push_back(std::move(fields));
    }
    fresh.bindings = Substitute(combining_.realize->bindings, loop_vars);
    fresh.predicate = Substitute(combining_.realize->predicate, loop_vars);
    fresh.block.name = name;
    fresh.block.id = next_id_++;
    for (const IterVar& iter : combining_.realize->block->iter_vars) {
      IterVar copy{Var(iter.var.name(), iter.var.dtype()), iter.domain, IterKind::kSpatial};
      fresh.iters[iter.var] = copy.var;
      fresh.block.iter_vars.push_back(std::move(copy));
    }
    const IterVar& step = fresh.block.iter_vars[0];  // rfactor's
    fresh.step = step.var;
    fresh.last = idle_ && idle_->last ? LastWithTerms(fresh) : arith::Simplify(step.domain.extent - 1);
    fresh.indices =
        With(Substitute(reducer_.components[0].accumulator.indices, fresh.iters), CastTo(step.var.dtype(), fresh.step));
    return fresh;
  }
  // The last iteration with terms of the block's row.
  Expr LastWithTerms(const Fresh& fresh) const {
    const std::vector<Expr>& row = reducer_.components[0].accumulator.indices;
    const std::vector<Expr>& given = chain_.first.component().accumulator.indices;
    VarMap rows;
    for (size_t d = 0; d < given.size(); ++d) {
      if (const auto* var = dyn_cast<VarNode>(given[d])) rows[Var(var)] = Substitute(row[d], fresh.iters);
    }
    return CastTo(fresh.step.dtype(), Substitute(idle_->last, rows));
  }
  static Stmt Finish(Fresh fresh, std::vector<Stmt> body) {
    fresh.block.body = Sequence(std::move(body));
    return Nest(std::move(fresh.loops),
                Realize(std::move(fresh.bindings), fresh.predicate, TouchingBlock(std::move(fresh.block))));
  }

  // The value before the first part.
  Stmt StartBlock() {
    Fresh fresh = FreshBlock(Reduced()->name + "_init");
    // No iterator of the shared loop.
    fresh.block.iter_vars.erase(fresh.block.iter_vars.begin());
    fresh.bindings.erase(fresh.bindings.begin());
    const Reducer::Component& component = reducer_.components[0];
    const Stmt start = Store(Reduced(), Substitute(component.init, fresh.iters),
                             Substitute(component.accumulator.indices, fresh.iters));
    return Finish(std::move(fresh), {start});
  }

  // With the id of the first reduction, whose output holds the running value and at last the final one. What it keeps
  // of each iteration is meant to be read before the reduction is done: the shared loop is not a reduce iterator.
  Stmt RunningBlock() {
    const BlockNode& reduction = *combining_.realize->block;
    Fresh fresh = FreshBlock(reduction.name);
    fresh.block.id = reduction.id;
    fresh.block.annotations = reduction.annotations;
    fresh.block.iter_vars[0].kind = IterKind::kOpaque;
    const Reducer::Component& component = reducer_.components[0];
    const std::vector<Expr> at = fresh.indices, element = Substitute(component.accumulator.indices, fresh.iters);
    const Expr value = Reduced().Load(element);
    const VarMap combine = {{component.old, value}, {component.fresh, Substitute(component.value, fresh.iters)}};
    return Finish(std::move(fresh), {Store(buffers_.before, value, at),
                                     Store(Reduced(), Substitute(component.combined, combine), element),
                                     Store(buffers_.running, value, at)});
  }

  Stmt RescaleBlock(size_t i) {
    const ValueFactor& factor = chain_.factors[i];
    Fresh fresh = FreshBlock(buffers_.rescales[i]->name);
    const DataType type = Reduced()->dtype;
    const std::vector<Expr> at = fresh.indices;
    const Expr now = buffers_.running.Load(at), old = buffers_.before.Load(at);
    const Expr other = ConstFloat(type, *InvertibleAt(factor, chain_.m));
    const Expr from = Select(IsInvertible(factor, chain_.m, old), old, other);
    const Expr to = Select(Or(IsInvertible(factor, chain_.m, now), fresh.step == fresh.last), now, other);
    // A sum that is zero stays zero: no infinite correction. T.min gives its second operand where that is NaN.
    const Expr ratio = FactorRatio(factor, chain_.m, from, buffers_.references[i].Load(at), type);
    const Expr correction = Min(GreatestValue(type), Max(LeastValue(type), ratio));
    return Finish(std::move(fresh),
                  {Store(buffers_.references[i], to, at), Store(buffers_.rescales[i], correction, at)});
  }

  // rescale_parts: a part's own result, or a constant where the factor cannot be inverted at that.
  Stmt ReferenceBlock(size_t i) {
    const ValueFactor& factor = chain_.factors[i];
    Fresh fresh = FreshBlock(buffers_.references[i]->name);
    const Expr part = Substitute(reducer_.components[0].value, fresh.iters);
    const Expr other = ConstFloat(Reduced()->dtype, *InvertibleAt(factor, chain_.m));
    const Stmt store =
        Store(buffers_.references[i], Select(IsInvertible(factor, chain_.m, part), part, other), fresh.indices);
    return Finish(std::move(fresh), {store});
  }

  // From a part's reference to the final value. Where the factor cannot be inverted at that, all terms are what it
  // makes of zero or of infinity.
  Stmt CorrectionNest(size_t i) {
    const ValueFactor& factor = chain_.factors[i];
    Fresh fresh = FreshBlock(buffers_.rescales[i]->name, 0);
    corrections_.push_back(fresh.block.id);
    const DataType type = Reduced()->dtype;
    const std::vector<Expr> at = fresh.indices;
    const Expr last = Reduced().Load(Substitute(reducer_.components[0].accumulator.indices, fresh.iters));
    const Expr ratio = FactorRatio(factor, chain_.m, buffers_.references[i].Load(at), last, type);
    const Expr finite = Min(GreatestValue(type), Max(LeastValue(type), ratio));
    const Expr value = Select(IsInvertible(factor, chain_.m, last), finite, ratio);
    return Finish(std::move(fresh), {Store(buffers_.rescales[i], value, at)});
  }

  // ---- Blocks of the others

  VarMap OuterVars(const Placed& placed) const {
    VarMap vars;
    for (size_t i = 0; i < chain_.first.outer; ++i) vars[placed.loops[i]->var] = shared_[i]->var;
    return vars;
  }
  // What the shared loop holds of the block's nest, with `realize` in place of the block.
  Stmt InnerOf(uint32_t id, const OnlineBlock& block, const Stmt& realize = {}) {
    const Placed placed = Place(function_, id);
    removed_.push_back(placed.loops[0]->id);
    Stmt body = placed.loops[block.outer - 1]->body;
    if (realize) body = ReplaceStmt(body, placed.realize, realize);
    return Substitute(body, OuterVars(placed));
  }

  Expr UseReference(const OnlineBlock& block, const Expr& e, const Expr& step) const {
    const auto* load = dyn_cast<LoadNode>(e);
    if (load == nullptr || !load->buffer.same_as(Reduced())) return e;
    return buffers_.references[ReferenceOf(block)].Load(With(load->indices, step));
  }
  // An elementwise block takes the reference that its readers' corrections are made with.
  size_t ReferenceOf(const OnlineBlock& block) const {
    if (block.reduces) return block.factor;
    for (const OnlineBlock& other : chain_.others) {
      if (&other != &block && Mentions(other.block().reads, block.output())) return ReferenceOf(other);
    }
    return 0;
  }

  Stmt PartialBlock(const OnlineBlock& block, uint32_t part) {
    const Placed placed = Place(function_, part);
    BlockNode::Fields fields = placed.realize->block->fields();
    const Expr step = fields.iter_vars[0].var;  // rfactor's
    fields.body = RewriteExprs(fields.body, [&](const Expr& e) { return UseReference(block, e, step); });
    return InnerOf(part, block,
                   Realize(placed.realize->bindings, placed.realize->predicate, TouchingBlock(std::move(fields))));
  }

  // Corrects the sum so far, or a part that has its own reference.
  Stmt CombiningBlock(const OnlineBlock& block) const {
    const Placed placed = Place(function_, block.id());
    BlockNode::Fields fields = placed.realize->block->fields();
    const Buffer& sum = block.component().accumulator.buffer;
    const Expr correction = buffers_.rescales[block.factor].Load(With(block.indices, Expr(fields.iter_vars[0].var)));
    fields.body = RewriteExprs(fields.body, [&](const Expr& e) -> Expr {
      const auto* load = dyn_cast<LoadNode>(e);
      const bool corrects = load != nullptr && load->buffer.same_as(sum) != apart_;
      return corrects ? e * CastTo(sum->dtype, correction) : e;
    });
    return Realize(placed.realize->bindings, placed.realize->predicate, TouchingBlock(std::move(fields)));
  }

  // With an iterator for the shared loop, which its references are indexed by.
  Stmt ElementwiseBlock(const OnlineBlock& block) {
    const Placed placed = Place(function_, block.id());
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
    return InnerOf(block.id(), block,
                   Realize(std::move(bindings), placed.realize->predicate, TouchingBlock(std::move(fields))));
  }

  // ---- The nest

  // The shared loops around all blocks; `start` comes before the innermost of them.
  Stmt SharedNest(const Stmt& body, const Stmt& start = {}) const {
    Stmt nest = body;
    for (size_t i = chain_.first.outer; i-- > 0;) {
      const bool innermost = i + 1 == chain_.first.outer;
      ForNode::Fields fields = shared_[i]->fields();
      fields.body = nest;
      if (idle_ && idle_->end && innermost) fields.extent = ExtentWithTerms(fields.extent);
      nest = For(std::move(fields));
      if (start && innermost) nest = Sequence({start, nest});
    }
    return nest;
  }

  Function Assemble(const Stmt& start, const Stmt& body) const {
    return InScope([&](const ForNode* loop, std::vector<Stmt>* stmts) {
      if (loop == combining_.loops[0]) stmts->push_back(SharedNest(body, start));
      return loop == combining_.loops[0];
    });
  }

  // A nest of all parts; then the final value, what follows from it, and sums of the parts.
  Function AssembleApart(const Stmt& body, const std::vector<Stmt>& corrections) const {
    return InScope([&](const ForNode* loop, std::vector<Stmt>* stmts) {
      if (loop == combining_.loops[0]) {
        stmts->insert(stmts->end(), {SharedNest(body), Stmt(loop)});
        stmts->insert(stmts->end(), corrections.begin(), corrections.end());
        return true;
      }
      for (const OnlineBlock& block : chain_.others) {
        const Placed placed = Place(function_, block.id());
        if (!block.reduces || placed.loops[0] != loop) continue;
        stmts->push_back(ReplaceStmt(Stmt(loop), placed.realize, CombiningBlock(block)));
        return true;
      }
      return false;
    });
  }

  // The scope without the nests that have moved; `put` puts others there for a loop, where it does.
  Function InScope(const std::function<bool(const ForNode*, std::vector<Stmt>*)>& put) const {
    const auto* scope = FindBlock(function_, chain_.scope);
    const auto* sequence = dyn_cast<SeqNode>(scope->block->body);
    std::vector<Stmt> stmts;
    for (const Stmt& stmt : sequence == nullptr ? std::vector<Stmt>{scope->block->body} : sequence->stmts) {
      const auto* loop = dyn_cast<ForNode>(stmt);
      const bool moved = loop != nullptr && std::ranges::find(removed_, loop->id) != removed_.end();
      if ((loop == nullptr || !put(loop, &stmts)) && !moved) stmts.push_back(stmt);
    }
    BlockNode::Fields fields = scope->block->fields();
    fields.body = Sequence(std::move(stmts));
    std::vector<Buffer>& allocated = fields.alloc_buffers;
    if (!apart_) allocated.insert(allocated.end(), {buffers_.before, buffers_.running});
    allocated.insert(allocated.end(), buffers_.references.begin(), buffers_.references.end());
    allocated.insert(allocated.end(), buffers_.rescales.begin(), buffers_.rescales.end());
    return ReplaceIn(function_, scope, Realize(scope->bindings, scope->predicate, Block(std::move(fields))), next_id_);
  }

  Expr ExtentWithTerms(const Expr& extent) const {
    arith::Analyzer analyzer;
    return analyzer.Simplify(Min(extent, CastTo(extent.dtype(), OfOuterLoops(idle_->end, &analyzer))));
  }
  // An expression of the loops around the first reduction's, in terms of those that are left.
  Expr OfOuterLoops(const Expr& e, arith::Analyzer* analyzer) const {
    VarMap vars;
    for (size_t i = 0; i + 1 < chain_.first.outer; ++i) {
      const ForNode& loop = *combining_.loops[i];
      vars[chain_.first.loops[i]->var] = loop.var;
      analyzer->Bind(loop.var, {loop.min, loop.extent});
    }
    return Substitute(e, vars);
  }

  // The shared loop from its first iteration with terms on, where sums may begin before it.
  Function BeginWithTerms(const Function& assembled) const {
    const uint32_t shared = combining_.loops[chain_.first.outer - 1]->id;
    Function function = assembled;
    for (const OnlineBlock& block : chain_.others) {
      if (!block.reduces) continue;
      Outcome<DecomposeReductionResult> begun = DecomposeReduction(function, block.id(), shared);
      if (!begun.ok()) return assembled;
      function = begun->function;
    }
    const auto* loop = cast<ForNode>(FindPath(function, shared).back());
    ForNode::Fields fields = loop->fields();
    arith::Analyzer analyzer;
    const DataType type = fields.extent.dtype();
    fields.min = analyzer.Simplify(CastTo(type, OfOuterLoops(idle_->begin, &analyzer)));
    fields.extent = analyzer.Simplify(fields.extent - fields.min);
    if (IsInt(fields.min, 0)) return assembled;
    return ReplaceIn(function, loop, For(std::move(fields)), function->next_id);
  }

  Function function_;
  const OnlineChain chain_;
  const bool apart_;
  const std::optional<IdleTerms> idle_;
  std::vector<uint32_t> parts_;    // blocks of partial results, that of the first reduction first
  std::vector<uint32_t> removed_;  // outermost loops of nests that move
  std::vector<uint32_t> corrections_;
  Placed combining_;                    // the first reduction's second step
  std::vector<const ForNode*> shared_;  // loops around all blocks of the shared nest, and more
  Reducer reducer_;                     // of it
  Running buffers_;
  uint32_t next_id_ = 0;
};

}  // namespace

Outcome<RescaleReductionResult> RescaleReduction(const Function& function, const std::vector<uint32_t>& loops,
                                                 bool skip_leading) {
  TW_CHECK(!loops.empty());
  TW_ASSIGN_OR_RETURN(OnlineChain chain, FindOnlineChain(kName, function, loops[0], {loops.begin() + 1, loops.end()}));
  return Builder(function, std::move(chain), false).Build(skip_leading);
}

Outcome<RescaleReductionResult> RescaleParts(const Function& function, const std::vector<uint32_t>& loops) {
  TW_CHECK(!loops.empty());
  TW_ASSIGN_OR_RETURN(OnlineChain chain, FindOnlineChain(kApart, function, loops[0], {loops.begin() + 1, loops.end()}));
  for (const OnlineBlock& block : chain.others) {
    if (block.reduces && LeavesOutFactor(block.value, chain.m)) {
      return Refusal{kApart, "a condition leaves the factor out of some terms of {block0}", {block.id()}};
    }
  }
  return Builder(function, std::move(chain), true).BuildApart();
}

}  // namespace tilewright
