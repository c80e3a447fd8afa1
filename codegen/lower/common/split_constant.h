// The constant that an index ends with, on the right in simplified programs.
//
//   i * 32 + k + 3    =>    i * 32 + k, 3
#pragma once

#include <cstdint>
#include <utility>

#include "ir/expr.h"

namespace tilewright {

// Null and the constant where the index is nothing else.
inline std::pair<Expr, int64_t> SplitConstant(const Expr& index) {
  if (const auto constant = AsInt(index)) return {Expr(), *constant};
  const auto* sum = dyn_cast<BinaryNode>(index);
  const auto constant = sum != nullptr && sum->op == BinaryOp::kAdd ? AsInt(sum->b) : std::nullopt;
  return constant ? std::pair(sum->a, *constant) : std::pair(index, int64_t{0});
}

}  // namespace tilewright
