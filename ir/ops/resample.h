// Resampling: interpolation between elements of a buffer along some of its dimensions.
#pragma once

#include <functional>
#include <optional>
#include <vector>

#include "ir/builder.h"
#include "ir/ops/broadcast.h"

namespace tilewright::ops {

enum class Interpolation { kNearest, kLinear, kCubic };

// Which elements each position is made of, and by what weights: [taps, positions], int32 and f32.
struct ResampleTable {
  Buffer elements, weights;
};

// One dimension that is resampled. Output position p reads around the real position that `source(p)` gives (an f32
// expression of an f32 one).
struct Resampled {
  int axis = 0;
  Expr extent;  // of the output
  std::function<Expr(const Expr&)> source;
  // With antialiasing an output reads `1 / scale` times as many elements, weighted by the stretched filter.
  double scale = 1;
  std::function<Expr(const Expr&)> nearest;  // in place of that of the options
  // The nearest element is that of number p / repeats, rounded down; 0: as `source` and `nearest` say.
  int64_t repeats = 0;
  // Other interpolations: known ahead, or computed for each element of the result.
  std::optional<ResampleTable> table = {};
};
struct ResampleOptions {
  Interpolation how = Interpolation::kNearest;
  std::function<Expr(const Expr&)> nearest;  // a real position to the whole one that is read
  double cubic_a = -0.75;
  bool exclude_outside = false;  // weights outside of the buffer are zero, the others are scaled up
  bool antialias = false;
};
// The table of a dimension of `extent` elements; not of the nearest ones.
ResampleTable ResampleTableOf(FunctionBuilder& f, const Resampled& dimension, const Expr& extent,
                              const ResampleOptions& options);

// Dimensions are resampled one after the other: the result is the same as at once, since weights multiply.
Buffer Resample(FunctionBuilder& f, const Buffer& x, const std::vector<Resampled>& dimensions,
                const ResampleOptions& options);

// The cubic filter of parameter `a` at distance t.
Expr CubicWeight(const Expr& t, double a);

}  // namespace tilewright::ops
