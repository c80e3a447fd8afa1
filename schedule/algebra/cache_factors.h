// cache_factors: some of the factors that a sum multiplies are multiplied ahead, into a buffer.
//
//                                                      Y_factors = T.alloc_buffer((8, 4, 4))
//                                                      for ax0, ax1, ax2 in T.grid(8, 4, 4):
//                                                          with T.block("Y_factors"):
//   for b, o, i, j in T.grid(8, 8, 4, 4):                      v0, v1, v2 = T.axis.remap("SSS", [ax0, ax1, ax2])
//       with T.block("Y"):                                     Y_factors[v0, v1, v2] = X[v0, v1] * Z[v0, v2]
//           ...                                        ->  for b, o, i, j in T.grid(8, 8, 4, 4):
//           Y[vb, vo] = Y[vb, vo]                          with T.block("Y"):
//               + X[vb, vi] * W[vo, vi, vj]                    ...
//                   * Z[vb, vj]                                Y[vb, vo] = Y[vb, vo]
//                                                                  + Y_factors[vb, vi, vj] * W[vo, vi, vj]
//
// for the factors 0 and 2. The buffer's dimensions are the iterators that these factors use, in the block's order.
//
// Why: what is left is a product of two operands, a contraction; and factors that are not plain elements of a buffer
// (differences, scaled or converted elements) become some. Products of three and more factors are multiplied in another
// order (docs/numerics.md).
//
// A single factor that is converted to a wider type, Cast("int32", e) with e in int8, is stored in its own type, as e,
// and converted where it is used: in int8 it takes a quarter of the memory, and instructions that multiply int8 fit.
//
// Conditions: the block adds a product to what it stores to; the numbers name factors, each once and not all of them,
// which use iterators, and do not read what the block stores to; products of signed integers of 32 and 64 bits stay in
// their type in the new order too, whatever the elements are (schedule/program/integer_range.h); the block's loops are
// its iterators, one each, hold nothing else, are serial and carry no annotations, and it has no predicate; the
// iterators count from 0.
//
// Ids: all survive; those of the new block (returned) and its loops are born.
#pragma once

#include <cstdint>
#include <vector>

#include "ir/function.h"
#include "schedule/core/refusal.h"

namespace tilewright {

struct CacheFactorsResult {
  Function function;
  uint32_t block = 0;  // that multiplies the factors
};

// `factors`: positions in what FactorsOf (schedule/program/sum_form.h) gives for the block's term.
Outcome<CacheFactorsResult> CacheFactors(const Function& function, uint32_t block, const std::vector<int64_t>& factors);

}  // namespace tilewright
