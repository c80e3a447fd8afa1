// Gives copies and computation of a pipeline to threads of their own.
//
//                                             for ty in T.thread_binding(3, "threadIdx.y"):        # one warpgroup more
//   for ty in T.thread_binding(2, ...):           if ty == 2:
//       for tx in T.thread_binding(128, ...):         if tx == 0:
//           C = 0                                         for k in range(4): copy to S[k % 3]
//           for k in range(4):             =>         else:
//               if tx == 0: copy to S[k % 3]              C = 0
//               C = C + S[k % 3]                          for k in range(4): C = C + S[k % 3]
//           D = C                                         D = C
//
// Both parts are the kernel's own statements in their order, each with the loops around them: the producer has the bulk
// copies, the consumers have all else. What orders them is made by bulk_barriers.h: the producer waits until consumers
// have passed the place where the kernel would overwrite what they read, which is behind its last reader.
//
// Asked for by the annotation software_pipeline_roles of a pipelined loop. Registers move from the producer to the
// consumers (setmaxnreg).
#pragma once

#include <optional>
#include <string>
#include <vector>

#include "absl/status/statusor.h"
#include "ir/function.h"
#include "target/target.h"

namespace tilewright {

// Whether a pipeline below asks for roles.
bool AsksForRoles(const Stmt& s);

// The statements of a kernel by role.
struct WarpRoles {
  Stmt producer;   // bulk copies and the ends of their groups, by one thread
  Stmt consumers;  // all else
};
// `threads`: the loops over threads around `body`. InvalidArgument: a loop or branch around copies depends on what
// consumers compute.
absl::StatusOr<WarpRoles> SplitRoles(const Stmt& body, const std::vector<const ForNode*>& threads);

// How a kernel's threads grow by the producer's.
struct ProducerThreads {
  std::string tag;        // of the loop that becomes longer by one; there may be none yet
  int64_t first = 1;      // the index of the producer in it
  int64_t consumers = 0;  // threads
  // Registers of a thread; 0: those that it begins with are as many.
  int producer_registers = 0, consumer_registers = 0;
};
// InvalidArgument: warpgroups are not slices of the block.
absl::StatusOr<ProducerThreads> PlanProducer(const std::vector<const ForNode*>& threads, const GpuTarget& gpu);

}  // namespace tilewright
