// Arguments for parameters that declare strides.
//
//   A: T.Buffer((5, 6), "float32", strides=(8, 1))      38 elements of memory, of which A has 30
//
// An NDArray has no gaps. Such a parameter takes memory with gaps, into which the array's elements are spread before a
// call, and out of which they are collected after it.
#pragma once

#include <cstdint>
#include <vector>

#include "absl/types/span.h"
#include "ir/buffer.h"
#include "ir/ndarray.h"

namespace tilewright {

// Strides in elements that the buffer declares, if memory with gaps has to be made for an array of this shape: they are
// constants, elements do not share memory, and they are not those of a row-major array (which dimensions of extent 1
// cannot tell). Otherwise empty.
std::vector<int64_t> StridesWithGaps(const Buffer& buffer, absl::Span<const int64_t> shape);

// Elements of that memory, from the array's first one to its last one.
int64_t ElementsWithGaps(absl::Span<const int64_t> shape, absl::Span<const int64_t> strides);

// The elements of `array` in new memory of one dimension. The bytes of gaps, which no program should read, are 0xa5.
NDArray Spread(const NDArray& array, absl::Span<const int64_t> strides);
// The same in memory that is there already, of ElementsWithGaps elements. Gaps stay as they are.
void SpreadInto(const NDArray& array, absl::Span<const int64_t> strides, void* memory);
// From such memory to the array.
void Collect(const void* memory, absl::Span<const int64_t> strides, const NDArray& array);

}  // namespace tilewright
