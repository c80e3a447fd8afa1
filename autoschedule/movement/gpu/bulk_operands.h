// Whether the engine for bulk tensor copies can copy the tiles of a product's operand: boxes of an array, or pixels of
// an image, where a step of K is of one element of the window (codegen/lower/gpu/images/image_rows.h).
//
//   B_copy[k, n] = B[k, n]
//   A_copy[m, k] = if_then_else(..., X[m // 196, m % 196 // 14 + k // 768 - 1, ..., k % 256], 0)
#pragma once

#include <cstdint>
#include <vector>

#include "ir/stmt.h"
#include "target/target.h"

namespace tilewright {

// A block that copies an operand; its last two iterators are K and M or N.
struct OperandCopy {
  const BlockNode* block = nullptr;
  bool depth_is_last = true;
  int64_t depth = 0;           // elements of K that are copied at once
  std::vector<int64_t> sides;  // rows of the tiles that there may be
  const GpuTarget* gpu = nullptr;
};

enum class BulkCopy { kNone, kBoxes, kPixels };
BulkCopy BulkCopyOf(const OperandCopy& copy);

}  // namespace tilewright
