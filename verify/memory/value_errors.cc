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
#include "verify/memory/real_interval.h"

namespace tilewright {
namespace {

using arith::Bounds;

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
    const bool shifts = op->op == "shift_left" || op->op == "shift_right";
    if (!shifts && op->op != "abs") return;
    ForLanes(Expr(op), [&](const Expr& lane) {
      const auto* call = dyn_cast<CallNode>(lane);
      if (call == nullptr) return;
      shifts ? CheckShift(*call) : CheckIsNotLeast(call->args[0], lane);
    });
  }
  void VisitRamp(const RampNode* op) override {
    Visitor::VisitRamp(op);
    const DataType type = op->base.dtype();
    if (type != DataType::Int(32)) return;
    const Expr last = op->base + op->stride * Const(type, op->dtype().lanes() - 1);
    CheckRange(last, type, "does not fit into int32");
  }
  void VisitBinary(const BinaryNode* op) override {
    if (op->op == BinaryOp::kAnd || op->op == BinaryOp::kOr) {
      Visit(op->a);
      return Within({{Var(), {}, op->op == BinaryOp::kAnd ? op->a : Not(op->a)}}, [&] { Visit(op->b); });
    }
    Visitor::VisitBinary(op);
    const DataType type = op->dtype().element();
    if (!type.is_int() || type.bits() < 32 || IsComparison(op->op)) return;
    ForLanes(Expr(op), [&](const Expr& lane) {
      const auto* operation = dyn_cast<BinaryNode>(lane);
      if (operation == nullptr) return;
      const BinaryNode& scalar = *operation;
      const bool negates = scalar.op == BinaryOp::kDiv || scalar.op == BinaryOp::kFloorDiv;
      if (negates && AsInt(scalar.b) == -1) return CheckIsNotLeast(scalar.a, lane);
      const bool grows = scalar.op == BinaryOp::kAdd || scalar.op == BinaryOp::kSub || scalar.op == BinaryOp::kMul;
      if (grows && type.bits() == 32) CheckRange(lane, type, "does not fit into int32");
      if (grows && type.bits() == 64) CheckWideRange(scalar);
    });
  }
  void VisitCast(const CastNode* op) override {
    Visitor::VisitCast(op);
    if (!op->dtype().is_integer() || !op->value.dtype().is_float()) return;
    ForLanes(op->value, [&](const Expr& lane) { CheckConversion(op->dtype().element(), lane); });
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
  // Checks what the first lane computes, and the last one where that is right; nothing where lanes are not made of
  // scalars.
  template <class Checks>
  void ForLanes(const Expr& e, Checks check) {
    const int lanes = e.dtype().lanes();
    const size_t before = diagnostics.size();
    for (int lane = 0; lane < lanes && diagnostics.size() == before; lane += std::max(lanes - 1, 1)) {
      const Expr scalar = LaneOf(e, lane);
      if (scalar) check(scalar);
    }
  }
  static Expr LaneOf(const Expr& e, int lane) {
    if (e.dtype().is_scalar()) return e;
    if (const auto* broadcast = dyn_cast<BroadcastNode>(e)) return LaneOf(broadcast->value, 0);
    if (const auto* ramp = dyn_cast<RampNode>(e)) return ramp->base + ramp->stride * Const(ramp->base.dtype(), lane);
    if (const auto* op = dyn_cast<CastNode>(e)) {
      const Expr value = LaneOf(op->value, lane);
      return value ? CastTo(e.dtype().element(), value) : Expr();
    }
    if (const auto* op = dyn_cast<BinaryNode>(e)) {
      const Expr a = LaneOf(op->a, lane), b = a ? LaneOf(op->b, lane) : Expr();
      return b ? MakeBinary(op->op, a, b) : Expr();
    }
    const auto* call = dyn_cast<CallNode>(e);
    if (call == nullptr || EffectOf(call->op) != CallEffect::kPure) return Expr();
    std::vector<Expr> operands;
    for (const Expr& operand : call->args) {
      operands.push_back(LaneOf(operand, lane));
      if (!operands.back()) return Expr();
    }
    return Call(e.dtype().element(), call->op, std::move(operands));
  }

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
      if (!fact.var) {
        AddParts(fact.value);
        continue;
      }
      known_.push_back(fact);
      const auto min = AsInt(fact.range.min), extent = AsInt(fact.range.extent);
      if (min && extent && *extent > 0) ranges_[fact.var.get()] = {*min, *min + *extent - 1};
    }
    visits();
    known_.resize(outer);
    for (const Known& fact : facts) {
      if (fact.var) ranges_.erase(fact.var.get());
    }
  }
  // What holds where the condition does: of a chain, each part by itself, whatever the others read.
  void AddParts(const Expr& condition) {
    if (!condition || !condition.dtype().is_scalar()) return;
    const auto* chain = dyn_cast<BinaryNode>(condition);
    const auto* opposite = dyn_cast<NotNode>(condition);
    const auto* denied = opposite == nullptr ? nullptr : dyn_cast<BinaryNode>(opposite->a);
    if (chain != nullptr && chain->op == BinaryOp::kAnd) {
      AddParts(chain->a);
      AddParts(chain->b);
    } else if (denied != nullptr && denied->op == BinaryOp::kOr) {
      AddParts(Not(denied->a));
      AddParts(Not(denied->b));
    } else {
      known_.push_back({Var(), {}, condition});
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
  Bounds Exact(const Expr& e) const {
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
        if (const Expr number = OfNumbers(known.value)) analyzer.Assume(number);
      }
    }
    const DataType wide = DataType::Int(64);
    if (const Expr number = Number(e)) return analyzer.ConstBounds(number);
    return analyzer.ConstBounds(e.dtype().bits() < 64 ? Widened(e, wide) : e);
  }
  // The number that a conversion of an index to another type of integers leaves as it is, in 64 bits; null for others.
  Expr Number(const Expr& e) const {
    const auto* cast_node = dyn_cast<CastNode>(e);
    if (const auto number = AsInt(e)) return Const(DataType::Int(64), *number);
    if (cast_node == nullptr || e.dtype().is_index() || !cast_node->value.dtype().is_index()) return {};
    return Quick(e) ? CastTo(DataType::Int(64), cast_node->value) : Expr();
  }
  // A comparison of such numbers as one of 64 bits; null for others.
  Expr OfNumbers(const Expr& condition) const {
    if (const auto* opposite = dyn_cast<NotNode>(condition)) {
      const Expr compared = OfNumbers(opposite->a);
      return compared ? Not(compared) : Expr();
    }
    const auto* op = dyn_cast<BinaryNode>(condition);
    if (op == nullptr || !IsComparison(op->op)) return {};
    const Expr a = Number(op->a), b = Number(op->b);
    return a && b ? MakeBinary(op->op, a, b) : Expr();
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
  // The least number has no magnitude in its type. `whole`: what is computed of it.
  void CheckIsNotLeast(const Expr& e, const Expr& whole) {
    const DataType type = e.dtype();
    if (!type.is_int() || type.bits() < 32) return;
    const int64_t least = type.bits() < 64 ? -(int64_t{1} << (type.bits() - 1)) : std::numeric_limits<int64_t>::min();
    const auto quick = Quick(e);
    if (!quick || quick->min > least || Exact(e).min > least) return;
    Refuse(Print(whole) + " does not fit into " + type.ToString());
  }
  // Bounds of 64 bits end where numbers do: the result's are taken from those of the operands.
  void CheckWideRange(const BinaryNode& op) {
    if (!Overflows(op.op, Quick(op.a), Quick(op.b))) return;
    const Bounds a = Exact(op.a), b = Exact(op.b);
    if (Overflows(op.op, a, b)) Refuse(Print(Expr(&op)) + " does not fit into int64");
  }
  static bool Overflows(BinaryOp op, const std::optional<Bounds>& a, const std::optional<Bounds>& b) {
    if (!a || !b || !a->IsFinite() || !b->IsFinite()) return false;
    for (const int64_t x : {a->min, a->max}) {
      for (const int64_t y : {b->min, b->max}) {
        int64_t result;
        const bool overflows = op == BinaryOp::kAdd   ? __builtin_add_overflow(x, y, &result)
                               : op == BinaryOp::kSub ? __builtin_sub_overflow(x, y, &result)
                                                      : __builtin_mul_overflow(x, y, &result);
        if (overflows) return true;
      }
    }
    return false;
  }
  void CheckShift(const CallNode& shift) {
    const DataType type = shift.args[0].dtype();
    const auto by = Quick(shift.args[1]);
    if (!by || by->Within(0, type.bits() - 1)) return;
    const Bounds bounds = Exact(shift.args[1]);
    if (!bounds.IsFinite() || bounds.Within(0, type.bits() - 1)) return;
    Refuse(type.ToString() + " is shifted by " + Print(shift.args[1]) + ", " + std::to_string(bounds.min) + " to " +
           std::to_string(bounds.max));
  }

  // `exact`: with the conditions around.
  std::optional<RealInterval> Real(const Expr& e, bool exact) {
    const std::optional<RealInterval> value = RealOf(e, exact);
    return value && e.dtype().is_float() ? AsOfType(e.dtype(), *value) : value;
  }
  std::optional<RealInterval> RealOf(const Expr& e, bool exact) {
    if (const auto* number = dyn_cast<FloatImmNode>(e)) return RealInterval::Point(number->value);
    if (const auto* cast_node = dyn_cast<CastNode>(e)) {
      if (cast_node->value.dtype().is_float()) return Real(cast_node->value, exact);
      const auto integer = exact ? Exact(cast_node->value) : Quick(cast_node->value);
      if (!integer || !integer->IsFinite()) return std::nullopt;
      return RealInterval{static_cast<double>(integer->min), static_cast<double>(integer->max), false, true};
    }
    if (const auto* select = dyn_cast<SelectNode>(e)) {
      return RealOfChoice(select->condition, select->true_value, select->false_value, exact);
    }
    if (const auto* call = dyn_cast<CallNode>(e)) {
      if (call->op == kIfThenElse) return RealOfChoice(call->args[0], call->args[1], call->args[2], exact);
      std::vector<RealInterval> args;
      for (const Expr& arg : call->args) {
        const auto value = arg.dtype().is_float() ? Real(arg, exact) : std::nullopt;
        if (!value) return std::nullopt;
        args.push_back(*value);
      }
      return RealOfCall(call->op, args);
    }
    const auto* op = dyn_cast<BinaryNode>(e);
    if (op == nullptr || IsComparison(op->op)) return std::nullopt;
    const auto a = Real(op->a, exact), b = a ? Real(op->b, exact) : std::nullopt;
    return b ? RealOfBinary(op->op, *a, *b) : std::nullopt;
  }
  std::optional<RealInterval> RealOfChoice(const Expr& condition, const Expr& if_true, const Expr& if_false,
                                           bool exact) {
    std::optional<RealInterval> a, b;
    Within({{Var(), {}, condition}}, [&] { a = Real(if_true, exact); });
    Within({{Var(), {}, Not(condition)}}, [&] { b = Real(if_false, exact); });
    return a && b ? std::optional(Union(*a, *b)) : std::nullopt;
  }
  void CheckConversion(DataType type, const Expr& e) {
    const double end = std::ldexp(1.0, type.bits() - (type.is_int() ? 1 : 0));
    const double least = type.is_int() ? -end : 0;
    // Towards zero; what lies a rounding beyond the end is left to the program.
    const auto fits = [&](const RealInterval& value) {
      return !value.may_be_nan && value.min > least - 1 && value.max < end;
    };
    auto value = Real(e, false);
    if (!value || fits(*value)) return;
    value = Real(e, true);
    if (!value || fits(*value)) return;
    const std::string converted = " is converted to " + type.ToString();
    if (value->may_be_nan) return Refuse((value->IsEmpty() ? "NaN" : Print(e) + ", which may be NaN,") + converted);
    Refuse(Print(e) + converted + ", in which it does not fit");
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
