// Names that a program's structure decides, so that what is known of a program does not depend on what its functions,
// buffers and blocks are called.
//
//   def scores(Q: ..., S: ...):                def main(a0: ..., a1: ...):
//       with T.block("QK"):              ->        with T.block("b0"):
//
// A record holds the workload and the trace of the canonical program: Replay translates, so that the schedule that it
// gives is one of the program as it was named.
#pragma once

#include <cstdint>

#include "absl/status/statusor.h"
#include "ir/function.h"
#include "schedule/core/trace.h"
#include "schedule/recorder/schedule.h"

namespace tilewright {

class IntrinRegistry;

// The module with its function Main() called "main" and the one that packs for it "main_prepack", others "f0", "f1",
// and so on in their order; buffers "a0", "a1" and blocks "b0", "b1" in the order of the text; the root block "root".
Module CanonicalNames(const Module& module);

// What the program computes, whatever its names: the structural hash of the canonical module.
uint64_t WorkloadOf(const Module& module);

// The schedule that a trace of `from` makes of `to`, which differs in names only: an instruction that names a block or
// a function names the one at the same place of `to`. An error where the trace is refused, or leads to other programs:
// where several blocks of `to` have one name, for example. `intrins` must outlive the result and may be null.
absl::StatusOr<Schedule> ReplayRenamed(const Trace& trace, const Module& from, const Module& to,
                                       IntrinRegistry* intrins);

}  // namespace tilewright
