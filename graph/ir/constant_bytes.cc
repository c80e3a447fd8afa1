#include "graph/ir/constant_bytes.h"

#include <algorithm>
#include <cstring>
#include <string_view>
#include <utility>

#include "base/check.h"

namespace tilewright::graph {
namespace {

// Writes elements of `shape`, whose dimensions lie `steps` elements apart in `from`. A few elements of the last
// dimension are written together, so that what is read lies in as many streams: a transpose touches each cache line
// once.
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

std::string_view View(const std::byte* data, int64_t size) {
  return {reinterpret_cast<const char*>(data), static_cast<size_t>(size)};
}

}  // namespace

ConstantBytes ConstantBytes::Permuted(const std::vector<int64_t>& shape, const std::vector<int>& order,
                                      int element_bytes) const {
  if (shape.empty() || size_ == 0) return *this;
  if (order_ != nullptr) {
    const std::shared_ptr<std::byte[]> copy = std::make_shared_for_overwrite<std::byte[]>(static_cast<size_t>(size_));
    CopyTo(copy.get());
    return ConstantBytes(copy, copy.get(), size_).Permuted(shape, order, element_bytes);
  }
  std::vector<int64_t> strides(shape.size(), 1);
  for (size_t d = shape.size() - 1; d-- > 0;) strides[d] = strides[d + 1] * shape[d + 1];
  Order permuted{.element_bytes = element_bytes};
  for (int d : order) {
    permuted.shape.push_back(shape[static_cast<size_t>(d)]);
    permuted.steps.push_back(strides[static_cast<size_t>(d)]);
  }
  ConstantBytes result = *this;
  result.order_ = std::make_shared<const Order>(std::move(permuted));
  return result;
}

void ConstantBytes::CopyTo(std::byte* to) const {
  if (size_ == 0) return;
  if (order_ == nullptr) {
    std::memcpy(to, data_, static_cast<size_t>(size_));
    return;
  }
  switch (order_->element_bytes) {
    case 1:
      return CopyPermuted<uint8_t>(data_, to, order_->shape, order_->steps);
    case 2:
      return CopyPermuted<uint16_t>(data_, to, order_->shape, order_->steps);
    case 4:
      return CopyPermuted<uint32_t>(data_, to, order_->shape, order_->steps);
    default:
      TW_CHECK(order_->element_bytes == 8);
      return CopyPermuted<uint64_t>(data_, to, order_->shape, order_->steps);
  }
}

std::string ConstantBytes::ToString() const {
  std::string text(static_cast<size_t>(size_), '\0');
  CopyTo(reinterpret_cast<std::byte*>(text.data()));
  return text;
}

std::string ConstantBytes::Ends(int64_t count) const {
  count = std::min(count, size_);
  return std::string(View(data_, count)).append(View(data_ + size_ - count, count));
}

bool ConstantBytes::Same(const ConstantBytes& other) const {
  if ((order_ == nullptr) != (other.order_ == nullptr)) return false;
  if (order_ != nullptr && *order_ != *other.order_) return false;
  return size_ == other.size_ && (data_ == other.data_ || View(data_, size_) == View(other.data_, size_));
}

}  // namespace tilewright::graph
