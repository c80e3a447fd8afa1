#include "codegen/lower/cpu/edge_conditions.h"

#include <algorithm>
#include <cstdlib>
#include <optional>
#include <utility>

#include "ir/analysis.h"
#include "ir/arith/analyzer.h"
#include "ir/arith/linear.h"
#include "ir/arith/same_expr.h"
#include "ir/builtin.h"
#include "ir/functor.h"

namespace tilewright {
namespace {

// The loops inside of a loop, and the conditions that change with its variable.
class ConditionFinder : public Visitor {
 public:
  explicit ConditionFinder(Var var) : var_(std::move(var)) {}
  using Visitor::Visit;
  const std::vector<EdgeCondition>& conditions() const { return conditions_; }

 protected:
  void VisitFor(const ForNode* op) override {
    const auto min = AsInt(op->min), extent = AsInt(op->extent);
    if (min && extent && *extent > 0) {
      inner_.push_back({op->var, *min, *min + *extent - 1, op->kind == ForKind::kUnrolled});
      Visitor::VisitFor(op);
      inner_.pop_back();
    } else {
      changing_.push_back(op->var);
      Visitor::VisitFor(op);
      changing_.pop_back();
    }
  }
  void VisitLetStmt(const LetStmtNode* op) override {
    changing_.push_back(op->var);
    Visitor::VisitLetStmt(op);
    changing_.pop_back();
  }
  void VisitLet(const LetNode* op) override {
    changing_.push_back(op->var);
    Visitor::VisitLet(op);
    changing_.pop_back();
  }
  void VisitIf(const IfNode* op) override {
    Add(op->condition);
    Visitor::VisitIf(op);
  }
  void VisitSelect(const SelectNode* op) override {
    Add(op->condition);
    Visitor::VisitSelect(op);
  }
  void VisitCall(const CallNode* op) override {
    if (op->op == kIfThenElse) Add(op->args[0]);
    Visitor::VisitCall(op);
  }

 private:
  struct Inner {
    Var var;
    int64_t first, last;
    bool unrolled;
  };

  void Add(const Expr& e) {
    if (const auto* negation = dyn_cast<NotNode>(e)) return Add(negation->a);
    const auto* binary = dyn_cast<BinaryNode>(e);
    if (binary == nullptr) return;
    if (IsLogic(binary->op)) {
      Add(binary->a);
      Add(binary->b);
    } else if (IsComparison(binary->op) && binary->a.dtype().is_index() && binary->a.dtype().is_scalar()) {
      AddComparison(*binary);
    }
  }

  void AddComparison(const BinaryNode& comparison) {
    EdgeCondition condition{.comparison = &comparison};
    int64_t more = 0;
    switch (comparison.op) {
      case BinaryOp::kLT:
        break;
      case BinaryOp::kGE:
        condition.negated = true;
        break;
      // x <= y is x - 1 < y.
      case BinaryOp::kLE:
        more = -1;
        break;
      case BinaryOp::kGT:
        more = -1;
        condition.negated = true;
        break;
      default:
        return;
    }
    const Expr difference = comparison.a - comparison.b;
    auto linear = arith::DetectLinear(difference, {var_}, &analyzer_);
    const auto coefficient = linear ? AsInt(linear->coefficients[0]) : std::nullopt;
    if (!coefficient || *coefficient == 0) return;
    Expr rest = linear->base + Const(difference.dtype(), more);
    if (*coefficient < 0) {
      // c * i + rest < 0 where -c * i - rest - 1 >= 0.
      condition.negated = !condition.negated;
      rest = Const(difference.dtype(), -1) - rest;
    }
    condition.coefficient = std::abs(*coefficient);
    if (SplitRest(rest, &condition)) conditions_.push_back(std::move(condition));
  }

  // rest = inner - size.
  bool SplitRest(const Expr& rest, EdgeCondition* condition) {
    std::vector<Var> vars;
    for (const Inner& loop : inner_) vars.push_back(loop.var);
    const auto linear = arith::DetectLinear(rest, vars, &analyzer_);
    if (!linear) return false;
    condition->inner = Const(rest.dtype(), 0);
    for (size_t i = 0; i < vars.size(); ++i) {
      const auto coefficient = AsInt(linear->coefficients[i]);
      if (!coefficient) return false;
      if (*coefficient == 0) continue;
      condition->inner = condition->inner + CastTo(rest.dtype(), vars[i]) * Const(rest.dtype(), *coefficient);
      condition->least += *coefficient * (*coefficient > 0 ? inner_[i].first : inner_[i].last);
      condition->greatest += *coefficient * (*coefficient > 0 ? inner_[i].last : inner_[i].first);
      condition->unrolled &= inner_[i].unrolled;
    }
    condition->inner = analyzer_.Simplify(condition->inner);
    condition->size = analyzer_.Simplify(Const(rest.dtype(), 0) - linear->base);
    const auto uses = [&](const Var& var) { return UsesVar(condition->size, var); };
    return std::ranges::none_of(changing_, uses) && !arith::ReadsMemory(condition->size);
  }

  const Var var_;
  std::vector<Inner> inner_;
  std::vector<Var> changing_;  // bound inside of the loop, of values that are not known
  std::vector<EdgeCondition> conditions_;
  arith::Analyzer analyzer_;
};

}  // namespace

std::vector<EdgeCondition> FindEdgeConditions(const Var& var, const Stmt& body) {
  ConditionFinder finder(var);
  finder.Visit(body);
  return finder.conditions();
}

}  // namespace tilewright
