// Which cache level a contraction's operands come from, by their sizes: one of them should be in the second cache level
// while panels of the other one pass by.
#pragma once

#include <cstddef>
#include <cstdint>
#include <vector>

#include "autoschedule/tensorize/contraction_form.h"
#include "autoschedule/tensorize/register_tile.h"
#include "target/target.h"

namespace tilewright {

// What a tile reads of rows, from the row operand or its copy `operand`. Windows that overlap in memory read much the
// same.
int64_t BytesOfRows(const BlockRealizeNode& realize, const Buffer& operand, const RegisterTile& tile,
                    const ContractionPlan& plan);

// After how many of the loops over rows, of these extents, those over columns move the least data from beyond a cache
// of `near_bytes`.
size_t PlaceOfColumns(const std::vector<int64_t>& extents, int64_t tile_bytes, int64_t column_bytes,
                      int64_t column_tiles, int64_t near_bytes);

// Whether a panel of columns is used so often that packing it pays: reading it where it lies touches as many pages as
// it has rows each time.
bool WorthPacking(const ContractionPlan& plan, const RegisterTile& tile, const BlockRealizeNode& realize,
                  const Target& target);

}  // namespace tilewright
