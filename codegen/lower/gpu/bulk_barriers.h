// Makes the objects by which threads wait for bulk copies.
//
//                                                    full = T.allocate([3], "uint64", "shared")     # one for each group
//                                                    if tx == 0: init(full[0], 1), ...              # that may be in flight
//   if tx == 0: T.cuda.tma_load(S, map, x, y)        if tx == 0:
//                                                        T.cuda.mbarrier_expect_tx(full[groups % 3], bytes)
//                                                =>      T.cuda.tma_load(S, map, full[groups % 3], x, y)
//   T.ptx_commit_group()                             if tx == 0: T.cuda.mbarrier_arrive(full[groups % 3])
//                                                    groups = groups + 1
//   T.ptx_wait_group(2)                              while waited + 2 < groups:
//                                                        T.cuda.mbarrier_wait(full[waited % 3], waited // 3 % 2)
//                                                        waited = waited + 1
//
// Groups of copies are those of the pipeline (software_pipeline.h), counted by each thread. A group is done when the
// first thread has closed it and all bytes that it expects have arrived. Behind its wait a group's data is visible to
// all threads, so that no barrier of the block stands there; one stands before a copy that overwrites what threads read
// (place_barriers.h), which also keeps the first thread from using a barrier for a second group too early.
#pragma once

#include "absl/status/statusor.h"
#include "ir/function.h"
#include "target/target.h"

namespace tilewright {

// A pipeline with roles (warp_roles.h) has a producer that copies: for each group there is a second barrier, "empty",
// by which consumers let it copy again. They arrive where the kernel closes the group that copies into the same memory;
// all that reads it lies before. Where blocks of a cluster copy for each other (multicast.h), the consumers of all of
// them arrive at the producer of each, and barriers are ready in all blocks before one copies. A producer waits for all
// consumers before it closes a group that they make room for: nobody arrives at a block that has ended.
//
// Consumers arrive behind products that follow the end of a group: they release what earlier products read
// (kEarlierRelease), which are done first (order_async.h), and the latest go on.
//
// A pipeline with roles may run several times, in a loop around it. That would let the producer copy again when
// consumers come to the next run. There they release each group behind the products of the next one, and the last
// behind the pipeline: the producer begins the next run meanwhile. Such arrivals may be the last that blocks of a
// cluster do to each other, so that all of them end together.
//
// After SelectInstructions. InvalidArgument: a number of groups to wait for is not a constant.
absl::StatusOr<Function> MakeBulkBarriers(const Function& function, const GpuTarget& gpu);

}  // namespace tilewright
