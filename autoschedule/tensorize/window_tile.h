// The tile of a reduction's output that stays in vector registers, for reductions that read along the vector axis:
// depthwise convolutions, pooling, stencils, sums over outer dimensions.
//
// A tile is `rows` x `columns` elements of two spatial iterators times `vectors` of the vector axis. Larger tiles use
// what windows share more often; they must leave registers for weights, and partial tiles at the edges are waste. Those
// that are long along the vector axis touch fewer places in memory: where the last cache level is slow, as on servers
// whose cores share it, that is worth more than what windows share.
#pragma once

#include <vector>

#include "autoschedule/cost/cpu/window_tile_time.h"
#include "target/target.h"

namespace tilewright {

// Tiles that are worth a try, the best first.
std::vector<WindowTile> ChooseWindowTiles(const Target& target, const WindowReduction& reduction);

}  // namespace tilewright
