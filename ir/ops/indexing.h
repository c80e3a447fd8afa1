// Operators whose indices are data. Negative indices count from the end. What is outside of the range is limited to it,
// so that no program reads or writes outside of its buffers.
#pragma once

#include <vector>

#include "ir/builder.h"
#include "ir/ops/broadcast.h"

namespace tilewright::ops {

// `index` brought into [0, extent), in the type of extents.
Expr WrapIndex(const Expr& index, const Expr& extent);

// x with dimension `axis` replaced by the dimensions of `indices`.
Buffer Gather(FunctionBuilder& f, const Buffer& x, const Buffer& indices, int axis);
// y[i...] = x[i... with indices[i...] at `axis`].
Buffer GatherElements(FunctionBuilder& f, const Buffer& x, const Buffer& indices, int axis);
// The last dimension of `indices` (a constant extent) names places in x, after `batch` leading dimensions.
Buffer GatherNd(FunctionBuilder& f, const Buffer& x, const Buffer& indices, int batch);

enum class ScatterMode { kStore, kAdd, kMultiply, kMax, kMin };
// x with updates[i...] stored at (or combined into) [i... with indices[i...] at `axis`], in row-major order.
Buffer ScatterElements(FunctionBuilder& f, const Buffer& x, const Buffer& indices, const Buffer& updates, int axis,
                       ScatterMode mode);
// The last dimension of `indices` (a constant extent) names places in x that receive slices of `updates`.
Buffer ScatterNd(FunctionBuilder& f, const Buffer& x, const Buffer& indices, const Buffer& updates, ScatterMode mode);

// `values` is (off, on); the new dimension of extent `depth` stands at `axis`. Indices outside of [-depth, depth) give
// only off.
Buffer OneHot(FunctionBuilder& f, const Buffer& indices, const Expr& depth, const Buffer& values, int axis);

}  // namespace tilewright::ops
