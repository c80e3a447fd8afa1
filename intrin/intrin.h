// Tensor intrinsics: what an instruction (or a micro-kernel) computes, as data.
//
// An intrinsic has two functions with the same parameters. The description says what is computed, as a block that
// schedules match against; the implementation says how, in terms the back end expands: vector and unrolled loops over
// registers, builtin calls, or a call of an external C function. Both are ordinary programs, so a test runs one against
// the other.
//
//   description                                          implementation
//   for i, j, k in T.grid(12, 32, 1):                    for k in T.unroll(1):
//       with T.block("tile"):                                for i, v in T.grid(12, 2):   # unrolled
//           ...                                                  for l in T.vectorized(16):
//           C[vi, vj] = C[vi, vj] + A[vi, vk] * B[vk, vj]            C[i, v * 16 + l] = C[...] + A[i, k] * B[k, ...]
#pragma once

#include <string>
#include <vector>

#include "intrin/instructions.h"
#include "ir/function.h"

namespace tilewright {

struct TensorIntrin {
  std::string name;
  Function description;
  Function implementation;
  std::vector<std::string> features;                // of the target, all required; LLVM's names
  const MachineInstruction* instruction = nullptr;  // that it is made of; null for a user's and for those of several
};

}  // namespace tilewright
