// Merge: loops side by side become one, with the bodies of all of them.
//
//   for i, j in T.grid(16, 8):                       for i_m, j_m in T.grid(16, 8):
//       with T.block("B"):                               with T.block("B"):
//           vi, vj = T.axis.remap("SS", [i, j])              vi, vj = T.axis.remap("SS", [i_m, j_m])
//           B[vi, vj] = A[vi, vj] + T.float32(1)             B[vi, vj] = A[vi, vj] + T.float32(1)
//   for i, j in T.grid(16, 8):                ->         with T.block("D"):
//       with T.block("D"):                                   vi, vj = T.axis.remap("SS", [i_m, j_m])
//           vi, vj = T.axis.remap("SS", [i, j])              D[vi, vj] = B[vi, vj] * T.float32(2)
//           D[vi, vj] = B[vi, vj] * T.float32(2)
//
// of the two loops j: the loops between the given ones and what holds all of them are merged too. The merged loops are
// named after the first one's, with "_m". Statements between the nests come before the merged loop where a later nest
// needs them, and else behind it.
//
// Why: what one nest computes is used by the next while it is near.
//
// Conditions: at least two loops, in the same scope, none inside of another, as deep as each other below what holds
// them all; on the way down to each there is nothing but loops; corresponding loops have equal extents, and are bound
// to the same thread or to none; none has annotations, or does not start at 0. They come in the order of the program.
// Between the nests stand only loops and blocks, none of which needs an earlier nest while a later one needs it. An
// iteration of the merged loop uses nothing that another iteration writes (schedule/program/loop_independence.h), nor
// the result of a reduction that the loop carries.
//
// The new loops are bound to the thread of the merged ones. Others are serial, whatever kinds the merged ones have:
// what ran at once need not together.
//
// Ids: the merged loops' die; the new loops', the innermost of which is returned, are born; all others survive.
#pragma once

#include <cstdint>
#include <vector>

#include "ir/function.h"
#include "schedule/core/refusal.h"

namespace tilewright {

struct MergeResult {
  Function function;
  uint32_t loop = 0;
};

Outcome<MergeResult> Merge(const Function& function, const std::vector<uint32_t>& loops);

}  // namespace tilewright
