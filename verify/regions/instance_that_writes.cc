#include "verify/regions/instance_that_writes.h"

#include <algorithm>

#include "ir/arith/same_expr.h"

namespace tilewright {
namespace {

// Whether `written` with values for the `iterators` is `read`, without looking into memory. The values found so far are
// kept in `instance`.
bool Match(const Expr& written, const Expr& read, const std::vector<IterVar>& iterators, VarMap* instance) {
  if (written.dtype() != read.dtype()) return false;
  const auto is_var = [&](const IterVar& iter) { return iter.var.get() == written.get(); };
  if (const auto iter = std::find_if(iterators.begin(), iterators.end(), is_var); iter != iterators.end()) {
    const auto [known, is_new] = instance->emplace(iter->var, read);
    return is_new || arith::SameExpr(known->second, read);
  }
  if (written->kind() != read->kind()) return false;
  if (const auto* op = dyn_cast<BinaryNode>(written)) {
    const auto* other = cast<BinaryNode>(read);
    return op->op == other->op && Match(op->a, other->a, iterators, instance) &&
           Match(op->b, other->b, iterators, instance);
  }
  if (const auto* cast_of = dyn_cast<CastNode>(written)) {
    return Match(cast_of->value, cast<CastNode>(read)->value, iterators, instance);
  }
  return (isa<VarNode>(written) || isa<IntImmNode>(written)) && arith::SameExpr(written, read);
}

// Values of the loops with which the binding may have this one: those of a split loop, o * 4 + i, are digits of it.
void Guess(const Expr& binding, const Expr& value, const std::vector<const ForNode*>& loops, VarMap* at) {
  const auto loop_of = [&](const Expr& e) -> const ForNode* {
    const auto loop = std::ranges::find_if(loops, [&](const ForNode* each) { return each->var.get() == e.get(); });
    return loop == loops.end() ? nullptr : *loop;
  };
  if (const ForNode* loop = loop_of(binding)) {
    at->emplace(loop->var, CastTo(loop->var.dtype(), value));
    return;
  }
  const auto* op = dyn_cast<BinaryNode>(binding);
  if (op == nullptr) return;
  if (op->op == BinaryOp::kMul && AsInt(op->b).value_or(0) > 0) return Guess(op->a, FloorDiv(value, op->b), loops, at);
  const ForNode* inner = op->op == BinaryOp::kAdd ? loop_of(op->b) : nullptr;
  if (inner == nullptr || AsInt(inner->extent).value_or(0) <= 0) return;
  const Expr digit = FloorMod(value, CastTo(value.dtype(), inner->extent));
  at->emplace(inner->var, CastTo(inner->var.dtype(), digit));
  Guess(op->a, arith::Simplify(value - digit), loops, at);
}

}  // namespace

std::optional<VarMap> InstanceThatWrites(const std::vector<IterVar>& iterators, const arith::Region& written,
                                         const arith::Region& read) {
  VarMap instance;
  for (size_t d = 0; d < written.size(); ++d) {
    if (!Match(written[d].min, read[d].min, iterators, &instance) ||
        !Match(written[d].extent, read[d].extent, iterators, &instance)) {
      return std::nullopt;
    }
  }
  return instance;
}

arith::Region WithoutUnits(const std::vector<IterVar>& iterators, const BufferRegion& region,
                           arith::Analyzer* analyzer) {
  VarMap units;
  for (const IterVar& iter : iterators) {
    if (IsInt(iter.domain.extent, 1)) units[iter.var] = iter.domain.min;
  }
  arith::Region result = Substitute(region, units).region;
  for (Range& range : result) range = {analyzer->Simplify(range.min), analyzer->Simplify(range.extent)};
  return result;
}

bool RunsWith(const VarMap& values, const BlockRealizeNode& writer, const std::vector<const ForNode*>& loops,
              size_t first, const Expr& condition, arith::Analyzer* analyzer) {
  VarMap at;  // values of the loops
  const std::vector<const ForNode*> open(loops.begin() + static_cast<ptrdiff_t>(first), loops.end());
  for (size_t i = 0; i < writer.bindings.size(); ++i) {
    const auto value = values.find(writer.block->iter_vars[i].var);
    if (value == values.end()) continue;
    if (arith::ReadsMemory(value->second)) return false;
    Guess(writer.bindings[i], value->second, open, &at);
  }
  for (size_t i = first; i < loops.size(); ++i) {
    const ForNode& loop = *loops[i];
    // Threads run all of their iterations, but may see those of others or not.
    if (loop.kind == ForKind::kThreadBound) return false;
    const Expr begin = Substitute(loop.min, at), end = begin + Substitute(loop.extent, at);
    if (arith::ReadsMemory(begin) || arith::ReadsMemory(end)) return false;
    const Expr value = at.emplace(loop.var, begin).first->second;
    if (!analyzer->CanProveLessEqual(begin, value) || !analyzer->CanProveLess(value, end)) return false;
  }
  for (size_t i = 0; i < writer.bindings.size(); ++i) {
    const auto value = values.find(writer.block->iter_vars[i].var);
    if (value == values.end()) continue;
    const Expr bound = Substitute(writer.bindings[i], at);
    if (arith::ReadsMemory(bound) || arith::ReadsMemory(value->second)) return false;
    if (!analyzer->CanProveEqual(bound, CastTo(bound.dtype(), value->second))) return false;
  }
  const auto holds = [&](const auto& self, const Expr& part) -> bool {
    const auto* both = dyn_cast<BinaryNode>(part);
    if (both != nullptr && both->op == BinaryOp::kAnd) return self(self, both->a) && self(self, both->b);
    return !arith::ReadsMemory(part) && analyzer->CanProve(Substitute(part, at));
  };
  return !condition || holds(holds, condition);
}

}  // namespace tilewright
