// Index expressions as text, for messages; parentheses only where precedence needs them. (Programs are printed by the
// script printer, which stands above this folder.)
#pragma once

#include <string>

#include "ir/expr.h"

namespace tilewright::arith {

std::string ToText(const Expr& e);

}  // namespace tilewright::arith
