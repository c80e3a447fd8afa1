#include "verify/memory/access_bounds.h"

#include <utility>
#include <vector>

#include "ir/arith/analyzer.h"
#include "ir/arith/same_expr.h"
#include "ir/builtin.h"
#include "ir/functor.h"
#include "ir/script/printer.h"
#include "ir/substitute.h"
#include "verify/structure/given_values.h"

namespace tilewright {
namespace {

using arith::ReadsMemory;
using arith::SameExpr;

constexpr char kCheck[] = "access bounds";

class Checker : public Visitor {
 public:
  using Visitor::Visit;
  explicit Checker(const Function& function) : given_(function) { given_.AssumeSizes(&analyzer_); }
  Diagnostics diagnostics;

 protected:
  void VisitFor(const ForNode* op) override {
    Visit(op->min);
    Visit(op->extent);
    const Scope scope(*this);
    analyzer_.Bind(op->var, {op->min, op->extent});
    Visit(op->body);
  }
  void VisitIf(const IfNode* op) override {
    Visit(op->condition);
    Under(op->condition, [&] { Visit(op->then_case); });
    if (op->else_case) Under(Not(op->condition), [&] { Visit(op->else_case); });
  }
  void VisitSelect(const SelectNode* op) override {
    Visit(op->condition);
    // Both values are evaluated.
    Visit(op->true_value);
    Visit(op->false_value);
  }
  void VisitCall(const CallNode* op) override {
    if (op->op != kIfThenElse) {
      // The element whose address is taken may be one past the last.
      if (op->op != kAddressOf) Visitor::VisitCall(op);
      return;
    }
    Visit(op->args[0]);
    if (ReadsMemory(op->args[1])) Under(op->args[0], [&] { Visit(op->args[1]); });
    if (ReadsMemory(op->args[2])) Under(Not(op->args[0]), [&] { Visit(op->args[2]); });
  }
  void VisitBinary(const BinaryNode* op) override {
    const bool logic = op->op == BinaryOp::kAnd || op->op == BinaryOp::kOr;
    if (!logic) return Visitor::VisitBinary(op);
    Visit(op->a);
    if (ReadsMemory(op->b)) Under(op->op == BinaryOp::kAnd ? op->a : Not(op->a), [&] { Visit(op->b); });
  }
  void VisitLet(const LetNode* op) override {
    Visit(op->value);
    const Scope scope(*this);
    if (op->var.dtype().is_integer() && !ReadsMemory(op->value)) analyzer_.Bind(op->var, op->value);
    Visit(op->body);
  }
  void VisitLetStmt(const LetStmtNode* op) override {
    Visit(op->value);
    const Scope scope(*this);
    if (op->var.dtype().is_integer() && !ReadsMemory(op->value)) analyzer_.Bind(op->var, op->value);
    Visit(op->body);
  }
  void VisitLoad(const LoadNode* op) override {
    VisitAll(op->indices);
    if (IsTrue(op->predicate)) Check(op->buffer, op->indices, "reads");
  }
  void VisitStore(const StoreNode* op) override {
    Visit(op->value);
    VisitAll(op->indices);
    if (IsTrue(op->predicate)) Check(op->buffer, op->indices, "writes");
  }
  void VisitBlockRealize(const BlockRealizeNode* op) override {
    VisitAll(op->bindings);
    const BlockRealizeNode* outer = std::exchange(realize_, op);
    {
      const Scope scope(*this);
      for (const IterVar& iter : op->block->iter_vars) analyzer_.Bind(iter.var, iter.domain);
      for (const MatchBuffer& match : op->block->match_buffers) {
        const auto& [buffer, region] = match.source;
        for (size_t d = 0; d < region.size() && d < buffer->ndim(); ++d) {
          if (!analyzer_.CanProveInside(region[d], {Const(buffer->shape[d].dtype(), 0), buffer->shape[d]})) {
            Refuse(Verdict::kRefuted, "matches " + Print(match.source), buffer, d);
          }
        }
      }
      Visit(op->block->init);
      Visit(op->block->body);
    }
    realize_ = outer;
  }

 private:
  // Forgets at its end what was bound, and what was proven by that.
  class Scope {
   public:
    explicit Scope(Checker& checker) : checker_(checker), proven_(checker.proven_.size()), scope_(&checker.analyzer_) {}
    ~Scope() { checker_.proven_.resize(proven_); }
    Scope(const Scope&) = delete;
    Scope& operator=(const Scope&) = delete;

   private:
    Checker& checker_;
    const size_t proven_;
    const arith::Analyzer::Scope scope_;
  };

  // What is visited happens only where the condition holds.
  template <class Visits>
  void Under(const Expr& condition, Visits visits) {
    const bool is_known = !ReadsMemory(condition);
    if (is_known) conditions_.push_back(condition);
    visits();
    if (!is_known) return;
    conditions_.pop_back();
    std::erase_if(proven_, [&](const Inside& known) { return known.conditions > conditions_.size(); });
  }

  bool IsInside(const Expr& least, const Expr& greatest, const Expr& extent) {
    return analyzer_.CanProveLessEqual(Const(least.dtype(), 0), least) &&
           analyzer_.CanProveLess(greatest, CastTo(greatest.dtype(), extent));
  }

  // Whether it can be proven where the conditions around it and the block's predicate hold. Assumptions are dear, and
  // most accesses are proven with few; the elements of a sum that is written out are met often.
  bool IsInsideWhereItRuns(const Expr& least, const Expr& greatest, const Expr& extent) {
    for (const Inside& known : proven_) {
      if (SameExpr(known.least, least) && SameExpr(known.greatest, greatest) && SameExpr(known.extent, extent)) {
        return true;
      }
    }
    arith::Analyzer::Scope scope(&analyzer_);
    for (size_t assumed = 0; assumed <= conditions_.size(); ++assumed) {
      if (assumed > 0) analyzer_.Assume(conditions_[assumed - 1]);
      if (!IsInside(least, greatest, extent)) continue;
      proven_.push_back({least, greatest, extent, assumed});
      return true;
    }
    return IsInsideUnderPredicate(least, greatest, extent);
  }

  // With the conditions assumed.
  bool IsInsideUnderPredicate(const Expr& least, const Expr& greatest, const Expr& extent) {
    if (realize_ == nullptr || IsTrue(realize_->predicate) || ReadsMemory(realize_->predicate)) return false;
    VarMap iterators;  // of those loops that are iterators
    VarMap bindings;   // of those iterators that are not loops
    for (size_t i = 0; i < realize_->bindings.size(); ++i) {
      const Var& iterator = realize_->block->iter_vars[i].var;
      const auto* loop_var = dyn_cast<VarNode>(realize_->bindings[i]);
      if (loop_var != nullptr) {
        iterators[Var(loop_var)] = iterator;
      } else {
        bindings[iterator] = CastTo(iterator.dtype(), realize_->bindings[i]);
      }
    }
    analyzer_.Assume(Substitute(realize_->predicate, iterators));
    if (IsInside(least, greatest, extent)) return true;
    // In terms of the loops, which the predicate is about: f // 2 * 2 + f % 2 where it says f < 25.
    const auto of_loops = [&](const Expr& e) { return Substitute(Substitute(e, bindings), iterators); };
    return !bindings.empty() && IsInside(of_loops(least), of_loops(greatest), extent);
  }

  void Check(const Buffer& buffer, const std::vector<Expr>& indices, const char* verb) {
    for (size_t d = 0; d < indices.size(); ++d) {
      Expr least = indices[d], greatest = indices[d];
      if (const auto* ramp = dyn_cast<RampNode>(indices[d])) {
        least = ramp->base;
        greatest = ramp->base + ramp->stride * Const(ramp->base.dtype(), indices[d].dtype().lanes() - 1);
        if (const auto stride = AsInt(ramp->stride); stride && *stride < 0) std::swap(least, greatest);
      } else if (indices[d].dtype().lanes() != 1) {
        const auto* broadcast = dyn_cast<BroadcastNode>(indices[d]);
        if (broadcast == nullptr) continue;
        least = greatest = broadcast->value;
      }
      const bool gather = ReadsMemory(indices[d]);
      const Expr& extent = buffer->shape[d];
      if (!gather && IsInsideWhereItRuns(least, greatest, extent)) continue;
      const std::string access = std::string(verb) + " " + Print(buffer.Load(indices));
      if (!gather && IsInsideWhereThereAreElements(least, greatest, extent)) {
        Assume(access + ", which is taken to have elements", buffer, d);
        continue;
      }
      const bool is_assumed = gather || (MayBeInsideByScalars(least, extent) && MayBeInsideByScalars(greatest, extent));
      Refuse(is_assumed ? Verdict::kAssumed : Verdict::kRefuted, access, buffer, d);
    }
  }

  // With the conditions assumed, and that no size is zero: x[n - 1] of n elements.
  bool IsInsideWhereThereAreElements(const Expr& least, const Expr& greatest, const Expr& extent) {
    if (isa<IntImmNode>(extent)) return false;
    arith::Analyzer::Scope scope(&analyzer_);
    for (const Expr& condition : conditions_) analyzer_.Assume(condition);
    given_.AssumeElements(&analyzer_);
    return IsInside(least, greatest, extent) || IsInsideUnderPredicate(least, greatest, extent);
  }

  // Whether the index is a scalar parameter of the function, and nothing else, that decides where it lies: it may be
  // inside for some values of the scalars, and no loop moves it out for all of them.
  bool MayBeInsideByScalars(const Expr& index, const Expr& extent) {
    bool by_scalar = false;
    PreOrder(index, [&](const Expr& part) {
      const auto* var = dyn_cast<VarNode>(part);
      by_scalar |= var != nullptr && given_.IsScalar(var);
      return true;
    });
    return by_scalar && !analyzer_.CanProveLess(index, Const(index.dtype(), 0)) &&
           !analyzer_.CanProveLessEqual(CastTo(index.dtype(), extent), index);
  }

  void Assume(const std::string& access, const Buffer& buffer, size_t d) {
    const std::string subject = realize_ == nullptr ? "the program " : "block " + realize_->block->name + " ";
    diagnostics.push_back({Verdict::kAssumed, kCheck, realize_ == nullptr ? 0 : realize_->block->id,
                           subject + access + " in dimension " + std::to_string(d) + ", [0, " +
                               Print(buffer->shape[d]) + ")",
                           /*enumerable=*/true});
  }
  void Refuse(Verdict verdict, const std::string& access, const Buffer& buffer, size_t d) {
    std::string reason = (realize_ == nullptr ? "the program " : "block " + realize_->block->name + " ") + access;
    reason += verdict == Verdict::kAssumed ? ", whose place is taken to be inside of dimension "
                                           : ", which is not known to be inside of dimension ";
    reason += std::to_string(d) + ", [0, " + Print(buffer->shape[d]) + ")";
    diagnostics.push_back({verdict, kCheck, realize_ == nullptr ? 0 : realize_->block->id, std::move(reason),
                           /*enumerable=*/true});
  }

  arith::Analyzer analyzer_;
  struct Inside {
    Expr least, greatest, extent;
    size_t conditions = 0;  // by the first ones of `conditions_`
  };
  const GivenValues given_;
  std::vector<Inside> proven_;
  std::vector<Expr> conditions_;  // that hold where it is visited
  const BlockRealizeNode* realize_ = nullptr;
};

}  // namespace

Diagnostics CheckAccessBounds(const Function& function) {
  Checker checker(function);
  checker.Visit(function->body);
  return std::move(checker.diagnostics);
}

}  // namespace tilewright
