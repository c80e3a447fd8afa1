// What annotations mention and the text has not defined yet. Internal to //ir/script:printer.
//
// An annotation may name a buffer of the block it belongs to, which the text defines after it, or one that a schedule
// has removed.
#pragma once

#include <vector>

#include "ir/script/names.h"
#include "ir/stmt.h"

namespace tilewright::script {

// Whether some value uses a variable or buffer that has no name yet.
bool UsesUndefined(const Annotations& annotations, const Names& names);
// The values that are variables without a name.
std::vector<Expr> UndefinedVars(const Annotations& annotations, const Names& names);

}  // namespace tilewright::script
