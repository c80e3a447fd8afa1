// What the operators of index expressions give for two numbers.
#pragma once

#include <cstdint>
#include <optional>

#include "ir/expr.h"

namespace tilewright::arith {

// Exact results; comparisons and logical operators give 0 or 1. Nothing on division by zero and where the result does
// not fit into 64 bits.
std::optional<int64_t> EvaluateExactly(BinaryOp op, int64_t a, int64_t b);

}  // namespace tilewright::arith
