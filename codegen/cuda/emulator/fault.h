// What the emulator finds wrong with a kernel, as a value: nothing is printed, nothing ends the process.
#pragma once

#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

namespace tilewright::emulator {

struct Dim {
  uint32_t x = 1, y = 1, z = 1;
  uint64_t Count() const { return uint64_t{x} * y * z; }
  friend bool operator==(const Dim&, const Dim&) = default;
};

enum class FaultKind : uint8_t {
  kRace,         // two accesses that nothing orders, one of them a write
  kUnfenced,     // an asynchronous access of a store that no proxy fence followed
  kUnwritten,    // a read of memory that was never written
  kOutOfBounds,  // an access outside of shared memory or of its array, or a write of an input
  kMisaligned,
  kBarrier,     // a named or cluster barrier used wrongly
  kMbarrier,    // an mbarrier used wrongly
  kDivergence,  // lanes of one warp (threads of one warpgroup) at different instructions
  kDescriptor,  // an operand descriptor of wgmma that hardware would misread
  kTensorMap,   // a bulk copy that its tensor map does not allow
  kRegisters,   // registers touched while wgmma uses them; setmaxnreg
  kUnfinished,  // asynchronous work that nobody waited for when the block ended
  kArguments,   // an argument outside of what the instruction takes
  kDeadlock,    // nobody can run
  kBudget,      // more instructions than allowed
  kTrap,        // an assertion, a trap, a division by zero
  kLaunch,      // the launch itself is not possible
};
std::string_view ToString(FaultKind kind);

// One side of a race.
struct Party {
  std::string who;   // "thread 5", "wgmma of warpgroup 1", "bulk copies of the mbarrier at 65536"
  std::string what;  // the instruction: "ldmatrix", "bulk load"
  Dim block{0, 0, 0};
  std::string where;     // "softmax.cu:17"; empty for kernels whose text has no places
  bool of_block = true;  // of this launch
};

struct Fault {
  FaultKind kind = FaultKind::kRace;
  std::string kernel;
  Party self;         // who was found
  int thread = -1;    // within the block, -1 if none
  std::string place;  // "shared byte 4096", "C[17]"; empty where there is none
  Party other;        // of a race, an unfenced or an in-flight access; `who` is empty if there is no other
  std::string message;
  uint64_t count = 1;  // alike ones are kept once
  int watched = -1;    // the index of the other access in LaunchOptions::watched
};
std::string ToString(const Fault& fault);

struct Counters {
  uint64_t switches = 0;         // between threads
  uint64_t instructions = 0;     // calls of the emulator: memory accesses, barriers, copies, matrix instructions
  uint64_t barriers = 0;         // completed barriers of blocks, warps, clusters and phases of mbarriers
  uint64_t shuffles = 0;         // of warps
  uint64_t matrix_moves = 0;     // 8x8 matrices of ldmatrix and stmatrix
  uint64_t mma = 0;              // mma.sync and wmma, of warps
  uint64_t wgmma = 0;            // of warpgroups
  uint64_t multiplications = 0;  // multiply-adds of mma, wmma and wgmma
  uint64_t async_copies = 0;     // cp.async, of threads
  uint64_t bulk_copies = 0;      // to each block that receives one
  uint64_t bulk_bytes = 0;
  uint64_t shared_accesses = 0, global_accesses = 0;  // of threads, by load, store, atomic
  uint64_t global_bytes = 0;                          // by those and cp.async
  uint64_t atomics = 0;
  uint64_t bank_conflicts = 0;  // extra cycles of accesses of shared memory
  uint64_t checks = 0;          // cells of shadow memory
};

}  // namespace tilewright::emulator
