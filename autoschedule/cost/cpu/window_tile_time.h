// How long a tile of a reduction over windows takes (autoschedule/tensorize/window_tile.h), before there is a program.
//
//   WindowReduction reduction = ...;                       a depthwise convolution, its accesses and iterators
//   WindowTileTime(reduction, target).Cycles({.rows = 2, .columns = 4, .vectors = 1})
#pragma once

#include <cstdint>
#include <vector>

#include "autoschedule/program/access_strides.h"
#include "target/costs.h"
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
  bool whole_columns = false;  // a tile has all columns
  // With which a tile of several rows may be written out; 0: no bound.
  int64_t most_statements = 0;
};

class WindowTileTime {
 public:
  // `reduction` must outlive this.
  WindowTileTime(const WindowReduction& reduction, const Target& target);

  // Cycles for each vector of the output: products, or the latency of sums where a tile has few; what is loaded, each
  // element of a tile counted once; the beginnings of runs of elements in memory, which take longer where the data is
  // far; and padding at the edges.
  double Cycles(const WindowTile& tile) const;
  // Registers for vectors from which lanes are picked, and for these lanes: of the windows along the columns.
  double PickedRegisters(const WindowTile& tile) const;

 private:
  const WindowReduction& reduction_;
  const TileCosts& costs_;
  const double latency_;              // cycles between dependent operations
  double steps_ = 1, per_cycle_ = 1;  // operations of an element; of vectors in a cycle
  double run_cycles_ = 0;             // of the beginning of a run
  double vectors_alone_ = 0;          // that a tile of one vector loads
};

}  // namespace tilewright
