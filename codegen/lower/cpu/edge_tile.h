// The loop over tiles of a symbolic number of rows: what its conditions say of the last tiles; internal to
// symbolic_edges.cc.
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

// The conditions of one loop over tiles, where the sizes of all at its end follow from one. With that size as
// coefficient * full + left, iteration full + t is whole for t <= whole, whatever is left.
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

// Nothing where the conditions are about sizes that do not follow from one, or say more than of the last two tiles.
std::optional<Tile> TileOf(const std::vector<EdgeCondition>& conditions, const Expr& extent);

}  // namespace tilewright
