#include "codegen/runtime/tensor.h"

#include <algorithm>
#include <atomic>
#include <cstddef>
#include <cstdlib>
#include <cstring>
#include <utility>

namespace tilewright::runtime {
namespace {

std::vector<int64_t> CompactStrides(std::span<const int64_t> shape) {
  std::vector<int64_t> strides(shape.size());
  // A tensor that was borrowed is not checked for overflow, so the product wraps like the address would.
  uint64_t stride = 1;
  for (size_t i = shape.size(); i-- > 0;) {
    strides[i] = static_cast<int64_t>(stride);
    stride *= static_cast<uint64_t>(std::max<int64_t>(shape[i], 1));
  }
  return strides;
}

// Large blocks of the system's allocator all begin at the same offset of a page. A load then waits for an earlier store
// to another tensor, since the CPU compares the lower twelve bits of their addresses first: stencils lose a tenth. So
// each large tensor begins some cache lines further than the last one.
constexpr int64_t kLeastStaggered = 64 << 10, kPage = 4096, kStagger = 9 * static_cast<int64_t>(kTensorAlignment);

int64_t NextStagger() {
  static std::atomic<int64_t> allocations = 0;
  return allocations.fetch_add(1, std::memory_order_relaxed) % (kPage / static_cast<int64_t>(kTensorAlignment)) *
         kStagger % kPage;
}

}  // namespace

std::optional<int64_t> NumElements(std::span<const int64_t> shape) {
  int64_t product = 1;
  bool overflow = false;
  for (int64_t extent : shape) {
    if (extent < 0) return std::nullopt;
    overflow |= __builtin_mul_overflow(product, std::max<int64_t>(extent, 1), &product);
  }
  if (overflow) return std::nullopt;
  return std::find(shape.begin(), shape.end(), 0) == shape.end() ? product : 0;
}

std::optional<int64_t> PackedBytes(TwDataType dtype, int64_t num_elements) {
  const int64_t bits_of_one = static_cast<int64_t>(dtype.bits) * dtype.lanes;
  int64_t bits = 0;
  if (__builtin_mul_overflow(bits_of_one, num_elements, &bits) || __builtin_add_overflow(bits, 7, &bits)) {
    return std::nullopt;
  }
  return bits / 8;
}

void Tensor::Free::operator()(void* memory) const { std::free(memory); }

Tensor::Tensor(void* data, TwDataType dtype, std::span<const int64_t> shape, std::span<const int64_t> strides)
    : shape_and_strides_(shape.begin(), shape.end()), abi_(std::make_unique<TwTensor>()) {
  if (strides.empty()) {
    const std::vector<int64_t> compact = CompactStrides(shape);
    shape_and_strides_.insert(shape_and_strides_.end(), compact.begin(), compact.end());
  } else {
    shape_and_strides_.insert(shape_and_strides_.end(), strides.begin(), strides.end());
  }
  *abi_ = {.data = data,
           .device = {.device_type = kTwCpu, .device_id = 0},
           .ndim = static_cast<int32_t>(shape.size()),
           .dtype = dtype,
           .shape = shape_and_strides_.data(),
           .strides = shape_and_strides_.data() + shape.size(),
           .byte_offset = 0};
}

std::optional<Tensor> Tensor::Allocate(TwDataType dtype, std::span<const int64_t> shape) {
  const std::optional<int64_t> num_elements = runtime::NumElements(shape);
  if (!num_elements.has_value()) return std::nullopt;
  const std::optional<int64_t> bytes = PackedBytes(dtype, *num_elements);
  int64_t rounded = 0;
  if (!bytes.has_value() || __builtin_add_overflow(*bytes, kTensorAlignment - 1, &rounded)) return std::nullopt;
  rounded = std::max<int64_t>(rounded / kTensorAlignment * kTensorAlignment, kTensorAlignment);
  const int64_t offset = rounded >= kLeastStaggered ? NextStagger() : 0;
  if (__builtin_add_overflow(rounded, offset, &rounded)) return std::nullopt;
  void* memory = std::aligned_alloc(kTensorAlignment, static_cast<size_t>(rounded));
  if (memory == nullptr) return std::nullopt;
  std::memset(memory, 0, static_cast<size_t>(rounded));
  Tensor tensor(static_cast<std::byte*>(memory) + offset, dtype, shape, {});
  tensor.memory_.reset(memory);
  return tensor;
}

Tensor Tensor::Borrow(void* data, TwDataType dtype, std::span<const int64_t> shape, std::span<const int64_t> strides) {
  return Tensor(data, dtype, shape, strides);
}

Tensor Tensor::Alias() const {
  Tensor alias(abi_->data, abi_->dtype, shape(), strides());
  alias.abi_->byte_offset = abi_->byte_offset;
  return alias;
}

int64_t Tensor::num_elements() const { return runtime::NumElements(shape()).value_or(0); }

bool Tensor::IsCompact() const {
  const std::vector<int64_t> compact = CompactStrides(shape());
  for (size_t i = 0; i < compact.size(); ++i) {
    if (shape()[i] != 1 && strides()[i] != compact[i]) return false;
  }
  return true;
}

}  // namespace tilewright::runtime
