// Contractions by warps: tiles of sums in fragments, products by an instruction of the warp (tensor cores).
//
//   for tiles in blocks, parts of a tile in warps:
//       fill fragments of sums
//       for k0, in stages:
//           A_shared, B_shared: tiles of the operands, by all threads together, asynchronously where the target can
//           for k1: load fragments of A and B; multiply
//       sums into shared memory; from there to C by all threads        with elementwise consumers
//
// The operands are those of the matrix form (autoschedule/normalize/matrix_form.h), of any contraction; what lies above
// its extents is zero. Choices, after the block's name: NAME.tile_m, NAME.tile_n, NAME.tile_k of a block, NAME.warps_m,
// NAME.warps_n, NAME.stages.
#pragma once

#include <optional>
#include <string>
#include <variant>

#include "autoschedule/sketch/gpu/product_tiles.h"
#include "intrin/registry.h"

namespace tilewright {

// Intrinsics that multiply tiles of these types and move them, by name.
struct WarpTile {
  int64_t side = 0;
  std::string load_rows = {}, load_columns = {}, fill = {}, product = {}, store = {};
  bool by_depth = false;  // the column operand's tiles are [n, k]
};

// Nothing when the registry has none that the target can execute.
std::optional<WarpTile> FindWarpTile(const BlockNode& block, const Contraction& contraction, const Target& target,
                                     IntrinRegistry* intrins);

// On a refusal the steps before it stay applied.
Outcome<std::monostate> ScheduleWarpTiles(Schedule& sch, BlockRv block, const ProductPlan& plan, const WarpTile& warp,
                                          const Target& target, Choices& choices);

}  // namespace tilewright
