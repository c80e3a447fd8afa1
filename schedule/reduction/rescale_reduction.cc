#include "schedule/reduction/rescale_reduction.h"

#include <algorithm>
#include <optional>
#include <string>
#include <utility>

#include "base/check.h"
#include "base/status_macros.h"
#include "ir/analysis.h"
#include "ir/arith/analyzer.h"
#include "ir/builder.h"
#include "ir/functor.h"
#include "ir/substitute.h"
#include "schedule/program/loop_tree.h"
#include "schedule/program/make_block.h"
#include "schedule/program/reducer.h"
#include "schedule/reduction/idle_terms.h"
#include "schedule/reduction/online_chain.h"
#include "schedule/reduction/rfactor.h"

namespace tilewright {
namespace {

constexpr const char* kName = "rescale_reduction";

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

class Builder {
 public:
  Builder(Function function, OnlineChain chain)
      : function_(std::move(function)), chain_(std::move(chain)), idle_(FindIdleTerms(function_, chain_)) {}

  Outcome<RescaleReductionResult> Build() {
    TW_RETURN_IF_ERROR(TakeApart(chain_.first));
    for (const OnlineBlock& block : chain_.others) {
      if (block.reduces) TW_RETURN_IF_ERROR(TakeApart(block));
    }
    next_id_ = function_->next_id;
    combining_ = Place(function_, chain_.first.id());
    // It may leave out rows, which all blocks do, and no part of one.
    if (UsesVar(combining_.realize->predicate, combining_.loops[chain_.first.outer - 1]->var)) {
      return Refusal{kName,
                     "some iterations of {loop0} hold no term of {block1}",
                     {chain_.first.loop, chain_.first.id()},
                     {combining_.realize->predicate}};
    }
    TW_ASSIGN_OR_RETURN(reducer_, DetectReducer(kName, *combining_.realize->block));
    MakeBuffers();
    std::vector<Stmt> body = {InnerOf(parts_[0], chain_.first), RunningBlock()};
    for (size_t i = 0; i < chain_.factors.size(); ++i) body.push_back(RescaleBlock(i));
    size_t part = 1;
    for (const OnlineBlock& block : chain_.others) {
      if (!block.reduces) {
        body.push_back(ElementwiseBlock(block));
        continue;
      }
      body.push_back(PartialBlock(block, parts_[part++]));
      body.push_back(CombiningBlock(block));
    }
    return RescaleReductionResult{Assemble(StartBlock(), Sequence(std::move(body))), parts_};
  }

 private:
  using Done = std::monostate;

  Outcome<Done> TakeApart(const OnlineBlock& block) {
    Outcome<RfactorResult> result = Rfactor(function_, block.loop, -1);
    if (!result.ok()) {
      Refusal refusal = result.refusal();
      refusal.primitive = kName;
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
    buffers_.before = make("_before");
    buffers_.running = make("_running");
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
  Fresh FreshBlock(const std::string& name) {
    Fresh fresh;
    VarMap loop_vars;
    for (size_t i = chain_.first.outer; i < combining_.loops.size(); ++i) {
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
    fresh.last = idle_ ? LastWithTerms(fresh) : arith::Simplify(step.domain.extent - 1);
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

  // ---- Blocks of the others

  VarMap OuterVars(const Placed& placed) const {
    VarMap vars;
    for (size_t i = 0; i < chain_.first.outer; ++i) vars[placed.loops[i]->var] = combining_.loops[i]->var;
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

  Stmt CombiningBlock(const OnlineBlock& block) {
    const Placed placed = Place(function_, block.id());
    BlockNode::Fields fields = placed.realize->block->fields();
    const Buffer& sum = block.component().accumulator.buffer;
    const Expr correction = buffers_.rescales[block.factor].Load(With(block.indices, Expr(fields.iter_vars[0].var)));
    fields.body = RewriteExprs(fields.body, [&](const Expr& e) -> Expr {
      const auto* load = dyn_cast<LoadNode>(e);
      return load != nullptr && load->buffer.same_as(sum) ? e * CastTo(sum->dtype, correction) : e;
    });
    return InnerOf(block.id(), block,
                   Realize(placed.realize->bindings, placed.realize->predicate, TouchingBlock(std::move(fields))));
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

  Function Assemble(const Stmt& start, const Stmt& body) {
    Stmt nest = body;
    for (size_t i = chain_.first.outer; i-- > 0;) {
      ForNode::Fields fields = combining_.loops[i]->fields();
      fields.body = nest;
      if (idle_ && i + 1 == chain_.first.outer) fields.extent = ExtentWithTerms(fields.extent);
      nest = For(std::move(fields));
      if (i + 1 == chain_.first.outer) nest = Sequence({start, nest});
    }
    const auto* scope = FindBlock(function_, chain_.scope);
    const auto* sequence = dyn_cast<SeqNode>(scope->block->body);
    std::vector<Stmt> stmts;
    for (const Stmt& stmt : sequence == nullptr ? std::vector<Stmt>{scope->block->body} : sequence->stmts) {
      const auto* loop = dyn_cast<ForNode>(stmt);
      if (loop == combining_.loops[0]) {
        stmts.push_back(nest);
      } else if (loop == nullptr || std::ranges::find(removed_, loop->id) == removed_.end()) {
        stmts.push_back(stmt);
      }
    }
    BlockNode::Fields fields = scope->block->fields();
    fields.body = Sequence(std::move(stmts));
    std::vector<Buffer>& allocated = fields.alloc_buffers;
    allocated.push_back(buffers_.before);
    allocated.push_back(buffers_.running);
    allocated.insert(allocated.end(), buffers_.references.begin(), buffers_.references.end());
    allocated.insert(allocated.end(), buffers_.rescales.begin(), buffers_.rescales.end());
    return ReplaceIn(function_, scope, Realize(scope->bindings, scope->predicate, Block(std::move(fields))), next_id_);
  }

  Expr ExtentWithTerms(const Expr& extent) const {
    VarMap vars;
    arith::Analyzer analyzer;
    for (size_t i = 0; i + 1 < chain_.first.outer; ++i) {
      const ForNode& loop = *combining_.loops[i];
      vars[chain_.first.loops[i]->var] = loop.var;
      analyzer.Bind(loop.var, {loop.min, loop.extent});
    }
    return analyzer.Simplify(Min(extent, CastTo(extent.dtype(), Substitute(idle_->end, vars))));
  }

  Function function_;
  const OnlineChain chain_;
  const std::optional<IdleTerms> idle_;
  std::vector<uint32_t> parts_;    // blocks of partial results, that of the first reduction first
  std::vector<uint32_t> removed_;  // outermost loops of nests that move
  Placed combining_;               // the first reduction's second step
  Reducer reducer_;                // of it
  Running buffers_;
  uint32_t next_id_ = 0;
};

}  // namespace

Outcome<RescaleReductionResult> RescaleReduction(const Function& function, const std::vector<uint32_t>& loops) {
  TW_CHECK(!loops.empty());
  TW_ASSIGN_OR_RETURN(OnlineChain chain, FindOnlineChain(kName, function, loops[0], {loops.begin() + 1, loops.end()}));
  return Builder(function, std::move(chain)).Build();
}

}  // namespace tilewright
