#include "codegen/lower/gpu/spread_copy.h"

#include <algorithm>
#include <utility>

#include "ir/analysis.h"
#include "ir/arith/analyzer.h"
#include "ir/substitute.h"

namespace tilewright {

std::optional<Stmt> SpreadCopy(const Stmt& body, const std::vector<ThreadAxis>& threads, uint32_t* next_id) {
  std::vector<const ForNode*> loops;
  Stmt inner = body;
  for (const auto* loop = dyn_cast<ForNode>(inner); loop != nullptr; loop = dyn_cast<ForNode>(inner)) {
    if (loop->kind == ForKind::kThreadBound || !IsInt(loop->min, 0)) return std::nullopt;
    const bool depends =
        std::ranges::any_of(loops, [&](const ForNode* outer) { return UsesVar(loop->extent, outer->var); });
    if (depends) return std::nullopt;
    loops.push_back(loop);
    inner = loop->body;
  }
  const DataType type = loops.empty() ? DataType::Int(32) : loops.front()->var.dtype();
  Expr thread = Const(type, 0), elements = Const(type, 1);
  int64_t count = 1;
  for (const ThreadAxis& axis : threads) {
    thread = thread * Const(type, axis.extent) + CastTo(type, axis.index);
    count *= axis.extent;
  }
  for (const ForNode* loop : loops) elements = elements * CastTo(type, loop->extent);
  elements = arith::Simplify(elements);
  const Expr each = Const(type, count), turns = arith::Simplify(FloorDiv(elements + each - 1, each));
  const Var turn("e", type);
  const Expr element = IsInt(turns, 1) ? thread : turn * each + thread;

  VarMap values;
  Expr within = Const(type, 1);  // elements of the loops inside
  for (auto loop = loops.rbegin(); loop != loops.rend(); ++loop) {
    const Expr extent = CastTo(type, (*loop)->extent), digits = FloorDiv(element, within);
    values[(*loop)->var] = CastTo((*loop)->var.dtype(), *loop == loops.front() ? digits : FloorMod(digits, extent));
    within = within * extent;
  }
  Stmt copy = Substitute(inner, values);
  const auto known = AsInt(elements);
  if (!known || *known % count != 0) copy = If(element < elements, std::move(copy));
  if (IsInt(turns, 1)) return copy;
  return For({.id = (*next_id)++, .var = turn, .min = Const(type, 0), .extent = turns, .body = std::move(copy)});
}

}  // namespace tilewright
