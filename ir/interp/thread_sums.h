// Sums that the threads of a block make together in memory of each thread: all of them get the total.
//
//   for tx in T.thread_binding(32, thread="threadIdx.x"):
//       with T.block("S"):                               S is in local memory
//           vi, vk = T.axis.remap("SR", [i, tx])
//           with T.init(): S[vi] = T.float32(0)
//           S[vi] = S[vi] + A[vi, vk]
//
// The threads of such a loop share the buffer while the loop runs.
#pragma once

#include <string>
#include <unordered_map>
#include <unordered_set>

#include "ir/stmt.h"

namespace tilewright::interp::internal {

// By the tag of the loop ("threadIdx.x"): the data pointers of the buffers that its threads sum into.
using ThreadSums = std::unordered_map<std::string, std::unordered_set<const VarNode*>>;
ThreadSums FindThreadSums(const Stmt& body);

}  // namespace tilewright::interp::internal
