#include "verify/structure/instances.h"

#include <unordered_map>
#include <utility>

#include "ir/builtin.h"

namespace tilewright {
namespace {

constexpr int64_t kGreatest = int64_t{1} << 30;  // no index type overflows below

class Evaluator {
 public:
  // Nothing for a division by zero, a number that is too large, and what depends on anything but the variables.
  std::optional<int64_t> Value(const Expr& e) const {
    if (const auto* var = dyn_cast<VarNode>(e)) {
      const auto known = values_.find(var);
      return known == values_.end() ? std::nullopt : std::optional(known->second);
    }
    std::optional<int64_t> value;
    if (const auto number = AsInt(e)) {
      value = *number;
    } else if (const auto* cast = dyn_cast<CastNode>(e)) {
      if (cast->value.dtype().is_integer() || cast->value.dtype().is_bool()) value = Value(cast->value);
    } else if (const auto* negation = dyn_cast<NotNode>(e)) {
      if (const auto a = Value(negation->a)) value = *a == 0;
    } else if (const auto* op = dyn_cast<BinaryNode>(e)) {
      value = ValueOf(*op);
    } else if (const auto* select = dyn_cast<SelectNode>(e)) {
      if (const auto chosen = Value(select->condition)) {
        value = Value(*chosen != 0 ? select->true_value : select->false_value);
      }
    } else if (const auto* call = dyn_cast<CallNode>(e)) {
      value = ValueOf(*call);
    }
    // Arithmetic in other types than index types may wrap.
    const DataType type = e.dtype();
    const bool exact = type.is_index() || type.is_bool();
    return exact && value && *value > -kGreatest && *value < kGreatest ? value : std::nullopt;
  }
  void Set(const Var& var, int64_t value) { values_[var.get()] = value; }

 private:
  // Choices, and bits of numbers that are not negative.
  std::optional<int64_t> ValueOf(const CallNode& call) const {
    if (call.op == kIfThenElse) {
      const auto chosen = Value(call.args[0]);
      return chosen ? Value(call.args[*chosen != 0 ? 1 : 2]) : std::nullopt;
    }
    if (call.args.size() != 2) return std::nullopt;
    const auto a = Value(call.args[0]), b = Value(call.args[1]);
    if (!a || !b || *a < 0 || *b < 0) return std::nullopt;
    if (call.op == "bitwise_and") return *a & *b;
    if (call.op == "bitwise_or") return *a | *b;
    if (call.op == "bitwise_xor") return *a ^ *b;
    if (call.op == "shift_right" && *b < 31) return *a >> *b;
    if (call.op == "shift_left" && *b < 31) return *a << *b;
    return std::nullopt;
  }
  std::optional<int64_t> ValueOf(const BinaryNode& op) const {
    const auto a = Value(op.a), b = Value(op.b);
    if (!a || !b) return std::nullopt;
    switch (op.op) {
      case BinaryOp::kAdd:
        return *a + *b;
      case BinaryOp::kSub:
        return *a - *b;
      case BinaryOp::kMul:
        return *a * *b;
      case BinaryOp::kFloorDiv:
        return *b > 0 ? std::optional(Quotient(*a, *b)) : std::nullopt;
      case BinaryOp::kFloorMod:
        return *b > 0 ? std::optional(*a - Quotient(*a, *b) * *b) : std::nullopt;
      case BinaryOp::kMin:
        return *a < *b ? *a : *b;
      case BinaryOp::kMax:
        return *a > *b ? *a : *b;
      case BinaryOp::kEQ:
        return *a == *b;
      case BinaryOp::kNE:
        return *a != *b;
      case BinaryOp::kLT:
        return *a < *b;
      case BinaryOp::kLE:
        return *a <= *b;
      case BinaryOp::kGT:
        return *a > *b;
      case BinaryOp::kGE:
        return *a >= *b;
      case BinaryOp::kAnd:
        return *a != 0 && *b != 0;
      case BinaryOp::kOr:
        return *a != 0 || *b != 0;
      default:
        return std::nullopt;
    }
  }
  static int64_t Quotient(int64_t a, int64_t b) { return a / b - (a % b < 0 ? 1 : 0); }

  std::unordered_map<const VarNode*, int64_t> values_;
};

class Enumeration {
 public:
  Enumeration(const arith::Domain& loops, const Expr& predicate, const std::vector<Expr>& bindings)
      : loops_(loops), predicate_(predicate), bindings_(bindings) {}
  std::vector<InstanceValues> instances;

  // False where it cannot be told.
  bool Run(size_t loop) {
    if (loop == loops_.size()) return RunBody();
    const auto& [var, range] = loops_[loop];
    const auto min = evaluator_.Value(range.min), extent = evaluator_.Value(range.extent);
    if (!min || !extent) return false;
    for (int64_t i = 0; i < *extent; ++i) {
      evaluator_.Set(var, *min + i);
      if (!Run(loop + 1)) return false;
    }
    return true;
  }

 private:
  bool RunBody() {
    if (++iterations_ > kMostInstances) return false;
    if (predicate_) {
      const auto runs = evaluator_.Value(predicate_);
      if (!runs) return false;
      if (*runs == 0) return true;
    }
    InstanceValues values;
    for (const Expr& binding : bindings_) {
      const auto value = evaluator_.Value(binding);
      if (!value) return false;
      values.push_back(*value);
    }
    instances.push_back(std::move(values));
    return true;
  }

  const arith::Domain& loops_;
  const Expr& predicate_;
  const std::vector<Expr>& bindings_;
  Evaluator evaluator_;
  int64_t iterations_ = 0;
};

}  // namespace

std::optional<std::vector<InstanceValues>> InstancesInOrder(const arith::Domain& loops, const Expr& predicate,
                                                            const std::vector<Expr>& bindings) {
  int64_t iterations = 1;
  for (const auto& [var, range] : loops) {
    const auto extent = AsInt(range.extent);
    if (!extent || *extent <= 0 || *extent > kMostInstances) return std::nullopt;
    iterations *= *extent;
    if (iterations > kMostInstances) return std::nullopt;
  }
  Enumeration enumeration(loops, predicate, bindings);
  if (!enumeration.Run(0)) return std::nullopt;
  return std::move(enumeration.instances);
}

}  // namespace tilewright
