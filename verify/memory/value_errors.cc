#include "verify/memory/value_errors.h"

#include <algorithm>
#include <cmath>
#include <limits>
#include <optional>
#include <string>
#include <unordered_map>
#include <utility>
#include <vector>

#include "ir/analysis.h"
#include "ir/arith/analyzer.h"
#include "ir/arith/bounds.h"
#include "ir/builtin.h"
#include "ir/functor.h"
#include "ir/script/printer.h"

namespace tilewright {
namespace {

using arith::Bounds;

// The reals that a value lies between.
struct Interval {
  double min, max;
};

class Checker : public Visitor {
 public:
  using Visitor::Visit;
  Diagnostics diagnostics;

 protected:
  void VisitFor(const ForNode* op) override {
    Visit(op->min);
    Visit(op->extent);
    Within({{op->var, {op->min, op->extent}}}, [&] { Visit(op->body); });
  }
  void VisitIf(const IfNode* op) override {
    Visit(op->condition);
    Within({{Var(), {}, op->condition}}, [&] { Visit(op->then_case); });
    if (op->else_case) Within({{Var(), {}, Not(op->condition)}}, [&] { Visit(op->else_case); });
  }
  void VisitSelect(const SelectNode* op) override {
    if (!op->condition.dtype().is_scalar()) return Visitor::VisitSelect(op);
    VisitChoice(op->condition, op->true_value, op->false_value);
  }
  void VisitCall(const CallNode* op) override {
    if (op->op == kIfThenElse) return VisitChoice(op->args[0], op->args[1], op->args[2]);
    Visitor::VisitCall(op);
    if (op->op == "shift_left" || op->op == "shift_right") CheckShift(*op);
  }
  void VisitBinary(const BinaryNode* op) override {
    if (op->op == BinaryOp::kAnd || op->op == BinaryOp::kOr) {
      Visit(op->a);
      return Within({{Var(), {}, op->op == BinaryOp::kAnd ? op->a : Not(op->a)}}, [&] { Visit(op->b); });
    }
    Visitor::VisitBinary(op);
    const bool grows = op->op == BinaryOp::kAdd || op->op == BinaryOp::kSub || op->op == BinaryOp::kMul;
    // Loops do not count as far as 64 bits reach.
    if (grows && op->dtype() == DataType::Int(32)) CheckRange(Expr(op), op->dtype(), "does not fit into int32");
  }
  void VisitCast(const CastNode* op) override {
    Visitor::VisitCast(op);
    if (op->dtype().is_scalar() && op->dtype().is_integer() && op->value.dtype().is_float()) CheckConversion(*op);
  }
  void VisitBlockRealize(const BlockRealizeNode* op) override {
    for (const Expr& binding : op->bindings) Visit(binding);
    Visit(op->predicate);
    const BlockNode* outer = std::exchange(block_, op->block.get());
    std::vector<Known> iterators;
    for (size_t i = 0; i < op->bindings.size(); ++i) {
      const IterVar& iter = op->block->iter_vars[i];
      iterators.push_back({iter.var, iter.domain, op->bindings[i]});
    }
    iterators.push_back({Var(), {}, op->predicate});
    Within(iterators, [&] {
      Visit(op->block->init);
      Visit(op->block->body);
    });
    block_ = outer;
  }

 private:
  // A variable with its range, and what an iterator is bound to; or a condition that holds.
  struct Known {
    Var var;  // null: a condition
    Range range = {};
    Expr value = {};  // of the variable, or the condition
  };

  template <class Visits>
  void Within(const std::vector<Known>& facts, Visits visits) {
    const size_t outer = known_.size();
    for (const Known& fact : facts) {
      if (!fact.var && (!fact.value || !fact.value.dtype().is_scalar())) continue;
      known_.push_back(fact);
      if (!fact.var) continue;
      const auto min = AsInt(fact.range.min), extent = AsInt(fact.range.extent);
      if (min && extent && *extent > 0) ranges_[fact.var.get()] = {*min, *min + *extent - 1};
    }
    visits();
    known_.resize(outer);
    for (const Known& fact : facts) {
      if (fact.var) ranges_.erase(fact.var.get());
    }
  }
  void VisitChoice(const Expr& condition, const Expr& if_true, const Expr& if_false) {
    Visit(condition);
    Within({{Var(), {}, condition}}, [&] { Visit(if_true); });
    Within({{Var(), {}, Not(condition)}}, [&] { Visit(if_false); });
  }

  // Bounds of an integer made of loops and numbers; nothing of any other, and where a part of it is an error already.
  std::optional<Bounds> Quick(const Expr& e) const {
    if (const auto number = AsInt(e)) return Bounds::Point(*number);
    if (const auto* var = dyn_cast<VarNode>(e)) {
      const auto range = ranges_.find(var);
      return range == ranges_.end() ? std::nullopt : std::optional<Bounds>(range->second);
    }
    if (const auto* cast_node = dyn_cast<CastNode>(e)) {
      if (!cast_node->value.dtype().is_integer()) return std::nullopt;
      const auto value = Quick(cast_node->value);
      return value && Fits(*value, e.dtype()) ? value : std::nullopt;
    }
    const auto* op = dyn_cast<BinaryNode>(e);
    if (op == nullptr) return std::nullopt;
    const auto a = Quick(op->a), b = Quick(op->b);
    if (!a || !b) return std::nullopt;
    switch (op->op) {
      case BinaryOp::kAdd:
        return *a + *b;
      case BinaryOp::kSub:
        return *a - *b;
      case BinaryOp::kMul:
        return *a * *b;
      case BinaryOp::kFloorDiv:
        return b->min > 0 ? std::optional<Bounds>(FloorDivBounds(*a, *b)) : std::nullopt;
      case BinaryOp::kFloorMod:
        return b->min > 0 ? std::optional<Bounds>(FloorModBounds(*a, *b)) : std::nullopt;
      case BinaryOp::kMin:
        return Bounds{std::min(a->min, b->min), std::min(a->max, b->max)};
      case BinaryOp::kMax:
        return Bounds{std::max(a->min, b->min), std::max(a->max, b->max)};
      default:
        return std::nullopt;
    }
  }
  static bool Fits(const Bounds& bounds, DataType type) {
    if (type.bits() >= 64) return type.is_int() || bounds.min >= 0;
    return bounds.Within(type.is_uint() ? 0 : -(int64_t{1} << (type.bits() - 1)), MaxValue(type));
  }
  // The bounds where the conditions around hold.
  Bounds Exact(const Expr& e) {
    arith::Analyzer analyzer;
    for (const Known& known : known_) {
      const bool is_fixed = known.value && !ReadsMemory(known.value);
      if (known.var && is_fixed) {
        analyzer.Assume(known.range.min <= known.value);
        analyzer.Assume(known.value < known.range.min + known.range.extent);
        analyzer.Bind(known.var, known.value);
      } else if (known.var) {
        analyzer.Bind(known.var, known.range);
      } else if (is_fixed) {
        analyzer.Assume(known.value);
      }
    }
    const DataType wide = DataType::Int(64);
    return analyzer.ConstBounds(e.dtype().bits() < 64 ? Widened(e, wide) : e);
  }
  static bool ReadsMemory(const Expr& e) {
    bool reads = false;
    PreOrder(e, [&](const Expr& part) {
      reads |= isa<LoadNode>(part);
      return !reads;
    });
    return reads;
  }
  // Arithmetic of the same numbers that does not overflow.
  static Expr Widened(const Expr& e, DataType wide) {
    const auto* op = dyn_cast<BinaryNode>(e);
    const bool arithmetic = op != nullptr && !IsComparison(op->op) && op->dtype().is_int();
    return arithmetic ? MakeBinary(op->op, Widened(op->a, wide), Widened(op->b, wide)) : CastTo(wide, e);
  }

  void CheckRange(const Expr& e, DataType type, const std::string& what) {
    const auto quick = Quick(e);
    if (!quick || Fits(*quick, type)) return;
    const Bounds bounds = Exact(e);
    if (!bounds.IsFinite() || Fits(bounds, type)) return;
    Refuse(Print(e) + ", " + std::to_string(bounds.min) + " to " + std::to_string(bounds.max) + ", " + what);
  }
  void CheckShift(const CallNode& shift) {
    const DataType type = shift.args[0].dtype();
    if (!type.is_scalar()) return;
    const auto by = Quick(shift.args[1]);
    if (!by || by->Within(0, type.bits() - 1)) return;
    const Bounds bounds = Exact(shift.args[1]);
    if (!bounds.IsFinite() || bounds.Within(0, type.bits() - 1)) return;
    Refuse(type.ToString() + " is shifted by " + Print(shift.args[1]) + ", " + std::to_string(bounds.min) + " to " +
           std::to_string(bounds.max));
  }

  std::optional<Interval> Real(const Expr& e) const {
    if (const auto* number = dyn_cast<FloatImmNode>(e)) return Interval{number->value, number->value};
    if (const auto* cast_node = dyn_cast<CastNode>(e)) {
      if (cast_node->value.dtype().is_float()) return Real(cast_node->value);
      const auto integer = Quick(cast_node->value);
      if (!integer || !integer->IsFinite()) return std::nullopt;
      return Interval{static_cast<double>(integer->min), static_cast<double>(integer->max)};
    }
    const auto* op = dyn_cast<BinaryNode>(e);
    if (op == nullptr) return std::nullopt;
    const auto a = Real(op->a), b = Real(op->b);
    if (!a || !b) return std::nullopt;
    const auto hull = [](std::initializer_list<double> ends) { return Interval{std::min(ends), std::max(ends)}; };
    switch (op->op) {
      case BinaryOp::kAdd:
        return Interval{a->min + b->min, a->max + b->max};
      case BinaryOp::kSub:
        return Interval{a->min - b->max, a->max - b->min};
      case BinaryOp::kMul:
        return hull({a->min * b->min, a->min * b->max, a->max * b->min, a->max * b->max});
      case BinaryOp::kMin:
        return Interval{std::min(a->min, b->min), std::min(a->max, b->max)};
      case BinaryOp::kMax:
        return Interval{std::max(a->min, b->min), std::max(a->max, b->max)};
      default:
        return std::nullopt;
    }
  }
  void CheckConversion(const CastNode& cast_node) {
    const auto value = Real(cast_node.value);
    if (!value || std::isnan(value->min) || std::isnan(value->max)) return;
    const DataType type = cast_node.dtype();
    const double end = std::ldexp(1.0, type.bits() - (type.is_int() ? 1 : 0));
    const double least = type.is_int() ? -end : 0;
    // Towards zero; what lies a rounding beyond the end is left to the program.
    if (value->min > least - 1 && value->max < end) return;
    Refuse(Print(cast_node.value) + " is converted to " + type.ToString() + ", in which it does not fit");
  }
  void Refuse(const std::string& what) {
    const bool in_block = block_ != nullptr;
    diagnostics.push_back({Verdict::kRefuted, "value errors", in_block ? block_->id : 0,
                           (in_block ? "in block " + block_->name + " " : "") + what, /*enumerable=*/true});
  }

  std::vector<Known> known_;
  std::unordered_map<const VarNode*, Bounds> ranges_;
  const BlockNode* block_ = nullptr;
};

}  // namespace

Diagnostics CheckValueErrors(const Function& function) {
  Checker checker;
  checker.Visit(function->body);
  return std::move(checker.diagnostics);
}

}  // namespace tilewright
