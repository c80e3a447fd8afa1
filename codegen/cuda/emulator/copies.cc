// cp.async: copies to shared memory in groups of a thread.
#include <cstddef>
#include <cstdint>
#include <cstring>
#include <string>
#include <utility>

#include "codegen/cuda/emulator/bulk_copies.h"
#include "codegen/cuda/emulator/machine.h"
#include "codegen/cuda/emulator/mbarriers.h"

namespace tilewright::emulator {

void ReportUnfinished(Machine& machine, Thread& thread) {
  if (!thread.copies.open.empty()) {
    machine.Report(FaultKind::kUnfinished, "", "the thread ends with copies of cp.async that it has not committed");
  }
  if (!thread.bulk.open.empty()) {
    machine.Report(FaultKind::kUnfinished, "", "the thread ends with bulk stores that it has not committed");
  } else if (!thread.bulk.groups.empty()) {
    machine.Report(FaultKind::kUnfinished, "", "the thread ends with bulk stores that it has not waited for");
  }
  const Warpgroup& warpgroup = *thread.warpgroup;
  if (!warpgroup.open.empty() || !warpgroup.groups.empty()) {
    machine.Report(FaultKind::kUnfinished, "", "the thread ends with wgmma that it has not waited for");
  }
}

}  // namespace tilewright::emulator

namespace tw::emu {
namespace {

using tilewright::clocks::Epoch;
using tilewright::emulator::Block;
using tilewright::emulator::CopyAsyncOperation;
using tilewright::emulator::CopyQueue;
using tilewright::emulator::FaultKind;
using tilewright::emulator::GlobalMemory;
using tilewright::emulator::kSharedBase;
using tilewright::emulator::Machine;
using tilewright::emulator::Op;
using tilewright::emulator::Thread;

CopyQueue& QueueOf(Machine& machine, Thread& thread) {
  CopyQueue& queue = thread.copies;
  if (!queue.has_agent) {
    queue.agent = machine.NewAgent(*thread.block, "cp.async of thread " + std::to_string(thread.index));
    queue.has_agent = true;
  }
  return queue;
}

void Finish(Thread& thread, const std::vector<CopyAsyncOperation>& group) {
  std::byte* shared = thread.block->shared.data();
  for (const CopyAsyncOperation& copy : group) {
    std::memset(shared + copy.to, 0, static_cast<size_t>(copy.bytes));
    std::memcpy(shared + copy.to, copy.from, static_cast<size_t>(copy.valid));
  }
}

void FinishUntil(Thread& thread, size_t pending) {
  CopyQueue& queue = thread.copies;
  while (queue.groups.size() > pending) {
    Finish(thread, queue.groups.front());
    queue.groups.pop_front();
  }
  if (queue.has_agent) thread.clock.Learn({queue.agent, queue.committed - static_cast<uint32_t>(queue.groups.size())});
}

}  // namespace

void CopyAsync(uint32_t to, const void* from, void* array, int bytes, int valid) {
  Machine& machine = Machine::Current();
  machine.Begin("cp.async");
  ++machine.counters().async_copies;
  Thread& self = machine.self();
  const uint32_t byte = Machine::ByteOf(to), size = static_cast<uint32_t>(bytes);
  if ((bytes != 4 && bytes != 8 && bytes != 16) || valid < 0 || valid > bytes) {
    machine.Report(FaultKind::kArguments, "",
                   "cp.async of " + std::to_string(valid) + " of " + std::to_string(bytes) + " bytes");
    return;
  }
  if (machine.BlockOf(to) != self.block) {
    machine.Report(FaultKind::kOutOfBounds, "", "the destination is not in this block's shared memory");
    return;
  }
  const auto* source = static_cast<const std::byte*>(from);
  if (byte % size != 0 || reinterpret_cast<uintptr_t>(source) % size != 0) {
    machine.CheckAligned(byte, size, "shared byte " + std::to_string(static_cast<int64_t>(byte) - kSharedBase));
    machine.CheckAligned(reinterpret_cast<uintptr_t>(source), size, "the source");
    return;
  }
  CopyQueue& queue = QueueOf(machine, self);
  const Epoch epoch = {queue.agent, queue.committed + 1};
  bool right = machine.CheckShared(*self.block, byte, size, {self.clock, epoch, Op::kCpAsync, true});
  if (valid > 0) {
    machine.counters().global_bytes += static_cast<uint64_t>(valid);
    right = machine.CheckGlobal(static_cast<GlobalMemory::Array*>(array), source, static_cast<uint32_t>(valid),
                                {self.clock, epoch, Op::kCpAsync, false}) &&
            right;
  }
  if (right) queue.open.push_back({byte, source, bytes, valid});
}

void CopyAsyncCommit() {
  Machine& machine = Machine::Current();
  machine.Begin("cp.async.commit_group");
  CopyQueue& queue = machine.self().copies;
  queue.groups.push_back(std::exchange(queue.open, {}));
  ++queue.committed;
  if (machine.Chance(2)) {  // hardware may be done before it is waited for
    Finish(machine.self(), queue.groups.back());
    queue.groups.back().clear();
  }
}

void CopyAsyncWait(int pending) {
  Machine& machine = Machine::Current();
  machine.Begin("cp.async.wait_group");
  Thread& self = machine.self();
  if (pending >= 0) return FinishUntil(self, static_cast<size_t>(pending));
  if (!self.copies.open.empty()) CopyAsyncCommit();
  FinishUntil(self, 0);
}

void CopyAsyncArrive(uint32_t barrier, bool /*no_increment*/) {
  Machine& machine = Machine::Current();
  machine.Begin("cp.async.mbarrier.arrive.noinc");
  Thread& self = machine.self();
  // As late as possible would be when nobody can run; that all earlier copies are done at once is allowed too, and who
  // waits at the barrier cannot tell.
  CopyQueue& queue = self.copies;
  if (!queue.open.empty()) CopyAsyncCommit();
  for (auto& group : queue.groups) {
    Finish(self, group);
    group.clear();
  }
  auto* object = tilewright::emulator::FindMbarrier(machine, barrier, Op::kMbarrierUse);
  if (object == nullptr) return;
  // The thread itself does not wait: it does not know that its copies are done, who passes the barrier does.
  if (queue.has_agent) object->arriving.AddUnfenced({queue.agent, queue.committed});
  tilewright::emulator::ArriveAtMbarrier(machine, *object, 1);
}

}  // namespace tw::emu
