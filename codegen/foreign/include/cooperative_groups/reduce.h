// Reductions over a tile or over the lanes that are here together; every lane has the result.
#pragma once

#include "cooperative_groups.h"

namespace cooperative_groups {

#define TW_OPERATOR(name, expression)                             \
  template <class T>                                              \
  struct name {                                                   \
    TW_CUDA T operator()(T a, T b) const { return (expression); } \
  };
TW_OPERATOR(plus, a + b)
TW_OPERATOR(less, b < a ? b : a)
TW_OPERATOR(greater, a < b ? b : a)
TW_OPERATOR(bit_and, a& b)
TW_OPERATOR(bit_or, a | b)
TW_OPERATOR(bit_xor, a ^ b)
#undef TW_OPERATOR

template <unsigned kSize, class Parent, class T, class Operator>
TW_CUDA T reduce(const thread_block_tile<kSize, Parent>& tile, T value, Operator combine) {
  for (unsigned lanes = kSize / 2; lanes > 0; lanes /= 2) value = combine(value, tile.shfl_xor(value, (int)lanes));
  return value;
}
template <class T, class Operator>
TW_CUDA T reduce(const coalesced_group& group, T value, Operator combine) {
  T result = group.shfl(value, 0);
  for (unsigned rank = 1; rank < group.size(); ++rank) result = combine(result, group.shfl(value, (int)rank));
  return result;
}

}  // namespace cooperative_groups
