// Which element of a matrix tile each lane of a warp holds, for the instructions mma.sync and ldmatrix.
//
// A tile of A has M = 16 rows, one of B 16 columns (two instructions of 8), one of the sums 16 x 16 (two of 16 x 8).
// The registers of a lane hold elements e = 0, 1, ... of the tile; `g` is lane // 4, `t` is lane % 4:
//
//   16 bits, K = 16:   A(g + 8 (e / 2 % 2), 2 t + e % 2 + 8 (e / 4))
//                      B(2 t + e % 2 + 8 (e / 2 % 2), g + 8 (e / 4))
//   8 bits, K = 16:    A(g + 8 (e / 4), 4 t + e % 4)
//                      B(4 t + e % 4, g + 8 (e / 4))
//   8 bits, K = 32:    A(g + 8 (e / 4 % 2), 4 t + e % 4 + 16 (e / 8))
//                      B(4 t + e % 4 + 16 (e / 4 % 2), g + 8 (e / 8))
//   sums:              C(g + 8 (e / 2 % 2), 2 t + e % 2 + 8 (e / 4))
//
// This is the one place that says so for intrinsics; codegen/cuda/emulator/fragments.h says it for the emulator, and
// their tests meet.
#pragma once

#include <string>

namespace tilewright {

enum class FragmentOperand { kA, kB, kSum };

struct FragmentMap {
  std::string row, column;  // of element `e` of lane `tx`, as script text; of B: k, n
  int elements = 8;         // of a lane
};

// `bits`: of an operand's elements, `depth`: elements of K; of the sums they do not matter.
FragmentMap FragmentOf(FragmentOperand operand, int bits, int depth = 16);

}  // namespace tilewright
