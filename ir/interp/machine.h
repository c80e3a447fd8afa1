// Runs bytecode: one run of one program.
#pragma once

#include <deque>
#include <map>
#include <memory>
#include <vector>

#include "ir/interp/bytecode.h"
#include "ir/interp/shadow.h"

namespace tilewright::interp::internal {

// An array given by the caller or memory that the program allocated.
// A handle names a place in memory: which memory, and the offset in bytes.
inline constexpr int kHandleBits = 40;
inline int64_t MakeHandle(int32_t memory) { return int64_t{memory} << kHandleBits; }
inline int32_t MemoryOf(int64_t handle) { return static_cast<int32_t>(handle >> kHandleBits); }
inline int64_t OffsetOf(int64_t handle) { return handle & ((int64_t{1} << kHandleBits) - 1); }

struct Memory {
  std::byte* data = nullptr;
  int64_t bytes = 0;
  std::unique_ptr<std::byte[]> owned;  // with room to align
  int64_t capacity = 0;
  Shadow shadow;
};

struct Group;

// Memory that threads have copies of, as it was when they started.
struct BeforeThreads {
  size_t allocation = 0;
  std::vector<size_t> slots;  // that lead into it
  std::vector<std::byte> data;
  Shadow shadow;
};

// A thread: its registers and its place in the program.
struct Context {
  std::vector<Scalar> registers;
  size_t pc = 0;
  Context* parent = nullptr;
  Group* group = nullptr;  // null outside of threads
  int pending = 0;         // children that have not ended
  int children = 0;
  StrandId strand = Strands::kRoot;
  std::vector<std::pair<uint32_t, StrandId>> regions;  // open executions of loops, the strand around each
  std::vector<int32_t> memory_of_allocation;           // per entry of Code::allocations; -1: none yet
  std::vector<BeforeThreads> before_threads;           // of the children
};

// The threads that run together, started (directly or through other threads) by one loop outside of any thread.
struct Group {
  std::vector<std::unique_ptr<Context>> contexts;
  std::vector<std::unique_ptr<Context>> ended;  // kept to be used again: their registers are allocated
  uint32_t block_phase = 0;
  std::vector<uint32_t> warp_phases;
  std::map<std::pair<int32_t, int64_t>, int32_t> shared;  // memory of (allocation, warp or -1)
  std::vector<std::pair<int32_t, int32_t>> outgrown;  // (allocation, memory) that was too small for a later instance
};

class Machine {
 public:
  Machine(const Code& code, const RunOptions& options);
  absl::Status Run(absl::Span<const Argument> arguments);

 private:
  enum class Stop { kReturn, kThreadEnd, kFork, kBarrier, kError };

  // `with_gaps` has, at its position, the memory of each argument whose parameter declares strides with gaps.
  absl::Status BindArguments(absl::Span<const Argument> arguments, Context& main, std::vector<NDArray>& with_gaps);
  // Runs until the context ends, forks, waits or fails.
  Stop Execute(Context& context);
  // Forks at the context's instruction and runs all threads to their end. False: error_ says why not.
  bool RunGroup(Context& root);
  // The thread has left the group, what it wrote is its parent's, and its memory is free.
  void EndThread(Group& group, const Context* context);
  void Spawn(Context& parent, Group& group, std::vector<Context*>& ready);
  // Each thread has its own copy of what is the threads' own, as the code around left it; what it wrote is found there
  // after the threads, the last one's where several wrote.
  void KeepBeforeThreads(Context& parent);
  void CopyOwnMemory(const Context& parent, Context& child);
  void MergeOwnMemory(const Context& child, const Context& parent);
  bool ReleaseBarrier(Group& group, std::vector<Context*>& waiting, std::vector<Context*>& ready);
  void PassBarrier(Group& group, Context& context, int64_t warp);

  // The slow instructions. False: error_ says why.
  bool ExecuteStrand(Context& context, const Instruction& instruction);
  bool Allocate(Context& context, const Instruction& instruction);
  bool CallExternal(Context& context, const ExternCall& call);
  bool CheckRead(Context& context, const Instruction& instruction);
  bool CheckWrite(Context& context, const Instruction& instruction);
  bool FloatToInt(double value, DataType to, int64_t* result);
  // `handle` moved by `elements` of some bytes, which must not lead out of its memory.
  bool MakePointer(int64_t handle, int64_t elements, int64_t bytes, int64_t* result);
  void SlotFromHandle(Scalar* slot, int64_t handle);

  // Each sets error_ and returns kError.
  Stop Fail(absl::Status status);
  Stop FailAccess(const Context& context, const Instruction& instruction);
  Stop FailIndex(const Context& context, const Instruction& instruction);
  Stop FailRegion(const Context& context, const Instruction& instruction);
  bool FailRace(const Context& context, int32_t access, const Shadow::Conflict& conflict);
  // `block "C" reads A[4, 16]`
  std::string Describe(const Access& access, const Context& context) const;
  // ` (i = 4, k = 16)`
  std::string Where(const Access& access, const Context& context) const;

  int32_t NewMemory();
  // Memory of an allocation that is free, or new.
  int32_t FreeMemory(size_t allocation);
  // Room for `bytes`. False: error_ says why not.
  bool Reserve(Memory& memory, int64_t bytes, const std::string& buffer);

  const Code& code_;
  const RunOptions options_;
  std::deque<Memory> memory_;
  std::vector<std::vector<int32_t>> free_memory_;  // per entry of Code::allocations
  int64_t allocated_bytes_ = 0;
  uint64_t steps_left_;
  Strands strands_;
  absl::Status error_;
};

// Writes one element at an address.
void StoreScalar(DataType type, std::byte* to, Scalar value);
// An integer brought into the range of its type.
int64_t WrapInteger(DataType type, int64_t value);

}  // namespace tilewright::interp::internal
