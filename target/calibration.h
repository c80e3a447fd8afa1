// Measures on this machine what a description of it needs and cpuid does not say: rates of the multiply-add units, how
// fast each level of memory is read, what a parallel loop costs. `tilewright target --calibrate` writes the result.
//
//   Target mine = Calibrate(HostTarget(), [] { return SecondsOfAnEmptyParallelLoop(); });
//   WriteFile("mine.json", TargetToJson(mine));
#pragma once

#include <functional>

#include "target/target.h"

namespace tilewright {

// `host`, a CPU, with what was measured in place of its clock, its f32 unit, the speed of its levels and of main
// memory, and the cost of a parallel loop; units of other types are as many times faster as they were. Takes some
// seconds, and wants the machine for itself. `fork_join_seconds`: runs an empty parallel loop on all cores and returns
// what it took.
Target Calibrate(const Target& host, const std::function<double()>& fork_join_seconds);

}  // namespace tilewright
