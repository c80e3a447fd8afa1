// The variables of a product.
//
//   h * (w * 4)        h and w: the product is not 0 where neither of them is
#pragma once

#include <optional>
#include <vector>

#include "ir/expr.h"

namespace tilewright {

// The variables that `e` is a product of, with numbers that are not 0; nothing for other expressions.
std::optional<std::vector<const VarNode*>> ProductVariables(const Expr& e);

}  // namespace tilewright
