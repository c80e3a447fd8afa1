#include "schedule/program/simplify_nest.h"

#include <algorithm>
#include <optional>
#include <utility>

#include "ir/analysis.h"
#include "ir/functor.h"
#include "ir/substitute.h"
#include "schedule/program/loop_ranges.h"

namespace tilewright {
namespace {

void AppendTerms(const Expr& e, std::vector<Expr>* terms) {
  const auto* op = dyn_cast<BinaryNode>(e);
  if (op != nullptr && op->op == BinaryOp::kAdd) {
    AppendTerms(op->a, terms);
    AppendTerms(op->b, terms);
  } else {
    terms->push_back(e);
  }
}

// Takes divisions of sums of several loops, (i_0 * 16 + i_1) // 12, out of an expression: in TVM's iterator maps such a
// sum is one iterator, and no division goes through it.
class FusedDivisions : public Mutator {
 public:
  FusedDivisions(arith::Analyzer& analyzer, const std::vector<const VarNode*>& loops)
      : analyzer_(analyzer), loops_(loops) {}

  // The expression simplified otherwise.
  Expr Simplify(const Expr& e) {
    Expr simplified = analyzer_.Simplify(Mutate(e));
    for (auto taken = taken_.rbegin(); taken != taken_.rend(); ++taken) {
      simplified = Substitute(simplified, {{taken->first, taken->second}});
    }
    return simplified;
  }

 protected:
  using Mutator::Mutate;
  Expr MutateBinary(const BinaryNode* op, const Expr& self) override {
    const bool divides = op->op == BinaryOp::kFloorDiv || op->op == BinaryOp::kFloorMod;
    if (!divides || !AsInt(op->b)) return Mutator::MutateBinary(op, self);
    return Divide(op->op, analyzer_.Simplify(Mutate(op->a)), *AsInt(op->b));
  }

 private:
  bool IsFused(const Expr& e) const {
    std::vector<Expr> terms;
    AppendTerms(e, &terms);
    size_t loops = 0;
    bool taken = false;
    for (const Expr& term : terms) {
      loops += UsesVar(term, [&](const VarNode* var) { return std::ranges::find(loops_, var) != loops_.end(); });
      taken |= UsesVar(term, [&](const VarNode* var) { return DivisionOf(var) != nullptr; });
    }
    return loops > 1 || taken;
  }
  const BinaryNode* DivisionOf(const Node* var) const {
    for (const auto& [taken, division] : taken_) {
      if (taken.get() == var) return cast<BinaryNode>(division);
    }
    return nullptr;
  }
  // e // by, or e % by.
  Expr Divide(BinaryOp op, const Expr& e, int64_t by) {
    const Expr divisor = Const(e.dtype(), by);
    const bool inside = analyzer_.CanProve(e >= 0) && analyzer_.CanProve(e < divisor);
    if (inside) return op == BinaryOp::kFloorDiv ? Const(e.dtype(), 0) : e;
    if (const BinaryNode* inner = isa<VarNode>(e) ? DivisionOf(e.get()) : nullptr) {
      const int64_t inner_by = *AsInt(inner->b);
      int64_t product = 0;
      const bool fits = !__builtin_mul_overflow(by, inner_by, &product);
      if (inner->op == BinaryOp::kFloorDiv && op == BinaryOp::kFloorDiv && fits) {
        return Divide(op, inner->a, product);
      }
      if (inner->op == BinaryOp::kFloorMod && op == BinaryOp::kFloorMod && inner_by % by == 0) {
        return Divide(op, inner->a, by);
      }
    }
    if (!IsFused(e)) return op == BinaryOp::kFloorDiv ? FloorDiv(e, divisor) : FloorMod(e, divisor);
    const Var taken("division", e.dtype());
    if (op == BinaryOp::kFloorMod) analyzer_.Bind(taken, Range{Const(e.dtype(), 0), divisor});
    taken_.emplace_back(taken, op == BinaryOp::kFloorDiv ? FloorDiv(e, divisor) : FloorMod(e, divisor));
    return taken;
  }

  arith::Analyzer& analyzer_;
  const std::vector<const VarNode*>& loops_;
  std::vector<std::pair<Var, Expr>> taken_;
};

class NestSimplifier : public Mutator {
 public:
  NestSimplifier(arith::Analyzer& analyzer, const std::vector<const ForNode*>& above, bool preserve_unit_iters)
      : analyzer_(analyzer), preserve_unit_iters_(preserve_unit_iters) {
    for (const ForNode* loop : above) loops_.push_back(loop->var.get());
  }
  using Mutator::Mutate;
  Expr Mutate(const Expr& e) override { return analyzer_.Simplify(e); }

 protected:
  Stmt MutateFor(const ForNode* op, const Stmt& self) override {
    Expr min = Mutate(op->min), extent = Mutate(op->extent);
    Stmt body;
    {
      const arith::Analyzer::Scope inside(&analyzer_);
      BindLoop(analyzer_, op->var, min, extent, preserve_unit_iters_);
      loops_.push_back(op->var.get());
      body = Mutate(op->body);
      loops_.pop_back();
    }
    if (min.same_as(op->min) && extent.same_as(op->extent) && body.same_as(op->body)) return self;
    ForNode::Fields fields = op->fields();
    fields.min = std::move(min);
    fields.extent = std::move(extent);
    fields.body = std::move(body);
    return For(std::move(fields));
  }
  // What is inside of a block is its own business, and its predicate stays as it was written.
  Stmt MutateBlockRealize(const BlockRealizeNode* op, const Stmt& self) override {
    std::vector<Expr> bindings = op->bindings;
    bool changed = false;
    for (size_t i = 0; i < bindings.size(); ++i) {
      bindings[i] = LoopsFirst(FusedDivisions(analyzer_, loops_).Simplify(bindings[i]));
      changed |= !bindings[i].same_as(op->bindings[i]);
    }
    return changed ? Realize(std::move(bindings), op->predicate, op->block) : self;
  }

 private:
  bool UsesLoops(const Expr& e) const {
    return UsesVar(e, [&](const VarNode* var) { return std::ranges::find(loops_, var) != loops_.end(); });
  }
  // i + vo * 8 of vo * 8 + i, where vo is an iterator of the block around the nest.
  Expr LoopsFirst(const Expr& e) const {
    std::vector<Expr> terms;
    AppendTerms(e, &terms);
    if (terms.size() == 1) return e;
    std::vector<Expr> ordered, others;
    for (const Expr& term : terms) (UsesLoops(term) ? ordered : others).push_back(term);
    if (others.empty() || ordered.empty()) return e;
    ordered.insert(ordered.end(), others.begin(), others.end());
    Expr sum = ordered[0];
    for (size_t i = 1; i < ordered.size(); ++i) sum = sum + ordered[i];
    return sum;
  }

  arith::Analyzer& analyzer_;
  const bool preserve_unit_iters_;
  std::vector<const VarNode*> loops_;
};

class LoopVarReplacer : public Mutator {
 public:
  explicit LoopVarReplacer(const VarMap& values) : values_(values) {}
  Block MutateBlock(const Block& block) override {
    std::optional<BlockNode::Fields> changed;
    for (size_t i = 0; i < block->iter_vars.size(); ++i) {
      const Range& domain = block->iter_vars[i].domain;
      Range mutated = MutateRange(domain);
      if (mutated.min.same_as(domain.min) && mutated.extent.same_as(domain.extent)) continue;
      if (!changed) changed = block->fields();
      changed->iter_vars[i].domain = std::move(mutated);
    }
    const Block with_domains = changed ? Block(std::move(*changed)) : block;
    return UsesLoops(*with_domains) ? Inside(with_domains) : with_domains;
  }

 protected:
  Expr MutateVar(const VarNode* op, const Expr& self) override {
    const auto value = values_.find(op);
    return value == values_.end() ? self : value->second;
  }

 private:
  // Only blocks without iterators of their own use loops around them.
  bool UsesLoops(const BlockNode& block) const {
    if (!block.iter_vars.empty()) return false;
    const Stmt realize = Realize({}, True(), Block(&block));
    return std::ranges::any_of(values_, [&](const auto& value) { return UsesVar(realize, value.first); });
  }
  Block Inside(const Block& block) const {
    VarMap simplified = values_;
    for (auto& [var, value] : simplified) value = arith::Simplify(value);
    const Stmt replaced = Substitute(Realize({}, True(), block), simplified);
    return cast<BlockRealizeNode>(replaced)->block;
  }

  const VarMap& values_;
};

}  // namespace

Stmt ReplaceLoopVars(const Stmt& nest, const VarMap& values) { return LoopVarReplacer(values).Mutate(nest); }

bool ProductFits(DataType type, const std::vector<Expr>& factors) {
  int64_t product = 1;
  for (const Expr& factor : factors) {
    const std::optional<int64_t> value = AsInt(factor);
    if (value && __builtin_mul_overflow(product, *value, &product)) return false;
  }
  return product <= MaxValue(type);
}

Stmt SimplifyNest(const Stmt& nest, const std::vector<const ForNode*>& above, bool preserve_unit_iters) {
  arith::Analyzer analyzer;
  BindLoops(analyzer, above, preserve_unit_iters);
  return NestSimplifier(analyzer, above, preserve_unit_iters).Mutate(nest);
}

}  // namespace tilewright
