// Random primitives of GPUs on a program that nobody scheduled: what people do by hand, in any combination.
#pragma once

#include "schedule/core/random.h"
#include "schedule/recorder/schedule.h"

namespace tilewright::fuzz {

// Each block directly in the root block: loops are fused, split and reordered; some become blocks and threads, those
// that reduce too; producers and consumers are computed at loops, operands staged in shared memory, results in memory
// of threads; what is innermost becomes vectors or is unrolled. Steps that are refused are left out.
void ApplyRandomBindings(Schedule& sch, Random& random);

}  // namespace tilewright::fuzz
