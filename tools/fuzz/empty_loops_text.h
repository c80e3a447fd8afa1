// Random programs with loops that may have no iteration: blocked triangles, tails of symbolic sizes, extents from
// memory, sums of n terms where n is 0.
//
//   C[vi, vj] = A[vi, vj]
//   for t in range(vi // 4):
//       C[vi, vj] = C[vi, vj] + A[vi, t]
//
// Every array is whole before such a loop changes it, so that a program is right at every size.
#pragma once

#include <cstdint>
#include <set>

#include "tools/fuzz/program_text.h"

namespace tilewright {

ProgramText MakeEmptyLoopsText(uint64_t seed, const std::set<int>& without);

}  // namespace tilewright
