#include "verify/memory/access_bounds.h"

#include <algorithm>
#include <limits>
#include <optional>
#include <span>
#include <string>
#include <unordered_set>
#include <utility>
#include <vector>

#include "ir/analysis.h"
#include "ir/arith/analyzer.h"
#include "ir/arith/same_expr.h"
#include "ir/builtin.h"
#include "ir/changes/may_change.h"
#include "ir/functor.h"
#include "ir/script/printer.h"
#include "ir/substitute.h"
#include "verify/memory/product_variables.h"
#include "verify/structure/given_values.h"
#include "verify/structure/index_cases.h"

namespace tilewright {
namespace {

using arith::ReadsMemory;
using arith::SameExpr;

constexpr char kCheck[] = "access bounds";

bool Divides(BinaryOp op) {
  return op == BinaryOp::kDiv || op == BinaryOp::kMod || op == BinaryOp::kFloorDiv || op == BinaryOp::kFloorMod;
}

class Checker : public Visitor {
 public:
  using Visitor::Visit;
  explicit Checker(const Function& function) : body_(function->body), given_(function) {
    given_.AssumeSizes(&analyzer_);
  }
  Diagnostics diagnostics;

 protected:
  void VisitFor(const ForNode* op) override {
    Visit(op->min);
    Visit(op->extent);
    const Scope scope(*this);
    // The range may have other ends when it is asked about.
    if (IsFromMemory(op->min) || IsFromMemory(op->extent)) {
      from_memory_.insert(op->var.get());
    } else {
      analyzer_.Bind(op->var, {op->min, op->extent});
    }
    if (IsGiven(op->min) || IsGiven(op->extent)) given_vars_.insert(op->var.get());
    BindOnce(op->var, {op->min, op->extent});
    extents_.push_back(op->extent);
    Visit(op->body);
    extents_.pop_back();
  }
  void VisitIf(const IfNode* op) override {
    Visit(op->condition);
    Under(op->condition, op->then_case, [&] { Visit(op->then_case); });
    if (op->else_case) Under(Not(op->condition), op->else_case, [&] { Visit(op->else_case); });
  }
  void VisitSelect(const SelectNode* op) override {
    // A scalar one guards what cannot be evaluated otherwise.
    if (op->condition.dtype().is_scalar()) return VisitChoice(op->condition, op->true_value, op->false_value);
    Visitor::VisitSelect(op);
  }
  void VisitCall(const CallNode* op) override {
    if (op->op != kIfThenElse) {
      // The element whose address is taken may be one past the last.
      if (op->op != kAddressOf) Visitor::VisitCall(op);
      return;
    }
    VisitChoice(op->args[0], op->args[1], op->args[2]);
  }
  void VisitBinary(const BinaryNode* op) override {
    const bool logic = op->op == BinaryOp::kAnd || op->op == BinaryOp::kOr;
    if (!logic) {
      Visitor::VisitBinary(op);
      if (Divides(op->op) && op->dtype().is_integer()) CheckDivisor(op->b);
      return;
    }
    Visit(op->a);
    if (NeedsCheck(op->b)) Under(op->op == BinaryOp::kAnd ? op->a : Not(op->a), {}, [&] { Visit(op->b); });
  }
  void VisitLet(const LetNode* op) override {
    Visit(op->value);
    const Scope scope(*this);
    BindLet(op->var, op->value);
    Visit(op->body);
  }
  void VisitLetStmt(const LetStmtNode* op) override {
    Visit(op->value);
    const Scope scope(*this);
    BindLet(op->var, op->value);
    Visit(op->body);
  }
  void VisitLoad(const LoadNode* op) override {
    VisitAll(op->indices);
    CheckPredicated(op->predicate, op->buffer, op->indices, "reads");
  }
  void VisitStore(const StoreNode* op) override {
    Visit(op->value);
    VisitAll(op->indices);
    CheckPredicated(op->predicate, op->buffer, op->indices, "writes");
  }
  void VisitBlockRealize(const BlockRealizeNode* op) override {
    VisitAll(op->bindings);
    Visit(op->predicate);
    const BlockRealizeNode* outer = std::exchange(realize_, op);
    const Expr outer_predicate =
        std::exchange(predicate_, Unchanged(Unchanged(op->predicate, op->block->body), op->block->init));
    {
      const Scope scope(*this);
      for (const IterVar& iter : op->block->iter_vars) {
        analyzer_.Bind(iter.var, iter.domain);
        BindOnce(iter.var, iter.domain);
      }
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
    predicate_ = outer_predicate;
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

  // Whether the value depends on memory, by itself or by a variable that holds such a value.
  bool IsFromMemory(const Expr& e) const {
    if (ReadsMemory(e)) return true;
    return !from_memory_.empty() && UsesVar(e, [&](const VarNode* var) { return from_memory_.contains(var); });
  }
  void BindOnce(const Var& var, const Range& range) {
    const auto is_scalar = [&](const VarNode* part) { return given_.IsScalar(part); };
    if (UsesVar(range.extent, is_scalar)) once_.emplace_back(var, range);
  }
  // Whether it depends on a scalar parameter, which says where an access lies as little as memory does.
  bool IsGiven(const Expr& e) const {
    return UsesVar(e, [&](const VarNode* var) { return given_.IsScalar(var) || given_vars_.contains(var); });
  }
  void BindLet(const Var& var, const Expr& value) {
    if (IsGiven(value)) given_vars_.insert(var.get());
    if (IsFromMemory(value)) {
      from_memory_.insert(var.get());
    } else if (var.dtype().is_integer()) {
      analyzer_.Bind(var, value);
    }
  }

  // Whether evaluating it may go wrong.
  static bool NeedsCheck(const Expr& e) {
    bool found = false;
    PreOrder(e, [&](const Expr& part) {
      const auto* op = dyn_cast<BinaryNode>(part);
      found |= isa<LoadNode>(part) || isa<CallNode>(part) || (op != nullptr && Divides(op->op));
      return !found;
    });
    return found;
  }

  void VisitChoice(const Expr& condition, const Expr& true_value, const Expr& false_value) {
    Visit(condition);
    if (NeedsCheck(true_value)) Under(condition, {}, [&] { Visit(true_value); });
    if (NeedsCheck(false_value)) Under(Not(condition), {}, [&] { Visit(false_value); });
  }

  // The parts of a conjunction that still hold wherever `s` is.
  Expr Unchanged(const Expr& condition, const Stmt& s) {
    if (!condition || !s || !ReadsMemory(condition)) return condition;
    const auto* op = dyn_cast<BinaryNode>(condition);
    if (op != nullptr && op->op == BinaryOp::kAnd) return And(Unchanged(op->a, s), Unchanged(op->b, s));
    if (!pointers_) pointers_.emplace(body_);
    return MayChange(condition, s, &*pointers_) ? True() : condition;
  }

  // What is visited, of `s` if it is a statement, happens only where the condition holds.
  template <class Visits>
  void Under(const Expr& whole, const Stmt& s, Visits visits) {
    const Expr condition = Unchanged(whole, s);
    if (condition && IsInt(analyzer_.Simplify(condition), 0)) return;  // Nothing of it ever runs.
    conditions_.push_back(condition);
    visits();
    conditions_.pop_back();
    std::erase_if(proven_, [&](const Inside& known) { return known.conditions > conditions_.size(); });
  }

  bool IsInside(const Expr& least, const Expr& greatest, const Expr& extent) {
    // Indices and extents may have different index types.
    const Expr end = greatest.dtype().is_index() ? extent : CastTo(greatest.dtype(), extent);
    return analyzer_.CanProveLessEqual(Const(least.dtype(), 0), least) && analyzer_.CanProveLess(greatest, end);
  }
  bool IsOutside(const Expr& least, const Expr& greatest, const Expr& extent) {
    return analyzer_.CanProveLess(greatest, Const(greatest.dtype(), 0)) ||
           analyzer_.CanProveLessEqual(CastTo(least.dtype(), extent), least);
  }

  // Whether it can be proven where the conditions around it and the block's predicate hold, or they never do.
  // Assumptions take long: most accesses need the innermost ones. Elements of a sum that is written out are met often.
  bool IsInsideWhereItRuns(const Expr& least, const Expr& greatest, const Expr& extent) {
    // Each of a hundred thousand statements proves something; what is met again was met shortly before.
    constexpr size_t kMostKnown = 64;
    const size_t first = proven_.size() - std::min(proven_.size(), kMostKnown);
    for (const Inside& known : std::span(proven_).subspan(first)) {
      if (SameExpr(known.least, least) && SameExpr(known.greatest, greatest) && SameExpr(known.extent, extent)) {
        return true;
      }
    }
    arith::Analyzer::Scope scope(&analyzer_);
    for (size_t assumed = 0; assumed <= conditions_.size(); ++assumed) {
      if (assumed > 0) analyzer_.Assume(conditions_[conditions_.size() - assumed]);
      if (!IsInside(least, greatest, extent)) continue;
      proven_.push_back({least, greatest, extent, assumed == 0 ? 0 : conditions_.size()});
      return true;
    }
    if (std::ranges::any_of(conditions_, [&](const Expr& e) { return analyzer_.CanProve(Not(e)); })) return true;
    return IsInsideUnderPredicate(least, greatest, extent);
  }

  // The predicate is about loops. `iterators`: of those loops that are iterators; `bindings`: of those iterators that
  // are not loops.
  struct Bindings {
    VarMap iterators, bindings;
  };
  Bindings BindingsOfBlock() const {
    Bindings found;
    for (size_t i = 0; i < realize_->bindings.size(); ++i) {
      const Var& iterator = realize_->block->iter_vars[i].var;
      const auto* loop_var = dyn_cast<VarNode>(realize_->bindings[i]);
      if (loop_var != nullptr) {
        found.iterators[Var(loop_var)] = iterator;
      } else {
        found.bindings[iterator] = CastTo(iterator.dtype(), realize_->bindings[i]);
      }
    }
    return found;
  }

  // With the conditions assumed.
  bool IsInsideUnderPredicate(const Expr& least, const Expr& greatest, const Expr& extent) {
    if (realize_ == nullptr || IsTrue(predicate_)) return false;
    const auto [iterators, bindings] = BindingsOfBlock();
    analyzer_.Assume(Substitute(predicate_, iterators));
    if (IsInside(least, greatest, extent)) return true;
    // In terms of the loops, which the predicate is about: f // 2 * 2 + f % 2 where it says f < 25.
    if (bindings.empty()) return false;
    const auto of_loops = [&](const Expr& e) { return Substitute(Substitute(e, bindings), iterators); };
    if (IsInside(of_loops(least), of_loops(greatest), extent)) return true;
    // Digits of a sum of loops, x * 256 + y, are in one form when the sum has a name.
    const std::vector<Expr> numbers = NumbersOf(bindings);
    if (numbers.empty()) return false;
    std::vector<Var> names;
    for (const Expr& number : numbers) {
      names.emplace_back("number", number.dtype());
      const arith::Bounds bounds = analyzer_.ConstBounds(Substitute(number, iterators));
      if (!bounds.Within(0, std::numeric_limits<int32_t>::max())) return false;
      analyzer_.Bind(names.back(),
                     {Const(number.dtype(), bounds.min), Const(number.dtype(), bounds.max - bounds.min + 1)});
    }
    const auto named = [&](const Expr& e) {
      return Substitute(RewriteExpr(e,
                                    [&](const Expr& part) {
                                      for (size_t i = 0; i < numbers.size(); ++i) {
                                        if (SameExpr(part, numbers[i])) return Expr(names[i]);
                                      }
                                      return part;
                                    }),
                        iterators);
    };
    analyzer_.Assume(named(predicate_));
    return IsInside(named(Substitute(least, bindings)), named(Substitute(greatest, bindings)), extent);
  }

  // Sums of which bindings take quotients and remainders by constants.
  static std::vector<Expr> NumbersOf(const VarMap& bindings) {
    std::vector<Expr> numbers;
    for (const auto& [iterator, binding] : bindings) {
      PreOrder(binding, [&](const Expr& part) {
        const auto* op = dyn_cast<BinaryNode>(part);
        const bool digit =
            op != nullptr && (op->op == BinaryOp::kFloorDiv || op->op == BinaryOp::kFloorMod) && AsInt(op->b);
        const auto* sum = digit ? dyn_cast<BinaryNode>(op->a) : nullptr;
        if (sum == nullptr || sum->op != BinaryOp::kAdd) return true;
        if (std::ranges::none_of(numbers, [&](const Expr& known) { return SameExpr(known, op->a); })) {
          numbers.push_back(op->a);
        }
        return false;
      });
    }
    return numbers;
  }

  // An index that choices decide is inside where it is so in each case.
  bool IsInsideInCases(const Expr& index, const Expr& extent) {
    const auto cases = CasesOf({index});
    if (!cases) return IsInsideWhereItRuns(index, index, extent);
    bool inside = true;
    const auto check = [&](const Expr& condition, const Expr& chosen) {
      Under(condition, {}, [&] {
        inside = inside && (IsInsideInCases(chosen, extent) || IsInsideInCases(InDigits(chosen, condition), extent));
      });
    };
    check(cases->condition, cases->where[0]);
    check(Not(cases->condition), cases->elsewhere[0]);
    return inside;
  }

  void Check(const Buffer& buffer, const std::vector<Expr>& indices, const char* verb) {
    for (size_t d = 0; d < indices.size(); ++d) {
      const Expr& extent = buffer->shape[d];
      std::optional<std::pair<Expr, Expr>> ends = LaneEnds(indices[d]);
      if (!ends) ends = LaneEnds(analyzer_.Simplify(indices[d]));
      if (ends && IsInsideWhereItRuns(ends->first, ends->second, extent)) continue;
      const Expr digits = FlipsInDigits(indices[d]);
      const bool decides = digits.dtype().is_scalar() && (!digits.same_as(indices[d]) || CasesOf({digits}));
      if (decides && IsInsideInCases(digits, extent)) continue;
      const bool gather = IsFromMemory(indices[d]) && !(ends && IsOutside(ends->first, ends->second, extent));
      const std::string access = std::string(verb) + " " + Print(buffer.Load(indices));
      if (ends &&
          (IsInsideWhereThereAreElements(ends->first, ends->second, extent) || IsElementOfSize(indices[d], extent))) {
        Assume(access + ", which is taken to have elements", buffer, d);
        continue;
      }
      const bool is_assumed =
          gather ||
          (ends && ((MayBeInsideByScalars(ends->first, extent) && MayBeInsideByScalars(ends->second, extent)) ||
                    IsInsideOnce(ends->first, ends->second, extent)));
      const bool enumerable = !IsFromMemory(indices[d]) && !IsGiven(indices[d]);
      Refuse(is_assumed ? Verdict::kAssumed : Verdict::kRefuted, access, buffer, d, enumerable);
    }
  }

  // One certain element, x[1], of as many as the caller gives.
  bool IsElementOfSize(const Expr& index, const Expr& extent) const {
    const auto* size = dyn_cast<VarNode>(extent);
    return size != nullptr && given_.IsGiven(size) && AsInt(index).value_or(-1) >= 0;
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

  // Whether it is inside where each loop whose length is a scalar parameter runs once: then it is so for some values of
  // the scalars. One that the extent depends on too decides nothing: loops over n + 3 leave all buffers of n elements.
  bool IsInsideOnce(const Expr& least, const Expr& greatest, const Expr& extent) {
    const auto is_of_extent = [&](const VarNode* var) { return UsesVar(extent, Var(var)); };
    VarMap once;
    for (const auto& [var, range] : once_) {
      if (!UsesVar(range.extent, is_of_extent)) once[var] = range.min;
    }
    const Expr first = Substitute(least, once), last = Substitute(greatest, once);
    return !(first.same_as(least) && last.same_as(greatest)) && IsInsideWhereItRuns(first, last, extent);
  }

  void Assume(const std::string& access, const Buffer& buffer, size_t d) {
    diagnostics.push_back(
        {Verdict::kAssumed, kCheck, Object(),
         Subject() + access + " in dimension " + std::to_string(d) + ", [0, " + Print(buffer->shape[d]) + ")",
         /*enumerable=*/true});
  }
  void CheckPredicated(const Expr& predicate, const Buffer& buffer, const std::vector<Expr>& indices,
                       const char* verb) {
    if (IsTrue(predicate)) return Check(buffer, indices, verb);
    Visit(predicate);
    // Each lane has a condition of its own.
    if (!predicate.dtype().is_scalar()) return Check(buffer, indices, verb);
    Under(predicate, {}, [&] { Check(buffer, indices, verb); });
  }

  bool IsNotZero(const Expr& divisor) {
    const Expr zero = Const(divisor.dtype(), 0);
    return analyzer_.CanProveLess(zero, divisor) || analyzer_.CanProveLess(divisor, zero) ||
           analyzer_.CanProve(divisor != zero);
  }
  bool IsNotZeroUnderPredicate(const Expr& divisor) {
    const auto [iterators, bindings] = BindingsOfBlock();
    analyzer_.Assume(Substitute(predicate_, iterators));
    if (IsNotZero(divisor)) return true;
    return !bindings.empty() && IsNotZero(Substitute(Substitute(divisor, bindings), iterators));
  }
  // A loop runs only when its extent, and so each of its factors, is not 0.
  bool IsFactorOfExtents(const Expr& divisor) const {
    const auto factors = ProductVariables(divisor);
    return factors && std::ranges::all_of(*factors, [&](const VarNode* factor) {
             return std::ranges::any_of(extents_, [&](const Expr& extent) {
               const auto of_extent = ProductVariables(extent);
               return of_extent && std::ranges::find(*of_extent, factor) != of_extent->end();
             });
           });
  }
  void CheckDivisor(const Expr& lanes) {
    const auto* broadcast = dyn_cast<BroadcastNode>(lanes);
    const Expr divisor = broadcast == nullptr ? lanes : broadcast->value;
    if (const auto value = AsInt(divisor); value && *value != 0) return;
    if (IsFactorOfExtents(divisor)) return;
    {
      arith::Analyzer::Scope scope(&analyzer_);
      if (IsNotZero(divisor)) return;
      for (const Expr& condition : conditions_) analyzer_.Assume(condition);
      if (IsNotZero(divisor)) return;
      if (!IsTrue(predicate_) && IsNotZeroUnderPredicate(divisor)) return;
    }
    const bool unknown =
        IsFromMemory(divisor) || UsesVar(divisor, [&](const VarNode* var) { return given_.IsGiven(var); });
    std::string reason = Subject() + "divides by " + Print(divisor);
    reason += unknown ? ", which is taken not to be 0" : ", which is not known not to be 0";
    diagnostics.push_back({unknown ? Verdict::kAssumed : Verdict::kRefuted, "division", Object(), std::move(reason),
                           /*enumerable=*/true});
  }

  std::string Subject() const { return realize_ == nullptr ? "the program " : "block " + realize_->block->name + " "; }
  uint32_t Object() const { return realize_ == nullptr ? 0 : realize_->block->id; }

  void Refuse(Verdict verdict, const std::string& access, const Buffer& buffer, size_t d, bool enumerable = true) {
    std::string reason =
        Subject() + access + ", " + (verdict == Verdict::kAssumed ? "whose place is taken" : "which is not known");
    reason += " to be inside of dimension " + std::to_string(d) + ", [0, " + Print(buffer->shape[d]) + ")";
    diagnostics.push_back({verdict, kCheck, Object(), std::move(reason), enumerable});
  }

  arith::Analyzer analyzer_;
  struct Inside {
    Expr least, greatest, extent;
    size_t conditions = 0;  // `conditions_` had as many
  };
  const Stmt& body_;
  std::optional<Pointers> pointers_;  // of `body_`, once they are needed
  const GivenValues given_;
  std::vector<Inside> proven_;
  std::vector<Expr> conditions_;             // that hold where it is visited
  std::vector<Expr> extents_;                // of the loops around
  std::vector<std::pair<Var, Range>> once_;  // loops and iterators whose numbers of values depend on scalar parameters
  std::unordered_set<const VarNode*> from_memory_;  // variables whose values depend on what memory holds
  std::unordered_set<const VarNode*> given_vars_;   // variables whose values depend on scalar parameters
  const BlockRealizeNode* realize_ = nullptr;
  Expr predicate_;  // of `realize_`: what holds all over its block
};

}  // namespace

Diagnostics CheckAccessBounds(const Function& function) {
  Checker checker(function);
  checker.Visit(function->body);
  return std::move(checker.diagnostics);
}

}  // namespace tilewright
