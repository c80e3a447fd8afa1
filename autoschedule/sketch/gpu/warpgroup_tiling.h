// How a product is divided among blocks, warpgroups and stages of a pipeline, for instructions of warpgroups.
//
//   64x128x64 tiles of 1 warpgroup, 1 part, cluster 2x1, 4 stages, groups of 8, 3 turns
//
// Preferred is what product_time.h estimates to be the fastest.
#pragma once

#include <cstdint>
#include <string>

#include "autoschedule/program/choices.h"
#include "autoschedule/sketch/gpu/operand_way.h"
#include "autoschedule/sketch/gpu/product_tiles.h"
#include "autoschedule/sketch/gpu/result_way.h"
#include "base/math.h"
#include "schedule/recorder/schedule.h"
#include "target/target.h"

namespace tilewright {

// Blocks of a cluster along rows and columns of tiles.
struct ClusterShape {
  int64_t m = 1, n = 1;

  int64_t Blocks() const { return m * n; }
};

// What is stored by a block.
ResultTile ResultTileOf(const MatrixSizes& sizes, const ProductTile& tile, int64_t warpgroups);

struct WarpgroupTiling {
  ProductTile tile;        // of a block
  int64_t warpgroups = 1;  // that share it along M
  int64_t parts = 1;       // of K, which blocks of their own multiply
  ClusterShape cluster;    // blocks that copy for each other
  int64_t stages = 2;      // of the pipeline
  int64_t group = 1;       // rows of tiles that run one after the other before the next column of tiles
  int64_t turns = 1;       // tiles that a block, or cluster of them, multiplies one after the other

  ResultStores stores = ResultStores::kLanes;

  // Blocks, or clusters of them, that share so many tiles.
  int64_t SharingBlocks(int64_t tiles) const { return CeilDiv(tiles, turns); }
};
std::string ToString(const WarpgroupTiling& tiling);

// Choices, after the block's name: NAME.tile_m, NAME.tile_n, NAME.tile_k of a block, NAME.parts of K, NAME.cluster
// blocks of a cluster, NAME.cluster_columns (1: along columns of tiles, 0: rows), NAME.store (result_way.h),
// NAME.group, NAME.turns, NAME.stages.
//
// Blocks of several turns are those that stay: a producer loads the operands of a block's next tile while the results
// of one are stored.
Outcome<WarpgroupTiling> ChooseTiling(Schedule& sch, const WarpgroupProduct& product, const Target& target,
                                      Choices& choices);

}  // namespace tilewright
