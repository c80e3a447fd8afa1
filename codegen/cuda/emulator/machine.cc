#include "codegen/cuda/emulator/machine.h"

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <functional>
#include <map>
#include <memory>
#include <string>
#include <utility>
#include <vector>

#include "base/clocks/clocks.h"
#include "base/clocks/history.h"
#include "codegen/cuda/emulator/bulk_copies.h"

namespace tw::emu {
thread_local constinit const View* view = nullptr;
}  // namespace tw::emu

namespace tilewright::emulator {
namespace {

thread_local Machine* current = nullptr;
// Kept from launch to launch: mapping them anew would cost more than a small kernel.
thread_local Stacks stacks;

tw::emu::Index ToIndex(const Dim& d) { return {d.x, d.y, d.z}; }

Dim IndexIn(const Dim& extent, uint64_t linear) {
  return {static_cast<uint32_t>(linear % extent.x), static_cast<uint32_t>(linear / extent.x % extent.y),
          static_cast<uint32_t>(linear / (uint64_t{extent.x} * extent.y))};
}

// Room for library functions that a kernel's thread calls.
constexpr size_t kStackReserve = 64 << 10;

// Turns that lanes have to come to the place of others; one that spins until these go on never would.
constexpr int kTurnsForOthers = 4096;

}  // namespace

Machine::Machine(const LaunchOptions& options, GlobalMemory& memory, const std::function<void()>& kernel)
    : options_(options), memory_(memory), kernel_(kernel), random_(options.seed), stacks_(stacks) {}

Machine& Machine::Current() { return *current; }

bool Machine::CheckOptions() {
  const auto refuse = [&](std::string message) {
    Report(FaultKind::kLaunch, "", std::move(message));
    return false;
  };
  const Dim &grid = options_.grid, &block = options_.block, &cluster = options_.cluster;
  if (grid.Count() == 0 || block.Count() == 0 || cluster.Count() == 0) return refuse("an extent of the launch is 0");
  const DeviceLimits& device = options_.device;
  if (block.Count() > device.threads) {
    return refuse("a block has more than " + std::to_string(device.threads) + " threads");
  }
  if (cluster.Count() > device.cluster_blocks) {
    return refuse("a cluster has more than " + std::to_string(device.cluster_blocks) + " blocks");
  }
  if (grid.Count() >= (1u << (32 - clocks::kIndexBits))) return refuse("the grid has more than 2^20 - 1 blocks");
  if (grid.x % cluster.x != 0 || grid.y % cluster.y != 0 || grid.z % cluster.z != 0) {
    return refuse("the grid is not a multiple of the cluster");
  }
  if (options_.shared_bytes > device.shared_bytes) {
    return refuse("a block has " + std::to_string(options_.shared_bytes) + " bytes of shared memory, the device " +
                  std::to_string(device.shared_bytes));
  }
  if (options_.concurrent_clusters == 0) return refuse("concurrent_clusters is 0");
  return true;
}

LaunchResult Machine::Run() {
  Machine* const outer = std::exchange(current, this);
  if (CheckOptions()) {
    memory_.BeginLaunch();
    BeginInChain();
    const uint64_t clusters = options_.grid.Count() / options_.cluster.Count();
    for (uint64_t first = 0; first < clusters && !aborted_; first += options_.concurrent_clusters) {
      RunClusters(first, std::min(options_.concurrent_clusters, clusters - first));
    }
    EndInChain();
    result_.finished = !aborted_;
  }
  current = outer;
  return std::move(result_);
}

std::unique_ptr<Cluster> Machine::MakeCluster(uint64_t serial) {
  const Dim &grid = options_.grid, &size = options_.cluster;
  const Dim clusters = {grid.x / size.x, grid.y / size.y, grid.z / size.z};
  const Dim at = IndexIn(clusters, serial);
  auto cluster = std::make_unique<Cluster>();
  for (uint32_t rank = 0; rank < size.Count(); ++rank) {
    const Dim in = IndexIn(size, rank);
    auto block = std::make_unique<Block>(options_.shared_bytes, cluster.get());
    block->index = {at.x * size.x + in.x, at.y * size.y + in.y, at.z * size.z + in.z};
    block->serial = block->index.x + grid.x * (block->index.y + grid.y * block->index.z);
    block->rank = rank;
    cluster->blocks.push_back(std::move(block));
  }
  return cluster;
}

void Machine::MakeThreads(Block& block, size_t first_stack) {
  const auto count = static_cast<int>(options_.block.Count());
  block.alive = count;
  block.agents.resize(static_cast<size_t>(count));
  block.warps.resize(static_cast<size_t>((count + kWarp - 1) / kWarp));
  block.warpgroups.resize(static_cast<size_t>((count + kWarpgroup - 1) / kWarpgroup));
  const DeviceLimits& device = options_.device;
  const int room = std::min(device.thread_registers, device.registers / count / 8 * 8);
  const int registers = options_.registers != 0 ? static_cast<int>(options_.registers) : room;
  for (Warpgroup& warpgroup : block.warpgroups) warpgroup.registers = static_cast<uint32_t>(registers);
  block.free_registers = device.registers - registers * count;
  for (int i = 0; i < count; ++i) {
    auto thread = std::make_unique<Thread>(&domain_, clocks::MakeAgent(block.serial, static_cast<uint32_t>(i)));
    thread->index = i;
    thread->lane = i % kWarp;
    thread->block = &block;
    thread->warp = &block.warps[static_cast<size_t>(i / kWarp)];
    thread->warp->lanes |= 1u << thread->lane;
    ++thread->warp->alive;
    thread->warp->threads.push_back(thread.get());
    thread->warpgroup = &block.warpgroups[static_cast<size_t>(i / kWarpgroup)];
    thread->view = {ToIndex(IndexIn(options_.block, static_cast<uint64_t>(i))), ToIndex(block.index),
                    ToIndex(options_.block), ToIndex(options_.grid)};
    thread->fiber.Prepare(stacks_[first_stack + static_cast<size_t>(i)], &ThreadMain, thread.get());
    MakeReady(thread.get());
    threads_.push_back(std::move(thread));
  }
}

void Machine::RunClusters(uint64_t first, uint64_t count) {
  const size_t threads = options_.block.Count() * options_.cluster.Count() * count;
  if (!stacks_.Reserve(threads, options_.stack_bytes + kStackReserve)) {
    Report(FaultKind::kLaunch, "", "there is no memory for the stacks of " + std::to_string(threads) + " threads");
    aborted_ = true;
    return;
  }
  clusters_.clear();
  threads_.clear();
  ready_.clear();
  bulk_loads_.clear();
  for (uint64_t i = 0; i < count; ++i) {
    clusters_.push_back(MakeCluster(first + i));
    for (auto& block : clusters_.back()->blocks) MakeThreads(*block, threads_.size());
    clusters_.back()->alive = static_cast<int>(options_.block.Count() * options_.cluster.Count());
  }
  alive_ = threads;
  Thread* next = Next();
  running_ = next;
  tw::emu::view = &next->view;
  Fiber::Switch(main_, next->fiber);
  running_ = nullptr;
  tw::emu::view = nullptr;
}

void Machine::ThreadMain(void* /*thread*/) {
  Machine& machine = Current();
  machine.kernel_();
  machine.EndThread();
}

// The last thing that a thread does.
void Machine::EndThread() {
  Thread& self = *running_;
  Block& block = *self.block;
  ReportUnfinished(*this, self);
  self.ended = true;
  self.doing = "ended";
  --alive_;
  --block.cluster->alive;
  self.clock.Release(block.ended);
  if (--block.alive == 0) CheckEndOfBlock(block);
  if (--self.warp->alive == 0 && options_.count_bank_conflicts) counters().bank_conflicts += self.warp->banks.Flush();
  // Threads that have ended are not waited for.
  NamedBarrier& barrier = block.barriers[0];
  if (barrier.expected == 0 && barrier.arrived > 0 && barrier.arrived == block.alive) CompleteBarrier(*this, barrier);
  NamedBarrier& of_cluster = block.cluster->barrier;
  if (of_cluster.arrived > 0 && of_cluster.arrived == block.cluster->alive)
    CompleteClusterBarrier(*this, *block.cluster);
  if (alive_ == 0) {
    while (FinishABulkLoad(*this)) {
    }
    Fiber::Switch(self.fiber, main_);
  }
  Wait();
  __builtin_trap();  // nobody makes an ended thread ready
}

// A block's shared memory ends with it.
void Machine::CheckEndOfBlock(const Block& block) {
  if (block.copies_under_way > 0) {
    Report(FaultKind::kUnfinished, "", "the block ends while bulk copies to its shared memory are under way");
  }
  for (const auto& [agent, time] : block.accesses_of_others) {
    if (block.ended.knowledge().Seen(agent) >= time) continue;
    Party other = PartyOf(agent);
    other.what = "access of its shared memory";
    Report(FaultKind::kUnfinished, "", "the block ends, and nothing orders before that what another block does",
           std::move(other));
    return;
  }
}

// Who runs next: null if nobody can.
Thread* Machine::Next() {
  while (ready_.empty()) {
    if (!FinishABulkLoad(*this)) return nullptr;
  }
  if (options_.seed != 0) {
    std::swap(ready_.front(), ready_[random_() % ready_.size()]);
    if (Chance(8)) FinishABulkLoad(*this);
  }
  Thread* next = ready_.front();
  ready_.pop_front();
  return next;
}

void Machine::Wait() {
  running_->waits = true;
  RunNext();
}

void Machine::RunNext() {
  Thread& self = *running_;
  Thread* next = Next();
  if (next == nullptr) Deadlock();
  if (next == nullptr) Abort();
  if (next == &self) return;
  ++counters().switches;
  running_ = next;
  tw::emu::view = &next->view;
  Fiber::Switch(self.fiber, next->fiber);
}

void Machine::Yield() {
  MakeReady(running_);
  const char* doing = running_->doing;
  RunNext();
  running_->doing = doing;
}

void Machine::MakeReady(std::vector<Thread*>& threads) {
  for (Thread* thread : threads) MakeReady(thread);
  threads.clear();
}

uint32_t Machine::ActiveLanes() {
  Begin("activemask");
  Thread& self = *running_;
  self.asks_active = true;
  for (int turn = 0; self.asks_active; ++turn) {
    const bool others_run = std::ranges::any_of(self.warp->threads, [](const Thread* thread) {
      return !thread->ended && !thread->waits && !thread->asks_active;
    });
    if (others_run && turn < kTurnsForOthers) {
      Yield();
      continue;
    }
    const auto here = [&](const Thread* thread) { return thread->asks_active && thread->place == self.place; };
    uint32_t mask = 0;
    for (const Thread* thread : self.warp->threads) mask |= here(thread) ? 1u << thread->lane : 0;
    for (Thread* thread : self.warp->threads) {
      if ((mask >> thread->lane & 1) == 0) continue;
      thread->active = mask;
      thread->asks_active = false;
    }
  }
  return self.active;
}

void Machine::Abort() {
  aborted_ = true;
  Fiber::Switch(running_->fiber, main_);
  __builtin_trap();
}

void Machine::OverBudget() {
  Report(FaultKind::kBudget, "", "the kernel has not ended after " + std::to_string(options_.budget) + " instructions");
  Abort();
}

void Machine::Deadlock() {
  // Who waits where, warp by warp.
  std::map<std::string, int> places;
  for (const auto& thread : threads_) {
    const Block& block = *thread->block;
    std::string place = "block (" + std::to_string(block.index.x) + ", " + std::to_string(block.index.y) + ", " +
                        std::to_string(block.index.z) + ") warp " + std::to_string(thread->index / kWarp) + ": " +
                        DescribeWait(*thread);
    if (const std::string where = NameOfPlace(thread->place); !where.empty()) place += " at " + where;
    if (!thread->ended) ++places[std::move(place)];
  }
  constexpr int kMostPlaces = 24;
  std::string message = "no thread can run; ";
  int shown = 0;
  for (const auto& [place, count] : places) {
    if (++shown > kMostPlaces) {
      message += "; ...";
      break;
    }
    message += (shown > 1 ? "; " : "") + place + " (" + std::to_string(count) + " threads)";
  }
  // The report is of the first thread that waits.
  Thread* const last = running_;
  for (const auto& thread : threads_) {
    if (thread->ended) continue;
    running_ = thread.get();
    break;
  }
  Report(FaultKind::kDeadlock, "", std::move(message));
  running_ = last;
}

void Machine::Arrived(Meeting& meeting, int position, int instruction, const char* name, void* argument) {
  running_->doing = name;
  if (meeting.arrived == 0) {
    meeting.instruction = instruction;
    meeting.name = name;
  } else if (meeting.instruction != instruction) {
    Report(FaultKind::kDivergence, "",
           std::string("lanes diverge: others of its warp or warpgroup are at ") + meeting.name);
    Abort();
  }
  meeting.arguments[position] = argument;
  ++meeting.arrived;
  const bool last = meeting.arrived == (meeting.mask == 0 ? kWarpgroup : __builtin_popcount(meeting.mask));
  if (!last) meeting.waiting.push_back(running_);
}

clocks::Agent Machine::NewAgent(Block& block, std::string name) {
  if (block.agents.size() >= clocks::kMostAgentsOfGroup) {
    Report(FaultKind::kArguments, "", "the block has more than 4096 threads, queues of copies and mbarriers");
    Abort();
  }
  block.agents.push_back(std::move(name));
  return clocks::MakeAgent(block.serial, static_cast<uint32_t>(block.agents.size() - 1));
}

Party Machine::PartyOf(clocks::Agent agent) const {
  if (agent == kGridInFront) return {.who = options_.chain->last + ", the grid in front", .of_block = false};
  const uint32_t group = clocks::GroupOf(agent), index = clocks::IndexOf(agent);
  const Dim at = IndexIn(options_.grid, group);
  if (index < options_.block.Count()) return {"thread " + std::to_string(index), "", at};
  for (const auto& cluster : clusters_) {
    for (const auto& block : cluster->blocks) {
      if (block->serial == group && index < block->agents.size()) return {block->agents[index], "", at};
    }
  }
  return {"an asynchronous copy", "", at};
}

void Machine::Report(FaultKind kind, std::string place, std::string message, Party other) {
  Fault fault;
  fault.kind = kind;
  fault.kernel = options_.kernel;
  if (running_ != nullptr) {
    fault.self = {"thread " + std::to_string(running_->index), running_->doing, running_->block->index};
    fault.self.where = NameOfPlace(running_->place);
    fault.thread = running_->index;
  }
  fault.place = std::move(place);
  fault.message = std::move(message);
  fault.other = std::move(other);
  // Messages hold addresses: with places in the text, alike ones are told by these.
  const bool by_place = !fault.self.where.empty() && kind != FaultKind::kDeadlock;
  for (Fault& known : result_.faults) {
    if (known.kind == fault.kind && known.self.what == fault.self.what && known.other.what == fault.other.what &&
        known.self.where == fault.self.where &&
        (fault.other.what.empty() && !by_place ? known.message == fault.message : true)) {
      ++known.count;
      return;
    }
  }
  if (result_.faults.size() < options_.most_faults) result_.faults.push_back(std::move(fault));
}

std::string Machine::NameOfPlace(uint32_t place) const {
  return place == 0 || !options_.places.name ? "" : options_.places.name(place);
}

LaunchResult Launch(const LaunchOptions& options, GlobalMemory& memory, const std::function<void()>& kernel) {
  return Machine(options, memory, kernel).Run();
}

}  // namespace tilewright::emulator
