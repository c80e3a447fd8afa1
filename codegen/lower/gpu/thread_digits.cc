#include "codegen/lower/gpu/thread_digits.h"

#include <algorithm>

#include "ir/analysis.h"
#include "ir/arith/analyzer.h"
#include "ir/substitute.h"

namespace tilewright {
namespace {

bool AnyUses(const std::vector<Expr>& exprs, const Var& var) {
  return std::any_of(exprs.begin(), exprs.end(), [&](const Expr& e) { return UsesVar(e, var); });
}

// The loop's threads as high * divisor + low, where one of the two reduces and the other one does not.
std::optional<std::vector<ThreadDigit>> SplitLoop(const ForNode& loop, int64_t extent, const std::vector<Expr>& reduced,
                                                  const std::vector<Expr>& spatial) {
  const DataType type = loop.var.dtype();
  for (int64_t divisor = 2; divisor < extent; ++divisor) {
    if (extent % divisor != 0) continue;
    const Var high("high", type), low("low", type);
    arith::Analyzer analyzer;
    analyzer.Bind(high, Range{Const(type, 0), Const(type, extent / divisor)});
    analyzer.Bind(low, Range{Const(type, 0), Const(type, divisor)});
    const auto uses = [&](const std::vector<Expr>& exprs, const Var& digit) {
      return std::any_of(exprs.begin(), exprs.end(), [&](const Expr& e) {
        return UsesVar(analyzer.Simplify(Substitute(e, {{loop.var, high * Const(type, divisor) + low}})), digit);
      });
    };
    const bool low_reduces = uses(reduced, low), high_reduces = uses(reduced, high);
    if (low_reduces == high_reduces || uses(spatial, low) == low_reduces || uses(spatial, high) == high_reduces)
      continue;
    return std::vector<ThreadDigit>{{FloorMod(loop.var, Const(type, divisor)), divisor, low_reduces},
                                    {FloorDiv(loop.var, Const(type, divisor)), extent / divisor, high_reduces}};
  }
  return std::nullopt;
}

// The number whose digits are those that `take` says, the lowest first.
template <class Take>
Expr Number(const std::vector<ThreadDigit>& digits, Take take) {
  Expr number = Expr(0);
  int64_t weight = 1;
  for (const ThreadDigit& digit : digits) {
    if (!take(digit)) continue;
    if (digit.extent > 1) {
      const Expr value = CastTo(DataType::Int(32), digit.value);
      number = IsInt(number, 0) ? value * Expr(weight) : value * Expr(weight) + number;
    }
    weight *= digit.extent;
  }
  return arith::Simplify(number);
}

}  // namespace

Expr ThreadDigits::Thread() const {
  return Number(digits, [](const ThreadDigit&) { return true; });
}
Expr ThreadDigits::Member() const {
  return Number(digits, [](const ThreadDigit& digit) { return digit.reduces; });
}
Expr ThreadDigits::Group() const {
  return Number(digits, [](const ThreadDigit& digit) { return !digit.reduces; });
}
Expr ThreadDigits::IsLeader() const {
  Expr condition = True();
  for (const ThreadDigit& digit : digits) {
    if (digit.reduces && digit.extent > 1) condition = And(condition, digit.value == 0);
  }
  return condition;
}

std::optional<ThreadDigits> FindThreadDigits(const std::vector<const ForNode*>& loops, const std::vector<Expr>& reduced,
                                             const std::vector<Expr>& spatial, std::string* problem) {
  ThreadDigits result;
  for (const char* tag : {"threadIdx.x", "threadIdx.y", "threadIdx.z"}) {
    const auto loop =
        std::find_if(loops.begin(), loops.end(), [&](const ForNode* each) { return each->thread_tag == tag; });
    if (loop == loops.end()) continue;
    const int64_t extent = AsInt((*loop)->extent).value_or(1);
    const bool reduces = AnyUses(reduced, (*loop)->var);
    if (!reduces || !AnyUses(spatial, (*loop)->var)) {
      result.digits.push_back({(*loop)->var, extent, reduces});
      continue;
    }
    const auto split = SplitLoop(**loop, extent, reduced, spatial);
    if (!split) {
      *problem = (*loop)->var.name();
      return std::nullopt;
    }
    result.digits.insert(result.digits.end(), split->begin(), split->end());
  }
  bool others_below = false;
  for (const ThreadDigit& digit : result.digits) {
    result.threads *= digit.extent;
    if (digit.reduces) result.members *= digit.extent;
    if (digit.extent == 1) continue;
    if (digit.reduces && others_below) result.neighbours = false;
    others_below |= !digit.reduces;
  }
  return result;
}

}  // namespace tilewright
