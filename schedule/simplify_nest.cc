#include "schedule/simplify_nest.h"

#include <optional>
#include <utility>

#include "ir/functor.h"

namespace tilewright {
namespace {

class NestSimplifier : public Mutator {
 public:
  NestSimplifier(arith::Analyzer& analyzer, bool preserve_unit_iters)
      : analyzer_(analyzer), preserve_unit_iters_(preserve_unit_iters) {}
  using Mutator::Mutate;
  Expr Mutate(const Expr& e) override { return analyzer_.Simplify(e); }

 protected:
  Stmt MutateFor(const ForNode* op, const Stmt& self) override {
    Expr min = Mutate(op->min), extent = Mutate(op->extent);
    BindLoop(analyzer_, op->var, min, extent, preserve_unit_iters_);
    Stmt body = Mutate(op->body);
    if (min.same_as(op->min) && extent.same_as(op->extent) && body.same_as(op->body)) return self;
    ForNode::Fields fields = op->fields();
    fields.min = std::move(min);
    fields.extent = std::move(extent);
    fields.body = std::move(body);
    return For(std::move(fields));
  }
  // What is inside of a block is its own business.
  Stmt MutateBlockRealize(const BlockRealizeNode* op, const Stmt& self) override {
    Expr predicate = Mutate(op->predicate);
    arith::Analyzer::Scope inside(&analyzer_);
    analyzer_.Assume(predicate);
    std::vector<Expr> bindings = MutateAll(op->bindings);
    bool changed = !predicate.same_as(op->predicate);
    for (size_t i = 0; i < bindings.size(); ++i) changed |= !bindings[i].same_as(op->bindings[i]);
    return changed ? Realize(std::move(bindings), std::move(predicate), op->block) : self;
  }

 private:
  arith::Analyzer& analyzer_;
  const bool preserve_unit_iters_;
};

}  // namespace

void BindLoop(arith::Analyzer& analyzer, const Var& var, const Expr& min, const Expr& extent,
              bool preserve_unit_iters) {
  if (preserve_unit_iters && IsInt(extent, 1)) return;
  analyzer.Bind(var, {min, extent});
}

void BindLoops(arith::Analyzer& analyzer, const std::vector<const ForNode*>& loops, bool preserve_unit_iters) {
  for (const ForNode* loop : loops) BindLoop(analyzer, loop->var, loop->min, loop->extent, preserve_unit_iters);
}

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
  return NestSimplifier(analyzer, preserve_unit_iters).Mutate(nest);
}

}  // namespace tilewright
