#include "ir/strided_array.h"

#include <algorithm>
#include <cstddef>
#include <cstring>
#include <functional>
#include <optional>
#include <utility>

namespace tilewright {
namespace {

constexpr int kUnwritten = 0xa5;

// Whether each dimension steps over all that the dimensions of smaller strides reach.
bool AreApart(absl::Span<const int64_t> shape, absl::Span<const int64_t> strides) {
  std::vector<std::pair<int64_t, int64_t>> dims;  // stride and extent
  for (size_t d = 0; d < shape.size(); ++d) {
    if (shape[d] > 1) dims.emplace_back(strides[d], shape[d]);
  }
  std::ranges::sort(dims);
  int64_t reach = 0;  // the farthest element of the dimensions so far
  for (const auto& [stride, extent] : dims) {
    int64_t more = 0;
    if (stride <= reach || __builtin_mul_overflow(stride, extent - 1, &more) ||
        __builtin_add_overflow(reach, more, &reach)) {
      return false;
    }
  }
  return true;
}

// Calls `copy` with the position of each element in the array and in the memory.
void ForEachElement(absl::Span<const int64_t> shape, absl::Span<const int64_t> strides,
                    const std::function<void(int64_t, int64_t)>& copy) {
  int64_t elements = 1;
  for (const int64_t extent : shape) elements *= extent;
  std::vector<int64_t> index(shape.size(), 0);
  int64_t place = 0;
  for (int64_t position = 0; position < elements; ++position) {
    copy(position, place);
    for (size_t d = shape.size(); d-- > 0;) {
      place += strides[d];
      if (++index[d] < shape[d]) break;
      place -= shape[d] * strides[d];
      index[d] = 0;
    }
  }
}

}  // namespace

std::vector<int64_t> StridesWithGaps(const Buffer& buffer, absl::Span<const int64_t> shape) {
  if (buffer->layout || buffer->strides.size() != shape.size()) return {};
  std::vector<int64_t> strides;
  for (const Expr& stride : buffer->strides) {
    const std::optional<int64_t> value = AsInt(stride);
    if (!value) return {};
    strides.push_back(*value);
  }
  if (!AreApart(shape, strides)) return {};
  bool compact = true;
  int64_t stride = 1;
  for (size_t d = shape.size(); d-- > 0;) {
    compact &= shape[d] <= 1 || strides[d] == stride;
    stride *= shape[d];
  }
  return compact ? std::vector<int64_t>() : strides;
}

int64_t ElementsWithGaps(absl::Span<const int64_t> shape, absl::Span<const int64_t> strides) {
  int64_t last = 0;
  for (size_t d = 0; d < shape.size(); ++d) {
    if (shape[d] == 0) return 0;
    last += (shape[d] - 1) * strides[d];
  }
  return last + 1;
}

NDArray Spread(const NDArray& array, absl::Span<const int64_t> strides) {
  const NDArray memory(array.dtype(), {ElementsWithGaps(array.shape(), strides)});
  std::memset(memory.data(), kUnwritten, static_cast<size_t>(memory.bytes()));
  SpreadInto(array, strides, memory.data());
  return memory;
}

void SpreadInto(const NDArray& array, absl::Span<const int64_t> strides, void* memory) {
  const int64_t bytes = array.dtype().bytes();
  const auto* const from = static_cast<const std::byte*>(array.data());
  auto* const to = static_cast<std::byte*>(memory);
  ForEachElement(array.shape(), strides, [&](int64_t position, int64_t place) {
    std::memcpy(to + place * bytes, from + position * bytes, static_cast<size_t>(bytes));
  });
}

void Collect(const void* memory, absl::Span<const int64_t> strides, const NDArray& array) {
  const int64_t bytes = array.dtype().bytes();
  const auto* const from = static_cast<const std::byte*>(memory);
  auto* const to = static_cast<std::byte*>(array.data());
  ForEachElement(array.shape(), strides, [&](int64_t position, int64_t place) {
    std::memcpy(to + position * bytes, from + place * bytes, static_cast<size_t>(bytes));
  });
}

}  // namespace tilewright
