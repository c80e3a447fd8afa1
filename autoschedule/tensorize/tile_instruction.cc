#include "autoschedule/tensorize/tile_instruction.h"

#include <string_view>

#include "intrin/amx_tile.h"
#include "intrin/dot_tile.h"
#include "intrin/fma_tile.h"

namespace tilewright {

std::string TileInstruction::TileName(int row_tiles, int rows, int columns, int depth) const {
  if (amx()) return AmxTileName(*row, row_tiles, rows, columns, depth);
  return row->family == "fma" ? FmaTileName(*row, rows, columns, depth) : DotTileName(*row, rows, columns, depth);
}

std::vector<TileInstruction> FindTileInstructions(const Target& target, DataType row_operand, DataType column_operand,
                                                  DataType sum) {
  std::vector<TileInstruction> found;
  for (const std::string_view family : {"fma", "amx", "mmla", "dot"}) {
    const MachineInstruction* row = FindInstruction(target, family, row_operand, column_operand, sum);
    if (row == nullptr) continue;
    TileInstruction tile{.row = row, .group = row->group(), .lanes = row->n, .registers = row->registers};
    if (!tile.amx()) tile.per_cycle = StartsPerCycle(*row, target);
    found.push_back(tile);
    if (tile.amx()) break;
  }
  return found;
}

std::optional<TileInstruction> FindTileInstruction(const Target& target, DataType row_operand, DataType column_operand,
                                                   DataType sum) {
  const std::vector<TileInstruction> found = FindTileInstructions(target, row_operand, column_operand, sum);
  return found.empty() ? std::nullopt : std::optional(found.back());
}

}  // namespace tilewright
