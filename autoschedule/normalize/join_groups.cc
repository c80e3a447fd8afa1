#include "autoschedule/normalize/join_groups.h"

#include <algorithm>

#include "autoschedule/normalize/split_iterators.h"
#include "autoschedule/program/access_strides.h"
#include "autoschedule/program/block_loops.h"
#include "autoschedule/program/contraction.h"
#include "autoschedule/tensorize/tile_instruction.h"

namespace tilewright {
namespace {

// Positions of the iterators that are joined.
struct Groups {
  size_t group, column;
  int64_t columns;  // of one group
};

std::optional<Groups> FindGroups(const BlockNode& block, const Contraction& contraction) {
  if (contraction.columns.size() != 1) return std::nullopt;
  const int column = contraction.columns[0];
  if (std::ranges::find(contraction.batch, column - 1) == contraction.batch.end()) return std::nullopt;
  const auto place = static_cast<size_t>(column);
  const std::optional<int64_t> columns = ExtentOf(block.iter_vars[place]);
  if (!columns) return std::nullopt;
  return Groups{place - 1, place, *columns};
}

// Whether columns of a group follow each other in the output and in the column operand, groups too, and a group of rows
// is as long as that of columns or a part of it; all in whole vectors.
bool LiesSideBySide(const BlockNode& block, const Contraction& contraction, const Groups& groups, int lanes) {
  return std::ranges::all_of(AccessesOf(block), [&](const Access& access) {
    const std::optional<int64_t> last = AsInt(access.buffer->shape.back());
    if (!last || *last % lanes != 0) return false;
    const std::optional<int64_t> column = access.strides[groups.column], group = access.strides[groups.group];
    if (!access.buffer.same_as(contraction.row_operand)) return column == 1 && group == groups.columns;
    return group && *group > 0 && groups.columns % *group == 0 && access.steps.back()[groups.group] == *group;
  });
}

}  // namespace

Outcome<std::monostate> JoinGroups(Schedule& sch, BlockRv block, const Target& target) {
  const BlockRealizeNode& realize = RealizeOf(sch, block);
  const Refusal no{"join_groups", "{block0} is not a product of groups of few columns", {realize.block->id}};
  const absl::StatusOr<Contraction> contraction = MatchContraction(realize);
  if (!contraction.ok()) return no;
  const std::optional<TileInstruction> instruction = FindTileInstruction(
      target, contraction->row_operand->dtype, contraction->column_operand->dtype, contraction->product_type);
  if (!instruction || instruction->group != 1) return no;
  const std::optional<Groups> groups = FindGroups(*realize.block, *contraction);
  if (!groups || groups->columns * 2 > instruction->lanes || instruction->lanes % groups->columns != 0) return no;
  if (!LiesSideBySide(*realize.block, *contraction, *groups, instruction->lanes)) return no;
  if (!FuseIterators(sch, block, groups->column, groups->columns)) return no;
  return std::monostate();
}

}  // namespace tilewright
