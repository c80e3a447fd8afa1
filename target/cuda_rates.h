// Rates and latencies that NVIDIA GPUs of compute capability 8.0 to 9.0 share, for models of time; measured on an H200
// (docs/h200.md). What differs between GPUs is in Target.
#pragma once

namespace tilewright::cuda {

// Instructions of warps that a core starts per cycle: one by each of its schedulers.
inline constexpr double kWarpInstructionsPerCycle = 4;
// Results per cycle and core of the unit for exponentials, roots and quotients.
inline constexpr double kSpecialPerCycle = 16;
// Bytes per cycle and core of shared memory and of the first cache level, which are one unit.
inline constexpr double kSharedBytesPerCycle = 128;
// Bytes per cycle that a core reads from L2 where the target does not say.
inline constexpr double kL2BytesPerCycle = 40;
// Bytes of global memory that a request fetches at least.
inline constexpr double kSectorBytes = 32;
// Blocks that a core runs at the same time at most, and bytes of shared memory that the system takes of each.
inline constexpr double kBlocksPerCore = 32, kSystemSharedBytes = 1024;
// Cycles until a load from memory arrives, and one from shared memory.
inline constexpr double kMemoryLatency = 800, kSharedLatency = 30;
// Cycles until a sum of a matrix instruction of a warp can be added to.
inline constexpr double kMatrixLatency = 24;
// Cycles of a barrier of a block, and of an exchange between lanes.
inline constexpr double kBarrierCycles = 40, kShuffleCycles = 30;

}  // namespace tilewright::cuda
