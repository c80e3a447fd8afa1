// Raw pointers, as people write them in CUDA C++: one address space that holds shared memory, local and global memory.
//
// Shared memory lies in a *window* of addresses that nobody may touch directly: its first part is the block's own,
// whichever block runs, and those after it are the blocks of the cluster. So a pointer to a shared variable is the same
// constant in all blocks. Local memory is the stack of the thread; all else are the arrays of GlobalMemory.
//
//   float* p = ...;                                  // of a kernel
//   auto* at = static_cast<float*>(Access(p, 4, /*write=*/false));
//   float value = *at;                               // zero where the access was faulty
#pragma once

#include <cstddef>
#include <cstdint>
#include <string>

#include "codegen/cuda/emulator/device/emulated_wgmma.h"
#include "codegen/cuda/emulator/fault.h"

namespace tilewright::emulator {

// Bytes of the window for each block: one byte of an address within shared memory is the block's rank.
inline constexpr uint64_t kWindowBytes = uint64_t{1} << 24;
// Arrays of global memory have this much room before and behind them, so that a pointer that leaves one is told.
inline constexpr uint64_t kRoomOfArray = uint64_t{1} << 34;

// The beginning of the window, the same for the life of the process.
uintptr_t SharedWindow();
// What stands at a byte of the block's own shared memory, as a pointer of the kernel.
uintptr_t GenericOfShared(uint32_t byte);
// An address of shared memory as the emulator's instructions take it (rank << 24 | byte), as a generic pointer.
uintptr_t GenericOfAddress(uint32_t address);

enum class Space : uint8_t { kNone, kShared, kLocal, kGlobal };
struct GenericPlace {
  Space space = Space::kNone;
  uint32_t shared = 0;    // rank << 24 | byte
  void* array = nullptr;  // of GlobalMemory
};
// The memory that a pointer of the running thread points into. A fault, and kNone, if there is none.
GenericPlace Resolve(const void* pointer, uint32_t bytes);
// The array of global memory that a pointer is in or nearest to; null where there is none nearby.
void* NearestArray(const void* pointer);
// The same as Resolve without a fault.
Space SpaceOf(const void* pointer);

// Checks an access of one instruction. Never null: the bytes behind the pointer or, where the access is faulty, zeros
// to read or room to write. At most kMostAccess bytes. Volatile accesses race with ordinary ones only.
inline constexpr uint32_t kMostAccess = 16;
void* Access(const void* pointer, uint32_t bytes, bool write, bool is_volatile = false);
// The same for a copy of any length, in accesses of `alignment` bytes (at most 16).
void* AccessRun(const void* pointer, uint64_t bytes, uint32_t alignment, bool write);

// A product of the warpgroup is issued that adds to the register; an ordinary instruction reads or writes it.
void UseSum(tw::emu::AccumulatorState& state);
void TouchSum(tw::emu::AccumulatorState& state);

// The next turn of a loop: it counts as an instruction, and now and then others run.
void TurnOfLoop();
// Others run: the thread has read what it may be waiting for.
void LetOthersRun();
// The lanes of the warp that are here together, as __activemask has it.
uint32_t ActiveLanes();
// A fault of the instruction that runs, `doing`.
void ReportHere(FaultKind kind, const char* doing, std::string message);
[[noreturn]] void EndKernel();

}  // namespace tilewright::emulator
