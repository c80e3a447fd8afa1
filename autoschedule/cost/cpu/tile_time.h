// How well tiles of a contraction's output use the multiplying units (autoschedule/tensorize/register_tile.h), before
// there is a program.
//
//   RateVectorTile({.lanes = 16, .registers = 32, .per_cycle = 2}, {1, 512, 512}, {0, 14, 2}, operands).efficiency
//
// The estimate counts padding (rows of AMX only, and columns), the latency of chains of sums that are too few, loads
// next to products, and the beginning and end of a tile against a loop of typical length.
#pragma once

#include <cstdint>

#include "target/costs.h"
#include "target/target.h"

namespace tilewright {

// Rows of a tile that are `rows_apart` read the same groups, but begin `groups_apart` later: windows of few channels.
// All groups between wait in registers for the next one of these rows. 0: rows share none.
struct SharedGroups {
  int64_t rows_apart = 0, groups_apart = 0;
};

// What loading the operands of tiles costs, by where they lie.
struct TileOperands {
  // For AMX: what a line takes to load, where one from the second cache level takes 1.
  double row_load = 1, column_load = 1;
  int cores = 1;            // of AMX: among which rows are divided
  double shared_rows = 0;   // of AMX: the part of the time of a block of rows that is lost where cores share it
  int64_t panel_bytes = 0;  // of columns, one vector wide, all products
  // A tile's columns beyond these come from the second cache level, and from the third.
  int64_t near_bytes[2] = {0, 0};
  SharedGroups shared;
  TileCosts costs;
  bool whole_lines = false;  // rows can be read by the vector register
};

// The output: `outer_rows` times `rows` rows, and columns.
struct TiledOutput {
  int64_t outer_rows = 1, rows = 1, columns = 1;
};
// A tile: rows (of AMX, `row_tiles` times as many, or 0 for rows only), and vectors of columns.
struct TileSize {
  int row_tiles = 0, rows = 1, vectors = 1;
};

struct TileRating {
  double efficiency = 0;  // part of the multiplying units' time that does useful work
  double loads = 0;       // for each product of a row (of AMX, a line) and a vector
};

// An instruction that adds products to vector registers.
struct VectorInstruction {
  int lanes = 1;         // columns of a vector of the output
  int rows = 1;          // of a vector of the output
  int rows_more = 0;     // instructions for each vector that do not depend on the number of rows
  int registers = 1;     // for the output
  double per_cycle = 1;  // that a core starts
  double row_load = 1;   // loads for an element of rows, less than 1 where a vector of them is loaded at once
};
TileRating RateVectorTile(const VectorInstruction& instruction, const TiledOutput& output, const TileSize& tile,
                          const TileOperands& operands);

TileRating RateAmxTile(const TiledOutput& output, const TileSize& tile, const TileOperands& operands);

// Sums of few steps by tiles of AMX: most of the time is that of storing the output to the last cache level, from which
// the core first reads what it overwrites.
struct ShallowSum {
  int64_t rows, columns;  // of the output, along the tile's
  int64_t steps;          // products of tiles that are summed
  bool far_columns;       // are read from the second cache level
};
constexpr int64_t kShallowSteps = 2;
// The efficiency of a tile of AMX for such a sum. `staged`: it is copied to where it belongs.
double RateShallowTile(const TileSize& tile, const ShallowSum& sum, bool staged, const Target& target);

}  // namespace tilewright
