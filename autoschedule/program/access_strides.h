// How far apart neighbouring instances of a block access their buffers.
//
//   B[i, j] = A[j, i] + bias[j]        with A of 8 x 16, B of 16 x 8 elements
//
//   access   stride of i   stride of j
//   B        8             1
//   A        1             16
//   bias     0             1
#pragma once

#include <cstdint>
#include <optional>
#include <vector>

#include "ir/function.h"

namespace tilewright {

struct Access {
  Buffer buffer;
  bool store = false;
  std::vector<Expr> indices;
  // In elements, by the position of the block's iterator; nothing where the distance is not constant.
  std::vector<std::optional<int64_t>> strides;
  // How far each dimension's index moves, by dimension and position of the iterator; 0 where that is not constant.
  std::vector<std::vector<int64_t>> steps;
};

// All loads and stores of a block's body, its init left out. Buffers are taken as row-major.
std::vector<Access> AccessesOf(const BlockNode& block);

// Whether vectors along the iterator are stored as neighbouring elements, and loaded as such or as elements that lie a
// few apart.
bool IsStridedAxis(const std::vector<Access>& accesses, size_t iterator);

// The size of a buffer, symbolic extents taken as 1.
int64_t BytesOf(const Buffer& buffer);

}  // namespace tilewright
