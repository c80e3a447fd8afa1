// The instruction that the register tile of a contraction is made of.
//
//   float32 x float32 into float32   fused multiply-adds               intrin/fma_tile.h, groups of 1
//   narrow types                     sums of products of neighbours    intrin/dot_tile.h, groups of 2 or 4
//                                    two rows by two columns            intrin/dot_tile.h, groups of 4 or 8
//                                    products of tiles, in AMX          intrin/amx_tile.h, groups of 2 or 4
#pragma once

#include <algorithm>
#include <optional>
#include <string>
#include <vector>

#include "intrin/instructions.h"
#include "ir/data_type.h"
#include "target/target.h"

namespace tilewright {

struct TileInstruction {
  const MachineInstruction* row = nullptr;  // of the instruction table; null: a plain multiply-add
  int group = 1;                            // neighbours along the depth that one instruction takes
  int lanes = 0;                            // columns of the output in a vector
  int registers = 0;                        // vector registers that it can use
  double per_cycle = 1;                     // instructions that a core starts per cycle

  // Rows of the output in a vector.
  int rows() const { return row != nullptr && !amx() ? row->m : 1; }
  // Multiply-adds that a core starts per cycle.
  double ProductsPerCycle() const { return per_cycle * rows() * lanes * group; }
  // Whether the sums lie in tile registers, not in vector registers.
  bool amx() const { return row != nullptr && row->InTileRegisters(); }
  // Vector registers beside those of the output's tile. A tile of several rows in a vector holds the operand of which
  // it takes fewer vectors, and loads the other one by the vector.
  int OtherRegisters(int tile_rows, int vectors) const {
    if (row == nullptr) return vectors + 1;
    return row->OtherRegisters(rows() > 1 ? std::min(vectors, tile_rows / rows()) : vectors);
  }
  // Whether it takes operands from registers only.
  bool LoadsAll() const { return row != nullptr && row->b.scope == "register"; }
  // Neighbours along the depth in a vector register, by each element of which the instruction multiplies; 1 where it
  // takes what is broadcast from memory.
  int LineDepth() const { return LoadsAll() && rows() == 1 ? lanes * group : 1; }
  // Whether the registers hold such a vector of each row beside the output's tile.
  bool HoldsLines(int tile_rows, int vectors) const {
    return LineDepth() > 1 && tile_rows * (vectors + 1) + OtherRegisters(tile_rows, vectors) <= registers;
  }
  // Whether the row operand's sign bits are flipped.
  bool flips() const { return row != nullptr && row->flips(); }
  // Vector registers for what is masked in groups that are partly padding, the mask and a group that may end outside of
  // its buffer; for the bits that are flipped in rows.
  static constexpr int kMaskRegisters = 2, kFlipRegisters = 1;
  // Instructions on a group that do not depend on the number of rows, for each vector of a row.
  int RowsMore() const { return flips() ? 1 : 0; }

  // Elements along the depth that one instruction takes at most.
  int StepDepth() const { return row != nullptr ? row->k : group; }

  // The intrinsic of a tile; `depth` is a multiple of the group. `row_tiles`, of AMX: as many times `rows` rows, or 0.
  std::string TileName(int row_tiles, int rows, int columns, int depth) const;
};

// Those that the target has for these types; of AMX that one alone.
std::vector<TileInstruction> FindTileInstructions(const Target& target, DataType row_operand, DataType column_operand,
                                                  DataType sum);
// The one that multiplies the smallest groups. Nothing when the target has none.
std::optional<TileInstruction> FindTileInstruction(const Target& target, DataType row_operand, DataType column_operand,
                                                   DataType sum);

}  // namespace tilewright
