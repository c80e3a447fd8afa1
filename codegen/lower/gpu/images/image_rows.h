// Rows of a tile that are pixels of an image, as the engine for bulk tensor copies reads them (im2col).
//
//   for i, j in T.grid(64, 64):                                               from pixel (n, h, w) of number m on,
//       S[i, j] = if_then_else(inside, I[m // 196,                            64 pixels along w, then h, then n:
//                                        m % 196 // 14 * 2 + r - 1,     =>    steps (2, 2), window element (r, s),
//                                        m % 14 * 2 + s - 1,                  14 positions from -1 on in h and w;
//                                        c * 64 + j], 0)                      64 channels from c * 64 on
//   where m = x * 64 + i
//
// The last dimension of the image holds the channels of a pixel, the first counts images, and those in between are axes
// of pixels. Along an axis the positions of pixels are a digit of a number that grows by one from row to row, times the
// step of a convolution, plus what is the same for all rows. The engine writes zeros for what is outside of the image;
// all zeros of the program have to be such.
#pragma once

#include <cstdint>
#include <optional>
#include <vector>

#include "absl/status/statusor.h"
#include "ir/arith/analyzer.h"
#include "ir/stmt.h"
#include "target/target.h"

namespace tilewright {

// What a store copies: an element, and zero where `inside` does not hold.
struct CopiedElement {
  const LoadNode* load = nullptr;
  Expr inside;  // null: it holds everywhere
};
// Nothing where the value is another.
std::optional<CopiedElement> CopiedBy(const Expr& value);

// A copy of `rows` x `columns` elements.
struct ImageNest {
  const LoadNode* load = nullptr;
  Var row, column;
  int64_t rows = 0, columns = 0;
  Expr inside;
  const GpuTarget* gpu = nullptr;  // whose tensor maps describe it
};

// An axis of pixels.
struct ImageAxis {
  Expr first;  // the digit of the first pixel; of a free axis: its position
  Expr shift;  // what is the same for all rows, from `low` to `high`
  int64_t low = 0, high = 0;
  int64_t step = 1;
  int64_t positions = 0;  // how many digits there are
  bool free = false;      // pixels never reach the last position, so that any box has them
};

struct ImageRows {
  std::vector<ImageAxis> axes;  // outermost first
  Expr image, channel;          // of the first pixel and its first element
  // The axis whose positions follow from where the program copies zeros behind the last pixel; -1: none.
  int counted = -1;
};

// `positions`: of the counted axis, if there is one; 0: as many as the copy allows. Copies of one array by one map have
// to agree on them. Loops around the copy are bound in `analyzer`. InvalidArgument: the rows are not pixels that the
// engine could copy, with the reason.
absl::StatusOr<ImageRows> FindImageRows(const ImageNest& nest, int64_t positions, arith::Analyzer* analyzer);

// What a tensor map and an instruction say, innermost axis first.
struct ImageBox {
  std::vector<int64_t> lower, upper, steps;
  std::vector<Expr> coordinates;  // channel, axes, image
  std::vector<Expr> offsets;
};
// `low`: the least shift along each axis of all copies by the map, outermost first. InvalidArgument: corners or offsets
// do not fit into the fields of a map.
absl::StatusOr<ImageBox> BoxOf(const ImageRows& rows, const Buffer& image, const std::vector<int64_t>& low);
std::vector<int64_t> LeastShifts(const ImageRows& rows);

}  // namespace tilewright
