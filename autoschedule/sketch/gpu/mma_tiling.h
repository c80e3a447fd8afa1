// How a product is divided among blocks, warps and stages of a pipeline, for instructions of warps that multiply
// fragments in registers.
//
//   128x128x32 tiles of 2x2 warps, 1 part, 4 stages, groups of 8
//
// Preferred is what product_time.h estimates to be the fastest, of what registers and shared memory of the target hold.
#pragma once

#include <cstdint>
#include <string>

#include "autoschedule/program/choices.h"
#include "autoschedule/sketch/gpu/operand_way.h"
#include "autoschedule/sketch/gpu/product_tiles.h"
#include "schedule/recorder/schedule.h"
#include "target/target.h"

namespace tilewright {

struct MmaTiling {
  ProductTile tile;                  // of a block
  int64_t warps_m = 1, warps_n = 1;  // that share it
  int64_t parts = 1;                 // of K, which blocks of their own multiply
  int64_t stages = 1;                // of the pipeline
  int64_t group = 1;                 // rows of tiles that run one after the other before the next column of tiles

  int64_t Warps() const { return warps_m * warps_n; }
};
std::string ToString(const MmaTiling& tiling);

// Registers of a lane for sums, fragments of both operands, and what addresses and loops take.
int64_t RegistersOfLane(const MmaTiling& tiling, const MachineInstruction& instruction, const Target& target);

// Choices, after the block's name: NAME.tile_m, NAME.tile_n, NAME.tile_k of a block, NAME.warps_m, NAME.warps_n,
// NAME.parts of K, NAME.stages, NAME.group.
Outcome<MmaTiling> ChooseMmaTiling(Schedule& sch, const WarpgroupProduct& product, const Target& target,
                                   Choices& choices);

}  // namespace tilewright
