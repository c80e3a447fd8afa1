#include "ir/expand_call.h"

#include "ir/builtin.h"

namespace tilewright {
namespace {

Expr Shift(std::string_view direction, const Expr& a, const Expr& b) {
  return Call(a.dtype(), std::string(direction), {a, b});
}

// x * 2^left * y / 2^right in 64 bits, rounded to nearest, halves up. A shift to the right by nothing rounds nothing.
Expr MultiplyAndShift(const Expr& x, const Expr& y, const Expr& left, const Expr& right) {
  const DataType wide = DataType::Int(64, x.dtype().lanes());
  const auto widen = [&](const Expr& e) { return CastTo(wide, e); };
  const Expr zero = Const(wide, 0), one = Const(wide, 1), bits = widen(right);
  const Expr product = Shift("shift_left", widen(x), widen(left)) * widen(y);
  const Expr half = Select(zero < bits, Shift("shift_left", one, Max(bits - one, zero)), zero);
  return CastTo(x.dtype(), Shift("shift_right", product + half, bits));
}

Expr ChooseByNumber(const CallNode* call) {
  const DataType type = call->args[0].dtype();
  const int lanes = call->dtype().lanes(), entries = type.lanes();
  const DataType number = call->args[1].dtype();
  const bool power_of_two = (entries & (entries - 1)) == 0;
  if (!power_of_two || type.element() != call->dtype().element() || !number.is_integer() || number.lanes() != lanes) {
    return {};
  }
  const Var table("table", type), i("i", number);
  const auto entry = [&](int n) {
    return lanes == 1 && entries == 1 ? Expr(table)
                                      : Expr(new ShuffleNode({table}, std::vector<int>(static_cast<size_t>(lanes), n)));
  };
  Expr chosen = entry(0);
  for (int n = 1; n < entries; ++n) chosen = Select(i == Const(number, n), entry(n), chosen);
  const Expr in_table = Call(number, "bitwise_and", {call->args[1], Const(number, entries - 1)});
  return Expr(new LetNode(table, call->args[0], Expr(new LetNode(i, in_table, chosen))));
}

}  // namespace

Expr ExpandCall(const CallNode* call) {
  const bool says_something_of_it = call->op == "tvm_thread_invariant" || call->op == "ignore_loop_partition";
  if (says_something_of_it && call->args.size() == 1) return call->args[0];
  if (call->op == kLookup && call->args.size() == 2) return ChooseByNumber(call);
  const bool per_axis = call->op == "q_multiply_shift_per_axis";
  if (!per_axis && call->op != "q_multiply_shift") return {};
  if (call->args.size() != (per_axis ? 7U : 4U)) return {};
  const size_t integers = per_axis ? 5 : 4;
  for (size_t i = 0; i < integers; ++i) {
    if (call->args[i].dtype() != DataType::Int(32, call->dtype().lanes())) return {};
  }
  const Expr &x = call->args[0], &y = call->args[1];
  const Expr zero = Const(x.dtype(), 0);
  if (per_axis) {
    const auto condition = [&](size_t i) {
      return CastTo(DataType::Bool(call->args[i].dtype().lanes()), call->args[i]);
    };
    const Expr left = Select(condition(5), call->args[2], zero), right = Select(condition(6), call->args[3], zero);
    return MultiplyAndShift(x, y, left, call->args[4] + right);
  }
  const Expr &q = call->args[2], &s = call->args[3];
  return MultiplyAndShift(x, y, Max(s, zero), q + Max(zero - s, zero));
}

}  // namespace tilewright
