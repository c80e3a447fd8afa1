// What a statement that becomes a function of its own has to be given.
#pragma once

#include <vector>

#include "ir/stmt.h"

namespace tilewright::codegen {

// Variables and data pointers that a statement uses but does not define, in the order of their first use.
std::vector<const VarNode*> FreeVariables(const Stmt& s);

}  // namespace tilewright::codegen
