// Logic.
//
//   a and b and c     each part is simplified knowing those before it, then left out where those after it imply it
//
// A chain is one list of parts. As nested pairs, each of which walks twice over what stands before its last part, it
// would take twice as many walks with each part.
#include <algorithm>
#include <utility>

#include "ir/arith/context.h"
#include "ir/arith/same_expr.h"
#include "ir/functor.h"

namespace tilewright::arith {
namespace {

struct Part {
  const BinaryNode* join = nullptr;  // with what stands before it; null for the first one
  Expr self = {};                    // the expression of `join`
  Expr value = {};
};

// The parts of a chain of one operator, in order.
std::vector<Part> PartsOf(const BinaryNode* op, const Expr& self) {
  std::vector<Part> parts;
  const BinaryNode* join = op;
  for (Expr at = self;;) {
    parts.push_back({join, at, join->b});
    const Expr before = join->a;
    join = dyn_cast<BinaryNode>(before);
    if (join == nullptr || join->op != op->op) {
      parts.push_back({nullptr, {}, before});
      break;
    }
    at = before;
  }
  std::ranges::reverse(parts);
  return parts;
}

bool HaveEffect(const std::vector<Part>& parts) {
  return std::ranges::any_of(parts, [](const Part& part) { return HasEffect(part.value); });
}

// Whether a number that the expression computes leaves its type at some values that its variables are known to have:
// other parts may decide where it does.
bool LeavesType(const Context& context, const Expr& e) {
  bool found = false;
  PreOrder(e, [&](const Expr& part) {
    const auto* op = dyn_cast<BinaryNode>(part);
    const bool computes = op != nullptr && part.dtype().is_int() && part.dtype().is_scalar() &&
                          (op->op == BinaryOp::kAdd || op->op == BinaryOp::kSub || op->op == BinaryOp::kMul);
    if (found || !computes) return !found;
    const Bounds a = context.BoundsOf(op->a), b = context.BoundsOf(op->b);
    // The greatest number of 64 bits looks like an infinite bound.
    if (!(a.IsFinite() || AsInt(op->a)) || !(b.IsFinite() || AsInt(op->b))) return true;
    const int bits = part.dtype().bits();
    const __int128 most = (static_cast<__int128>(1) << (bits - 1)) - 1;
    for (const __int128 x : {a.min, a.max}) {
      for (const __int128 y : {b.min, b.max}) {
        const __int128 value = op->op == BinaryOp::kAdd ? x + y : op->op == BinaryOp::kSub ? x - y : x * y;
        found |= value > most || value < -most - 1;
      }
    }
    return !found;
  });
  return found;
}

}  // namespace

Expr Context::SimplifyLogic(const BinaryNode* op, const Expr& self) {
  const bool is_and = op->op == BinaryOp::kAnd;
  const auto decides = [&](const Expr& e) { return is_and ? IsFalse(e) : IsTrue(e); };
  const auto is_neutral = [&](const Expr& e) { return is_and ? IsTrue(e) : IsFalse(e); };
  std::vector<Part> parts = PartsOf(op, self), kept;
  // A part matters only where those before it do not decide. It may be evaluated even so, and must not get into error
  // then: one that could is simplified knowing nothing.
  std::vector<bool> is_total;
  for (Part& part : parts) {
    is_total.push_back(IsTotal(part.value));
    if (!is_total.back()) part.value = Simplify(part.value);
  }
  const size_t before = mark();
  for (size_t i = 0; i < parts.size(); ++i) {
    if (is_total[i]) parts[i].value = Simplify(parts[i].value);
    if (is_neutral(parts[i].value)) continue;
    kept.push_back(parts[i]);
    if (decides(parts[i].value)) break;
    if (i + 1 < parts.size()) Assume(parts[i].value, is_and);
  }
  Undo(before);
  if (kept.empty()) return parts.back().value;
  const Part last = kept.back();
  if (decides(last.value)) {
    kept.pop_back();
    if (!HaveEffect(kept)) return last.value;
    kept.push_back(last);
  } else if (!std::exchange(leaves_out_implied_, true)) {
    std::vector<size_t> implied;
    Expr decided;
    // Those before a part that leaves its type guard it.
    const auto leaves = [&](const Part& part) { return LeavesType(*this, part.value); };
    const auto guarded = std::ranges::find_if(kept.rbegin(), kept.rend(), leaves);
    const size_t first = guarded == kept.rend() ? 0 : static_cast<size_t>(kept.rend() - guarded) - 1;
    for (size_t i = kept.size() - 1; i-- > first;) {
      Assume(kept[i + 1].value, is_and);
      if (HasEffect(kept[i].value) || !IsTotal(kept[i].value)) continue;
      const Expr again = Simplify(kept[i].value);
      if (is_neutral(again)) implied.push_back(i);
      if (decides(again) && !HaveEffect(kept)) decided = again;
    }
    Undo(before);
    leaves_out_implied_ = false;
    if (decided) return decided;
    for (size_t i : implied) kept.erase(kept.begin() + static_cast<std::ptrdiff_t>(i));
  }
  Expr result = kept[0].value;
  for (size_t i = 1; i < kept.size(); ++i) result = Rebuild(kept[i].join, kept[i].self, result, kept[i].value);
  return result;
}

}  // namespace tilewright::arith
