// Memory that threads or blocks have of their own, touched in several nests of loops over them.
//
//   L = T.alloc_buffer((32,), scope="local")
//   for tx in T.thread_binding(32, "threadIdx.x"): L[tx] = A[tx]
//   for ty in T.thread_binding(32, "threadIdx.x"): B[ty] = L[31 - ty]     refused: thread 31 - ty has that element
//
// The nests are one kernel whose threads have one index, and a thread sees what it wrote itself: what an iteration
// reads, no other one may write (verify/structure/own_memory.h). Inside of one nest this holds of what the iteration
// writes before it reads, which verify/regions/region_cover.h asks for.
#pragma once

#include <vector>

#include "verify/threads/touches.h"

namespace tilewright {

struct SeparateNests {
  const ForNode* loop;             // the longest of those with its tag, which stands for them
  std::vector<Touch> touches;      // of one buffer, in terms of that loop, outside of loops that are not the kernel's
  const Touch* outside = nullptr;  // a read in no loop with the tag, or in one that cannot be compared
};

std::vector<SeparateNests> FindSeparateNests(const std::vector<Touch>& touches);

}  // namespace tilewright
