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

}  // namespace tilewright
