// Tensors in the memory of the host.
//
// A `Tensor` either owns its elements or borrows them from the caller. Owned elements start at a multiple of
// `kTensorAlignment` bytes, lie in compact row-major order and are zero; large tensors begin at different offsets of a
// page. A borrowed tensor may have any strides.
//
//   std::optional<Tensor> a = Tensor::Allocate(kFloat32, {128, 64});
//   a->data<float>()[3] = 1.0f;
//   float numbers[6];
//   Tensor b = Tensor::Borrow(numbers, kFloat32, {2, 3});
//   compiled_function(a->abi(), b.abi());
#pragma once

#include <cstddef>
#include <cstdint>
#include <memory>
#include <optional>
#include <span>
#include <vector>

#include "codegen/abi/tensor_abi.h"

namespace tilewright::runtime {

// One cache line, and the widest vector register of the CPUs we compile for.
inline constexpr size_t kTensorAlignment = 64;

inline constexpr TwDataType kInt8 = {kTwInt, 8, 1};
inline constexpr TwDataType kUInt8 = {kTwUInt, 8, 1};
inline constexpr TwDataType kInt32 = {kTwInt, 32, 1};
inline constexpr TwDataType kInt64 = {kTwInt, 64, 1};
inline constexpr TwDataType kFloat16 = {kTwFloat, 16, 1};
inline constexpr TwDataType kBfloat16 = {kTwBfloat, 16, 1};
inline constexpr TwDataType kFloat32 = {kTwFloat, 32, 1};
inline constexpr TwDataType kFloat64 = {kTwFloat, 64, 1};

// Number of elements of a shape; nullopt when an extent is negative or the product does not fit.
std::optional<int64_t> NumElements(std::span<const int64_t> shape);

// Bytes that `num_elements` elements take when they are packed (two int4 share a byte); nullopt on overflow.
std::optional<int64_t> PackedBytes(TwDataType dtype, int64_t num_elements);

class Tensor {
 public:
  // A tensor that owns its elements; nullopt when the shape is impossible or memory is short.
  static std::optional<Tensor> Allocate(TwDataType dtype, std::span<const int64_t> shape);
  static std::optional<Tensor> Allocate(TwDataType dtype, std::initializer_list<int64_t> shape) {
    return Allocate(dtype, std::span<const int64_t>(shape.begin(), shape.size()));
  }

  // A tensor over elements of the caller, who keeps them alive. Empty strides stand for compact row-major order.
  static Tensor Borrow(void* data, TwDataType dtype, std::span<const int64_t> shape,
                       std::span<const int64_t> strides = {});
  static Tensor Borrow(void* data, TwDataType dtype, std::initializer_list<int64_t> shape) {
    return Borrow(data, dtype, std::span<const int64_t>(shape.begin(), shape.size()));
  }

  // A second tensor over the same elements, which lives no longer than this one.
  Tensor Alias() const;

  Tensor(Tensor&&) = default;
  Tensor& operator=(Tensor&&) = default;

  // The argument to pass to a compiled function; valid while this tensor lives, also after it was moved.
  TwTensor* abi() { return abi_.get(); }
  const TwTensor* abi() const { return abi_.get(); }

  TwDataType dtype() const { return abi_->dtype; }
  std::span<const int64_t> shape() const { return {abi_->shape, static_cast<size_t>(abi_->ndim)}; }
  std::span<const int64_t> strides() const { return {abi_->strides, static_cast<size_t>(abi_->ndim)}; }
  int64_t num_elements() const;
  bool owns_elements() const { return memory_ != nullptr; }

  // Whether the elements lie in compact row-major order. Strides of extents of 1 do not matter.
  bool IsCompact() const;

  template <typename T>
  T* data() {
    return reinterpret_cast<T*>(static_cast<char*>(abi_->data) + abi_->byte_offset);
  }
  template <typename T>
  const T* data() const {
    return reinterpret_cast<const T*>(static_cast<const char*>(abi_->data) + abi_->byte_offset);
  }

 private:
  struct Free {
    void operator()(void* memory) const;
  };

  Tensor(void* data, TwDataType dtype, std::span<const int64_t> shape, std::span<const int64_t> strides);

  // Both live on the heap so that the pointers in `abi_` survive a move.
  std::vector<int64_t> shape_and_strides_;
  std::unique_ptr<TwTensor> abi_;
  std::unique_ptr<void, Free> memory_;  // holds the elements, from some offset on
};

}  // namespace tilewright::runtime
