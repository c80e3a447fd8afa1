// What is known of a contraction once its tensor instruction is chosen: the tiled iterators, the tiles that are worth a
// try, where rows are read, and how many bytes operands take.
#pragma once

#include <cstdint>
#include <optional>
#include <vector>

#include "autoschedule/program/contraction.h"
#include "autoschedule/tensorize/register_tile.h"
#include "autoschedule/tensorize/tile_instruction.h"
#include "schedule/recorder/schedule.h"
#include "target/target.h"

namespace tilewright {

// For AMX: autoschedule/movement/cpu/rows_in_memory.h.
enum class RowPlace {
  kRegisters,  // all instructions but AMX
  kInPlace,
  kPacked,
  kWindows,
  kPitched,
};

struct ContractionPlan {
  Contraction contraction;
  TileInstruction instruction;
  std::vector<RegisterTile> tiles;  // those worth a try
  int row, column, depth;           // the tiled iterators
  int outer_row = -1;               // tiled too where tiles have rows of several of its values
  RowPlace row_place = RowPlace::kRegisters;
  std::optional<BlockRv> write_back;  // of RowPlace::kPitched, what writes the output
  std::vector<int> last_inner;  // inner iterators whose loops are inside of those of others: windows over fused rows
  bool rows_outside = false;    // of the batch, preferably
  bool batch_inside = false;    // of rows but the tiled one, preferably
  // Rows of one or two cache lines: prefetch, and prefer tiles of at most so many rows. 0: rows are longer.
  int64_t short_rows = 0;
  bool uneven = false;      // factors of some products are known to be zero: some batches have less to do
  bool flips_rows = false;  // the row operand is a copy with flipped bits (autoschedule/normalize/flip_rows.h)
  // Neighbours along the depth are neighbours in the row operand, and fill vector registers
  // (TileInstruction::LineDepth).
  bool whole_lines = false;

  bool rows_in_memory() const { return row_place != RowPlace::kRegisters; }
  bool copies_images() const { return row_place == RowPlace::kWindows || row_place == RowPlace::kPitched; }
};

// The extent of an iterator, which must be constant: estimates take the block with likely extents (LikelyRealizeOf in
// autoschedule/program/block_loops.h).
int64_t IteratorExtent(const BlockRealizeNode& realize, int iterator);

// What one core keeps in the second cache level. Tiles of AMX are so fast that reading what they multiply takes longer
// unless it comes from there, or is next to the registers.
int64_t NearBytes(const Target& target);
// Columns of up to so many bytes stay in the second cache level of every core while each computes rows of its own: no
// two cores read the same rows or write the same lines.
int64_t SharedColumnBytes(const Target& target);

// The columns of one element of the batch.
int64_t BytesOfColumns(const BlockRealizeNode& realize, const Contraction& contraction);

// What the products of one row read of the row operand.
int64_t BytesOfRow(const BlockRealizeNode& realize, const Contraction& contraction);

// The inner iterator along which groups are formed: that of the row operand's last dimension, where neighbours are next
// to each other in memory; the innermost one where that dimension has none of its own.
int DepthIterator(const BlockNode& block, const Contraction& contraction);

// Columns, and where they come from.
TileOperands OperandsOf(const BlockRealizeNode& realize, const Contraction& contraction,
                        const TileInstruction& instruction, const Target& target);

// How many neighbours along the depth the target multiplies at once; 1 when it has no tiles.
int StepDepthOf(const BlockRealizeNode& realize, const Target& target);
// What a tile's depth is a multiple of: as few steps as possible, with as little padding. Rows that are `copied` may be
// padded so that each begins a line.
int64_t DepthStep(int64_t extent, const TileInstruction& instruction, bool copied);

}  // namespace tilewright
