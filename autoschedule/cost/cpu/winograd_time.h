// How long a convolution takes by Winograd's algorithm (schedule/algebra/winograd.h), and as it is, before there is a
// program.
//
//   DirectCycles({.products = 1e9, .rows = ..., .output = ..., .kernel = ..., .lanes = 16, .per_cycle = 2}, target)
//   WinogradCycles(the same, {{.taps = 3, .products = 6, .products_per_output = 1.5}}, true, target)
//
// Transforms of the row operand and of the output take instructions, and the caches' time for what they read and write
// on the way; fewer products are left, of a kernel that is larger.
#pragma once

#include <cstdint>
#include <vector>

#include "target/target.h"

namespace tilewright {

struct WinogradSizes {
  double products = 1;                      // of the convolution as it is
  double rows = 1, output = 1, kernel = 1;  // elements of the row operand, the output and the kernel
  int lanes = 1;                            // of a vector
  double per_cycle = 1;                     // vector instructions that a core starts
};

// Along one window.
struct WinogradWindow {
  int64_t taps = 1, products = 1;  // of a tile
  double products_per_output = 1;  // of all tiles
};

double DirectCycles(const WinogradSizes& sizes, const Target& target);

// `balanced`: threads have about equally many rows of tiles, so that all stages can run in one loop where the kernel
// leaves room in the second cache level; stages that run apart read what other cores wrote.
double WinogradCycles(const WinogradSizes& sizes, const std::vector<WinogradWindow>& windows, bool balanced,
                      const Target& target);

}  // namespace tilewright
