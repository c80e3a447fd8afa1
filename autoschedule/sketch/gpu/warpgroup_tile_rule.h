// Contractions by warpgroups: products that read both operands from shared memory by themselves (wgmma), sums in
// registers.
//
//   for tiles in blocks, parts of 64 rows in warpgroups:
//       sums = 0
//       for k0, in stages, copies ahead of products:
//           A_shared, B_shared: tiles of the operands, zero outside of them
//           for k1: sums += A_shared * B_shared
//       C[...] = sums                                each lane stores those it holds, with elementwise consumers
//
// Operands that are boxes of arrays, or pixels of images, are copied by an engine (TMA), which a warpgroup of its own
// starts (bulk_operands.h). A step of K of a convolution is then of a single window element. Other operands all threads
// copy asynchronously, several neighbours each.
//
// A separate kernel packs operands that cannot be copied in vectors, such as bytes of B[k, n] and images of three
// channels (pack_operand.h).
//
// Neighbouring blocks may form a cluster where the engine copies: what all of them need each copies in part, for all.
//
// Products of few tiles and great depth are divided along the depth: parts of the sums go to memory, and a second
// kernel adds them up.
//
// Choices, after the block's name: NAME.copies of pixels, by the engine ("bulk") or by threads ("threads"); NAME.tile_m
// (64 for each warpgroup), NAME.tile_n, NAME.tile_k of a block, NAME.parts of the depth, NAME.cluster blocks of a
// cluster, NAME.cluster_columns (1: along columns of tiles, 0: rows), NAME.stages, NAME.group: rows of tiles that run
// one after the other before the next column of tiles; of the second kernel NAME.sum.vector and NAME.sum.threads.
#pragma once

#include <optional>
#include <string>
#include <variant>

#include "autoschedule/sketch/gpu/product_tiles.h"
#include "intrin/instructions.h"

namespace tilewright {

// The instruction, and how the column operand's tiles lie where both ways are possible.
struct WarpgroupTile {
  const MachineInstruction* instruction = nullptr;
  bool by_depth = false;  // [n, k]
};

// Nothing when the target has no instruction for these types.
std::optional<WarpgroupTile> FindWarpgroupTile(const BlockNode& block, const Contraction& contraction,
                                               const Target& target);

// On a refusal the steps before it stay applied.
Outcome<std::monostate> ScheduleWarpgroupTiles(Schedule& sch, BlockRv block, const ProductPlan& plan,
                                               const WarpgroupTile& tile, const Target& target, Choices& choices);

}  // namespace tilewright
