// Cache index: indices that take computing are computed ahead, into tables.
//
//                                                  index_var_0 = T.alloc_buffer((80,), "int32")
//   for i in range(80):                            for ax0 in range(80):
//       with T.block("B"):                             with T.block("index_0"):
//           vi = T.axis.spatial(80, i)      ->             v0 = T.axis.spatial(80, ax0)
//           B[vi] = A[vi * 40 // 80]                       index_var_0[v0] = v0 * 40 // 80
//                                                  for i in range(80):
//                                                      with T.block("B"):
//                                                          vi = T.axis.spatial(80, i)
//                                                          B[vi] = A[index_var_0[vi]]
//
// One table for each different index of what the block loads, and each condition of an if_then_else, that is neither an
// iterator nor a constant and occurs at least `cse_threshold` times; its dimensions are the iterators that the index
// depends on. The tables come first in the scope.
//
// Why: divisions leave the inner loop.
//
// Conditions: the block contains no blocks; there is such an index, made of iterators, constants and functions without
// effects, with no divisor but constants; iterators in it count from 0.
//
// Ids: all survive; those of the tables' blocks (returned, in the order of the tables) and loops are born.
#pragma once

#include <cstdint>
#include <string_view>
#include <vector>

#include "ir/function.h"
#include "schedule/core/refusal.h"

namespace tilewright {

struct CacheIndexResult {
  Function function;
  std::vector<uint32_t> blocks;
};

Outcome<CacheIndexResult> CacheIndex(const Function& function, uint32_t block, std::string_view scope,
                                     int64_t cse_threshold);

}  // namespace tilewright
