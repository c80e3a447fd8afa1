// How long a tile can become whose ends are quotients.
//
//   (r + 1) // 2 + 1 - r // 2        is 1 or 2; bounds of each quotient alone say 3
#pragma once

#include <cstdint>

#include "ir/arith/analyzer.h"
#include "ir/expr.h"

namespace tilewright {

// The largest value of a length, an end less a start: two quotients by the same number whose dividends differ by a
// number are looked at together. arith::kPosInf when it is not known.
int64_t LongestOf(const Expr& length, arith::Analyzer* analyzer);

}  // namespace tilewright
