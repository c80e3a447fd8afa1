#include "verify/threads/races.h"

#include <algorithm>
#include <set>
#include <unordered_map>
#include <unordered_set>
#include <utility>

#include "ir/functor.h"
#include "ir/iteration_buffers.h"
#include "ir/script/printer.h"
#include "ir/thread_tags.h"
#include "verify/structure/given_values.h"
#include "verify/structure/instance_order.h"
#include "verify/structure/loop_kinds.h"
#include "verify/threads/loop_races.h"
#include "verify/threads/separate_nests.h"
#include "verify/threads/touches.h"

namespace tilewright {
namespace {

constexpr char kCheck[] = "races";

// The loops around each place where a buffer is allocated.
class AllocationDepths : public StmtVisitor {
 public:
  using StmtVisitor::Visit;
  std::unordered_map<const BufferNode*, std::unordered_set<const ForNode*>> loops_around;

 protected:
  void VisitFor(const ForNode* op) override {
    loops_.insert(op);
    StmtVisitor::VisitFor(op);
    loops_.erase(op);
  }
  void VisitBlock(const BlockNode* op) override {
    for (const Buffer& buffer : op->alloc_buffers) loops_around[buffer.get()] = loops_;
    StmtVisitor::VisitBlock(op);
  }
  void VisitAllocate(const AllocateNode* op) override {
    loops_around[op->buffer.get()] = loops_;
    StmtVisitor::VisitAllocate(op);
  }

 private:
  std::unordered_set<const ForNode*> loops_;
};

class Checker {
 public:
  Checker(const Function& function, LazyExactRun* exact, const RaceFacts& facts)
      : function_(function), exact_(exact), facts_(facts), given_(function) {}

  Diagnostics Run() {
    const Touches all = CollectTouches(function_);
    if (all.touches.empty() && all.divided_barriers.empty()) return {};
    for (const DividedBarrier& barrier : all.divided_barriers) {
      Unproven(barrier.object,
               "a barrier is reached by those threads only for which " + Print(barrier.condition) + " holds");
    }
    if (all.too_many) {
      Unproven(0, "loops with barriers in each other touch memory in more than " +
                      std::to_string(kMostRepeatedTouches) + " places, too many to compare");
      return Conclude();
    }
    of_iterations_ = BuffersOfParallelIterations(function_->body);
    allocations_.Visit(function_->body);
    // In the order of the program.
    std::vector<std::pair<const ForNode*, std::vector<const Touch*>>> loops;
    std::unordered_map<const ForNode*, size_t> places;
    for (const Touch& touch : all.touches) {
      for (const ForNode* loop : touch.loops) {
        if (!IsConcurrent(loop->kind) || IsInt(loop->extent, 1)) continue;
        const auto [place, is_new] = places.try_emplace(loop, loops.size());
        if (is_new) loops.emplace_back(loop, std::vector<const Touch*>());
        loops[place->second].second.push_back(&touch);
      }
    }
    for (auto& [loop, below] : loops) {
      Check(loop, std::move(below), all);
      CheckOwnCopies(loop, loop->body);
    }
    for (const SeparateNests& nests : FindSeparateNests(all.touches)) CheckSeparate(nests);
    return Conclude();
  }

 private:
  // Each iteration has a copy of the memory of a thread, without what other iterations wrote.
  void CheckOwnCopies(const ForNode* loop, const Stmt& s) {
    PreOrder(s, [&](const Stmt& part) {
      const auto* realize = dyn_cast<BlockRealizeNode>(part);
      if (realize == nullptr) return true;
      const OrderedInstances ordered = FindOrderedInstances(*realize->block);
      if (!ordered.by_elements || ordered.buffer->scope.owner() != OwnerLevel::kThread) return false;
      const auto allocated = allocations_.loops_around.find(ordered.buffer.get());
      const bool inside = allocated != allocations_.loops_around.end() && allocated->second.contains(loop);
      if (inside || !ordered.DependsOn(*realize, loop->var)) return false;
      Unproven(loop->id, "iterations of the loop " + loop->var.name() + " have copies of " + ordered.buffer->name +
                             ", and block " + realize->block->name + " reads what other iterations write");
      return false;
    });
  }

  void CheckSeparate(const SeparateNests& nests) {
    const auto refuse = [&](const Touch& read, const std::string& why) {
      const Buffer& buffer = read.region.buffer;
      Unproven(nests.loop->id, "each index of " + nests.loop->thread_tag + " has a copy of " + buffer->name +
                                   " (scope " + buffer->scope.text() + "), and " + Describe(read) + why);
    };
    if (nests.outside != nullptr) {
      return refuse(*nests.outside, " stands in no loop over the same indices as the writes");
    }
    std::vector<const Touch*> below;
    for (const Touch& touch : nests.touches) {
      if (std::ranges::find(touch.loops, nests.loop) != touch.loops.end()) below.push_back(&touch);
    }
    const auto unproven = FindLoopRaces(nests.loop, below, nests.touches, {}, facts_, given_, /*own=*/true).unproven;
    if (!unproven) return;
    const auto [a, b] = *unproven;
    refuse(a->write ? *b : *a, " may be of what another one writes: " + Describe(a->write ? *a : *b));
  }

  static std::string Describe(const Touch& touch) {
    const std::string block = touch.block == nullptr ? "" : " in block " + touch.block->name;
    return std::string(touch.write ? "a write of " : "a read of ") + Print(touch.region) + block;
  }

  // `below`: what the loop's body touches, of all.
  void Check(const ForNode* loop, std::vector<const Touch*> below, const Touches& all) {
    std::erase_if(below, [&](const Touch* touch) { return !IsShared(*loop, *touch); });
    // Buffers that are only read need no proof.
    std::set<const BufferNode*> written;
    for (const Touch* touch : below) {
      if (touch->write) written.insert(touch->region.buffer.get());
    }
    std::erase_if(below, [&](const Touch* touch) { return !written.contains(touch->region.buffer.get()); });
    const LoopRaces races = FindLoopRaces(loop, below, all.touches, all.values, facts_, given_);
    if (const auto& taken = races.taken_apart) {
      const Touch &one = *taken->first, &other = *taken->second;
      const auto subject = [](const Touch& t) {
        const std::string block = t.block == nullptr ? "the program" : "block " + t.block->name;
        return block + (t.write ? " writes " : " reads ") + Print(t.region);
      };
      std::string reason = subject(one);
      if (&one != &other) reason += " and " + subject(other);
      reason += ", at places from memory that are taken to differ between iterations of loop " + loop->var.name();
      assumed_.push_back({Verdict::kAssumed, kCheck, loop->id, std::move(reason)});
    }
    const auto& unproven = races.unproven;
    if (!unproven) return;
    const auto [a, b] = *unproven;
    std::string reason = "iterations of the " +
                         (loop->thread_tag.empty() ? std::string(ForKindName(loop->kind)) : loop->thread_tag) +
                         " loop " + loop->var.name() + " may touch the same element at the same time: " + Describe(*a);
    if (a != b) reason += ", " + Describe(*b);
    if (StartsThreads(*loop)) reason += ", with no barrier in between";
    Unproven(loop->id, std::move(reason));
  }

  // Whether the iterations of the loop see the same memory.
  bool IsShared(const ForNode& loop, const Touch& touch) const {
    const Buffer& buffer = touch.region.buffer;
    const auto allocated = allocations_.loops_around.find(buffer.get());
    const OwnerLevel owner = buffer->scope.owner();
    // Threads run here, of this loop or of one around it.
    const auto end = std::find(touch.loops.begin(), touch.loops.end(), &loop) + 1;
    const bool by_threads = std::any_of(touch.loops.begin(), end, [](const ForNode* l) { return StartsThreads(*l); });
    // Fragments are spread over their warp by the intrinsics that touch them.
    if (owner == OwnerLevel::kThread || owner == OwnerLevel::kCore || buffer->scope.kind() == MemoryKind::kFragment) {
      return false;
    }
    if (IsBlockTag(loop.thread_tag) && (owner == OwnerLevel::kBlock || owner == OwnerLevel::kWarp)) {
      return false;
    }
    if (allocated == allocations_.loops_around.end()) return true;
    if (loop.kind == ForKind::kParallel && of_iterations_.contains(buffer->data.get())) return false;
    // Memory of a block that its threads' loop encloses belongs to all of them, in all iterations of what they run.
    if (by_threads && (owner == OwnerLevel::kBlock || owner == OwnerLevel::kWarp)) return true;
    return !allocated->second.contains(&loop);
  }

  void Unproven(uint32_t object, std::string reason) {
    unproven_.push_back({Verdict::kRefuted, kCheck, object, std::move(reason)});
  }

  Diagnostics Conclude() {
    if (unproven_.empty() && assumed_.empty()) return {};
    if (exact_->Get().outcome == ExactOutcome::kClean) return {};
    unproven_.insert(unproven_.end(), assumed_.begin(), assumed_.end());
    return std::move(unproven_);
  }

  const Function& function_;
  LazyExactRun* exact_;
  const RaceFacts& facts_;
  const GivenValues given_;
  std::unordered_set<const VarNode*> of_iterations_;
  AllocationDepths allocations_;
  Diagnostics unproven_, assumed_;
};

}  // namespace

Diagnostics CheckRaces(const Function& function, LazyExactRun* exact, const RaceFacts& facts) {
  return Checker(function, exact, facts).Run();
}

}  // namespace tilewright
