#include "verify/regions/steps.h"

#include <algorithm>
#include <utility>

#include "ir/analysis.h"
#include "ir/arith/same_expr.h"
#include "ir/builtin.h"
#include "ir/functor.h"
#include "ir/substitute.h"

namespace tilewright {
namespace {

// The box of what indices touch; nothing where vectors jump.
std::optional<BufferRegion> RegionOf(const Buffer& buffer, const std::vector<Expr>& indices) {
  BufferRegion region{buffer, {}};
  for (const Expr& index : indices) {
    const auto* ramp = dyn_cast<RampNode>(index);
    if (ramp != nullptr && IsInt(ramp->stride, 1)) {
      region.region.push_back({ramp->base, Const(ramp->base.dtype(), index.dtype().lanes())});
    } else if (index.dtype().lanes() == 1) {
      region.region.push_back({index, Const(index.dtype(), 1)});
    } else {
      return std::nullopt;
    }
  }
  return region;
}

// Walks with the loops and conditions around.
class Walk : public Visitor {
 public:
  using Visitor::Visit;
  std::vector<Step> steps;

 protected:
  explicit Walk(std::vector<Stmt>* kept) : kept_(kept) {}

  void VisitFor(const ForNode* op) override {
    Visit(op->min);
    Visit(op->extent);
    loops_.push_back(op);
    Visit(op->body);
    loops_.pop_back();
  }
  void VisitWhile(const WhileNode* op) override {
    Visit(op->condition);
    Under({op, {}, false}, [&] { Visit(op->body); });
  }
  void VisitIf(const IfNode* op) override {
    Visit(op->condition);
    Under({op, op->condition, false}, [&] { Visit(op->then_case); });
    if (op->else_case) Under({op, Not(op->condition), true}, [&] { Visit(op->else_case); });
  }

  template <class Visits>
  void Under(Step::Condition condition, Visits visits) {
    conditions_.push_back(std::move(condition));
    visits();
    conditions_.pop_back();
  }
  void Add(const BlockRealizeNode* realize, bool is_store) {
    Step step;
    step.realize = realize;
    step.loops = loops_;
    step.conditions = conditions_;
    step.is_store = is_store;
    steps.push_back(std::move(step));
  }
  const BlockRealizeNode* Keep(std::vector<Expr> bindings, Expr predicate, BlockNode::Fields fields) {
    kept_->push_back(Realize(std::move(bindings), std::move(predicate), Block(std::move(fields))));
    return cast<BlockRealizeNode>(kept_->back());
  }

  std::vector<const ForNode*> loops_;
  std::vector<Step::Condition> conditions_;

 private:
  std::vector<Stmt>* kept_;
};

class StepWalk : public Walk {
 public:
  using Walk::Visit;
  explicit StepWalk(std::vector<Stmt>* kept) : Walk(kept) {}
  void Visit(const Expr&) override {}

 protected:
  void VisitBlockRealize(const BlockRealizeNode* op) override { Add(op, /*is_store=*/false); }
  void VisitStore(const StoreNode* op) override {
    std::optional<BufferRegion> region = RegionOf(op->buffer, op->indices);
    if (!region || op->predicate) return;
    BlockNode::Fields fields;
    fields.writes = {*std::move(region)};
    fields.body = Stmt(op);
    Add(Keep({}, True(), std::move(fields)), /*is_store=*/true);
  }
};

class LoadWalk : public Walk {
 public:
  using Walk::Visit;
  LoadWalk(const Step& reader, const Buffer& buffer, std::vector<Stmt>* kept)
      : Walk(kept), reader_(reader), buffer_(buffer) {
    const BlockNode& block = *reader.realize->block;
    for (size_t i = 0; i < block.iter_vars.size(); ++i)
      iterators_[block.iter_vars[i].var] = reader.realize->bindings[i];
    loops_ = reader.loops;
    conditions_ = reader.conditions;
    Visit(block.init);
    Visit(block.body);
  }

 protected:
  void VisitLoad(const LoadNode* op) override {
    Visitor::VisitLoad(op);
    if (!op->buffer.same_as(buffer_)) return;
    const std::optional<BufferRegion> region = RegionOf(op->buffer, op->indices);
    BlockNode::Fields fields;
    fields.id = reader_.id();
    fields.name = reader_.realize->block->name;
    fields.reads = {Substitute(region ? *region : BufferRegion::Full(op->buffer), iterators_)};
    fields.body = Evaluate(0);
    Add(Keep({}, reader_.realize->predicate, std::move(fields)), /*is_store=*/false);
  }
  void VisitIf(const IfNode* op) override {
    Visit(op->condition);
    const Expr condition = Substitute(op->condition, iterators_);
    Under({op, condition, false}, [&] { Visit(op->then_case); });
    if (op->else_case) Under({op, Not(condition), true}, [&] { Visit(op->else_case); });
  }
  void VisitSelect(const SelectNode* op) override {
    if (!op->condition.dtype().is_scalar()) return Visitor::VisitSelect(op);
    VisitChoice(op->condition, op->true_value, op->false_value);
  }
  void VisitCall(const CallNode* op) override {
    if (op->op != kIfThenElse) return Visitor::VisitCall(op);
    VisitChoice(op->args[0], op->args[1], op->args[2]);
  }

 private:
  void VisitChoice(const Expr& condition, const Expr& yes, const Expr& no) {
    Visit(condition);
    const Expr here = Substitute(condition, iterators_);
    Under({nullptr, here, false}, [&] { Visit(yes); });
    Under({nullptr, Not(here), true}, [&] { Visit(no); });
  }

  const Step& reader_;
  const Buffer& buffer_;
  VarMap iterators_;
};

}  // namespace

Steps Steps::Of(const BlockNode* block, std::vector<Stmt>* kept) {
  StepWalk walk(kept);
  walk.Visit(block->body);  // not the init, which is part of the block's own computation
  Steps steps;
  steps.block_ = block;
  steps.steps_ = std::move(walk.steps);
  return steps;
}

std::vector<Step> LoadsOf(const Step& reader, const Buffer& buffer, std::vector<Stmt>* kept) {
  return LoadWalk(reader, buffer, kept).steps;
}

size_t CommonConditions(const Step& a, const Step& b) {
  size_t n = 0;
  while (n < a.conditions.size() && n < b.conditions.size() && a.conditions[n].of == b.conditions[n].of &&
         a.conditions[n].of != nullptr && a.conditions[n].is_else == b.conditions[n].is_else) {
    ++n;
  }
  return n;
}

std::optional<Expr> ConditionToRunBefore(const Step& before, const Step& step, const arith::Domain& threads) {
  Expr condition = before.realize->predicate;
  const size_t common = CommonConditions(before, step);
  for (size_t i = 0; i < before.conditions.size(); ++i) {
    const Expr& holds = before.conditions[i].holds;
    const bool varies = std::ranges::any_of(threads, [&](const auto& t) { return UsesVar(holds, t.first); });
    if (i < common && !varies) continue;
    if (!holds || arith::ReadsMemory(holds)) return std::nullopt;
    condition = IsTrue(condition) ? holds : And(condition, holds);
  }
  return condition;
}

Expr WhatHolds(const Step& step) {
  Expr holding = step.realize->predicate;
  for (const Step::Condition& condition : step.conditions) {
    if (!condition.holds || arith::ReadsMemory(condition.holds)) continue;
    holding = IsTrue(holding) ? condition.holds : And(holding, condition.holds);
  }
  return holding;
}

}  // namespace tilewright
