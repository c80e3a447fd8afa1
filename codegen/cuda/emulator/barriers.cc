// Barriers of blocks, clusters and warps.
#include <cstdint>
#include <string>

#include "codegen/cuda/emulator/bulk_copies.h"
#include "codegen/cuda/emulator/machine.h"

namespace tilewright::emulator {

void CompleteBarrier(Machine& machine, NamedBarrier& barrier) {
  barrier.done = barrier.published.Take();
  for (Thread* thread : barrier.waiting) thread->clock.Acquire(barrier.done);
  machine.MakeReady(barrier.waiting);
  barrier.arrived = barrier.expected = 0;
  barrier.last_votes = barrier.votes;
  barrier.votes = 0;
  ++barrier.generation;
  ++machine.counters().barriers;
}

void CompleteClusterBarrier(Machine& machine, Cluster& cluster) {
  CompleteBarrier(machine, cluster.barrier);
  // Whether or not it publishes what was written, it comes after all accesses so far.
  for (auto& block : cluster.blocks) block->accesses_of_others.clear();
}

std::string DescribeWait(const Thread& thread) {
  std::string text = thread.doing;
  const Block& block = *thread.block;
  if (thread.doing == kMbarrierWait) {
    text += " at shared byte " + std::to_string(thread.operand - kSharedBase) + " for parity " +
            std::to_string(thread.operand2);
    const auto at = block.mbarriers.find(thread.operand);
    if (at != block.mbarriers.end()) {
      text += " (its phase " + std::to_string(at->second.phase) + " waits for " + std::to_string(at->second.pending) +
              " of " + std::to_string(at->second.count) + " arrivals and " + std::to_string(at->second.bytes) +
              " bytes)";
    }
  } else if (thread.doing == kNamedBarrier) {
    text += " " + std::to_string(thread.operand) + " of " + std::to_string(thread.operand2) + " threads (" +
            std::to_string(block.barriers[thread.operand].arrived) + " are there)";
  }
  return text;
}

namespace {

// Arrives at a barrier of the block. `expected` 0: all threads of the block that have not ended.
void ArriveAt(Machine& machine, NamedBarrier& barrier, int expected, bool wait) {
  Thread& self = machine.self();
  if (barrier.arrived > 0 && barrier.expected != expected) {
    machine.Report(FaultKind::kBarrier, "",
                   "threads are at the barrier with different counts: " + std::to_string(barrier.expected) + " and " +
                       std::to_string(expected));
  }
  barrier.expected = expected;
  self.clock.Release(barrier.published);
  ++barrier.arrived;
  if (barrier.arrived >= (expected == 0 ? self.block->alive : expected)) {
    if (machine.options().count_bank_conflicts) {
      for (Warp& warp : self.block->warps) machine.counters().bank_conflicts += warp.banks.Flush();
    }
    CompleteBarrier(machine, barrier);
    if (wait) self.clock.Acquire(barrier.done);
  } else if (wait) {
    barrier.waiting.push_back(&self);
    machine.Wait();
  }
}

}  // namespace
}  // namespace tilewright::emulator

namespace tw::emu {

using tilewright::emulator::FaultKind;
using tilewright::emulator::Machine;
using tilewright::emulator::Thread;

void BlockBarrier() {
  Machine& machine = Machine::Current();
  machine.Begin("__syncthreads");
  tilewright::emulator::ArriveAt(machine, machine.self().block->barriers[0], 0, true);
}

int BlockBarrierReduce(int kind, int predicate) {
  Machine& machine = Machine::Current();
  machine.Begin("__syncthreads with a vote");
  auto& barrier = machine.self().block->barriers[0];
  const int there = machine.self().block->alive;
  barrier.votes += predicate != 0;
  tilewright::emulator::ArriveAt(machine, barrier, 0, true);
  const int votes = barrier.last_votes;
  return kind == 0 ? votes : kind == 1 ? votes == there : votes > 0;
}

void NamedBarrier(int id, int threads, bool wait) {
  Machine& machine = Machine::Current();
  machine.Begin(tilewright::emulator::kNamedBarrier);
  Thread& self = machine.self();
  if (id < 0 || id > 15 || threads <= 0 || threads % tilewright::emulator::kWarp != 0) {
    machine.Report(FaultKind::kArguments, "",
                   "a barrier needs an id below 16 and a multiple of 32 threads, not " + std::to_string(id) + " and " +
                       std::to_string(threads));
    return;
  }
  self.operand = static_cast<uint32_t>(id);
  self.operand2 = static_cast<uint32_t>(threads);
  tilewright::emulator::ArriveAt(machine, self.block->barriers[id], threads, wait);
}

void ClusterArrive(bool release) {
  Machine& machine = Machine::Current();
  machine.Begin("barrier.cluster.arrive");
  Thread& self = machine.self();
  auto& cluster = *self.block->cluster;
  auto& barrier = cluster.barrier;
  if (self.cluster_arrivals > barrier.generation) {
    machine.Report(FaultKind::kBarrier, "", "the thread arrives again at the cluster's barrier before it has waited");
    return;
  }
  self.cluster_arrivals = barrier.generation + 1;
  if (release) self.clock.Release(barrier.published);
  if (++barrier.arrived == cluster.alive) CompleteClusterBarrier(machine, cluster);
}

void ClusterWait() {
  Machine& machine = Machine::Current();
  machine.Begin("barrier.cluster.wait");
  Thread& self = machine.self();
  auto& barrier = self.block->cluster->barrier;
  if (self.cluster_arrivals == 0) {
    machine.Report(FaultKind::kBarrier, "", "the thread waits at the cluster's barrier but has not arrived");
    return;
  }
  if (barrier.generation >= self.cluster_arrivals) {
    self.clock.Acquire(barrier.done);
    return;
  }
  barrier.waiting.push_back(&self);
  machine.Wait();
}

uint32_t ClusterRank() { return Machine::Current().self().block->rank; }
uint32_t ClusterSize() { return static_cast<uint32_t>(Machine::Current().options().cluster.Count()); }

}  // namespace tw::emu
