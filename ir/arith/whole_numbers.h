// Which floating-point expressions have whole numbers for values that their types hold exactly, so that no operation in
// them rounds:
//
//   T.Cast("float16", w & T.uint32(15)) - T.float16(7)        at most 22
//
// Weights of few bits are such numbers before they meet their scales.
#pragma once

#include <cstdint>
#include <optional>

#include "ir/expr.h"

namespace tilewright {

// The greatest magnitude that the values may have; nothing where some may be rounded or where it is not known.
std::optional<int64_t> WholeMagnitude(const Expr& e);

}  // namespace tilewright
