// How a convolution can be computed by Winograd's algorithm (schedule/algebra/winograd.h): along which windows, by
// tiles of how many outputs, and how long that is estimated to take.
#pragma once

#include <cstdint>
#include <vector>

#include "autoschedule/program/contraction.h"
#include "autoschedule/tensorize/tile_instruction.h"
#include "schedule/recorder/schedule.h"
#include "target/target.h"

namespace tilewright {

struct TiledWindow {
  Var iterator, reduction;  // of the contraction's block
  int64_t extent = 1, taps = 1, dilation = 1;
  int64_t outputs = 2;  // of a tile

  int64_t Products() const { return outputs + taps - 1; }
  // Products of all tiles for each output.
  double ProductsPerOutput() const;
};

struct WinogradWay {
  std::vector<TiledWindow> windows;  // one or two, the outer iterator first
  double cycles = 0;                 // estimated

  // 4: tiles of 4 outputs along one window; 42: of 4 and of 2 along two.
  int64_t Outputs() const;
};

struct WinogradWays {
  double direct_cycles = 0;       // of the contraction as it is
  std::vector<WinogradWay> ways;  // those that are not much slower; their Outputs() differ and ascend
};

// `block` must be `contraction`. Times are those at likely sizes (autoschedule/program/sizes.h). Ways with large
// relative rounding errors are left out: sums of few products, and windows that are mostly padding.
WinogradWays FindWinogradWays(Schedule& sch, BlockRv block, const Contraction& contraction,
                              const TileInstruction& instruction, const Target& target);

// Blocks that one step makes, without the kernel's.
struct WinogradStages {
  BlockRv tiles, input, output;
};
// Applies the primitive for each window in turn.
Outcome<std::vector<WinogradStages>> ApplyWinograd(Schedule& sch, BlockRv block,
                                                   const std::vector<TiledWindow>& windows);

}  // namespace tilewright
