#include "autoschedule/tensorize/register_tile.h"

#include <algorithm>
#include <numeric>

#include "autoschedule/program/estimates.h"
#include "base/math.h"
#include "target/amx_registers.h"

namespace tilewright {
namespace {

// Vectors that cover the columns of each row of a tile.
constexpr int kMostVectors = 6;

RegisterTile AmxTile(int64_t outer_rows, int64_t rows, int64_t columns, int row_tiles, int tile_rows, int vectors,
                     const TileOperands& operands) {
  const TileRating rating = RateAmxTile({outer_rows, rows, columns}, {row_tiles, tile_rows, vectors}, operands);
  return {.rows = tile_rows,
          .vectors = vectors,
          .efficiency = rating.efficiency,
          .row_tiles = row_tiles,
          .loads = rating.loads};
}

bool IsTooWide(int vectors, int64_t columns) { return vectors > 1 && (vectors - 1) * kAmxRows >= columns; }

std::vector<RegisterTile> TilesOfAmx(int64_t rows, int64_t columns, int64_t max_rows, const TileOperands& operands) {
  std::vector<RegisterTile> result;
  // Equal row tiles that cover all rows.
  const int64_t row_tiles = CeilDiv(max_rows, kAmxRows), most = CeilDiv(max_rows, row_tiles) * row_tiles;
  for (int vectors = 1; vectors <= kMostVectors && !IsTooWide(vectors, columns); ++vectors) {
    for (int tile_rows = 1; tile_rows <= std::min<int64_t>(kAmxRegisters * kAmxRows, most); ++tile_rows) {
      if (!AmxTilesOf(tile_rows, vectors * kAmxRows)) continue;
      result.push_back(AmxTile(1, rows, columns, 0, tile_rows, vectors, operands));
    }
  }
  return result;
}

RegisterTile VectorTile(const TileInstruction& instruction, int64_t rows, int64_t columns, int tile_rows, int vectors,
                        const TileOperands& operands) {
  const bool lines = operands.whole_lines && instruction.HoldsLines(tile_rows, vectors);
  const VectorInstruction unit = {.lanes = instruction.lanes,
                                  .rows = instruction.rows(),
                                  .rows_more = instruction.RowsMore(),
                                  .registers = instruction.registers - instruction.OtherRegisters(tile_rows, vectors),
                                  .per_cycle = instruction.per_cycle,
                                  .row_load = lines ? 1.0 / instruction.lanes : 1};
  const TileRating rating = RateVectorTile(unit, {1, rows, columns}, {0, tile_rows, vectors}, operands);
  return {.rows = tile_rows, .vectors = vectors, .efficiency = rating.efficiency, .loads = rating.loads};
}

}  // namespace

std::vector<RegisterTile> RegisterTiles(const TileInstruction& instruction, int64_t rows, int64_t columns,
                                        int64_t max_rows, const TileOperands& operands) {
  if (instruction.amx()) return TilesOfAmx(rows, columns, max_rows, operands);
  const int lanes = instruction.lanes;
  std::vector<RegisterTile> result;
  const int step = instruction.rows();
  for (int vectors = 1; vectors <= kMostVectors * step; ++vectors) {
    if (vectors > 1 && (vectors - 1) * lanes >= columns) break;
    for (int tile_rows = step; tile_rows <= std::min(operands.costs.most_rows, max_rows); tile_rows += step) {
      const int registers = tile_rows / step * vectors + instruction.OtherRegisters(tile_rows, vectors);
      if (registers > instruction.registers) break;
      result.push_back(VectorTile(instruction, rows, columns, tile_rows, vectors, operands));
    }
  }
  return result;
}

std::vector<RegisterTile> DividingAmxTiles(int64_t outer_rows, int64_t rows, int64_t columns,
                                           const TileOperands& operands) {
  std::vector<RegisterTile> result;
  const auto add = [&](int row_tiles, int tile_rows, int vectors) {
    // With fewer blocks than cores each computes columns of its own, and copies the rows for itself.
    TileOperands of_tile = operands;
    if (outer_rows / std::max(row_tiles, 1) * (rows / tile_rows) < operands.cores) of_tile.cores = 1;
    result.push_back(AmxTile(outer_rows, rows, columns, row_tiles, tile_rows, vectors, of_tile));
  };
  for (int vectors = 1; vectors <= kMostVectors && !IsTooWide(vectors, columns); ++vectors) {
    for (int tile_rows = 1; tile_rows <= std::min<int64_t>(kAmxRegisters * kAmxRows, rows); ++tile_rows) {
      if (rows % tile_rows != 0) continue;
      if (AmxTilesOf(tile_rows, vectors * kAmxRows)) add(0, tile_rows, vectors);
      for (int row_tiles = 2; row_tiles <= kAmxRegisters; ++row_tiles) {
        if (outer_rows % row_tiles == 0 && AmxTilesOf(row_tiles, tile_rows, vectors * kAmxRows)) {
          add(row_tiles, tile_rows, vectors);
        }
      }
    }
  }
  return result;
}

double RateShallow(const RegisterTile& tile, const ShallowSum& sum, bool staged, const Target& target) {
  return RateShallowTile({tile.row_tiles, tile.rows, tile.vectors}, sum, staged, target);
}

std::vector<RegisterTile> TilesBesideConstants(const TileInstruction& instruction, std::vector<RegisterTile> tiles) {
  std::vector<RegisterTile> small = tiles;
  std::erase_if(small, [&](const RegisterTile& tile) {
    const int sums = tile.rows / instruction.rows() * tile.vectors;
    return sums + instruction.OtherRegisters(tile.rows, tile.vectors) >= instruction.registers;
  });
  return small.empty() ? tiles : small;
}

RegisterTile BestTile(const std::vector<RegisterTile>& tiles) {
  RegisterTile best;
  for (const RegisterTile& tile : tiles) {
    if (tile.efficiency > best.efficiency * (1 + kNearlyEqual) ||
        (tile.efficiency > best.efficiency * (1 - kNearlyEqual) && tile.loads < best.loads)) {
      best = tile;
    }
  }
  return best;
}

int64_t MaxRowsWithoutConflicts(const Target& target, int64_t row_stride_bytes) {
  const MemoryLevel& l1 = target.Nearest();
  const int64_t way_bytes = l1.bytes / l1.ways;
  const int64_t distinct = way_bytes / std::max<int64_t>(l1.line_bytes, std::gcd(row_stride_bytes, way_bytes));
  return std::max<int64_t>(distinct, 1) * std::max(1, l1.ways - 2);
}

}  // namespace tilewright
