// The last tiles of a loop over a symbolic number of rows, described by its conditions; internal to symbolic_edges.cc.
#pragma once

#include <cstdint>
#include <optional>
#include <vector>

#include "codegen/lower/cpu/edge_conditions.h"
#include "ir/expr.h"

namespace tilewright {

// The size of a condition at the end as scale * size + more, with that of the tiles. A window that moves by two rows
// over n rows gives (n + 1) // 2 rows, and compares with n = 2 * ((n + 1) // 2) - n % 2.
struct SizeOfCondition {
  int64_t scale = 1;
  Expr more;
  int64_t least = 0;  // of `more`

  Expr At(const Expr& rows) const { return CastTo(more.dtype(), rows) * Const(more.dtype(), scale) + more; }
};

// The conditions of one loop over tiles. All sizes at its end follow from one size, coefficient * full + left.
// Iteration full + t is whole for t <= whole, for every value of `left`.
struct Tile {
  Expr size;
  int64_t coefficient = 0;
  int64_t whole = 0;                   // negative
  int64_t begin = 0;                   // from this iteration on, conditions at the beginning are as in the middle
  bool unrolled = true;                // all conditions depend on unrolled loops alone
  std::vector<SizeOfCondition> sizes;  // of each condition; of those at the beginning empty

  // Whether the only iteration that is not whole is the last one.
  bool is_plain() const { return begin == 0 && whole == -1; }
};

// Nothing if the sizes do not follow from one size, or if the conditions affect more than the last two tiles.
std::optional<Tile> TileOf(const std::vector<EdgeCondition>& conditions, const Expr& extent);

}  // namespace tilewright
