// Operators that move elements: each element of the output is one element of an input, or a fill value.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "ir/builder.h"
#include "ir/ops/broadcast.h"

namespace tilewright::ops {

// output[i...] = x[source(i...)...].
Buffer Move(FunctionBuilder& f, const std::string& name, const Buffer& x, std::vector<Expr> shape,
            const std::function<Indices(const Indices&)>& source);

// Dimension d of the output is dimension permutation[d] of x.
Buffer Transpose(FunctionBuilder& f, const Buffer& x, const std::vector<int>& permutation);
// The same elements in row-major order under another shape.
Buffer Reshape(FunctionBuilder& f, const Buffer& x, std::vector<Expr> shape);
// Row-major position of an element, and the indices of a position.
Expr Flatten(const std::vector<Expr>& shape, const Indices& at);
Indices Unflatten(const std::vector<Expr>& shape, const Expr& position);

// output[..., i, ...] = x[..., start + i * step, ...] in every dimension; steps are not zero and may be negative.
struct SliceRange {
  Expr start, extent;
  int64_t step = 1;
};
Buffer Slice(FunctionBuilder& f, const Buffer& x, const std::vector<SliceRange>& ranges);

// The buffers one after the other along `axis`; one or more, equal in every other dimension.
Buffer Concat(FunctionBuilder& f, const std::vector<Buffer>& parts, int axis);

// Each dimension repeated `times`.
Buffer Tile(FunctionBuilder& f, const Buffer& x, const std::vector<Expr>& times);

enum class PadMode { kConstant, kReflect, kEdge, kWrap };
// `before` and `after` elements added around each dimension; negative numbers take elements away. `fill` (one element)
// is read in constant mode.
Buffer PadAround(FunctionBuilder& f, const Buffer& x, const std::vector<Expr>& before, const std::vector<Expr>& after,
                 PadMode mode, const Expr& fill);

// x where row - column <= k (upper: column - row >= k), else 0, over the last two dimensions.
Buffer Triangle(FunctionBuilder& f, const Buffer& x, const Expr& k, bool upper);

// Each sequence of `lengths` elements along `time` is reversed, the rest stays.
Buffer ReverseSequence(FunctionBuilder& f, const Buffer& x, const Buffer& lengths, int time, int batch);

// [n, c, h, w] to [n, c / b^2, h b, w b]; blocks come first in the channels, or last (`channels_first`).
Buffer DepthToSpace(FunctionBuilder& f, const Buffer& x, int64_t block, bool channels_first);
Buffer SpaceToDepth(FunctionBuilder& f, const Buffer& x, int64_t block);

}  // namespace tilewright::ops
