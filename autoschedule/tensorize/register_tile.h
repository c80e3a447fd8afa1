// The size of the output tile that stays in vector registers while a contraction runs over its inner dimension.
#pragma once

#include <cstdint>
#include <vector>

#include "autoschedule/cost/cpu/tile_time.h"
#include "autoschedule/tensorize/tile_instruction.h"
#include "target/target.h"

namespace tilewright {

struct RegisterTile {
  int rows = 0;           // elements of the row operand that are broadcast
  int vectors = 0;        // vectors of the column operand
  double efficiency = 0;  // estimated part of the multiplying units' time that does useful work
  int row_tiles = 0;      // of AMX: as many times `rows` rows; 0: rows only
  double loads = 0;       // for each product of a row (of AMX, a line) and a vector
};

// The tiles of an output with `rows` x `columns` elements that is computed tile by tile by an instruction, partial
// tiles padded. The estimate counts padding (rows of AMX only, and columns), the latency of FMA chains that are too
// few, and loads next to FMAs. A tile takes rows * vectors registers for the output beside those that the instruction
// needs, and never more than there are. `max_rows`: rows of one tile must not be more (a row of a convolution's output,
// say).
std::vector<RegisterTile> RegisterTiles(const TileInstruction& instruction, int64_t rows, int64_t columns,
                                        int64_t max_rows, const TileOperands& operands = {});

// Tiles of AMX that divide `outer_rows` times `rows` rows.
std::vector<RegisterTile> DividingAmxTiles(int64_t outer_rows, int64_t rows, int64_t columns,
                                           const TileOperands& operands = {});

// The efficiency of a tile of AMX for a sum of few steps. `staged`: it is copied to where it belongs.
double RateShallow(const RegisterTile& tile, const ShallowSum& sum, bool staged, const Target& target);

// Those of the tiles that leave a register to constants of what is computed in the same loops: they stay in registers
// while tiles are computed, whose sums would be stored and loaded instead.
std::vector<RegisterTile> TilesBesideConstants(const TileInstruction& instruction, std::vector<RegisterTile> tiles);

// The most efficient of the tiles; among nearly equal ones that with fewer loads. `tiles` must not be empty.
RegisterTile BestTile(const std::vector<RegisterTile>& tiles);

// How many rows that lie `row_stride_bytes` apart can be read side by side without evicting each other from the first
// cache level: rows whose addresses agree modulo the size of a way fall into the same set. Two lines of each set are
// left to the column operand's stream.
int64_t MaxRowsWithoutConflicts(const Target& target, int64_t row_stride_bytes);

}  // namespace tilewright
