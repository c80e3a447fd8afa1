#include "ir/changes/keep_values.h"

#include <optional>
#include <utility>
#include <vector>

#include "ir/arith/same_expr.h"
#include "ir/changes/may_change.h"
#include "ir/functor.h"
#include "ir/substitute.h"

namespace tilewright {
namespace {

// Values with names, around a statement.
class Names {
 public:
  // A variable that stands for the value.
  Expr Add(const std::string& name, const Expr& value) {
    Var var(name, value.dtype());
    named_.emplace_back(var, value);
    return var;
  }
  bool empty() const { return named_.empty(); }
  Stmt Around(Stmt s) const {
    for (auto it = named_.rbegin(); it != named_.rend(); ++it) s = LetStmt(it->first, it->second, std::move(s));
    return s;
  }

 private:
  std::vector<std::pair<Var, Expr>> named_;
};

// The parts of a conjunction that depend on no memory, which stay where they are known, and then `named`, which stands
// for all of it.
Expr WithKnownParts(const Expr& condition, const Expr& named) {
  const auto* both = dyn_cast<BinaryNode>(condition);
  if (both != nullptr && both->op == BinaryOp::kAnd) return WithKnownParts(both->a, WithKnownParts(both->b, named));
  return arith::IsTotal(condition) && !IsTrue(condition) ? And(condition, named) : named;
}

class Keeper : public StmtMutator {
 public:
  explicit Keeper(const Stmt& body) : pointers_(body) {}
  using StmtMutator::Mutate;

 protected:
  // Threads take their number from the launch, not from the loop.
  Stmt MutateFor(const ForNode* op, const Stmt& self) override {
    const Stmt mutated = StmtMutator::MutateFor(op, self);
    if (op->kind == ForKind::kThreadBound) return mutated;
    ForNode::Fields fields = cast<ForNode>(mutated)->fields();
    Names names;
    if (Changes(op->min, op->body)) fields.min = names.Add(op->var.name() + "_begin", op->min);
    if (Changes(op->extent, op->body)) fields.extent = names.Add(op->var.name() + "_extent", op->extent);
    return names.empty() ? mutated : names.Around(For(std::move(fields)));
  }

  Stmt MutateIf(const IfNode* op, const Stmt& self) override {
    const Stmt mutated = StmtMutator::MutateIf(op, self);
    if (!Changes(op->condition, op->then_case) && !Changes(op->condition, op->else_case)) return mutated;
    const auto* branch = cast<IfNode>(mutated);
    return Under(op->condition,
                 [&](const Expr& condition) { return If(condition, branch->then_case, branch->else_case); });
  }

  Stmt MutateBlockRealize(const BlockRealizeNode* op, const Stmt& self) override {
    const Stmt mutated = StmtMutator::MutateBlockRealize(op, self);
    const Block& block = cast<BlockRealizeNode>(mutated)->block;
    Names names;
    std::vector<Expr> bindings = op->bindings;
    VarMap values;
    for (size_t i = 0; i < bindings.size(); ++i) {
      const Var& iterator = block->iter_vars[i].var;
      if (Changes(bindings[i], self)) bindings[i] = names.Add(iterator.name() + "_value", bindings[i]);
      values[iterator] = CastTo(iterator.dtype(), bindings[i]);
    }
    std::optional<BlockNode::Fields> fields;
    for (size_t m = 0; m < block->match_buffers.size(); ++m) {
      for (size_t d = 0; d < block->match_buffers[m].source.region.size(); ++d) {
        const Expr& first = block->match_buffers[m].source.region[d].min;
        if (!Changes(first, self)) continue;
        if (!fields) fields = block->fields();
        fields->match_buffers[m].source.region[d].min =
            names.Add(block->match_buffers[m].buffer->name + "_begin", Substitute(first, values));
      }
    }
    const bool changes = Changes(op->predicate, self);
    if (names.empty() && !changes) return mutated;
    const Block kept = fields ? Block(*std::move(fields)) : block;
    // The values are there only where the predicate holds.
    if (IsTrue(op->predicate)) return names.Around(Realize(bindings, op->predicate, kept));
    if (names.empty()) {
      return Under(op->predicate, [&](const Expr& predicate) { return Realize(bindings, predicate, kept); });
    }
    const auto guarded = [&](const Expr& condition) {
      return If(condition, names.Around(Realize(bindings, True(), kept)));
    };
    return changes ? Under(op->predicate, guarded) : guarded(op->predicate);
  }

 private:
  bool Changes(const Expr& e, const Stmt& s) const { return MayChange(e, s, &pointers_); }

  // What `make` makes of a condition that has a name.
  template <class F>
  static Stmt Under(const Expr& condition, F make) {
    Names names;
    const Expr named = names.Add("condition", condition);
    return names.Around(make(WithKnownParts(condition, named)));
  }

  const Pointers pointers_;
};

}  // namespace

Function KeepValues(const Function& function) {
  return function.WithBody(Keeper(function->body).Mutate(function->body), function->next_id);
}

}  // namespace tilewright
