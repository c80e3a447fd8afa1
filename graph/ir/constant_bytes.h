// The memory of a constant, and the order in which its elements are read from there.
//
// Weights are large, so that another order of dimensions is a way to read them and not a second copy.
#pragma once

#include <cstddef>
#include <cstdint>
#include <memory>
#include <string>
#include <vector>

namespace tilewright::graph {

class ConstantBytes {
 public:
  // `size` bytes at `data`, of any alignment: elements packed, row-major, little-endian. `owner` keeps them alive: an
  // NDArray, a mapped file.
  ConstantBytes(std::shared_ptr<const void> owner, const std::byte* data, int64_t size)
      : owner_(std::move(owner)), data_(data), size_(size) {}

  // The bytes of an array of `shape`, dimension d of the result being dimension order[d]. Elements have 1, 2, 4 or 8
  // bytes, `element_bytes` each.
  ConstantBytes Permuted(const std::vector<int64_t>& shape, const std::vector<int>& order, int element_bytes) const;

  int64_t size() const { return size_; }
  // Writes size() bytes.
  void CopyTo(std::byte* to) const;
  std::string ToString() const;
  // The first and the last `count` bytes as they lie in memory, for a hash: the same for bytes that are Same.
  std::string Ends(int64_t count) const;
  // Equal content that is read in the same order.
  bool Same(const ConstantBytes& other) const;

 private:
  struct Order {
    int element_bytes = 0;
    std::vector<int64_t> shape;  // of what is read
    std::vector<int64_t> steps;  // elements between neighbors along each dimension, in memory
    bool operator==(const Order&) const = default;
  };

  std::shared_ptr<const void> owner_;
  const std::byte* data_ = nullptr;
  int64_t size_ = 0;
  std::shared_ptr<const Order> order_;  // null: as they lie
};

}  // namespace tilewright::graph
