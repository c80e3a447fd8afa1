// The values that an integer input is drawn from (input_ranges.h says where they come from).
#pragma once

#include <cstdint>

#include "ir/ndarray.h"

namespace tilewright {

struct InputRange {
  int64_t low = 0, high = 0;
  bool sorted = false;  // the differences of its elements are numbers of iterations

  bool operator==(const InputRange&) const = default;
};

// Seeded numbers in the range.
void FillRange(const NDArray& array, const InputRange& range, uint64_t seed);

}  // namespace tilewright
