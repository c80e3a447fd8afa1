// Attention as a plain program: nothing in it says how it is computed.
#pragma once

#include <cstdint>

#include "ir/function.h"
#include "ir/ops/operand_types.h"

namespace tilewright::ops {

struct AttentionShape {
  Expr batch, heads;
  Expr key_heads;  // divides the heads: as many of these as heads / key_heads share a key head
  Expr queries, keys, dim;
  // The last query stands at the last key: query i at position i + keys - queries. It sees the keys up to its position,
  // all if not causal; with a window, those fewer than `window` positions away. 0: no window.
  bool causal = false;
  int64_t window = 0;
};

// softmax(query key^T / sqrt(dim)) value, query [batch, heads, queries, dim], key and value [batch, key_heads, keys,
// dim], output like query. Blocks scores, scaled, those of SoftmaxOver, attention.
//
// Sums and all else are in `types.output`, float32 or float64; probabilities that meet values of a narrower
// floating-point type are rounded to that type, as every implementation of it does.
Function Attention(const AttentionShape& shape, const OperandTypes& types = OperandTypes::Float32());

}  // namespace tilewright::ops
