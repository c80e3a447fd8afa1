// Whether products and sums of integers that a program does not compute as they stand stay in their type.
//
//   C[vi] + (A[vi, vk] - 1000000) * B[vk]         in int32; A, B of int8, 64 terms: A * B adds up to at most 64 * 2^14,
//                                                 but 1000000 times the sum of B may be more than 2^31
//
// Signed arithmetic of 32 and 64 bits that overflows is an error, but for what updates an element (docs/numerics.md). A
// primitive that computes other products, and other sums than updates, asks here first. Elements have any value of
// their type. Narrower and unsigned types wrap, so that nothing leaves them.
#pragma once

#include <optional>
#include <vector>

#include "ir/arith/bounds.h"
#include "ir/function.h"

namespace tilewright {

class IntegerRange {
 public:
  // For arithmetic in `type` inside of a block with these iterators.
  IntegerRange(DataType type, const std::vector<IterVar>& iterators);

  bool Wraps() const { return wraps_; }
  // The values of the product of the factors, multiplied from the left; nothing where it, or a product on the way, is
  // not known to stay in the type. Each factor by itself is computed by the program too, and does.
  std::optional<arith::Bounds> OfProduct(const std::vector<Expr>& factors) const;
  // What sums of terms with these values, over all of the block's reduce iterators and from 0, come to, also before
  // the last term.
  std::optional<arith::Bounds> OfSum(const arith::Bounds& term) const;
  // The values that stay in the type; nothing where some may not.
  std::optional<arith::Bounds> Inside(const arith::Bounds& values) const;

 private:
  const DataType type_;
  const std::vector<IterVar> iterators_;
  const bool wraps_;
};

}  // namespace tilewright
