// Reductions over some dimensions of a buffer.
//
//   Buffer row_sums = Reduce(f, "sum", Reduction::kSum, x, {1}, /*keep=*/true);
//
// Over no elements a sum is 0, a product 1, a maximum -inf and a minimum +inf (the least and greatest integer).
#pragma once

#include <cstdint>
#include <functional>
#include <string>
#include <vector>

#include "ir/builder.h"
#include "ir/ops/broadcast.h"

namespace tilewright::ops {

// The largest number (kMaxNumber) leaves NaN out; all others pass it on.
enum class Reduction { kSum, kProduct, kMax, kMin, kMaxNumber };

// The element of the reduced domain at some indices.
using ElementAt = std::function<Expr(const Indices&)>;

// Reduces a domain of extents `shape` over the dimensions `axes` (ascending): each stays with extent one where `keep`,
// else it goes.
Buffer ReduceElements(FunctionBuilder& f, const std::string& name, Reduction reduction, const std::vector<Expr>& shape,
                      const std::vector<int>& axes, bool keep, const ElementAt& element);
Buffer Reduce(FunctionBuilder& f, const std::string& name, Reduction reduction, const Buffer& x,
              const std::vector<int>& axes, bool keep);
// How many elements each result is reduced from, in a type.
Expr CountOf(const std::vector<Expr>& shape, const std::vector<int>& axes, DataType dtype);

// The sum divided by the number of elements.
Buffer Mean(FunctionBuilder& f, const std::string& name, const Buffer& x, const std::vector<int>& axes, bool keep);

// The position (int64) of the largest or least element along `axis`; of equal ones the first, or the last. A NaN counts
// as the most extreme.
Buffer ArgExtreme(FunctionBuilder& f, const Buffer& x, int axis, bool keep, bool largest, bool last);

// y[i] = x[0] + ... + x[i] along `axis`, in order. `exclusive`: without x[i]; `reverse`: from the end.
Buffer CumulativeSum(FunctionBuilder& f, const Buffer& x, int axis, bool exclusive, bool reverse);

}  // namespace tilewright::ops
