// Register tiles of sums, inside of loops that several blocks share.
//
//   for l, b:  tile of C[broadcast, loaded]          C_register[tile] = 0
//                                              ->    for k: C_register[tile] += A[broadcast, k] * B[k, loaded]
//                                                    C[tile] = C_register[tile]
#pragma once

#include <cstddef>
#include <cstdint>
#include <optional>
#include <variant>
#include <vector>

#include "schedule/recorder/schedule.h"

namespace tilewright {

struct SumTile {
  LoopRv place;              // where the tile's sum is computed
  LoopRv broadcast, loaded;  // elements of the tile
};

// Divides two loops of the block that copies a sum, `loaded` into vectors of `width` elements and `broadcast` into so
// many rows; tiles of the same vectors follow each other.
Outcome<SumTile> MakeSumTile(Schedule& sch, LoopRv broadcast, LoopRv loaded, int64_t rows, int64_t width);

// The sum of a tile, whose loops are inside of `place`: what is reduced outermost, the loop of `loaded`, an iterator of
// the block, by vectors, others written out.
Outcome<std::monostate> WriteSum(Schedule& sch, BlockRv sum, LoopRv place, const Var& loaded);

// Which of the block's loops an iterator of it is bound to.
std::optional<size_t> LoopOfIterator(const Schedule& sch, BlockRv block, const std::vector<LoopRv>& loops,
                                     size_t iterator);
// Which of them runs along the last dimension of what the block writes.
std::optional<size_t> LoopAlongLast(const Schedule& sch, BlockRv block, const std::vector<LoopRv>& loops);

}  // namespace tilewright
