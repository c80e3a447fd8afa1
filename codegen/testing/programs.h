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

// A convolution over one image with channels last, stride 1, and padding that keeps the size: a tile of `pixels` x
// `columns` in registers, weights packed [out / columns][kernel][kernel][in][columns], loops over tiles, kernel rows
// and columns and input channels around it; what lies outside of the image is 0 by the condition of the input's copy:
//
//   for co in T.parallel(out / columns):
//     for h, w0 in T.grid(size, size / pixels):
//       for kh, kw, ci in T.grid(kernel, kernel, in):
//         A_reg[...] = T.if_then_else(inside, A[h + kh - pad, w0 * pixels + w1 + kw - pad, ci], 0)
//         C_reg += A_reg * W
struct TiledConv {
  int64_t size, in, out, kernel;
  int64_t pixels, columns;
};
Function MakeTiledConv(const TiledConv& shape);

}  // namespace tilewright::testing
