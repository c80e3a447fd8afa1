#include "autoschedule/sketch/cpu/depth_choices.h"

#include <algorithm>
#include <limits>
#include <optional>
#include <string>
#include <utility>

#include "autoschedule/cost/projected.h"
#include "autoschedule/movement/cpu/depth_innermost.h"
#include "autoschedule/normalize/fuse_depth.h"
#include "autoschedule/program/block_loops.h"
#include "autoschedule/program/contraction.h"
#include "autoschedule/sketch/cpu/plain_rule.h"
#include "autoschedule/tensorize/contraction_form.h"
#include "base/status_macros.h"
#include "target/costs.h"

namespace tilewright {
namespace {

// Groups along K of a tile whose rows are flipped. A deeper tile would keep flipped groups that several rows share in
// more registers than there are.
constexpr int kFlippedGroups = 2;

// The instruction of the block's tiles, where it reads groups of the row operand by the register.
std::optional<TileInstruction> InstructionOfGroups(const BlockRealizeNode& realize, const Target& target) {
  const absl::StatusOr<Contraction> contraction = MatchContraction(realize);
  if (!contraction.ok()) return std::nullopt;
  const std::optional<TileInstruction> instruction = FindTileInstruction(
      target, contraction->row_operand->dtype, contraction->column_operand->dtype, contraction->product_type);
  if (!instruction || instruction->group == 1 || instruction->amx()) return std::nullopt;
  return instruction;
}

// Copies the rows and schedules the copy; returns whether there is one.
bool CopyRows(Schedule& sch, BlockRv block, int group, const Target& target, Choices& choices) {
  const std::optional<BlockRv> copy = CopyDepthInnermost(sch, block, group);
  return copy && SchedulePlain(sch, *copy, target, choices).ok();
}

// The projected time of the function with all preferred values.
double SecondsOf(Schedule sch, BlockRv block, const Target& target, const ScheduleRest& rest) {
  Choices preferred = Choices::Preferred();
  if (!rest(sch, preferred).ok()) return std::numeric_limits<double>::infinity();
  return Project(FunctionOf(sch, block), target).seconds;
}

}  // namespace

Outcome<std::monostate> ChooseDepthInnermost(Schedule& sch, BlockRv block, const Target& target, Choices& choices,
                                             const ScheduleRest& rest) {
  const std::optional<TileInstruction> instruction = InstructionOfGroups(RealizeOf(sch, block), target);
  if (!instruction) return std::monostate();
  Schedule copied = sch;
  Choices taken = Choices::Preferred();
  if (!CopyRows(copied, block, instruction->group, target, taken)) return std::monostate();
  const bool pays = SecondsOf(copied, block, target, rest) < SecondsOf(sch, block, target, rest);
  TW_ASSIGN_OR_RETURN(const Choices::Pick pick, choices.Take(sch, RealizeOf(sch, block).block->name + ".depth_lies",
                                                             {0, 1}, pays ? 1 : 0, {{"in_place"}, {"innermost"}}));
  if (pick.value != 0 && !CopyRows(sch, block, instruction->group, target, choices)) {
    return Refusal{"contraction_rule", "rows of {block0} cannot be copied", {RealizeOf(sch, block).block->id}};
  }
  return std::monostate();
}

Outcome<bool> ChooseFusedDepth(Schedule& sch, BlockRv block, const Target& target, Choices& choices) {
  const int step_depth = StepDepthOf(RealizeOf(sch, block), target);
  if (step_depth <= 1) return false;
  const std::optional<FusibleDepth> depth = FindFusibleDepth(RealizeOf(sch, block), step_depth, target);
  if (!depth) return false;
  const std::string name = RealizeOf(sch, block).block->name + ".depth";
  TW_ASSIGN_OR_RETURN(const Choices::Pick pick,
                      choices.Take(sch, name, {0, 1}, depth->pays ? 1 : 0, {{"apart"}, {"fused"}}));
  return pick.value == 1 && FuseDepth(sch, block, *depth);
}

size_t PreferredDepth(const TileInstruction& instruction, const RegisterTile& tile, const std::vector<int64_t>& depths,
                      std::optional<int64_t> padded, int64_t line, const Target& target) {
  const auto index_of = [&](const auto& place) {
    return place == depths.end() ? 0 : static_cast<size_t>(place - depths.begin());
  };
  if (const auto found = std::ranges::find(depths, line); found != depths.end()) return index_of(found);
  if (instruction.group == 1) {
    // If all operands pass through registers, those of the next step wait there for earlier instructions. A tile that
    // leaves fewer registers than a row has vectors is half as deep, since spills took 6% of the time.
    const int free =
        instruction.registers - tile.rows * tile.vectors - instruction.OtherRegisters(tile.rows, tile.vectors);
    const int64_t most = instruction.LoadsAll() && free < tile.vectors ? (depths.back() + 1) / 2 : depths.back();
    return index_of(std::ranges::find_if(depths, [&](int64_t depth) {
      const double least = CpuCostsOf(target).short_body_cycles * instruction.per_cycle;
      return static_cast<double>(tile.rows * tile.vectors * depth) >= least || depth >= std::min(most, depths.back());
    }));
  }
  // The code knows which group is padded if the tile contains all groups.
  const int64_t preferred = instruction.flips() ? kFlippedGroups * instruction.group : padded.value_or(depths[0]);
  return index_of(std::ranges::find(depths, preferred));
}

}  // namespace tilewright
