// Tiles of sums by an instruction that multiplies groups of neighbours along the depth
// (autoschedule/tensorize/tile_instruction.h), inside of loops that several blocks share.
//
//   for l, b:  tile of C[row, column]     C_tile[...] = 0
//                                    ->   for k_0: C_tile += A[rows, k_0] * B[k_0, columns, group]
//                                         C[tile] = C_tile
//
// A is read where it lies, neighbours along the depth next to each other; B lies in groups of such neighbours.
#pragma once

#include <cstdint>
#include <optional>
#include <variant>

#include "autoschedule/sketch/chained/chained_plan.h"
#include "autoschedule/tensorize/tile_instruction.h"
#include "schedule/recorder/schedule.h"
#include "target/target.h"

namespace tilewright {

// A tile of rows of A, columns of B, and what one step takes of the depth.
struct ProductTile {
  TileInstruction instruction;
  int64_t rows = 1, columns = 1, depth = 1;
};

// The best tile of the instruction that divides all extents; nothing where none comes near to those that do not.
std::optional<ProductTile> DividingTile(const TileInstruction& instruction, int64_t rows, int64_t columns,
                                        int64_t depth, const Target& target);

// The instructions of a chain's products: keys (A) by rows (B), and the columns that are summed up (A) by weights (B).
struct ChainInstructions {
  TileInstruction scores, result;
};
// Those that the target has for the types of a narrow chain. Nothing where there are none, where keys do not lie along
// the depth, or where extents are symbolic or no tiles divide them.
std::optional<ChainInstructions> InstructionsOf(const Schedule& sch, const ChainedPlan& plan, const Target& target);
// Whether the target has one for the types of one of the products, whatever its extents are.
bool HasInstructionOf(const Schedule& sch, const ChainedPlan& plan, const Target& target);

// Computes the sum, whose loops are inside of `place`, by the tile. `row`: its iterator along the rows of A.
Outcome<std::monostate> MultiplyTile(Schedule& sch, BlockRv sum, LoopRv place, const Var& row, const ProductTile& tile);

}  // namespace tilewright
