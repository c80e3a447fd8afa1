#include "codegen/cuda/scalar_code.h"

#include <algorithm>

#include "absl/strings/str_cat.h"
#include "base/status_macros.h"

namespace tilewright::cuda {
namespace {

constexpr int kMostDepth = 64;
// A choice holds two values while its third one is computed.
constexpr int kMostValues = 2 * kMostDepth;

int64_t FloorDivide(int64_t a, int64_t b) { return a / b - (a % b != 0 && (a < 0) != (b < 0) ? 1 : 0); }

absl::Status CannotCompute() { return absl::UnimplementedError("an expression that the host's part cannot compute"); }

int64_t FlipSign(int64_t value) { return static_cast<int64_t>(static_cast<uint64_t>(value) ^ uint64_t{1} << 63); }

int64_t WrapTo(int64_t value, int64_t type) {
  const int64_t bits = type < 0 ? -type : type;
  if (bits >= 64) return value;
  const auto pattern = static_cast<uint64_t>(value) << (64 - bits);
  return type < 0 ? static_cast<int64_t>(pattern >> (64 - bits)) : static_cast<int64_t>(pattern) >> (64 - bits);
}

}  // namespace

bool DependsOnSign(BinaryOp op) {
  return (op >= BinaryOp::kDiv && op <= BinaryOp::kMax) || (op >= BinaryOp::kLT && op <= BinaryOp::kGE);
}

bool WrapsToType(BinaryOp op, DataType type) {
  return op <= BinaryOp::kFloorMod && type.bits() < (type.is_uint() ? 64 : 32);
}

absl::StatusOr<ScalarCode> ScalarCode::Compile(const Expr& e, const Slots& slots) {
  ScalarCode code;
  TW_RETURN_IF_ERROR(code.Add(e, slots));
  return code;
}

absl::Status ScalarCode::Add(const Expr& e, const Slots& slots) {
  if (++depth_ > kMostDepth) return absl::UnimplementedError("an expression that nests too deeply for the host's part");
  if (e.dtype().is_float()) return CannotCompute();
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
    TW_RETURN_IF_ERROR(AddBinary(binary, slots));
    --depth_;
    return absl::OkStatus();
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
  return CannotCompute();
}

absl::Status ScalarCode::AddBinary(const BinaryNode* binary, const Slots& slots) {
  static constexpr Op kOps[] = {Op::kAdd,      Op::kSub,      Op::kMul,       Op::kDiv,     Op::kMod,
                                Op::kFloorDiv, Op::kFloorMod, Op::kMin,       Op::kMax,     Op::kEqual,
                                Op::kNotEqual, Op::kLess,     Op::kLessEqual, Op::kGreater, Op::kGreaterEqual,
                                Op::kAnd,      Op::kOr};
  const BinaryOp op = binary->op;
  const DataType type = binary->a.dtype();
  const bool is_unsigned = type.is_uint() && type.bits() == 64 && DependsOnSign(op);
  const bool divides = op == BinaryOp::kDiv || op == BinaryOp::kFloorDiv;
  const bool remains = op == BinaryOp::kMod || op == BinaryOp::kFloorMod;
  const bool flips = is_unsigned && !divides && !remains;
  for (const Expr& operand : {binary->a, binary->b}) {
    TW_RETURN_IF_ERROR(Add(operand, slots));
    if (flips) code_.push_back({Op::kFlipSign});
  }
  code_.push_back({is_unsigned && divides   ? Op::kUnsignedDiv
                   : is_unsigned && remains ? Op::kUnsignedMod
                                            : kOps[static_cast<size_t>(op)]});
  if (flips && !IsComparison(op)) code_.push_back({Op::kFlipSign});
  if (WrapsToType(op, type)) code_.push_back({Op::kWrap, type.is_uint() ? -type.bits() : type.bits()});
  return absl::OkStatus();
}

// Sums of sizes wrap rather than being undefined; a division by zero happens only where its result is not chosen.
int64_t ScalarCode::Compute(Op op, int64_t a, int64_t b) {
  const auto x = static_cast<uint64_t>(a), y = static_cast<uint64_t>(b);
  const bool divides = b != 0 && !(b == -1 && a == INT64_MIN);
  switch (op) {
    case Op::kAdd:
      return static_cast<int64_t>(x + y);
    case Op::kSub:
      return static_cast<int64_t>(x - y);
    case Op::kMul:
      return static_cast<int64_t>(x * y);
    case Op::kDiv:
      return divides ? a / b : 0;
    case Op::kMod:
      return divides ? a % b : 0;
    case Op::kUnsignedDiv:
      return b != 0 ? static_cast<int64_t>(x / y) : 0;
    case Op::kUnsignedMod:
      return b != 0 ? static_cast<int64_t>(x % y) : 0;
    case Op::kFloorDiv:
      return divides ? FloorDivide(a, b) : 0;
    case Op::kFloorMod:
      return divides ? a - FloorDivide(a, b) * b : 0;
    case Op::kMin:
      return std::min(a, b);
    case Op::kMax:
      return std::max(a, b);
    case Op::kEqual:
      return a == b;
    case Op::kNotEqual:
      return a != b;
    case Op::kLess:
      return a < b;
    case Op::kLessEqual:
      return a <= b;
    case Op::kGreater:
      return a > b;
    case Op::kGreaterEqual:
      return a >= b;
    case Op::kAnd:
      return a != 0 && b != 0;
    default:
      return a != 0 || b != 0;
  }
}

int64_t ScalarCode::Run(const int64_t* values) const {
  int64_t stack[kMostValues] = {0};
  int top = -1;
  for (const Instruction& instruction : code_) {
    switch (instruction.op) {
      case Op::kConstant:
        stack[++top] = instruction.operand;
        break;
      case Op::kSlot:
        stack[++top] = values[instruction.operand];
        break;
      case Op::kNot:
        stack[top] = stack[top] == 0 ? 1 : 0;
        break;
      case Op::kWrap:
        stack[top] = WrapTo(stack[top], instruction.operand);
        break;
      case Op::kFlipSign:
        stack[top] = FlipSign(stack[top]);
        break;
      case Op::kChoose:
        top -= 2;
        stack[top] = stack[top] != 0 ? stack[top + 1] : stack[top + 2];
        break;
      default:
        --top;
        stack[top] = Compute(instruction.op, stack[top], stack[top + 1]);
        break;
    }
  }
  return top < 0 ? 0 : stack[top];
}

}  // namespace tilewright::cuda
