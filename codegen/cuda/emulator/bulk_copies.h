// What the machine asks of the instructions: work that goes on by itself, and texts for reports. Internal to the
// emulator.
#pragma once

#include <string>

#include "codegen/cuda/emulator/state.h"

namespace tilewright::emulator {

class Machine;

// Completes a copy to shared memory that is under way, if there is one: the oldest, or with a seed any.
bool FinishABulkLoad(Machine& machine);
// Bytes of a phase of an mbarrier have come.
void CompleteBytes(Machine& machine, Mbarrier& barrier, int64_t bytes);

// Lets everybody pass who waits at the barrier; at that of the cluster.
void CompleteBarrier(Machine& machine, NamedBarrier& barrier);
void CompleteClusterBarrier(Machine& machine, Cluster& cluster);

// Reports what a thread that ends has begun and not waited for.
void ReportUnfinished(Machine& machine, Thread& thread);

// What a thread waits at.
std::string DescribeWait(const Thread& thread);

}  // namespace tilewright::emulator
