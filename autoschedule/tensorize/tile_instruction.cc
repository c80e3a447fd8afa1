#include "autoschedule/tensorize/tile_instruction.h"

#include <string_view>

#include "intrin/amx_tile.h"
#include "intrin/dot_tile.h"
#include "intrin/fma_tile.h"

namespace tilewright {

std::string TileInstruction::TileName(int row_tiles, int rows, int columns, int depth) const {
  if (amx()) return AmxTileName(*row, row_tiles, rows, columns, depth);
  return row->family == "dot" ? DotTileName(*row, rows, columns, depth) : FmaTileName(*row, rows, columns, depth);
}

std::optional<TileInstruction> FindTileInstruction(const Target& target, DataType row_operand, DataType column_operand,
                                                   DataType sum) {
  // Families in the order of preference.
  for (const std::string_view family : {"fma", "amx", "dot"}) {
    const MachineInstruction* row = FindInstruction(target, family, row_operand, column_operand, sum);
    if (row == nullptr) continue;
    TileInstruction tile{.row = row, .group = row->group(), .lanes = row->n, .registers = row->registers};
    if (row->IsVector()) tile.per_cycle = StartsPerCycle(*row, target);
    return tile;
  }
  return std::nullopt;
}

}  // namespace tilewright
