// What the contraction rule (autoschedule/contraction_rule.h) finds out before it moves anything: the tiled iterators,
// the instruction, the tiles that are worth a try, and where rows are read.
//
// Tiles of AMX load rows from memory: where they lie, when the last dimension is the depth and neighbouring rows are
// neighbours along another one (a padded copy of a convolution's input, say), or from packed ones. Rows of images that
// are shorter than a tile are taken from several image rows at once.
#pragma once

#include <string>
#include <vector>

#include "autoschedule/choices.h"
#include "autoschedule/contraction.h"
#include "autoschedule/register_tile.h"
#include "autoschedule/tile_instruction.h"
#include "ir/target.h"
#include "schedule/schedule.h"

namespace tilewright {

struct ContractionPlan {
  Contraction contraction;
  TileInstruction instruction;
  std::vector<RegisterTile> tiles;  // those worth a try
  int row, column, depth;           // the tiled iterators
  int outer_row = -1;               // tiled too where tiles have rows of several of its values
  bool rows_in_memory = false;      // tiles load them: those of AMX
  bool rows_in_place = false;       // from where they lie
  bool rows_outside = false;        // of the batch, preferably
  bool uneven = false;              // factors of some products are known to be zero: some batches have less to do
};

// The extent of an iterator, which must be constant.
int64_t IteratorExtent(const BlockRealizeNode& realize, int iterator);

// How many neighbours along the depth the target multiplies at once; 1 when it has no tiles.
int StepDepthOf(const BlockRealizeNode& realize, const Target& target);
// What a tile's depth is a multiple of: as few steps as possible, with as little padding.
int64_t DepthStep(int64_t extent, const TileInstruction& instruction);

// A refusal of "contraction_rule" when the block is none that it schedules. Choices: NAME.rows_packed. Row iterators
// may be one afterwards.
Outcome<ContractionPlan> PlanContraction(Schedule& sch, BlockRv block, const Target& target, Choices& choices);

// One of the tiles. Choices: NAME.tile_vectors, NAME.tile_rows, NAME.row_tiles.
Outcome<RegisterTile> PickTile(Schedule& sch, const std::string& block, const ContractionPlan& plan, Choices& choices);

}  // namespace tilewright
