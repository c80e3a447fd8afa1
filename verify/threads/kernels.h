// The launches of a program: each outermost loop that is bound to a thread, with all below it.
//
//   for bx in T.thread_binding(8, thread="blockIdx.x"):            one kernel
//       for tx in T.thread_binding(32, thread="threadIdx.x"): ...
//       for tx in T.thread_binding(32, thread="threadIdx.x"): ...  the same threads
//   for bx in T.thread_binding(4, thread="blockIdx.x"): ...        another one
#pragma once

#include <cstdint>
#include <map>
#include <string>
#include <vector>

#include "ir/function.h"

namespace tilewright {

struct BoundLoop {
  const ForNode* loop;
  std::vector<const ForNode*> around;  // bound loops around it, outermost first
};

struct Kernel {
  const ForNode* root;
  std::vector<BoundLoop> loops;  // in the order of the program, the root first
  // The first block in it that the lanes of a warp run together, or null: one with the annotation warp_execution, or
  // one that calls an instruction of warps.
  const BlockNode* warp_block = nullptr;

  // The greatest constant extent of a tag; 1 when it is not bound.
  int64_t Extent(const std::string& tag) const;
  // Threads of a block. A warp that no loop over threadIdx.x starts counts too.
  int64_t Threads(int warp_size) const;
};

std::vector<Kernel> FindKernels(const Function& function);

// An instruction that all lanes of a warp execute together: wmma, mma, ldmatrix, shuffles.
bool IsWarpInstruction(const std::string& call);
bool RunsAsWarp(const BlockNode& block);

}  // namespace tilewright
