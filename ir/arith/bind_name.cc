#include "ir/arith/bind_name.h"

#include "ir/arith/context.h"

namespace tilewright::arith {

void BindName(const Var& var, const Expr& value, Analyzer* analyzer) { analyzer->context().BindName(var, value); }

}  // namespace tilewright::arith
