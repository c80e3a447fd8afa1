#include "codegen/cuda/emulator/mbarriers.h"

#include <cstdint>
#include <string>

#include "codegen/cuda/emulator/bulk_copies.h"
#include "codegen/cuda/emulator/machine.h"

namespace tilewright::emulator {
namespace {

constexpr int64_t kMostCount = (1 << 20) - 1;  // of arrivals and of bytes

std::string Place(uint32_t byte) { return "shared byte " + std::to_string(static_cast<int64_t>(byte) - kSharedBase); }

// Ends the phase if nothing is missing.
void TryComplete(Machine& machine, Mbarrier& barrier) {
  if (barrier.pending != 0 || barrier.bytes != 0) return;
  ++barrier.phase;
  ++machine.counters().barriers;
  barrier.arriving.Add({barrier.agent, barrier.phase});
  barrier.done = barrier.arriving.Take();
  barrier.pending = barrier.count;
  machine.MakeReady(barrier.waiting);
}

}  // namespace

Mbarrier* FindMbarrier(Machine& machine, uint32_t address, Op op) {
  Block* block = machine.BlockOf(address);
  if (block == nullptr) return nullptr;
  const uint32_t byte = Machine::ByteOf(address);
  const auto at = block->mbarriers.find(byte);
  if (at == block->mbarriers.end()) {
    machine.Report(FaultKind::kMbarrier, Place(byte), "there is no initialized mbarrier");
    return nullptr;
  }
  Mbarrier& barrier = at->second;
  // A copy uses the barrier until it is done, which nobody else knows before.
  const clocks::Clock& clock = machine.self().clock;
  const clocks::Epoch epoch = op == Op::kMbarrierUse ? clock.Now() : clocks::Epoch{barrier.agent, barrier.phase + 1};
  if (!machine.CheckShared(*block, byte, 8, {clock, epoch, Op::kMbarrierUse, false})) return nullptr;
  if (op != Op::kMbarrierUse && !barrier.fenced) {
    machine.Report(
        FaultKind::kUnfenced, Place(byte),
        "the mbarrier's initialization is not visible to copies: no fence.mbarrier_init or fence.proxy.async");
    barrier.fenced = true;  // reported once
  }
  return &barrier;
}

void ArriveAtMbarrier(Machine& machine, Mbarrier& barrier, uint32_t count) {
  if (barrier.pending < count) {
    machine.Report(FaultKind::kMbarrier, "",
                   "more arrivals than the mbarrier's count of " + std::to_string(barrier.count) +
                       " while its phase has not ended");
    return;
  }
  machine.self().clock.Release(barrier.arriving);
  barrier.pending -= count;
  TryComplete(machine, barrier);
}

void ExpectBytes(Machine& machine, Mbarrier& barrier, uint32_t bytes) {
  barrier.bytes += bytes;
  if (barrier.bytes <= kMostCount) return;
  machine.Report(FaultKind::kMbarrier, "", "the mbarrier expects more than 2^20 - 1 bytes");
}

void CompleteBytes(Machine& machine, Mbarrier& barrier, int64_t bytes) {
  barrier.bytes -= bytes;
  if (barrier.bytes < -kMostCount) {
    machine.Report(FaultKind::kMbarrier, "", "2^20 bytes more than expected have come to the mbarrier");
  }
  TryComplete(machine, barrier);
}

}  // namespace tilewright::emulator

namespace tw::emu {
namespace {

using tilewright::emulator::Block;
using tilewright::emulator::FaultKind;
using tilewright::emulator::FindMbarrier;
using tilewright::emulator::Machine;
using tilewright::emulator::Mbarrier;
using tilewright::emulator::Op;
using tilewright::emulator::Place;
using tilewright::emulator::Thread;

// Waiting is for threads of the barrier's own block.
Mbarrier* FindToWait(Machine& machine, uint32_t address) {
  if (machine.BlockOf(address) != machine.self().block) {
    machine.Report(FaultKind::kMbarrier, Place(Machine::ByteOf(address)), "a wait at an mbarrier of another block");
    return nullptr;
  }
  return FindMbarrier(machine, address, Op::kMbarrierUse);
}

bool IsOver(const Mbarrier& barrier, uint32_t parity) { return (barrier.phase & 1) != (parity & 1); }

}  // namespace

void BarrierInit(uint32_t address, uint32_t count) {
  Machine& machine = Machine::Current();
  machine.Begin("mbarrier.init");
  Thread& self = machine.self();
  Block* block = machine.BlockOf(address);
  const uint32_t byte = Machine::ByteOf(address);
  if (block != self.block) {
    machine.Report(FaultKind::kMbarrier, Place(byte), "an mbarrier of another block cannot be initialized");
    return;
  }
  if (count == 0 || count > tilewright::emulator::kMostCount) {
    machine.Report(FaultKind::kArguments, Place(byte),
                   "an mbarrier counts 1 to 2^20 - 1 arrivals, not " + std::to_string(count));
    return;
  }
  if (!machine.CheckAligned(byte, 8, Place(byte))) return;
  if (block->mbarriers.contains(byte)) {
    machine.Report(FaultKind::kMbarrier, Place(byte), "an mbarrier is initialized again without mbarrier.inval");
  }
  if (!machine.CheckShared(*block, byte, 8, machine.ByThread(Op::kMbarrierInit, true))) return;
  Mbarrier barrier;
  barrier.count = count;
  barrier.pending = count;
  barrier.initialized_by = &self;
  const std::string name =
      "bulk copies that complete at shared byte " + std::to_string(byte - tilewright::emulator::kSharedBase);
  barrier.agent = machine.NewAgent(*block, name);
  block->mbarriers[byte] = std::move(barrier);
  block->is_mbarrier[byte / 8] = true;
}

void BarrierInvalidate(uint32_t address) {
  Machine& machine = Machine::Current();
  machine.Begin("mbarrier.inval");
  Mbarrier* barrier = FindToWait(machine, address);
  if (barrier == nullptr) return;
  const uint32_t byte = Machine::ByteOf(address);
  Block& block = *machine.self().block;
  if (!barrier->waiting.empty() || barrier->bytes != 0) {
    machine.Report(FaultKind::kMbarrier, Place(byte), "the mbarrier is invalidated while it is in use");
  }
  machine.CheckShared(block, byte, 8, machine.ByThread(Op::kMbarrierInit, true));
  block.mbarriers.erase(byte);
  block.is_mbarrier[byte / 8] = false;
}

void BarrierArrive(uint32_t address, uint32_t count) {
  Machine& machine = Machine::Current();
  machine.Begin("mbarrier.arrive");
  Mbarrier* barrier = FindMbarrier(machine, address, Op::kMbarrierUse);
  if (barrier != nullptr) ArriveAtMbarrier(machine, *barrier, count);
}

void BarrierExpect(uint32_t address, uint32_t bytes, bool arrive) {
  Machine& machine = Machine::Current();
  machine.Begin(arrive ? "mbarrier.arrive.expect_tx" : "mbarrier.expect_tx");
  Mbarrier* barrier = FindMbarrier(machine, address, Op::kMbarrierUse);
  if (barrier == nullptr) return;
  ExpectBytes(machine, *barrier, bytes);
  if (arrive) ArriveAtMbarrier(machine, *barrier, 1);
}

uint32_t BarrierPhase(uint32_t address) {
  Machine& machine = Machine::Current();
  Block* block = machine.BlockOf(address);
  if (block == nullptr) return 0;
  const auto at = block->mbarriers.find(Machine::ByteOf(address));
  return at == block->mbarriers.end() ? 0 : at->second.phase;
}

bool BarrierTest(uint32_t address, uint32_t parity) {
  Machine& machine = Machine::Current();
  machine.Begin("mbarrier.try_wait");
  Mbarrier* barrier = FindToWait(machine, address);
  if (barrier == nullptr) return true;
  // With a seed it gives up now and then, as hardware may. Otherwise it waits: who polls would only ask again.
  if (machine.Chance(4)) machine.Yield();
  if (machine.options().seed != 0 && !IsOver(*barrier, parity)) {
    machine.Yield();
    if (!IsOver(*barrier, parity)) return false;
  }
  BarrierWait(address, parity);
  return true;
}

void BarrierWait(uint32_t address, uint32_t parity) {
  Machine& machine = Machine::Current();
  machine.Begin(tilewright::emulator::kMbarrierWait);
  Mbarrier* barrier = FindToWait(machine, address);
  if (barrier == nullptr) return;
  Thread& self = machine.self();
  while (!IsOver(*barrier, parity)) {
    self.operand = Machine::ByteOf(address);
    self.operand2 = parity & 1;
    self.doing = tilewright::emulator::kMbarrierWait;
    barrier->waiting.push_back(&self);
    machine.Wait();
  }
  self.clock.Acquire(barrier->done);
}

void FenceBarrierInit() {
  Machine& machine = Machine::Current();
  machine.Begin("fence.mbarrier_init");
  Thread& self = machine.self();
  for (auto& [byte, barrier] : self.block->mbarriers) {
    if (barrier.initialized_by == &self) barrier.fenced = true;
  }
}

void FenceProxy(bool shared, bool global) {
  Machine& machine = Machine::Current();
  machine.Begin("fence.proxy.async");
  Thread& self = machine.self();
  self.clock.Fence();
  for (auto& [byte, barrier] : self.block->mbarriers) {
    if (shared && barrier.initialized_by == &self) barrier.fenced = true;
  }
  (void)global;
}

}  // namespace tw::emu
