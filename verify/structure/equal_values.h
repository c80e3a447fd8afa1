// Blocks whose instances write the same value wherever they write the same element.
//
//   for i in range(4):                          tiles of six, four apart: instances 0 and 1 both write D[4] and D[5],
//       with T.block("copy"):                   with A[4] and A[5]
//           vi = T.axis.spatial(4, i)
//           for j in range(6):
//               D[vi * 4 + j] = A[vi * 4 + j]
//
// Copies of tiles with borders are like that. Such instances may repeat each other's work in any order, though not at
// the same time.
#pragma once

#include "ir/stmt.h"

namespace tilewright {

// True when every value that the block stores is a function of the element it is stored to: iterators and loops occur
// in it only in what the indices of that element tell, and one store alone writes each buffer. D[v * 4 + j] tells
// v * 4 + j, and v and j too where j is below 4. The block reads nothing that it writes.
bool WritesValuesOfElements(const BlockNode& block);

}  // namespace tilewright
