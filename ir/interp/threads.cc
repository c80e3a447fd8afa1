// Threads: forking, barriers, joining.
#include <algorithm>

#include "absl/strings/str_cat.h"
#include "ir/interp/machine.h"

namespace tilewright::interp::internal {
namespace {
constexpr int64_t kMaxThreads = 1 << 20;
constexpr int64_t kMaxThreadRegisters = int64_t{1} << 28;
}  // namespace

void Machine::KeepBeforeThreads(Context& parent) {
  parent.before_threads.clear();
  const Instruction& fork = code_.instructions[parent.pc];
  for (size_t i = 0; i < code_.allocations.size(); ++i) {
    const int32_t id = parent.memory_of_allocation[i];
    if (id < 0 || !code_.allocations[i].own_per_thread) continue;
    BeforeThreads before{.allocation = i};
    for (const int slot : code_.regions[static_cast<size_t>(fork.c)].slots) {
      const auto first = static_cast<size_t>(slot);
      if (MemoryOf(parent.registers[first + 2].i) == id) before.slots.push_back(first);
    }
    if (before.slots.empty()) continue;
    const Memory& memory = memory_[static_cast<size_t>(id)];
    before.data.assign(memory.data, memory.data + memory.bytes);
    before.shadow = memory.shadow;
    parent.before_threads.push_back(std::move(before));
  }
}

void Machine::CopyOwnMemory(const Context& parent, Context& child) {
  for (const BeforeThreads& before : parent.before_threads) {
    const int32_t id = FreeMemory(before.allocation);
    Memory& copy = memory_[static_cast<size_t>(id)];
    if (!Reserve(copy, static_cast<int64_t>(before.data.size()), code_.allocations[before.allocation].buffer)) return;
    std::copy(before.data.begin(), before.data.end(), copy.data);
    copy.shadow = before.shadow;
    child.memory_of_allocation[before.allocation] = id;
    for (const size_t slot : before.slots) {
      SlotFromHandle(&child.registers[slot], MakeHandle(id) + OffsetOf(child.registers[slot + 2].i));
    }
  }
}

void Machine::MergeOwnMemory(const Context& child, const Context& parent) {
  for (const BeforeThreads& before : parent.before_threads) {
    const Memory& copy = memory_[static_cast<size_t>(child.memory_of_allocation[before.allocation])];
    Memory& memory = memory_[static_cast<size_t>(parent.memory_of_allocation[before.allocation])];
    for (size_t i = 0; i < before.data.size(); ++i) {
      const bool differs = copy.data[i] != before.data[i];
      if (copy.shadow.WroteSince(before.shadow, static_cast<int64_t>(i)).value_or(differs)) {
        memory.data[i] = copy.data[i];
      }
    }
    memory.shadow.Merge(copy.shadow, before.shadow);
  }
}

void Machine::Spawn(Context& parent, Group& group, std::vector<Context*>& ready) {
  const Instruction& fork = code_.instructions[parent.pc];
  const int64_t extent = parent.registers[static_cast<size_t>(fork.a)].i;
  const int64_t min = parent.registers[static_cast<size_t>(fork.b)].i;
  parent.pending = parent.children = static_cast<int>(extent);
  const uint32_t execution = code_.shadow_races ? strands_.BeginRegion(fork.c, extent) : 0;
  // The last one pushed runs first.
  const size_t first = ready.size();
  KeepBeforeThreads(parent);
  for (int64_t i = 0; i < extent; ++i) {
    std::unique_ptr<Context> child;
    if (group.ended.empty()) {
      child = std::make_unique<Context>();
    } else {
      child = std::move(group.ended.back());
      group.ended.pop_back();
    }
    child->registers = parent.registers;
    child->registers[static_cast<size_t>(fork.dst)].i = min + i;
    child->pc = parent.pc + 1;
    child->parent = &parent;
    child->group = &group;
    child->strand = code_.shadow_races ? strands_.Add(parent.strand, execution, min + i) : parent.strand;
    child->regions.clear();
    child->memory_of_allocation.assign(code_.allocations.size(), -1);
    CopyOwnMemory(parent, *child);
    ready.push_back(child.get());
    group.contexts.push_back(std::move(child));
  }
  std::reverse(ready.begin() + static_cast<std::ptrdiff_t>(first), ready.end());
}

void Machine::PassBarrier(Group& group, Context& context, int64_t warp) {
  ++context.pc;
  if (!code_.shadow_races) return;
  context.strand = warp < 0 ? strands_.AfterBlockBarrier(context.strand, group.block_phase)
                            : strands_.AfterWarpBarrier(context.strand, static_cast<uint32_t>(warp),
                                                        group.warp_phases[static_cast<size_t>(warp)]);
}

// Every thread waits at a barrier or for threads it started, or has ended. Lets go on those whose barrier is complete.
bool Machine::ReleaseBarrier(Group& group, std::vector<Context*>& waiting, std::vector<Context*>& ready) {
  const auto instruction = [&](const Context* context) -> const Instruction& {
    return code_.instructions[context->pc];
  };
  const auto thread = [&](const Context* context) {
    return context->registers[static_cast<size_t>(instruction(context).a)].i;
  };
  const auto diverges = [&](std::string_view reason) {
    Fail(absl::FailedPreconditionError(
        absl::StrCat("barrier divergence: ", absl::string_view(reason.data(), reason.size()))));
    return false;
  };
  const auto first_of_warps =
      std::partition(waiting.begin(), waiting.end(), [&](const Context* c) { return instruction(c).t == 0; });
  if (first_of_warps == waiting.end()) {
    for (const Context* context : waiting) {
      if (context->pc != waiting.front()->pc) return diverges("the threads of the block wait at different barriers");
      for (const Context* c = context->parent; c != nullptr; c = c->parent) {
        if (c->pending < c->children) return diverges("some threads of the block ended without reaching it");
      }
    }
    ++group.block_phase;
    for (Context* context : waiting) PassBarrier(group, *context, -1);
    ready.assign(waiting.rbegin(), waiting.rend());
    waiting.clear();
    return true;
  }
  // Warps first: each that waits for itself must be complete and at one barrier.
  std::map<int64_t, std::vector<Context*>> by_warp;
  for (auto it = first_of_warps; it != waiting.end(); ++it) by_warp[thread(*it) / 32].push_back(*it);
  for (auto& [warp, members] : by_warp) {
    const int64_t threads = members[0]->registers[static_cast<size_t>(instruction(members[0]).b)].i;
    if (static_cast<int64_t>(members.size()) != std::min<int64_t>(32, threads - warp * 32)) {
      return diverges("some threads of a warp do not reach it");
    }
    if (group.warp_phases.size() <= static_cast<size_t>(warp)) group.warp_phases.resize(static_cast<size_t>(warp) + 1);
    ++group.warp_phases[static_cast<size_t>(warp)];
    const size_t pc = members[0]->pc;
    for (Context* member : members) {
      if (member->pc != pc) return diverges("the threads of a warp wait at different barriers");
      PassBarrier(group, *member, warp);
      ready.push_back(member);
    }
  }
  waiting.erase(first_of_warps, waiting.end());
  std::reverse(ready.begin(), ready.end());
  return true;
}

void Machine::EndThread(Group& group, const Context* context) {
  MergeOwnMemory(*context, *context->parent);
  for (size_t i = 0; i < code_.allocations.size(); ++i) {
    const int32_t memory = context->memory_of_allocation[i];
    if (memory >= 0) free_memory_[i].push_back(memory);
  }
  auto self =
      std::find_if(group.contexts.begin(), group.contexts.end(), [&](const auto& c) { return c.get() == context; });
  group.ended.push_back(std::move(*self));
  *self = std::move(group.contexts.back());
  group.contexts.pop_back();
}

bool Machine::RunGroup(Context& root) {
  Group group;
  std::vector<Context*> ready, waiting;
  const auto spawn = [&](Context& parent) {
    const int64_t extent = parent.registers[static_cast<size_t>(code_.instructions[parent.pc].a)].i;
    const int64_t most = std::min(kMaxThreads, kMaxThreadRegisters / static_cast<int64_t>(code_.registers.size() + 1));
    if (extent > most || static_cast<int64_t>(group.contexts.size()) + extent > most) {
      Fail(absl::ResourceExhaustedError(absl::StrCat("more than ", most, " threads")));
      return false;
    }
    if (extent <= 0) {
      parent.pc = static_cast<size_t>(code_.instructions[parent.pc].imm);
      if (&parent != &root) ready.push_back(&parent);
      return true;
    }
    Spawn(parent, group, ready);
    return error_.ok();
  };
  if (!spawn(root)) return false;
  while (!ready.empty() || !waiting.empty()) {
    if (ready.empty()) {
      if (!ReleaseBarrier(group, waiting, ready)) return false;
      continue;
    }
    Context* context = ready.back();
    ready.pop_back();
    switch (Execute(*context)) {
      case Stop::kError:
        return false;
      case Stop::kFork:
        if (!spawn(*context)) return false;
        break;
      case Stop::kBarrier:
        waiting.push_back(context);
        break;
      case Stop::kThreadEnd: {
        Context* parent = context->parent;
        EndThread(group, context);
        if (--parent->pending > 0 || parent == &root) break;
        parent->children = 0;
        parent->pc = static_cast<size_t>(code_.instructions[parent->pc].imm);
        if (code_.shadow_races) parent->strand = strands_.AfterBlockBarrier(parent->strand, group.block_phase);
        ready.push_back(parent);
        break;
      }
      case Stop::kReturn:
        break;
    }
  }
  root.children = 0;
  if (code_.shadow_races && root.regions.empty()) strands_.Forget();
  for (const auto& [allocation, memory] : group.outgrown) {
    free_memory_[static_cast<size_t>(allocation)].push_back(memory);
  }
  for (const auto& [key, memory] : group.shared) free_memory_[static_cast<size_t>(key.first)].push_back(memory);
  return true;
}

}  // namespace tilewright::interp::internal
