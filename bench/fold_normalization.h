// The normalization of CBR done ahead of time.
#ifndef TILEWRIGHT_BENCH_FOLD_NORMALIZATION_H_
#define TILEWRIGHT_BENCH_FOLD_NORMALIZATION_H_

#include "absl/status/statusor.h"
#include "bench/operands.h"
#include "bench/problem.h"

namespace tilewright::bench {

// (sum + bias) * scale + offset is a convolution with scaled weights and one bias, all of them constant. Gives the
// operands with such weights; the first row of the parameters is that bias.
absl::StatusOr<Operands> FoldNormalization(const Workload& workload, const Operands& operands);

}  // namespace tilewright::bench

#endif  // TILEWRIGHT_BENCH_FOLD_NORMALIZATION_H_
