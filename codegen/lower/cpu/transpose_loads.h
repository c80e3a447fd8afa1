// Adjacent column vectors in straight-line code are loaded row by row and transposed in registers.
//
//   B[0:4] = A[T.Ramp(i, 100, 4)]                       row_0 = A[i:i + 4]
//   B[64:68] = A[T.Ramp(i + 1, 100, 4)]                 row_1 = A[i + 100:i + 104]
//   B[128:132] = A[T.Ramp(i + 2, 100, 4)]      =>       ...
//   B[192:196] = A[T.Ramp(i + 3, 100, 4)]               pair_0 = T.Shuffle([row_0, row_2], [0, 4, 1, 5])
//                                                       ...
//                                                       B[0:4] = T.Shuffle([pair_0, pair_2], [0, 4, 1, 5])
//
// Without this each lane is loaded by itself. A register holds several parts of 128 bits, each of another row; pairs of
// registers are interleaved within these parts, for which one instruction does each step on all targets: log2(n) of
// them for a column, where a part has n elements. Columns beyond the last whole part are those of a part that ends with
// them, and of vectors that are masked from a constant lane on the last row is loaded in place of those behind it:
// nothing is loaded that the columns do not load. Loads below conditions stay as they are.
//
// Columns of rows that are a few elements long, all elements of which are loaded, are picked from the same vectors:
//
//   B[0:4] = A[T.Ramp(i, 2, 4)]           rows = A[i:i + 4]; rows_1 = A[i + 4:i + 8]
//   B[4:8] = A[T.Ramp(i + 1, 2, 4)]   =>  B[0:4] = T.Shuffle([rows, rows_1], [0, 2, 4, 6])
//                                         B[4:8] = T.Shuffle([rows, rows_1], [1, 3, 5, 7])
#pragma once

#include "ir/function.h"

namespace tilewright {

Function TransposeLoads(const Function& function);

}  // namespace tilewright
