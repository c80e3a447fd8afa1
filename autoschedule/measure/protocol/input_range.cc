#include "autoschedule/measure/protocol/input_range.h"

#include <algorithm>
#include <vector>

namespace tilewright {

void FillRange(const NDArray& array, const InputRange& range, uint64_t seed) {
  FillUniform(array, seed, static_cast<double>(range.low), static_cast<double>(range.high) + 1);
  if (!range.sorted || array.size() == 0) return;
  std::vector<int64_t> values;
  for (int64_t i = 0; i < array.size(); ++i) values.push_back(array.GetInt(i));
  std::ranges::sort(values);
  values.front() = range.low;
  if (values.size() > 1) values.back() = range.high;
  for (int64_t i = 0; i < array.size(); ++i) array.SetInt(i, values[static_cast<size_t>(i)]);
}

}  // namespace tilewright
