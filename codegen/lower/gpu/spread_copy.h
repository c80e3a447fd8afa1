// The threads of a block make a copy together.
//
//   with T.block("A_shared"):                         with T.block("A_shared"):
//       v0 = T.axis.spatial(2, bx)                        v0 = T.axis.spatial(2, bx)
//       T.block_attr({"auto_copy": True})     =>          for e in range(6):
//       for i, j in T.grid(8, 24):                            S[(e * 32 + tx) // 24, (e * 32 + tx) % 24] =
//           S[i, j] = A[v0 * 8 + i, j]                            A[v0 * 8 + (e * 32 + tx) // 24, (e * 32 + tx) % 24]
//
// Threads that follow each other copy elements that do.
#pragma once

#include <cstdint>
#include <optional>
#include <vector>

#include "ir/stmt.h"

namespace tilewright {

// One dimension of the threads that copy: which thread this is, and how many there are.
struct ThreadAxis {
  Expr index;
  int64_t extent;
};

// `body`: serial loops around statements that do not depend on the thread. `threads`: the innermost last. Nothing where
// the loops do not begin at 0 or depend on each other.
std::optional<Stmt> SpreadCopy(const Stmt& body, const std::vector<ThreadAxis>& threads, uint32_t* next_id);

}  // namespace tilewright
