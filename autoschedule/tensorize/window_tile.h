// The tile of a reduction's output that stays in vector registers, for reductions that read along the vector axis:
// depthwise convolutions, pooling, stencils, sums over outer dimensions.
//
// A tile is `rows` x `columns` elements of two spatial iterators times `vectors` of the vector axis. Larger tiles use
// what windows share more often; they must leave registers for weights, and partial tiles at the edges are waste. Those
// that are long along the vector axis touch fewer places in memory: where the last cache level is slow, as on servers
// whose cores share it, that is worth more than what windows share.
#pragma once

#include <cstdint>
#include <vector>

#include "autoschedule/program/access_strides.h"
#include "target/target.h"

namespace tilewright {

struct WindowTile {
  int64_t rows = 1, columns = 1, vectors = 1;
  double cost = 0;  // estimated cycles of a vector of the output
};

struct WindowReduction {
  std::vector<Access> accesses;
  std::vector<int64_t> extents;            // by iterator
  std::vector<int> reduce;                 // positions of iterators
  int row = -1, column = -1, vector = -1;  // the tiled ones; -1: there is none
  std::vector<size_t> picked;              // positions of accesses of which lanes are picked from the vectors loaded
  int lanes = 1;
  // With which a tile of several rows may be written out; 0: no bound.
  int64_t most_statements = 0;
};

// Tiles that are worth a try, the best first.
std::vector<WindowTile> ChooseWindowTiles(const Target& target, const WindowReduction& reduction);

}  // namespace tilewright
