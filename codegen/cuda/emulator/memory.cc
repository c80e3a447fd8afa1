// Loads, stores, atomics and fences of threads.
#include <cstddef>
#include <cstdint>
#include <cstring>
#include <string>

#include "codegen/cuda/emulator/machine.h"
#include "codegen/cuda/emulator/numbers.h"

namespace tw::emu {
namespace {

using tilewright::clocks::Knowledge;
using tilewright::emulator::Block;
using tilewright::emulator::FaultKind;
using tilewright::emulator::GlobalMemory;
using tilewright::emulator::kSharedBase;
using tilewright::emulator::Machine;
using tilewright::emulator::Op;
using tilewright::emulator::Thread;

// The bytes of shared memory that an access of this thread may touch, or null.
std::byte* SharedBytes(Machine& machine, uint32_t address, uint32_t bytes, Op op, bool write, const void* site) {
  Thread& self = machine.self();
  ++machine.counters().shared_accesses;
  const uint32_t byte = Machine::ByteOf(address);
  Block* block = machine.BlockOf(address);
  if (block == nullptr) return nullptr;
  if (byte % bytes != 0 &&
      !machine.CheckAligned(byte, bytes, "shared byte " + std::to_string(static_cast<int64_t>(byte) - kSharedBase))) {
    return nullptr;
  }
  if (!machine.CheckShared(*block, byte, bytes, machine.ByThread(op, write))) return nullptr;
  if (machine.options().count_bank_conflicts) {
    auto& banks = self.warp->banks;
    banks.Add(site, self.lane, byte, bytes);
    if (banks.full()) machine.counters().bank_conflicts += banks.Flush();
  }
  return block->shared.data() + byte;
}

bool MayAccessGlobal(Machine& machine, const void* at, void* array, uint32_t bytes, Op op, bool write) {
  ++machine.counters().global_accesses;
  machine.counters().global_bytes += bytes;
  auto* of = static_cast<GlobalMemory::Array*>(array);
  if (reinterpret_cast<uintptr_t>(at) % bytes != 0 &&
      !machine.CheckAligned(reinterpret_cast<uintptr_t>(at), bytes, of == nullptr ? "a pointer" : of->name)) {
    return false;
  }
  return machine.CheckGlobal(of, at, bytes, machine.ByThread(op, write));
}

// Order by atomics, as C++ defines it for fences: what a thread published with its last fence travels with what it
// writes to a word, and who reads the word knows it after its own next fence.
void Order(Machine& machine, uint64_t word, bool reads, bool writes) {
  Thread& self = machine.self();
  Knowledge& released = machine.released()[word];
  if (reads) machine.domain().Join(self.pending_device, released);
  // Kernels that people write have no fence on the side that reads, as the last block of a reduction.
  if (reads && machine.options().places.now != nullptr) self.clock.Acquire(self.pending_device);
  if (writes) machine.domain().Join(released, self.fenced_device);
}

uint64_t SharedWord(const Block& block, uint32_t byte) {
  return uint64_t{block.serial} << 32 | byte | uint64_t{1} << 63;
}

uint64_t UpdateBytes(std::byte* at, uint32_t bytes, Update update, uint64_t operand, uint64_t other) {
  uint64_t old = 0;
  std::memcpy(&old, at, bytes);
  const uint64_t value = update(old, operand, other);
  std::memcpy(at, &value, bytes);
  return old;
}

}  // namespace

void LoadShared(void* to, uint32_t address, uint32_t bytes) {
  Machine& machine = Machine::Current();
  machine.Begin("load");
  const std::byte* from = SharedBytes(machine, address, bytes, Op::kLoad, false, __builtin_return_address(0));
  if (from != nullptr) {
    std::memcpy(to, from, bytes);
  } else {
    std::memset(to, 0, bytes);
  }
}

void StoreShared(uint32_t address, const void* from, uint32_t bytes) {
  Machine& machine = Machine::Current();
  machine.Begin("store");
  std::byte* to = SharedBytes(machine, address, bytes, Op::kStore, true, __builtin_return_address(0));
  if (to != nullptr) std::memcpy(to, from, bytes);
}

void LoadGlobal(void* to, const void* from, void* array, uint32_t bytes) {
  Machine& machine = Machine::Current();
  machine.Begin("load");
  if (MayAccessGlobal(machine, from, array, bytes, Op::kLoad, false)) {
    std::memcpy(to, from, bytes);
  } else {
    std::memset(to, 0, bytes);
  }
}

void StoreGlobal(void* to, void* array, const void* from, uint32_t bytes) {
  Machine& machine = Machine::Current();
  machine.Begin("store");
  if (MayAccessGlobal(machine, to, array, bytes, Op::kStore, true)) std::memcpy(to, from, bytes);
}

void* AccessSharedBy(uint32_t address, uint32_t bytes, Op op, bool write) {
  Machine& machine = Machine::Current();
  return SharedBytes(machine, address, bytes, op, write,
                     reinterpret_cast<const void*>(uintptr_t{machine.self().place}));
}

bool MayAccessBy(const void* at, void* array, uint32_t bytes, Op op, bool write) {
  return MayAccessGlobal(Machine::Current(), at, array, bytes, op, write);
}

void* AccessShared(uint32_t address, uint32_t bytes, bool write) {
  return AccessSharedBy(address, bytes, write ? Op::kStore : Op::kLoad, write);
}

bool MayAccess(const void* at, void* array, uint32_t bytes, bool write) {
  return MayAccessBy(at, array, bytes, write ? Op::kStore : Op::kLoad, write);
}

void* FindArray(const void* address) { return Machine::Current().memory().Find(address); }

uint64_t AtomicShared(uint32_t address, uint32_t bytes, Update update, uint64_t operand, uint64_t other) {
  Machine& machine = Machine::Current();
  machine.Begin("atomic");
  ++machine.counters().atomics;
  std::byte* at = SharedBytes(machine, address, bytes, Op::kAtomic, true, __builtin_return_address(0));
  if (at == nullptr) return 0;
  Order(machine, SharedWord(*machine.BlockOf(address), Machine::ByteOf(address)), true, true);
  const uint64_t old = UpdateBytes(at, bytes, update, operand, other);
  machine.Yield();  // who polls lets others run
  return old;
}

uint64_t AtomicGlobal(void* at, void* array, uint32_t bytes, Update update, uint64_t operand, uint64_t other) {
  Machine& machine = Machine::Current();
  machine.Begin("atomic");
  ++machine.counters().atomics;
  if (!MayAccessGlobal(machine, at, array, bytes, Op::kAtomic, true)) return 0;
  Order(machine, reinterpret_cast<uint64_t>(at), true, true);
  const uint64_t old = UpdateBytes(static_cast<std::byte*>(at), bytes, update, operand, other);
  machine.Yield();
  return old;
}

uint64_t LoadAcquire(const void* from, void* array, uint32_t bytes) {
  Machine& machine = Machine::Current();
  machine.Begin("ld.acquire");
  machine.Yield();
  uint64_t value = 0;
  if (!MayAccessGlobal(machine, from, array, bytes, Op::kAtomic, false)) return 0;
  Order(machine, reinterpret_cast<uint64_t>(from), true, false);
  machine.self().clock.Acquire(machine.self().pending_device);
  std::memcpy(&value, from, bytes);
  return value;
}

void StoreRelease(void* to, void* array, uint64_t value, uint32_t bytes) {
  Machine& machine = Machine::Current();
  machine.Begin("st.release");
  if (!MayAccessGlobal(machine, to, array, bytes, Op::kAtomic, true)) return;
  machine.self().fenced_device = machine.self().clock.Snapshot();
  Order(machine, reinterpret_cast<uint64_t>(to), false, true);
  std::memcpy(to, &value, bytes);
}

void Fence(bool device) {
  Machine& machine = Machine::Current();
  machine.Begin(device ? "__threadfence" : "__threadfence_block");
  Thread& self = machine.self();
  // A fence of the block would order less between blocks than this; kernels use it for shared memory only.
  self.clock.Acquire(self.pending_device);
  self.fenced_device = self.clock.Snapshot();
}

uint32_t SharedBase(uint32_t byte) { return Machine::Current().self().block->rank << 24 | (kSharedBase + byte); }

uint32_t MapShared(uint32_t address, uint32_t rank) {
  Machine& machine = Machine::Current();
  machine.Begin("mapa");
  if (rank >= machine.options().cluster.Count()) {
    machine.Report(FaultKind::kArguments, "", "the cluster does not have a block " + std::to_string(rank));
    return address;
  }
  return Machine::ByteOf(address) | rank << 24;
}

uint64_t AddPairsF16(uint64_t old, uint64_t operand, uint64_t /*other*/) {
  const auto add = [&](int shift) {
    const float sum = FromF16(static_cast<uint16_t>(old >> shift)) + FromF16(static_cast<uint16_t>(operand >> shift));
    return uint64_t{ToF16(sum)} << shift;
  };
  return add(0) | add(16);
}

uint64_t AddPairsBf16(uint64_t old, uint64_t operand, uint64_t /*other*/) {
  const auto add = [&](int shift) {
    const float sum = FromBf16(static_cast<uint16_t>(old >> shift)) + FromBf16(static_cast<uint16_t>(operand >> shift));
    return uint64_t{ToBf16(sum)} << shift;
  };
  return add(0) | add(16);
}

}  // namespace tw::emu
