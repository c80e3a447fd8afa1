#include "codegen/lower/cpu/trim_windows.h"

#include <algorithm>
#include <map>
#include <set>

#include "codegen/lower/common/scoped_mutator.h"
#include "codegen/lower/common/simplify.h"
#include "codegen/lower/cpu/sum_terms.h"
#include "ir/analysis.h"
#include "ir/arith/linear.h"
#include "ir/arith/same_expr.h"
#include "ir/builtin.h"
#include "ir/structural.h"

namespace tilewright {
namespace {

// Conditions that hold together.
using Conditions = std::vector<Expr>;

void AddConjuncts(const Expr& e, Conditions* conjuncts) {
  const auto* both = dyn_cast<BinaryNode>(e);
  if (both == nullptr || both->op != BinaryOp::kAnd) {
    conjuncts->push_back(e);
    return;
  }
  AddConjuncts(both->a, conjuncts);
  AddConjuncts(both->b, conjuncts);
}

bool Contains(const Conditions& conditions, const Expr& e) {
  return std::ranges::any_of(conditions, [&](const Expr& other) { return StructuralEqual(other, e); });
}

// The conditions that must hold unless a value is zero.
Conditions NeededBy(const Expr& value) {
  Conditions needed;
  const auto* choice = dyn_cast<CallNode>(value);
  while (choice != nullptr && choice->op == kIfThenElse && IsZero(choice->args[2])) {
    AddConjuncts(choice->args[0], &needed);
    choice = dyn_cast<CallNode>(choice->args[1]);
  }
  return needed;
}

// The sums of products that an iteration of a loop computes with elements of its own buffers.
class Iteration : public StmtVisitor {
 public:
  explicit Iteration(const Stmt& body) {
    // Writes of own buffers come first.
    Visit(body);
    sums_ = true;
    Visit(body);
  }
  // Conditions without which the iteration adds zeros only.
  Conditions Needed() const { return is_sum_ && needed_ ? *needed_ : Conditions(); }
  bool binds(const VarNode* var) const { return bound_.contains(var); }

  using StmtVisitor::Visit;

 protected:
  void VisitFor(const ForNode* op) override {
    bound_.insert(op->var.get());
    if (op->kind == ForKind::kVectorized) lanes_.push_back(op->var);
    StmtVisitor::VisitFor(op);
  }
  void VisitWhile(const WhileNode* op) override {
    is_sum_ = false;
    StmtVisitor::VisitWhile(op);
  }
  void VisitLetStmt(const LetStmtNode* op) override {
    bound_.insert(op->var.get());
    StmtVisitor::VisitLetStmt(op);
  }
  void VisitAttrStmt(const AttrStmtNode* op) override {
    is_sum_ = false;
    StmtVisitor::VisitAttrStmt(op);
  }
  void VisitEvaluate(const EvaluateNode*) override { is_sum_ = false; }
  void VisitAssert(const AssertNode*) override { is_sum_ = false; }
  void VisitSync(const SyncNode*) override { is_sum_ = false; }
  void VisitAllocate(const AllocateNode* op) override {
    own_.insert(op->buffer->data.get());
    StmtVisitor::VisitAllocate(op);
  }
  void VisitStore(const StoreNode* op) override {
    const bool own = own_.contains(op->buffer->data.get());
    if (own != sums_) own ? AddValue(op) : AddSum(op);
  }

 private:
  void AddValue(const StoreNode* op) {
    Conditions needed = op->predicate ? Conditions() : NeededBy(op->value);
    for (const Expr& condition : needed) {
      is_sum_ &= std::ranges::none_of(lanes_, [&](const Var& lane) { return UsesVar(condition, lane); });
    }
    const auto [place, is_first] = values_.emplace(op->buffer->data.get(), needed);
    if (!is_first) std::erase_if(place->second, [&](const Expr& e) { return !Contains(needed, e); });
  }
  void AddSum(const StoreNode* op) {
    const std::optional<Term> term = TermOf(*op);
    if (!term) {
      is_sum_ = false;
      return;
    }
    Conditions needed;
    for (const Expr& factor : {term->a, term->b}) {
      const auto* load = dyn_cast<LoadNode>(factor);
      if (load == nullptr || !values_.contains(load->buffer->data.get())) continue;
      const Conditions& more = values_.at(load->buffer->data.get());
      needed.insert(needed.end(), more.begin(), more.end());
    }
    if (needed_) {
      std::erase_if(*needed_, [&](const Expr& e) { return !Contains(needed, e); });
    } else {
      needed_ = std::move(needed);
    }
  }

  bool sums_ = false, is_sum_ = true;
  std::set<const VarNode*> bound_;
  std::vector<Var> lanes_;
  std::set<const VarNode*> own_;
  std::map<const VarNode*, Conditions> values_;  // of own buffers: without these, all elements are zero
  std::optional<Conditions> needed_;             // by each of the sums
};

class Trimmer : public ScopedMutator {
 public:
  using ScopedMutator::Mutate;
  Expr Mutate(const Expr& e) override { return e; }

 protected:
  Stmt MutateFor(const ForNode* op, const Stmt& self) override {
    if (op->kind != ForKind::kSerial) return ScopedMutator::MutateFor(op, self);
    const Iteration iteration(op->body);
    Expr begin = op->min, end = op->min + op->extent;
    Conditions met;
    for (const Expr& condition : iteration.Needed()) {
      if (Trim(op->var, condition, iteration, &begin, &end)) met.push_back(condition);
    }
    if (met.empty()) return ScopedMutator::MutateFor(op, self);
    ForNode::Fields fields = op->fields();
    fields.body = RewriteExprs(
        op->body, [&](const Expr& e) { return e.dtype().is_bool() && Contains(met, e) ? Const(e.dtype(), 1) : e; });
    fields.min = analyzer_.Simplify(begin);
    fields.extent = analyzer_.Simplify(Max(end - begin, Const(op->var.dtype(), 0)));
    const Stmt trimmed = For(std::move(fields));
    return ScopedMutator::MutateFor(cast<ForNode>(trimmed), trimmed);
  }

 private:
  // Whether a condition only bounds the variable; the bounds with it.
  bool Trim(const Var& var, const Expr& condition, const Iteration& iteration, Expr* begin, Expr* end) {
    const auto* comparison = dyn_cast<BinaryNode>(condition);
    if (comparison == nullptr || !IsComparison(comparison->op) || !comparison->a.dtype().is_index()) return false;
    if (comparison->op == BinaryOp::kEQ || comparison->op == BinaryOp::kNE) return false;
    if (arith::ReadsMemory(condition)) return false;
    bool inner = false;
    PreOrder(condition, [&](const Expr& e) {
      inner |= isa<VarNode>(e) && iteration.binds(cast<VarNode>(e));
      return true;
    });
    if (inner) return false;
    // coefficient * var + base >= 0
    const bool less = comparison->op == BinaryOp::kLT || comparison->op == BinaryOp::kLE;
    const bool strict = comparison->op == BinaryOp::kLT || comparison->op == BinaryOp::kGT;
    const Expr difference = (less ? comparison->b - comparison->a : comparison->a - comparison->b) - (strict ? 1 : 0);
    const auto linear = arith::DetectLinear(difference, {var}, &analyzer_);
    const std::optional<int64_t> coefficient = linear ? AsInt(linear->coefficients[0]) : std::nullopt;
    if (!coefficient || *coefficient == 0 || linear->base.dtype() != var.dtype()) return false;
    if (*coefficient > 0) {
      const Expr step = Const(var.dtype(), *coefficient);
      *begin = Max(*begin, FloorDiv(step - 1 - linear->base, step));
    } else {
      *end = Min(*end, FloorDiv(linear->base, Const(var.dtype(), -*coefficient)) + 1);
    }
    return true;
  }
};

}  // namespace

Function TrimWindows(const Function& function) {
  const Stmt body = Trimmer().Mutate(function->body);
  if (body.same_as(function->body)) return function;
  return SimplifyFunction(function.WithBody(body, function->next_id));
}

}  // namespace tilewright
