#include "autoschedule/tensorize/tile_instruction.h"

#include <algorithm>

#include "intrin/fma_tile.h"
#include "target/amx_registers.h"

namespace tilewright {
namespace {

constexpr DataType kF32 = DataType::Float(32);
// No core starts more vector multiplications than this per cycle. (The target's figure for dot products may be that of
// another unit.)
constexpr double kMostPerCycle = 2;

}  // namespace

std::string TileInstruction::TileName(int row_tiles, int rows, int columns, int depth) const {
  if (amx != nullptr) return AmxTileName(*amx, row_tiles, rows, columns, depth);
  return dot != nullptr ? DotTileName(*dot, rows, columns, depth) : FmaTileName(rows, columns, depth, lanes == 16);
}

std::optional<TileInstruction> FindTileInstruction(const Target& target, DataType row_operand, DataType column_operand,
                                                   DataType sum) {
  if (target.kind != TargetKind::kX86) return std::nullopt;
  if (row_operand == kF32 && column_operand == kF32 && sum == kF32) {
    if (!target.has("avx2") || !target.has("fma")) return std::nullopt;
    return TileInstruction{.lanes = target.lanes(32),
                           .registers = target.vector_registers,
                           .per_cycle = std::max<double>(1, target.f32_fma_per_cycle)};
  }
  if (const AmxOperands* amx = FindAmxOperands(target, row_operand, column_operand, sum); amx != nullptr) {
    return TileInstruction{.group = amx->group, .lanes = kAmxRows, .registers = kAmxRegisters, .amx = amx};
  }
  const DotInstruction* dot = FindDotInstruction(target, row_operand, column_operand, sum);
  if (dot == nullptr) return std::nullopt;
  const int products = row_operand.is_float() ? target.bf16_dot_per_cycle : target.int8_dot_per_cycle;
  return TileInstruction{
      .group = dot->group,
      .lanes = dot->lanes,
      .registers = dot->registers,
      .per_cycle = std::clamp(static_cast<double>(products) / (dot->group * dot->lanes), 1.0, kMostPerCycle),
      .dot = dot};
}

}  // namespace tilewright
