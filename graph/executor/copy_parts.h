// Programs that only copy: what they compute lies in memory already, or may be written where it belongs.
//
//   out[i, j] = x[i + 2, j]                                one part: 2 * columns elements after the beginning of x
//   out[i, j] = if_then_else(i < 4, x[i, j], y[i - 4, j])  two parts: all of x, then all of y
#pragma once

#include <cstdint>
#include <optional>
#include <vector>

#include "ir/function.h"

namespace tilewright::graph {

// Consecutive elements of one parameter that become consecutive elements of another, in row-major order.
struct CopyPart {
  int from = 0, to = 0;            // parameters
  int64_t source = 0, target = 0;  // the first element's position
  int64_t count = 0;
};

// What a program of constant extents copies, where it does nothing else: no element of a result is in two parts, and
// each is in one. Nothing for every other program.
std::optional<std::vector<CopyPart>> CopyPartsOf(const tilewright::Function& program);

}  // namespace tilewright::graph
