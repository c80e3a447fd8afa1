// Products of activations that are quantized by blocks of the depth, by packed weights: `accuracy_level` 4.
//
//   scale[i, b] = max over k of abs(a[i, b, k]) / 127
//   q[i, b, k] = round(a[i, b, k] / scale[i, b])                                     int8
//   sums[b, i, j] = sum over k of q[i, b, k] * w[j, b, k]                            int32, exact
//   y[i, j] = sum over b of (sums[b, i, j] - zero[j, b] * (sum over k of q[i, b, k])) * (scale[i, b] * scale_w[j, b])
//
// Weights stay unsigned, as they are stored: their zero points meet the sum of a block's activations. Elements of a
// byte are divided into planes, k = element + byte * elements of a byte, so that neighbours along the depth of one
// plane are neighbouring bytes. The error is bounded in docs/numerics.md.
#pragma once

#include <cstdint>

#include "graph/onnx/emitter.h"
#include "ir/builder.h"

namespace tilewright::graph {

struct BlockQuantizedProduct {
  int64_t depth = 0, columns = 0;
  int64_t bits = 4, block = 32;
  Buffer a;       // [..., depth], floats
  Buffer bytes;   // uint8: for each column and block, block * bits / 8 of them
  Buffer scales;  // for each column and block
  Buffer zeros;   // uint8, packed by columns, or floats for each column and block; null: half of the range

  int64_t blocks() const { return (depth + block - 1) / block; }
};

// The product, [..., columns] of f32.
Buffer AddBlockQuantizedProduct(FunctionBuilder& f, const BlockQuantizedProduct& product);

}  // namespace tilewright::graph
