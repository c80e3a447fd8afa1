#include "verify/structure/shift_loops.h"

#include <algorithm>

#include "ir/analysis.h"
#include "ir/arith/linear.h"

namespace tilewright {
namespace {

// The value that the binding adds to the loop, of loops around it; null for other bindings.
Expr BeginOf(const arith::Domain& loops, size_t loop, const Expr& binding, arith::Analyzer* analyzer) {
  const auto linear = arith::DetectLinear(binding, {loops[loop].first}, analyzer);
  if (!linear || !IsInt(linear->coefficients[0], 1)) return {};
  const auto uses = [&](const auto& other) { return UsesVar(linear->base, other.first); };
  const auto at = loops.begin() + static_cast<ptrdiff_t>(loop);
  const bool moves = std::any_of(loops.begin(), at, uses), moves_inside = std::any_of(at, loops.end(), uses);
  return moves && !moves_inside ? linear->base : Expr();
}

}  // namespace

ShiftedLoops ShiftLoops(const arith::Domain& loops, const std::vector<Expr>& bindings,
                        const std::vector<bool>& may_shift, arith::Analyzer* analyzer) {
  ShiftedLoops result{loops, bindings};
  for (size_t l = loops.size(); l-- > 0;) {
    const auto& [var, range] = loops[l];
    const auto uses_var = [&](const Expr& e) { return UsesVar(e, var); };
    const bool bounds_others = std::ranges::any_of(
        loops, [&](const auto& loop) { return uses_var(loop.second.min) || uses_var(loop.second.extent); });
    if (bounds_others || std::ranges::count_if(bindings, uses_var) != 1) continue;
    const auto i = static_cast<size_t>(std::ranges::find_if(bindings, uses_var) - bindings.begin());
    const Expr begin = may_shift[i] ? BeginOf(loops, l, bindings[i], analyzer) : Expr();
    if (!begin) continue;
    const Var shifted(var.name(), var.dtype());
    result.loops[l] = {shifted, {analyzer->Simplify(range.min + CastTo(var.dtype(), begin)), range.extent}};
    result.bindings[i] = CastTo(bindings[i].dtype(), shifted);
    result.any = true;
  }
  return result;
}

}  // namespace tilewright
