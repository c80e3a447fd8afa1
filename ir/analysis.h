// Questions about expressions.
#pragma once

#include <functional>
#include <vector>

#include "ir/stmt.h"

namespace tilewright {

bool UsesVar(const Expr& e, const Var& var);  // false for null
// Whether some variable below satisfies the predicate.
bool UsesVar(const Expr& e, const std::function<bool(const VarNode*)>& predicate);
bool UsesVar(const Range& range, const Var& var);
bool UsesVar(const Stmt& s, const Var& var);

// The number zero of any type, alone, cast or in all lanes.
bool IsZero(const Expr& e);

}  // namespace tilewright
