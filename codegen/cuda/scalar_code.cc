#include "codegen/cuda/scalar_code.h"

#include <algorithm>

#include "absl/strings/str_cat.h"
#include "base/status_macros.h"

namespace tilewright::cuda {
namespace {

constexpr int kMostDepth = 64;

int64_t FloorDivide(int64_t a, int64_t b) { return a / b - (a % b != 0 && (a < 0) != (b < 0) ? 1 : 0); }

int64_t WrapTo(int64_t value, int64_t type) {
  const int64_t bits = type < 0 ? -type : type;
  if (bits >= 64) return value;
  const auto pattern = static_cast<uint64_t>(value) << (64 - bits);
  return type < 0 ? static_cast<int64_t>(pattern >> (64 - bits)) : static_cast<int64_t>(pattern) >> (64 - bits);
}

}  // namespace

absl::StatusOr<ScalarCode> ScalarCode::Compile(const Expr& e, const Slots& slots) {
  ScalarCode code;
  TW_RETURN_IF_ERROR(code.Add(e, slots));
  return code;
}

absl::Status ScalarCode::Add(const Expr& e, const Slots& slots) {
  if (++depth_ > kMostDepth) return absl::UnimplementedError("an expression that nests too deeply for the host's part");
  const auto add = [&](std::initializer_list<Expr> operands, Op op, int64_t operand = 0) {
    for (const Expr& sub : operands) {
      TW_RETURN_IF_ERROR(Add(sub, slots));
    }
    code_.push_back({op, operand});
    --depth_;
    return absl::OkStatus();
  };
  if (const auto value = AsInt(e)) return add({}, Op::kConstant, *value);
  if (const auto* var = dyn_cast<VarNode>(e)) {
    const auto slot = slots.find(var);
    if (slot == slots.end())
      return absl::UnimplementedError(absl::StrCat("the host does not know variable ", var->name));
    return add({}, Op::kSlot, slot->second);
  }
  if (const auto* binary = dyn_cast<BinaryNode>(e)) {
    static constexpr Op kOps[] = {Op::kAdd,      Op::kSub,      Op::kMul,       Op::kDiv,     Op::kMod,
                                  Op::kFloorDiv, Op::kFloorMod, Op::kMin,       Op::kMax,     Op::kEqual,
                                  Op::kNotEqual, Op::kLess,     Op::kLessEqual, Op::kGreater, Op::kGreaterEqual,
                                  Op::kAnd,      Op::kOr};
    return add({binary->a, binary->b}, kOps[static_cast<size_t>(binary->op)]);
  }
  if (const auto* op = dyn_cast<NotNode>(e)) return add({op->a}, Op::kNot);
  if (const auto* op = dyn_cast<SelectNode>(e))
    return add({op->condition, op->true_value, op->false_value}, Op::kChoose);
  if (const auto* op = dyn_cast<CastNode>(e); op != nullptr && !op->value.dtype().is_float()) {
    const DataType type = op->dtype();
    if (type.is_bool()) return add({op->value, Const(op->value.dtype(), 0)}, Op::kNotEqual);
    return add({op->value}, Op::kWrap, type.is_uint() ? -type.bits() : type.bits());
  }
  if (const auto* call = dyn_cast<CallNode>(e)) {
    if (call->op == "likely" && call->args.size() == 1) {
      --depth_;
      return Add(call->args[0], slots);
    }
    if (call->op == "if_then_else") return add({call->args[0], call->args[1], call->args[2]}, Op::kChoose);
  }
  return absl::UnimplementedError("an expression that the host's part cannot compute");
}

int64_t ScalarCode::Run(const int64_t* values) const {
  int64_t stack[kMostDepth + 2] = {0};
  int top = -1;
  for (const Instruction& instruction : code_) {
    if (instruction.op == Op::kConstant || instruction.op == Op::kSlot) {
      stack[++top] = instruction.op == Op::kConstant ? instruction.operand : values[instruction.operand];
      continue;
    }
    if (instruction.op == Op::kNot) {
      stack[top] = stack[top] == 0 ? 1 : 0;
      continue;
    }
    if (instruction.op == Op::kWrap) {
      stack[top] = WrapTo(stack[top], instruction.operand);
      continue;
    }
    if (instruction.op == Op::kChoose) {
      top -= 2;
      stack[top] = stack[top] != 0 ? stack[top + 1] : stack[top + 2];
      continue;
    }
    const int64_t b = stack[top--];
    int64_t& a = stack[top];
    // Sums of sizes wrap rather than being undefined; a division by zero happens only where its result is not chosen.
    const auto wrapping = [&](auto&& compute) {
      return static_cast<int64_t>(compute(static_cast<uint64_t>(a), static_cast<uint64_t>(b)));
    };
    const bool divides = b != 0 && !(b == -1 && a == INT64_MIN);
    switch (instruction.op) {
      case Op::kAdd:
        a = wrapping([](uint64_t x, uint64_t y) { return x + y; });
        break;
      case Op::kSub:
        a = wrapping([](uint64_t x, uint64_t y) { return x - y; });
        break;
      case Op::kMul:
        a = wrapping([](uint64_t x, uint64_t y) { return x * y; });
        break;
      case Op::kDiv:
        a = divides ? a / b : 0;
        break;
      case Op::kMod:
        a = divides ? a % b : 0;
        break;
      case Op::kFloorDiv:
        a = divides ? FloorDivide(a, b) : 0;
        break;
      case Op::kFloorMod:
        a = divides ? a - FloorDivide(a, b) * b : 0;
        break;
      case Op::kMin:
        a = std::min(a, b);
        break;
      case Op::kMax:
        a = std::max(a, b);
        break;
      case Op::kEqual:
        a = a == b;
        break;
      case Op::kNotEqual:
        a = a != b;
        break;
      case Op::kLess:
        a = a < b;
        break;
      case Op::kLessEqual:
        a = a <= b;
        break;
      case Op::kGreater:
        a = a > b;
        break;
      case Op::kGreaterEqual:
        a = a >= b;
        break;
      case Op::kAnd:
        a = a != 0 && b != 0;
        break;
      default:
        a = a != 0 || b != 0;
        break;
    }
  }
  return top < 0 ? 0 : stack[top];
}

}  // namespace tilewright::cuda
