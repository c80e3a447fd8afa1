#include "autoschedule/cost/cpu/tile_time.h"

#include <algorithm>

#include "base/math.h"
#include "target/amx_registers.h"
#include "target/costs.h"

namespace tilewright {
namespace {

// Cycles that the AMX instructions of one step take.
double CyclesOfProducts(const TileSize& tile, const TileCosts& costs) {
  const AmxTiles registers = tile.row_tiles > 0 ? *AmxTilesOf(tile.row_tiles, tile.rows, tile.vectors * kAmxRows)
                                                : *AmxTilesOf(tile.rows, tile.vectors * kAmxRows);
  const double cycles = std::max(costs.amx_least_cycles, costs.amx_cycles + costs.amx_row_cycles * registers.rows);
  return registers.row_tiles * registers.column_tiles * cycles;
}

}  // namespace

// Lines of A and B, which come from the second cache level as often as not, take a cycle. Beginning and ending a tile
// moves each of its lines of C twice.
TileRating RateAmxTile(const TiledOutput& output, const TileSize& tile, const TileOperands& operands) {
  const TileCosts& costs = operands.costs;
  const auto [outer_rows, rows, columns] = output;
  const auto [row_tiles, tile_rows, vectors] = tile;
  const int height = std::max(row_tiles, 1) * tile_rows;
  const int64_t row_blocks = CeilDiv(outer_rows, std::max(row_tiles, 1)) * CeilDiv(rows, tile_rows);
  const int64_t tiles = row_blocks * CeilDiv(columns, vectors * kAmxRows);
  const double column_load =
      vectors * operands.panel_bytes > operands.near_bytes[1] ? costs.far_panel : operands.column_load;
  const double multiply = CyclesOfProducts(tile, costs),
               load = operands.row_load * height + column_load * kAmxRows * vectors;
  const double ends = 2.0 * height * vectors / costs.amx_typical_steps;
  const double total = tiles * (std::max(multiply, load) + ends + costs.amx_overhead_cycles);
  const double useful = static_cast<double>(outer_rows * rows) * columns / kAmxRows;
  const double shared =
      1 - static_cast<double>(row_blocks) / static_cast<double>(CeilDiv(row_blocks, operands.cores) * operands.cores);
  return {.efficiency = useful / total * (1 - operands.shared_rows * shared), .loads = load / (height * vectors)};
}

TileRating RateVectorTile(const VectorInstruction& instruction, const TiledOutput& output, const TileSize& tile,
                          const TileOperands& operands) {
  const TileCosts& costs = operands.costs;
  const auto [outer_rows, rows, columns] = output;
  const auto [row_tiles, tile_rows, vectors] = tile;
  // Columns that one row alone uses come from where all of them are, whatever the tile.
  const int64_t side_by_side = rows > instruction.rows ? vectors : CeilDiv(columns, instruction.lanes);
  const int64_t panel = side_by_side * operands.panel_bytes;
  const double column_load = panel <= operands.near_bytes[0]   ? 1
                             : panel <= operands.near_bytes[1] ? costs.l2_vector
                                                               : costs.l3_vector;
  const auto cycles = [&, wide = vectors](int64_t height, double load) {
    const double loads = instruction.row_load * static_cast<double>(height) + load * wide;
    const double load_cycles = loads / (costs.loads_per_fma * instruction.per_cycle);
    // Rows that are multiplied together are brought together first.
    const auto blocks = static_cast<double>(CeilDiv(height, instruction.rows));
    const double joined = instruction.rows > 1 ? blocks : 0;
    const double fma_cycles = ((blocks + instruction.rows_more) * wide + joined) / instruction.per_cycle;
    return std::max({fma_cycles, load_cycles, costs.chain_cycles}) + costs.overhead_cycles;
  };
  // Rows of the last tile that are padding are left out (codegen/lower/cpu/skip_padding.h).
  const int64_t last = rows % tile_rows;
  const double panel_cycles = static_cast<double>(rows / tile_rows) * cycles(tile_rows, column_load) +
                              (last > 0 ? costs.odd_tile * cycles(last, 1) : 0);
  const double total = panel_cycles * static_cast<double>(CeilDiv(columns, vectors * instruction.lanes));
  const double useful =
      static_cast<double>(rows) * columns / (instruction.rows * instruction.lanes) / instruction.per_cycle;
  const auto [rows_apart, groups_apart] = operands.shared;
  const int64_t waiting = std::max<int64_t>(tile_rows - rows_apart, 0) * groups_apart;
  const int64_t registers = tile_rows / instruction.rows * vectors + waiting;
  const double speed = registers > instruction.registers ? costs.spilling_speed : 1;
  const double tiles_per_row = static_cast<double>(CeilDiv(rows, tile_rows)) / static_cast<double>(rows);
  return {.efficiency = speed * useful / total, .loads = instruction.row_load / vectors + column_load * tiles_per_row};
}

double RateShallowTile(const TileSize& tile, const ShallowSum& sum, bool staged, const Target& target) {
  const auto cycles_of_line = [](const MemoryLevel& cache) {
    return cache.bytes_per_cycle == 0 ? 0 : cache.line_bytes / cache.bytes_per_cycle;
  };
  const int height = std::max(tile.row_tiles, 1) * tile.rows;
  const auto steps = static_cast<double>(sum.steps);
  const double lines = height * tile.vectors, column_lines = kAmxRows * tile.vectors;
  const TileCosts& costs = TileCostsOf(target);
  const double compute = std::max(CyclesOfProducts(tile, costs), height + column_lines) * steps + 2 * lines +
                         costs.amx_typical_steps * costs.amx_overhead_cycles;
  double move = cycles_of_line(target.Farthest()) * (lines + CpuCostsOf(target).run_start_lines * height);
  if (sum.far_columns) move += cycles_of_line(target.Near()) * column_lines * steps;
  // More stores than wait at once keep the next tile from being computed meanwhile.
  const bool waits = lines * (staged ? 2 : 1) > CpuCostsOf(target).waiting_lines;
  const auto useful = [](int64_t extent, int64_t part) {
    return static_cast<double>(extent) / static_cast<double>(CeilDiv(extent, part) * part);
  };
  return lines * steps * useful(sum.rows, tile.rows) * useful(sum.columns, tile.vectors * kAmxRows) /
         (waits ? compute + move : std::max(compute, move));
}

}  // namespace tilewright
