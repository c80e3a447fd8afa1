// Instances of a block that differ in a spatial iterator write different elements.
//
//   with T.block("B"):
//       vi = T.axis.spatial(16, i)
//       T.writes(B[vi // 2])
//       B[vi // 2] = A[vi]                 refused: vi = 0 and vi = 1 both write B[0]
//
// Declaring an iterator spatial allows its loop to run in parallel, so two instances must not write the same element.
// For every write region, the map from the spatial iterators (and a position inside of the region) to elements must be
// injective where the block's predicate holds (fused loops with gaps: v // 3 * 2 + v % 3 where v % 3 < 2; rotations
// (v + s) % n by any s that is the same for all); iterators with one value do not count, reduce iterators are held
// fixed. Where it is not known to be, few instances are counted (verify/structure/instances.h), or small programs run
// (verify/structure/exact_run.h). Or else they write the same value there (verify/structure/equal_values.h): then no
// order of theirs is wrong, and verify/threads/races.h sees that they do not run at once. Places that are read from
// memory are assumed to differ, and said so. A block in which the threads that run it meet declares what all of them do
// together, so that its regions say nothing of one instance: what threads write at the same time is the business of
// verify/threads/races.h alone.
#pragma once

#include "verify/structure/diagnostic.h"

namespace tilewright {

// The name of the check in its diagnostics.
inline constexpr const char* kSpatialIterators = "spatial iterators";

// `repeats_writes` (may be null) gets whether instances of some block write the same value to the same element.
Diagnostics CheckSpatialIterators(const Function& function, bool* repeats_writes = nullptr);

}  // namespace tilewright
