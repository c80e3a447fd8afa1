#include "autoschedule/movement/cpu/near_operands.h"

#include <algorithm>

#include "autoschedule/movement/cpu/operand_stages.h"
#include "ir/analysis.h"
#include "target/costs.h"

namespace tilewright {

int64_t BytesOfRows(const BlockRealizeNode& realize, const Buffer& operand, const RegisterTile& tile,
                    const ContractionPlan& plan) {
  const Contraction& contraction = plan.contraction;
  int64_t bytes = int64_t{tile.rows} * std::max(tile.row_tiles, 1) * operand->dtype.bytes();
  const std::vector<Range>& region = ReadOf(*realize.block, operand).region;
  const auto overlaps = [&](int iterator) {
    return std::ranges::any_of(region, [&](const Range& range) {
      const auto uses = [&](int other) {
        return UsesVar(range.min, realize.block->iter_vars[static_cast<size_t>(other)].var);
      };
      return uses(iterator) && std::ranges::any_of(contraction.rows, uses);
    });
  };
  for (int iterator : contraction.inner) {
    if (plan.row_place == RowPlace::kPacked || !overlaps(iterator)) bytes *= IteratorExtent(realize, iterator);
  }
  return bytes;
}

size_t PlaceOfColumns(const std::vector<int64_t>& extents, int64_t tile_bytes, int64_t column_bytes,
                      int64_t column_tiles, int64_t near_bytes) {
  int64_t inside = tile_bytes, outside = 1;
  for (const int64_t extent : extents) inside *= extent;
  const int64_t row_bytes = inside;
  size_t best = 0;
  int64_t least = 0;
  for (size_t place = 0; place <= extents.size(); ++place) {
    const int64_t bytes = column_bytes * (column_bytes <= near_bytes ? 1 : outside) +
                          row_bytes * (inside <= near_bytes ? 1 : column_tiles);
    // A loop of one iteration changes nothing.
    if (place == 0 || (bytes <= least && extents[place - 1] > 1)) {
      best = place;
      least = bytes;
    }
    if (place == extents.size()) break;
    inside /= extents[place];
    outside *= extents[place];
  }
  return best;
}

bool WorthPacking(const ContractionPlan& plan, const RegisterTile& tile, const BlockRealizeNode& realize,
                  const Target& target) {
  int64_t uses = 1, panel_rows = 1, bytes = plan.contraction.column_operand->dtype.bytes();
  for (int row : plan.contraction.rows) uses *= IteratorExtent(realize, row);
  for (int inner : plan.contraction.inner) panel_rows *= IteratorExtent(realize, inner);
  for (int column : plan.contraction.columns) bytes *= IteratorExtent(realize, column);
  return uses > tile.rows &&
         std::min(panel_rows, panel_rows * bytes / target.cpu_part().page_bytes) > CpuCostsOf(target).pages_in_turn;
}

}  // namespace tilewright
