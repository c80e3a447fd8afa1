// What the operators of index expressions give for two numbers.
#pragma once

#include <cstdint>
#include <optional>

#include "ir/expr.h"

namespace tilewright::arith {

// a < b, for example, of a comparison and two numbers.
constexpr bool Compare(BinaryOp op, auto a, auto b) {
  switch (op) {
    case BinaryOp::kEQ:
      return a == b;
    case BinaryOp::kNE:
      return a != b;
    case BinaryOp::kLT:
      return a < b;
    case BinaryOp::kLE:
      return a <= b;
    case BinaryOp::kGT:
      return a > b;
    default:
      return a >= b;
  }
}

// Exact results; comparisons and logical operators give 0 or 1. Nothing on division by zero and where the result does
// not fit into 64 bits.
std::optional<int64_t> EvaluateExactly(BinaryOp op, int64_t a, int64_t b);

}  // namespace tilewright::arith
