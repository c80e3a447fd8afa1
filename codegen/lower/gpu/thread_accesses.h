// Accesses of the threads of a kernel, and whether two of them may meet.
//
//   S[tx] = A[tx]          a write of element tx by thread tx
//   B[tx] = S[tx ^ 1]      a read of element tx ^ 1: another thread's; they meet
//
// For flat buffers. Memory is compared by bytes, since buffers of several types may lie in one region.
#pragma once

#include <string>
#include <vector>

#include "codegen/lower/gpu/kernel_accesses.h"
#include "ir/function.h"

namespace tilewright {

struct ThreadAccess {
  const VarNode* data = nullptr;
  OwnerLevel owner = OwnerLevel::kBlock;  // of the memory: kWarp, kBlock or kDevice
  bool write = false;
  // First element and number of elements, in terms of loops; null: anywhere in the memory.
  Expr first;
  int64_t elements = 1;
  int64_t element_bytes = 1;
  std::vector<const ForNode*> loops;  // serial ones around, outermost first
  std::vector<Expr> conditions;       // under which a thread comes there
  // Written by an engine whose result is waited for before it is used (bulk_barriers.h).
  bool bulk = false;
  // Written some time before a wait that covers it.
  bool async = false;
  // Loops of which the access was in an iteration before the one that is looked at.
  std::vector<const ForNode*> earlier;
};

// The accesses of one statement without statements in it, or of an expression; thread memory is left out.
std::vector<ThreadAccess> ThreadAccessesOf(const Stmt& leaf, const BufferScopes& scopes);
std::vector<ThreadAccess> ThreadAccessesOf(const Expr& e, const BufferScopes& scopes);

// Threads of one block (of one warp for memory of a warp) of which one writes what another one accesses.
class ConflictFinder {
 public:
  // `threads`: the loops over threadIdx. `blocks`: those over blockIdx.
  ConflictFinder(std::vector<const ForNode*> threads, std::vector<const ForNode*> blocks)
      : threads_(std::move(threads)), blocks_(std::move(blocks)) {}
  // Whether `now` may meet in another thread what `before` did. True unless the contrary is proven.
  bool MayMeet(const ThreadAccess& before, const ThreadAccess& now) const;

 private:
  std::vector<const ForNode*> FreeThreads(const ThreadAccess& before, const ThreadAccess& now) const;
  bool SameThreadOnly(const ThreadAccess& before, const ThreadAccess& now,
                      const std::vector<const ForNode*>& free) const;
  bool AreApart(const ThreadAccess& before, const ThreadAccess& now) const;

  const std::vector<const ForNode*> threads_, blocks_;
};

}  // namespace tilewright
