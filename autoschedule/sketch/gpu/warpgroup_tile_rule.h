// Contractions by warpgroups: products that read both operands from shared memory by themselves (wgmma), sums in
// registers.
//
//   for tiles in blocks, parts of 64 rows in warpgroups:
//       sums = 0
//       for k0, in stages, copies ahead of products:
//           A_shared, B_shared: tiles of the operands, zero outside of them
//           for k1: sums += A_shared * B_shared
//       C[...] = sums                                with elementwise consumers: by lanes, or through shared memory
//
// Neighbouring blocks may form a cluster where the engine copies: what all of them need each copies in part, for all.
//
// Products of few tiles and great depth are divided along the depth: parts of the sums go to memory, and a second
// kernel adds them up.
//
// The steps: operand_way.h brings operands into reach, warpgroup_tiling.h chooses tiles, the rule applies them, and
// result_way.h stores results. Choices are theirs, and of the second kernel NAME.sum.vector and NAME.sum.threads.
#pragma once

#include <optional>
#include <variant>

#include "autoschedule/sketch/gpu/operand_way.h"
#include "autoschedule/sketch/gpu/product_tiles.h"

namespace tilewright {

// Nothing when the target has no instruction for these types.
std::optional<WarpgroupTile> FindWarpgroupTile(const BlockNode& block, const Contraction& contraction,
                                               const Target& target);

// On a refusal the steps before it stay applied.
Outcome<std::monostate> ScheduleWarpgroupTiles(Schedule& sch, BlockRv block, const ProductPlan& plan,
                                               const WarpgroupTile& tile, const Target& target, Choices& choices);

}  // namespace tilewright
