// mbarriers, for the instructions that arrive at them. Internal to the emulator.
#pragma once

#include <cstdint>

#include "codegen/cuda/emulator/machine.h"

namespace tilewright::emulator {

// The initialized mbarrier at a shared address, which may be another block's; null (and a fault) if there is none, or
// if its initialization is not known to the thread.
Mbarrier* FindMbarrier(Machine& machine, uint32_t address, Op op);
void ArriveAtMbarrier(Machine& machine, Mbarrier& barrier, uint32_t count);
void ExpectBytes(Machine& machine, Mbarrier& barrier, uint32_t bytes);

}  // namespace tilewright::emulator
