// Programs in the form that schedules give them, for tests and benchmarks of code generation.
#pragma once

#include "ir/function.h"

namespace tilewright::testing {

// C[m, n] = A[m, k] * B[k, n] in f32 around a register tile of `rows` x `columns`, B packed [n / columns][k][columns]:
//
//   for j0 in T.parallel(n / columns):
//     for i0 in range(ceil(m / rows)):
//       init of C_reg
//       for k in range(k):
//         A_reg = one column of the tile of A (zero below its last row)
//         C_reg += A_reg * row of B
//       C = C_reg, above the last row of C
//
// `rows` need not divide m.
struct TiledMatmul {
  int64_t m, n, k;
  int64_t rows, columns;
};
Function MakeTiledMatmul(const TiledMatmul& shape);

}  // namespace tilewright::testing
