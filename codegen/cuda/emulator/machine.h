// The launch that is under way on this operating-system thread: who runs, who is ready, what is checked. The
// instructions (barriers.cc, copies.cc, ...) are written in its terms. Internal to the emulator.
#pragma once

#include <cstddef>
#include <cstdint>
#include <deque>
#include <functional>
#include <memory>
#include <random>
#include <string>
#include <unordered_map>
#include <vector>

#include "base/clocks/clocks.h"
#include "base/clocks/history.h"
#include "codegen/cuda/emulator/fault.h"
#include "codegen/cuda/emulator/fibers.h"
#include "codegen/cuda/emulator/launch.h"
#include "codegen/cuda/emulator/state.h"

namespace tilewright::emulator {

// What accesses memory. The order is that of kOperations in machine.cc.
enum class Op : uint8_t {
  kLoad,
  kStore,
  kAtomic,
  kLdmatrix,
  kStmatrix,
  kWmmaLoad,
  kWmmaStore,
  kCpAsync,
  kBulkLoad,
  kBulkStore,
  kBulkReduce,
  kBulkCopy,
  kStAsync,
  kWgmma,
  kMbarrierInit,
  kMbarrierUse,
  kVolatileLoad,
  kVolatileStore,
  kGridInFront,
};

class Machine {
 public:
  Machine(const LaunchOptions& options, GlobalMemory& memory, const std::function<void()>& kernel);
  LaunchResult Run();

  // The machine of this operating-system thread; kernels run nowhere else.
  static Machine& Current();

  const LaunchOptions& options() const { return options_; }
  GlobalMemory& memory() { return memory_; }
  Counters& counters() { return result_.counters; }
  clocks::Domain& domain() { return domain_; }
  Thread& self() { return *running_; }

  // An instruction begins: it is counted, and with a seed others may run first.
  void Begin(const char* name) {
    running_->doing = name;
    ReadPlace();
    if (++result_.counters.instructions > options_.budget) OverBudget();
    if (options_.seed != 0 && random_() % 32 == 0) Yield();
  }

  void ReadPlace() {
    if (options_.places.now != nullptr) running_->place = *options_.places.now;
  }
  // Turns of loops count as instructions.
  void CountTurns(uint32_t turns) {
    if ((result_.counters.instructions += turns) <= options_.budget) return;
    ReadPlace();
    OverBudget();
  }

  // Others run; this thread goes on when it is made ready, or at its turn.
  void Wait();
  void Yield();
  void MakeReady(Thread* thread) {
    thread->waits = false;
    ready_.push_back(thread);
  }
  void MakeReady(std::vector<Thread*>& threads);
  // The lanes of the warp that have come to this line when none of its others can go on.
  uint32_t ActiveLanes();
  bool Chance(uint32_t one_in) { return options_.seed != 0 && random_() % one_in == 0; }

  // Lanes in `mask` meet; the last one does work(meeting). `instruction` tells instructions apart.
  template <class Work>
  void MeetWarp(uint32_t mask, int instruction, const char* name, void* argument, const Work& work);
  template <class Work>
  void MeetWarpgroup(int instruction, const char* name, void* argument, const Work& work);

  // Memory. Each returns false where the access is out of bounds or misaligned: then it must not be done.
  struct Issue {
    const clocks::Clock& issuer;
    clocks::Epoch epoch;
    Op op;
    bool write;
  };
  static clocks::Access AccessOf(const Issue& issue);
  Issue ByThread(Op op, bool write) { return {running_->clock, running_->clock.Now(), op, write}; }
  bool CheckShared(Block& block, uint32_t byte, uint32_t bytes, const Issue& issue);
  bool CheckGlobal(GlobalMemory::Array* array, const void* at, uint32_t bytes, const Issue& issue);
  bool CheckAligned(uint64_t address, uint32_t bytes, const std::string& place);
  // The block that a shared address belongs to, and the byte within it; null (and a fault) if there is none.
  Block* BlockOf(uint32_t address);
  static uint32_t ByteOf(uint32_t address) { return address & 0xffffff; }
  // Whether the address is of the running thread's local memory, and whether it is of another thread's.
  bool IsLocal(const void* address) const { return running_->fiber.stack().Holds(address); }
  bool IsLocalOfOther(const void* address) const { return !IsLocal(address) && stacks_.Find(address) >= 0; }
  std::string NameOfPlace(uint32_t place) const;

  clocks::Agent NewAgent(Block& block, std::string name);
  Party PartyOf(clocks::Agent agent) const;

  // The grid in front of this one in its stream (grid_order.cc).
  void WaitForGridInFront();
  void LaunchDependents();

  void Report(FaultKind kind, std::string place, std::string message, Party other = {});
  // The kernel ends here.
  [[noreturn]] void Abort();

  // Bulk copies under way (bulk_copies.cc).
  std::deque<BulkLoadOperation>& bulk_loads() { return bulk_loads_; }
  // What was released by atomics and st.release on words of memory.
  std::unordered_map<uint64_t, clocks::Knowledge>& released() { return released_; }
  std::mt19937_64& random() { return random_; }

 private:
  static void ThreadMain(void* argument);
  void EndThread();
  void CheckEndOfBlock(const Block& block);
  void BeginInChain();
  void EndInChain();
  void RunClusters(uint64_t first, uint64_t count);
  std::unique_ptr<Cluster> MakeCluster(uint64_t serial);
  void MakeThreads(Block& block, size_t first_stack);
  bool CheckOptions();
  Thread* Next();
  void RunNext();
  void Deadlock();
  [[noreturn]] void OverBudget();
  // What a finding is about: where `array` is null, shared memory of the block with this number.
  struct Where {
    const void* array;
    uint32_t block;
    uint64_t byte;
  };
  void ReportFinding(const clocks::Finding& finding, const Issue& issue, std::string place, const Where& where);
  bool IsInVariable(uint32_t byte, uint32_t bytes) const;
  std::string SharedPlace(uint32_t byte) const;
  void Watch(const Issue& issue, const void* array, uint32_t block, uint64_t byte, uint32_t bytes);
  void Arrived(Meeting& meeting, int position, int instruction, const char* name, void* argument);

  const LaunchOptions& options_;
  GlobalMemory& memory_;
  const std::function<void()>& kernel_;
  LaunchResult result_;
  clocks::Domain domain_;
  std::mt19937_64 random_;
  Stacks& stacks_;
  Fiber main_;
  Thread* running_ = nullptr;
  std::deque<Thread*> ready_;
  std::vector<std::unique_ptr<Cluster>> clusters_;
  std::vector<std::unique_ptr<Thread>> threads_;
  std::deque<BulkLoadOperation> bulk_loads_;
  std::unordered_map<uint64_t, clocks::Knowledge> released_;
  uint64_t alive_ = 0;
  // What this grid touches, where that is asked for; whether the grid in front may still run, whether a thread has
  // waited for it, and whether one has let the next grid begin before.
  Footprint touched_;
  bool has_front_ = false, waited_ = false, early_ = false;
  bool aborted_ = false;
};

template <class Work>
void Machine::MeetWarp(uint32_t mask, int instruction, const char* name, void* argument, const Work& work) {
  Warp& warp = *running_->warp;
  mask &= warp.lanes;
  Meeting* meeting = nullptr;
  for (auto& m : warp.meetings) {
    if (m->mask == mask) meeting = m.get();
  }
  if (meeting == nullptr) {
    if (warp.unused.empty()) warp.unused.push_back(std::make_unique<Meeting>());
    warp.meetings.push_back(std::move(warp.unused.back()));
    warp.unused.pop_back();
    meeting = warp.meetings.back().get();
    meeting->mask = mask;
  }
  Arrived(*meeting, running_->lane, instruction, name, argument);
  if (meeting->arrived < __builtin_popcount(mask)) return Wait();
  if (options_.count_bank_conflicts) counters().bank_conflicts += warp.banks.Flush();
  work(*meeting);
  meeting->arrived = 0;
  MakeReady(meeting->waiting);
  for (auto& m : warp.meetings) {
    if (m.get() != meeting) continue;
    warp.unused.push_back(std::move(m));
    m = std::move(warp.meetings.back());
    warp.meetings.pop_back();
    break;
  }
}

template <class Work>
void Machine::MeetWarpgroup(int instruction, const char* name, void* argument, const Work& work) {
  Meeting& meeting = running_->warpgroup->meeting;
  Arrived(meeting, running_->index % kWarpgroup, instruction, name, argument);
  if (meeting.arrived < kWarpgroup) return Wait();
  work(meeting);
  meeting.arrived = 0;
  MakeReady(meeting.waiting);
}

}  // namespace tilewright::emulator

namespace tw::emu {

// The same as AccessShared and MayAccess of device/emulated_memory.h for an operation of any kind.
void* AccessSharedBy(uint32_t address, uint32_t bytes, tilewright::emulator::Op op, bool write);
bool MayAccessBy(const void* at, void* array, uint32_t bytes, tilewright::emulator::Op op, bool write);

}  // namespace tw::emu
