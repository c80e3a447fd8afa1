#include "graph/fusion/permuted_constant.h"

#include <algorithm>
#include <cstring>
#include <memory>
#include <utility>
#include <vector>

#include "base/check.h"

namespace tilewright::graph {
namespace {

// Writes elements of `shape`, whose dimensions lie `steps` elements apart in `from`. A few elements of the last dimension
// are written together, so that what is read lies in as many streams: a transpose touches each cache line once.
template <class T>
void CopyPermuted(const std::byte* from, std::byte* to, const std::vector<int64_t>& shape,
                  const std::vector<int64_t>& steps) {
  constexpr int64_t kTogether = 16;
  const size_t last = shape.size() - 1;
  std::vector<int64_t> strides(shape.size(), 1);
  for (size_t d = last; d-- > 0;) strides[d] = strides[d + 1] * shape[d + 1];
  std::vector<size_t> outer(last);  // the other dimensions in the order in which they lie in `from`
  for (size_t d = 0; d < last; ++d) outer[d] = d;
  std::sort(outer.begin(), outer.end(),
            [&](size_t a, size_t b) { return std::make_pair(steps[a], b) > std::make_pair(steps[b], a); });
  int64_t rows = 1;
  for (size_t d : outer) rows *= shape[d];
  const auto size = static_cast<int64_t>(sizeof(T));
  for (int64_t begin = 0; begin < shape[last]; begin += kTogether) {
    const int64_t end = std::min(begin + kTogether, shape[last]);
    std::vector<int64_t> at(shape.size(), 0);
    int64_t source = 0, target = 0;
    for (int64_t row = 0; row < rows; ++row) {
      for (int64_t i = begin; i < end; ++i) {
        std::memcpy(to + (target + i) * size, from + (source + i * steps[last]) * size, sizeof(T));
      }
      for (size_t k = outer.size(); k-- > 0;) {
        const size_t d = outer[k];
        source += steps[d];
        target += strides[d];
        if (++at[d] < shape[d]) break;
        source -= steps[d] * shape[d];
        target -= strides[d] * shape[d];
        at[d] = 0;
      }
    }
  }
}

}  // namespace

Constant PermutedConstant(const ConstantNode& constant, const Permutation& order) {
  const std::vector<int64_t> shape = Permute(constant.shape, order);
  if (shape.empty() || constant.bytes.size == 0) return Constant(constant.dtype, shape, constant.bytes);
  std::vector<int64_t> strides(shape.size(), 1);
  for (size_t d = shape.size() - 1; d-- > 0;) strides[d] = strides[d + 1] * constant.shape[d + 1];
  const std::vector<int64_t> steps = Permute(strides, order);
  const int64_t bytes = constant.bytes.size;
  const std::shared_ptr<std::byte[]> owner = std::make_shared_for_overwrite<std::byte[]>(static_cast<size_t>(bytes));
  const auto copy = [&] {
    switch (constant.dtype.bytes()) {
      case 1:
        return CopyPermuted<uint8_t>;
      case 2:
        return CopyPermuted<uint16_t>;
      case 4:
        return CopyPermuted<uint32_t>;
      default:
        TW_CHECK(constant.dtype.bytes() == 8);
        return CopyPermuted<uint64_t>;
    }
  }();
  copy(constant.bytes.data, owner.get(), shape, steps);
  return Constant(constant.dtype, shape, {.owner = owner, .data = owner.get(), .size = bytes});
}

}  // namespace tilewright::graph
