// Recognizes contractions: blocks that multiply two operands and add the products up, such as matrix multiplications
// and convolutions.
//
//   C[n, h, w, o] += pad[n, h + kh, w + kw, c] * W[kh, kw, c, o]
//   rows    (in C and the first operand):  n, h, w
//   columns (in C and the second operand): o
//   batch   (in all three): none           inner (in both operands, not in C): kh, kw, c
//
// The column side is the one that the last dimension of the output (of more than one element) runs along: its operand
// is read by whole vectors, the other by broadcasting single elements.
#pragma once

#include <string>
#include <vector>

#include "absl/status/statusor.h"
#include "ir/function.h"

namespace tilewright {

struct Contraction {
  uint32_t block = 0;
  Buffer row_operand, column_operand, output;
  DataType product_type;  // that of the sum
  // Positions in the block's iterators, in their order.
  std::vector<int> batch, rows, columns, inner;
};

// The block's iterator that moves along the last dimension of what it stores to, dimensions of one element left out. If
// several do, w * 2 + p of a phase p, it is the last one that some factors depend on and others do not. Null if there
// is none.
Var LastColumn(const BlockNode& block, const StoreNode& store, const std::vector<Expr>& factors);

// The block's contraction, or (NotFound) why it is none: the block's name and what does not match.
absl::StatusOr<Contraction> MatchContraction(const BlockRealizeNode& realize);

}  // namespace tilewright
