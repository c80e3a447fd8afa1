// Index expressions as text, for messages of tests: fully parenthesized only where precedence needs it.
#pragma once

#include <string>

#include "ir/expr.h"

namespace tilewright::arith {

std::string ToText(const Expr& e);

}  // namespace tilewright::arith
