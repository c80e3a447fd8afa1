// The right results of a workload, and how far from them a result may be.
//
// The reference is computed in double precision on the inputs as they were rounded to the data type. For an output that
// is a sum of K products it also has the sum M of their absolute values, which bounds every partial sum. A result y of
// an implementation that sums in f32, in whatever order, with or without fused multiply-add, is right when
//
//     |y - reference| <= min(K + 2, 8 sqrt(K + 2)) * 2^-24 * M              2^-11 where sums are in f16
//
// The first term is the bound that holds for any rounding errors; the second holds for K independent ones with a
// probability that lets no wrong alarm happen in practice, and is what finds a single product missing out of thousands.
// Integer results must be exact. What CBR does after the sum is done to value, magnitude and bound alike; the row
// operators have bounds of their own (row_reference.cc). Results that are requantized
// (bench/operators/requantization.h) may then differ by half a step more, those in bf16 by 2^-7 of the result and
// those of row operators in f16 by 2^-10 of it.

#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "bench/operators/operands.h"
#include "bench/operators/problem.h"
#include "codegen/runtime/tensor.h"
#include "codegen/runtime/thread_pool.h"

namespace tilewright::bench {

// The elements that are checked are `rows` x `columns` of the output; element (r, c) is at offset rows[r] + c.
struct Reference {
  std::vector<int64_t> rows;
  int64_t columns = 0;
  std::vector<double> values;
  // What errors are measured in: the sum of absolute products, or what a row operator has in its place.
  std::vector<double> magnitudes;
  // Greatest error allowed, as a multiple of the magnitude; 0 for exact.
  double tolerance = 0;
};

// Every element is computed, unless that takes more than `most_products` multiplications: then a random choice of rows
// with at least 65,536 elements together (or as many as there are).
Reference ComputeReference(const Workload& workload, const Operands& operands, runtime::ThreadPool& pool,
                           double most_products = 3e10);

// The bound of a sum with that many roundings, as a multiple of its magnitude. `unit`: half a unit in the last place of
// the type of the sum.
double SumTolerance(double roundings, double unit = 0x1p-24);

struct CheckResult {
  // Greatest |y - reference| / magnitude; infinite when an element is not a number.
  double max_relative_error = 0;
  // Describes the first element beyond the tolerance; empty when there is none.
  std::string failure;
};
CheckResult Check(const Reference& reference, const runtime::Tensor& output);

}  // namespace tilewright::bench
