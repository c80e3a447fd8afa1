#include "codegen/lower/cpu/widen_shifts.h"

#include <vector>

#include "ir/functor.h"
#include "target/native_types.h"

namespace tilewright {
namespace {

constexpr DataType kS32 = DataType::Int(32);

// A call of a bit operation whose result in more bits is what it makes of its operands in more bits; null for others.
const CallNode* AsBitOperation(const Expr& e) {
  const auto* call = dyn_cast<CallNode>(e);
  if (call == nullptr || !call->dtype().is_integer()) return nullptr;
  const std::string& op = call->op;
  const bool known = op == "bitwise_and" || op == "bitwise_or" || op == "bitwise_xor" || op == "shift_right";
  return known ? call : nullptr;
}

bool HasUnequalShift(const Expr& e) {
  const CallNode* call = AsBitOperation(e);
  if (call == nullptr) return false;
  if (call->op == "shift_right" && !isa<BroadcastNode>(call->args[1])) return true;
  return HasUnequalShift(call->args[0]) || HasUnequalShift(call->args[1]);
}

Expr Widened(const Expr& e) {
  const DataType type = kS32.with_lanes(e.dtype().lanes());
  const CallNode* call = AsBitOperation(e);
  if (call == nullptr) return CastTo(type, e);
  return Call(type, call->op, {Widened(call->args[0]), Widened(call->args[1])});
}

class Widener : public Mutator {
 public:
  using Mutator::Mutate;

 protected:
  Expr MutateCast(const CastNode* op, const Expr& self) override {
    const DataType from = op->value.dtype(), to = op->dtype();
    const bool narrow = from.is_integer() && from.lanes() > 1 && (from.bits() == 8 || from.bits() == 16);
    if (!narrow || to.bits() != kS32.bits() || !HasUnequalShift(op->value)) return Mutator::MutateCast(op, self);
    return CastTo(to, Mutate(Widened(op->value)));
  }
};

}  // namespace

Function WidenShifts(const Function& function, const Target& target) {
  if (ShiftsBytes(target)) return function;
  return function.WithBody(Widener().Mutate(function->body), function->next_id);
}

}  // namespace tilewright
