// Variables of a function that nothing in it defines. Internal to //ir/script:parser.
#pragma once

#include <vector>

#include "ir/function.h"

namespace tilewright::script {

// In the order of their first use. A function that is well formed has none. Only whether there is a definition is
// looked at, not where: the parser finds names that are used outside of their scope when it reads them.
std::vector<Var> FreeVars(const std::vector<Param>& params, const Stmt& body);

}  // namespace tilewright::script
