// For tests: a product of matrices, and the schedules by which users of TVM bring it to tensor cores, for any row of
// the instruction table of family "mma". Tiles of 32 x 32 by 2 x 2 warps, operands staged in shared memory.
#pragma once

#include <string>

#include "intrin/instructions.h"

namespace tilewright::testing {

struct TensorCoreProduct {
  const MachineInstruction* row;
  bool a_by_columns = false, b_by_columns = false;
  std::string scope = "shared";  // of the copies of operands
  std::string pipeline = {};     // lines about k0, which copies the operands
};

// C[m, n] += A[m, k] * B[k, n], where sums start at 0.
std::string ProgramOf(const TensorCoreProduct& product, int m = 64, int n = 64, int k = 64);

// By the intrinsics wmma_...: fragments with the indices of a tile.
std::string WmmaSchedule(const TensorCoreProduct& product);
// By the intrinsics mma_...: memory of the warp, in the layout of the intrinsics. A is stored by its rows, unless it is
// of 16 bits.
std::string MmaSchedule(const TensorCoreProduct& product);
// By the intrinsics mma_..._m16n8k8_...: small tiles. Both operands are stored by their rows.
std::string M16n8k8Schedule(const TensorCoreProduct& product);

}  // namespace tilewright::testing
