// Reductions that threads of a GPU compute together.
//
//   for tx in T.thread_binding(32, thread="threadIdx.x"):
//       with T.block("B"):
//           vi, vk = T.axis.remap("SR", [i, tx])      B sums over vk, of which each thread has one value
//           with T.init(): B[vi] = 0
//           B[vi] = B[vi] + A[vi, vk]
//
// The program means the sum in the order of the iterations. Code in which the threads run at the same time has to
// combine what they computed; without that it is a race.
#pragma once

#include <string>
#include <unordered_set>
#include <vector>

#include "ir/function.h"

namespace tilewright {

struct ThreadReduction {
  const BlockNode* block;  // it has an init
  std::string iterator;    // the name of its reduce iterator
  std::string thread_tag;  // of the loop that the iterator depends on: "threadIdx.x"
};

// In the order of the program, each block and iterator once. Virtual threads run in turn and do not count.
std::vector<ThreadReduction> FindThreadReductions(const Function& function);

// The loops that are not bound to threads and that such a reduction goes on over: k of `vk = k * 32 + tx`.
std::unordered_set<const ForNode*> LoopsOfThreadReductions(const Function& function);

// "block B reduces over vk, which depends on threadIdx.x"
std::string ToString(const ThreadReduction& reduction);

}  // namespace tilewright
