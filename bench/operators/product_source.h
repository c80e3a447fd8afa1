// Every operator that sums products, seen as a family of matrix products.
//
// The outputs form `groups` x `rows_per_group` rows of `columns` adjacent elements each. An output row is a vector of
// `depth` inputs, which `GatherRow` collects, times a matrix [depth, columns] of the group, which `GatherMatrix`
// collects. A convolution has one group per channel group and one row per output position; zeroes stand for padding.
#pragma once

#include <cstdint>
#include <memory>

#include "bench/operators/problem.h"

namespace tilewright::bench {

class ProductSource {
 public:
  virtual ~ProductSource() = default;

  int64_t groups = 1, rows_per_group = 0, depth = 0, columns = 0;

  virtual void GatherRow(int64_t group, int64_t row, const double* activation, double* out) const = 0;
  // Element [k, c] of the group's matrix.
  virtual double MatrixElement(int64_t group, int64_t k, int64_t c, const double* weight) const = 0;
  // Offset of the first element of the output row in the output tensor.
  virtual int64_t OutputOffset(int64_t group, int64_t row) const = 0;
};

// Null for a problem that is no sum of products.
std::unique_ptr<ProductSource> MakeProductSource(const Problem& problem);

}  // namespace tilewright::bench
