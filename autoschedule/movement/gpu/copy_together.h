// Copies that the threads of a block make together.
//
//   for i, j in T.grid(16, 32):           for f in range(2):
//       block copy                  ->        for y in T.thread_binding(4, "threadIdx.y"):
//                                                 for x in T.thread_binding(16, "threadIdx.x"):
//                                                     for v in T.vectorized(4): block copy
//
// Neighbouring threads copy neighbouring vectors.
#pragma once

#include <cstdint>
#include <string>
#include <utility>
#include <variant>
#include <vector>

#include "autoschedule/movement/auto_copy.h"
#include "ir/stmt.h"
#include "schedule/recorder/schedule.h"

namespace tilewright {

// Axes of threads and how many there are along each, the innermost last.
using ThreadAxes = std::vector<std::pair<std::string, int64_t>>;

// `vector`: elements that a thread takes at once.
Outcome<std::monostate> CopyTogether(Schedule& sch, const AutoCopy& copy, const ThreadAxes& threads, int64_t vector);

// Elements along the innermost iterator of a group that lie side by side where the block reads (or stores to) the
// buffer, out of powers of two that divide `tile` and fit into an access of
// `most_bytes`.
int64_t VectorAlong(const BlockNode& block, const Buffer& buffer, const std::vector<int>& group, int64_t tile,
                    int64_t most_bytes, bool stored = false);

}  // namespace tilewright
