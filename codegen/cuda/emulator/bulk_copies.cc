// Bulk copies and bulk tensor copies: between global memory and shared memory, and between blocks of a cluster.
#include "codegen/cuda/emulator/bulk_copies.h"

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <cstring>
#include <string>
#include <utility>
#include <vector>

#include "codegen/cuda/emulator/machine.h"
#include "codegen/cuda/emulator/mbarriers.h"
#include "codegen/cuda/emulator/numbers.h"
#include "codegen/cuda/emulator/pieces.h"
#include "codegen/cuda/emulator/reduction.h"
#include "codegen/cuda/emulator/tensor_map.h"

namespace tilewright::emulator {

bool FinishABulkLoad(Machine& machine) {
  auto& loads = machine.bulk_loads();
  if (loads.empty()) return false;
  if (machine.options().seed != 0) std::swap(loads.front(), loads[machine.random()() % loads.size()]);
  const BulkLoadOperation load = std::move(loads.front());
  loads.pop_front();
  Block& block = *load.block;
  for (const Piece& piece : load.pieces) {
    std::byte* to = block.shared.data() + piece.shared;
    std::memset(to, load.fill, piece.bytes);
    if (piece.last > piece.first) std::memcpy(to + piece.first, piece.global + piece.first, piece.last - piece.first);
  }
  if (load.pieces.empty()) std::memcpy(block.shared.data() + load.st_async_to, &load.st_async, sizeof load.st_async);
  --block.copies_under_way;
  const auto barrier = block.mbarriers.find(load.barrier);
  if (barrier == block.mbarriers.end()) {
    machine.Report(FaultKind::kMbarrier, "", "a bulk copy completes on an mbarrier that was invalidated");
  } else {
    CompleteBytes(machine, barrier->second, load.bytes);
  }
  return true;
}

namespace {

// Checks a copy to `block` and puts it under way. Its source is checked once, with the first block that receives it.
void Issue(Machine& machine, Block& block, uint32_t barrier_byte, std::vector<Piece> pieces, uint8_t fill, Op op,
           GlobalMemory::Array* array, bool check_source) {
  const uint32_t barrier_address = block.rank << 24 | barrier_byte;
  Mbarrier* barrier = FindMbarrier(machine, barrier_address, op);
  if (barrier == nullptr) return;
  const clocks::Epoch epoch = {barrier->agent, barrier->phase + 1};
  const clocks::Clock& clock = machine.self().clock;
  int64_t bytes = 0;
  bool right = true;
  for (const Piece& piece : pieces) {
    right = machine.CheckShared(block, piece.shared, piece.bytes, {clock, epoch, op, true}) && right;
    const auto size = static_cast<uint32_t>(piece.last - piece.first);
    if (check_source && size > 0) {
      right = machine.CheckGlobal(array, piece.global + piece.first, size, {clock, epoch, op, false}) && right;
    }
    bytes += piece.bytes;
    if (!right) break;
  }
  if (!right) pieces.clear();  // the bytes count as come, so that nobody waits for them in vain
  ++machine.counters().bulk_copies;
  machine.counters().bulk_bytes += static_cast<uint64_t>(bytes);
  ++block.copies_under_way;
  BulkLoadOperation load = {&block, barrier_byte, bytes, std::move(pieces), fill};
  if (load.pieces.empty()) load.pieces.push_back({barrier_byte, nullptr, 0, 0, 0});
  machine.bulk_loads().push_back(std::move(load));
  if (machine.Chance(4)) FinishABulkLoad(machine);
}

// The blocks that receive a copy: `mask` of the cluster's blocks, or -1 for this thread's own.
std::vector<Block*> Receivers(Machine& machine, int mask) {
  Block& own = *machine.self().block;
  if (mask < 0) return {&own};
  auto& blocks = own.cluster->blocks;
  std::vector<Block*> receivers;
  if (mask == 0 || static_cast<size_t>(mask) >> blocks.size() != 0) {
    machine.Report(FaultKind::kArguments, "",
                   "the mask " + std::to_string(mask) + " names blocks that the cluster does not have");
    return {};
  }
  for (auto& block : blocks) {
    if (mask >> block->rank & 1) receivers.push_back(block.get());
  }
  return receivers;
}

bool CheckRun(Machine& machine, uint32_t shared_byte, const void* global, uint32_t bytes) {
  if (bytes % 16 == 0 && bytes > 0 && shared_byte % 16 == 0 && reinterpret_cast<uintptr_t>(global) % 16 == 0)
    return true;
  machine.Report(FaultKind::kMisaligned, "", "addresses and size of a bulk copy are not all multiples of 16");
  return false;
}

BulkQueue& QueueOf(Machine& machine) {
  Thread& self = machine.self();
  if (!self.bulk.has_agents) {
    const std::string thread = "bulk stores of thread " + std::to_string(self.index);
    self.bulk.reader = machine.NewAgent(*self.block, thread + " (reading shared memory)");
    self.bulk.writer = machine.NewAgent(*self.block, thread);
    self.bulk.has_agents = true;
  }
  return self.bulk;
}

void IssueStore(Machine& machine, std::vector<Piece> pieces, GlobalMemory::Array* array, tw::emu::Reduction reduction,
                MapType type) {
  Thread& self = machine.self();
  BulkQueue& queue = QueueOf(machine);
  const bool reduces = reduction != tw::emu::Reduction::kNone;
  const clocks::Epoch read = {queue.reader, queue.committed + 1}, write = {queue.writer, queue.committed + 1};
  bool right = true;
  for (const Piece& piece : pieces) {
    const auto size = static_cast<uint32_t>(piece.last - piece.first);
    if (size > 0) {
      // What is outside of the array need not have been written: nobody sees it.
      right = machine.CheckShared(*self.block, piece.shared + piece.first, size,
                                  {self.clock, read, Op::kBulkStore, false}) &&
              right;
      const Op op = reduces ? Op::kBulkReduce : Op::kBulkStore;
      right = machine.CheckGlobal(array, piece.global + piece.first, size, {self.clock, write, op, true}) && right;
    }
    machine.counters().bulk_bytes += size;
    if (!right) return;
  }
  ++machine.counters().bulk_copies;
  queue.open.push_back({self.block, std::move(pieces), reduction, type});
}

void Finish(const std::vector<BulkStoreOperation>& group) {
  for (const BulkStoreOperation& store : group) {
    for (const Piece& piece : store.pieces) {
      const auto size = static_cast<size_t>(piece.last - piece.first);
      if (size == 0) continue;
      const std::byte* from = store.block->shared.data() + piece.shared + piece.first;
      Reduce(store.reduction, store.type, from, piece.global + piece.first, size);
    }
  }
}

}  // namespace
}  // namespace tilewright::emulator

namespace tw::emu {

using tilewright::emulator::Block;
using tilewright::emulator::BulkQueue;
using tilewright::emulator::CheckRun;
using tilewright::emulator::FaultKind;
using tilewright::emulator::GlobalMemory;
using tilewright::emulator::Issue;
using tilewright::emulator::IssueStore;
using tilewright::emulator::Machine;
using tilewright::emulator::MapFields;
using tilewright::emulator::MapType;
using tilewright::emulator::Op;
using tilewright::emulator::Piece;
using tilewright::emulator::Receivers;

void TensorLoad(const TensorCopy& copy, uint32_t barrier, int mask) {
  Machine& machine = Machine::Current();
  machine.Begin(copy.im2col ? "im2col bulk tensor load" : "bulk tensor load");
  const MapFields map = tilewright::emulator::FieldsOf(*copy.map);
  std::vector<Piece> pieces;
  std::string reason;
  if (!PiecesOf(map, copy, Machine::ByteOf(copy.shared), pieces, reason)) {
    machine.Report(FaultKind::kTensorMap, "", reason);
    return;
  }
  GlobalMemory::Array* array = machine.memory().Find(reinterpret_cast<const void*>(map.address));
  bool first = true;
  for (Block* block : Receivers(machine, mask)) {
    Issue(machine, *block, Machine::ByteOf(barrier), pieces, map.fill_nan ? 0xff : 0, Op::kBulkLoad, array, first);
    first = false;
  }
}

void TensorStore(const TensorCopy& copy, Reduction reduction) {
  Machine& machine = Machine::Current();
  machine.Begin(reduction == Reduction::kNone ? "bulk tensor store" : "bulk tensor reduction");
  const MapFields map = tilewright::emulator::FieldsOf(*copy.map);
  std::vector<Piece> pieces;
  std::string reason;
  if (machine.BlockOf(copy.shared) != machine.self().block) {
    reason = "the source is not in this block's shared memory";
  } else if (PiecesOf(map, copy, Machine::ByteOf(copy.shared), pieces, reason)) {
    GlobalMemory::Array* array = machine.memory().Find(reinterpret_cast<const void*>(map.address));
    IssueStore(machine, std::move(pieces), array, reduction, map.type);
    return;
  }
  machine.Report(FaultKind::kTensorMap, "", reason);
}

void BulkLoad(uint32_t to, const void* from, void* array, uint32_t bytes, uint32_t barrier, int mask) {
  Machine& machine = Machine::Current();
  machine.Begin("bulk load");
  if (!CheckRun(machine, Machine::ByteOf(to), from, bytes)) return;
  auto* source = static_cast<std::byte*>(const_cast<void*>(from));
  bool first = true;
  for (Block* block : Receivers(machine, mask)) {
    Issue(machine, *block, Machine::ByteOf(barrier), tilewright::emulator::PiecesOf(source, Machine::ByteOf(to), bytes),
          0, Op::kBulkLoad, static_cast<GlobalMemory::Array*>(array), first);
    first = false;
  }
}

void BulkStore(void* to, void* array, uint32_t from, uint32_t bytes, Reduction reduction, int /*type*/) {
  Machine& machine = Machine::Current();
  machine.Begin(reduction == Reduction::kNone ? "bulk store" : "bulk reduction");
  if (!CheckRun(machine, Machine::ByteOf(from), to, bytes)) return;
  if (machine.BlockOf(from) != machine.self().block) {
    machine.Report(FaultKind::kOutOfBounds, "", "the source is not in this block's shared memory");
    return;
  }
  IssueStore(machine, tilewright::emulator::PiecesOf(static_cast<std::byte*>(to), Machine::ByteOf(from), bytes),
             static_cast<GlobalMemory::Array*>(array), reduction, MapType::kF32);
}

void BulkCopyToShared(uint32_t to, uint32_t from, uint32_t bytes, uint32_t barrier) {
  Machine& machine = Machine::Current();
  machine.Begin("bulk copy");
  Block* receiver = machine.BlockOf(to);
  Block& own = *machine.self().block;
  if (receiver == nullptr || !CheckRun(machine, Machine::ByteOf(to) | Machine::ByteOf(from), nullptr, bytes)) return;
  if (machine.BlockOf(from) != &own || machine.BlockOf(barrier) != receiver) {
    machine.Report(FaultKind::kArguments, "", "a bulk copy goes from this block to the block of its mbarrier");
    return;
  }
  auto* object = tilewright::emulator::FindMbarrier(machine, barrier, Op::kBulkCopy);
  if (object == nullptr) return;
  const Machine::Issue read = {machine.self().clock, {object->agent, object->phase + 1}, Op::kBulkCopy, false};
  if (!machine.CheckShared(own, Machine::ByteOf(from), bytes, read)) return;
  std::byte* source = own.shared.data() + Machine::ByteOf(from);
  Issue(machine, *receiver, Machine::ByteOf(barrier),
        tilewright::emulator::PiecesOf(source, Machine::ByteOf(to), bytes), 0, Op::kBulkCopy, nullptr, false);
}

void StoreAsync(uint32_t to, uint32_t value, uint32_t barrier) {
  Machine& machine = Machine::Current();
  machine.Begin("st.async");
  Block* receiver = machine.BlockOf(to);
  const uint32_t byte = Machine::ByteOf(to);
  if (receiver == nullptr || !machine.CheckAligned(byte, 4, "the destination")) return;
  if (machine.BlockOf(barrier) != receiver) {
    machine.Report(FaultKind::kArguments, "", "st.async and its mbarrier are in different blocks");
    return;
  }
  auto* object = tilewright::emulator::FindMbarrier(machine, barrier, Op::kMbarrierUse);
  if (object == nullptr) return;
  if (!machine.CheckShared(*receiver, byte, 4,
                           {machine.self().clock, {object->agent, object->phase + 1}, Op::kStAsync, true}))
    return;
  ++receiver->copies_under_way;
  machine.bulk_loads().push_back(
      {.block = receiver, .barrier = Machine::ByteOf(barrier), .bytes = 4, .st_async = value, .st_async_to = byte});
}

void BulkCommit() {
  Machine& machine = Machine::Current();
  machine.Begin("cp.async.bulk.commit_group");
  BulkQueue& queue = machine.self().bulk;
  queue.groups.push_back(std::exchange(queue.open, {}));
  ++queue.committed;
}

void BulkWait(int pending, bool only_reads) {
  Machine& machine = Machine::Current();
  machine.Begin(only_reads ? "cp.async.bulk.wait_group.read" : "cp.async.bulk.wait_group");
  BulkQueue& queue = machine.self().bulk;
  while (queue.groups.size() > static_cast<size_t>(pending)) {
    tilewright::emulator::Finish(queue.groups.front());
    queue.groups.pop_front();
  }
  const uint32_t done = queue.committed - std::min(queue.committed, static_cast<uint32_t>(pending));
  if (!queue.has_agents) return;
  machine.self().clock.Learn({queue.reader, done});
  if (!only_reads) machine.self().clock.Learn({queue.writer, done});
}

}  // namespace tw::emu
