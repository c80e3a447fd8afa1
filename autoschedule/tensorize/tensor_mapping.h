// How a block can be computed by a tensor intrinsic: which of its iterators become which of the intrinsic's.
//
// The block's statement must be the description's up to the indices:
//
//   description (16 x 16 x 16)                 block
//   C[i, j] = C[i, j] + A[i, k] * B[j, k]      Y[n, h, w, o] = Y[n, h, w, o] + X[n, h + r, w + s, c] * W[o, r, s, c]
//
// An iterator is characterized by the operands that it indexes (Feng et al., TensorIR, section 4.2): i is in C and A
// alone, as n, h and w are; j as o; k as r, s and c. Iterators of the block with the character of one of the
// intrinsic's are fused, outermost first, and padded to a multiple of its extent:
//
//   i = n * H * W + h * W + w      or  h * W + w,  or  w        (the others stay loops outside)
//   j = o                              k = (r * S + s) * C + c, s * C + c, c
//
// All such mappings are listed. Iterators that index other operands (a batch is in all three) stay outside.
#pragma once

#include <cstdint>
#include <span>
#include <string>
#include <vector>

#include "intrin/intrin.h"
#include "ir/function.h"

namespace tilewright {

struct TensorMapping {
  const TensorIntrin* intrin = nullptr;
  // The block's buffer for each of the description's parameters.
  std::vector<Buffer> operands;
  // For each iterator of the description, in its order: the positions of the block's iterators that are fused to it,
  // outermost first. None: the intrinsic computes one element along it, the rest is padding.
  std::vector<std::vector<int>> fused;
  std::vector<int64_t> tile;  // the extents of the description's iterators
  std::vector<int> outside;   // the block's other iterators
  double padding_waste = 0;   // the part of the padded work that is padding
};

struct TensorMappings {
  std::vector<TensorMapping> found;  // least waste first; among equals those that fuse fewest iterators first
  std::string refusal;               // why there are none
};

// The order of TensorMappings::found.
bool LessWaste(const TensorMapping& a, const TensorMapping& b);

TensorMappings FindTensorMappings(const BlockNode& block, const TensorIntrin& intrin);

// "i = h, w; j = o; k = r, s, c" with the names of the description's and the block's iterators.
std::string ToString(const TensorMapping& mapping, const BlockNode& block);

// The block that stores in a description: its only one besides the root, or null.
const BlockNode* DescribedBlock(const TensorIntrin& intrin);

}  // namespace tilewright
