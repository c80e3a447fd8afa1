#include "verify/threads/races.h"

#include <algorithm>
#include <map>
#include <set>
#include <unordered_map>
#include <unordered_set>
#include <utility>

#include "ir/analysis.h"
#include "ir/arith/iter_map.h"
#include "ir/arith/region.h"
#include "ir/arith/same_expr.h"
#include "ir/functor.h"
#include "ir/iteration_buffers.h"
#include "ir/script/printer.h"
#include "ir/substitute.h"
#include "ir/thread_tags.h"
#include "verify/structure/equal_values.h"
#include "verify/structure/given_values.h"
#include "verify/structure/instance_order.h"
#include "verify/structure/join_digits.h"
#include "verify/structure/loop_kinds.h"
#include "verify/threads/blocks_of_loop.h"
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

// Whether the value is another one in each iteration of the loop: a sum with one term, a multiple of the loop's
// variable.
bool Moves(const Expr& e, const Var& loop) {
  if (e.get() == loop.get()) return true;
  const auto* op = dyn_cast<BinaryNode>(e);
  if (op == nullptr) return false;
  if (op->op == BinaryOp::kMul) return AsInt(op->b).value_or(0) != 0 && Moves(op->a, loop);
  if (op->op != BinaryOp::kAdd && op->op != BinaryOp::kSub) return false;
  return UsesVar(op->a, loop) ? !UsesVar(op->b, loop) && Moves(op->a, loop) : Moves(op->b, loop);
}

// All pairs of touches below one loop.
class LoopChecker {
 public:
  // `touches`: what is to be proven, of `all`. `own`: iterations have memory of their own, so that writes do not meet.
  LoopChecker(const ForNode* loop, const std::vector<const Touch*>& touches, const std::vector<Touch>& all,
              const RaceFacts& facts, const GivenValues& given, bool own = false)
      : loop_(loop), touches_(touches), all_(all), given_(given), own_(own) {
    if (!StartsThreads(*loop)) blocks_.emplace(*loop, facts);
  }

  // The first two touches that were not proven to be apart.
  std::optional<std::pair<const Touch*, const Touch*>> FindUnproven() {
    for (size_t i = 0; i < touches_.size(); ++i) {
      for (size_t j = i; j < touches_.size(); ++j) {
        const Touch &a = *touches_[i], &b = *touches_[j];
        if (!a.region.buffer.same_as(b.region.buffer) || !(a.write || b.write) || (i == j && !a.write)) continue;
        if (own_ && a.write && b.write) continue;
        if (StartsThreads(*loop_) && a.phase != b.phase) continue;
        if (BothInNextIteration(a, b) || CombineAcrossThreads(a, b) || VirtualThreadsRepeat(a, b)) continue;
        if (blocks_ && blocks_->Decide(a, b)) continue;
        if (!MoveAlike(a, b) && !AreApart(i, j)) return std::pair(&a, &b);
      }
    }
    return std::nullopt;
  }

 private:
  // What holds for two touches in one iteration of a serial loop holds in the next one too.
  static bool BothInNextIteration(const Touch& a, const Touch& b) {
    return std::any_of(a.advanced.begin(), a.advanced.end(), [&](const ForNode* loop) {
      return std::find(b.advanced.begin(), b.advanced.end(), loop) != b.advanced.end();
    });
  }

  // Whether what the block computes may differ between the iterations of the loop: it reads other elements, or uses
  // iterators of blocks around otherwise than to read.
  bool MayDiffer(const BlockNode& block) const {
    const auto depends = [&](const Range& range) {
      return UsesVar(range.min, loop_->var) || UsesVar(range.extent, loop_->var);
    };
    for (const Touch& touch : all_) {
      const std::vector<Range>& region = touch.region.region;
      if (touch.block == &block && std::any_of(region.begin(), region.end(), depends)) return true;
    }
    std::unordered_set<const VarNode*> own;
    for (const IterVar& iter : block.iter_vars) own.insert(iter.var.get());
    PreOrder(block.body, [&](const Stmt& s) {
      if (const auto* loop = dyn_cast<ForNode>(s)) own.insert(loop->var.get());
      if (const auto* nested = dyn_cast<BlockRealizeNode>(s)) {
        for (const IterVar& iter : nested->block->iter_vars) own.insert(iter.var.get());
      }
      return true;
    });
    bool differs = false;
    PreOrderExprs(block.body, [&](const Expr& e) {
      const auto* var = dyn_cast<VarNode>(e);
      differs |= var != nullptr && !own.contains(var) && !given_.IsGiven(var);
      return !differs && !isa<LoadNode>(e);
    });
    return differs;
  }

  // The virtual threads of one thread all write the same value there: copies to shared memory by all threads together
  // stand inside of loops over virtual threads. They run in turn. What is copied must not be their own, and the same
  // thread must copy an element in each of them.
  bool VirtualThreadsRepeat(const Touch& a, const Touch& b) {
    const bool one_block = a.block != nullptr && a.block == b.block;
    if (!loop_->thread_tag.starts_with("vthread") || !a.write || !b.write || !one_block) return false;
    const auto is_own = [](const BufferRegion& read) {
      return read.buffer->scope.owner() == OwnerLevel::kThread || read.buffer->scope.owner() == OwnerLevel::kCore;
    };
    return SameRegion(a.region.region, b.region.region) &&
           std::none_of(a.block->reads.begin(), a.block->reads.end(), is_own) && !MayDiffer(*a.block) &&
           WritesValuesOfElements(*a.block) && InOneThread(a);
  }

  // Whether the same thread touches an element in each iteration of this loop.
  bool InOneThread(const Touch& touch) {
    const auto self = std::find(touch.loops.begin(), touch.loops.end(), loop_);
    return self + 1 == touch.loops.end() || IsInjective(touch, *(self + 1), touch.predicate);
  }

  bool CombineAcrossThreads(const Touch& a, const Touch& b) const {
    const auto reduces = [&](const Touch& touch) {
      return std::find(touch.reduces_over.begin(), touch.reduces_over.end(), loop_) != touch.reduces_over.end();
    };
    return a.block == b.block && reduces(a) && reduces(b);
  }

  // Some index of the one element that both touch is the same in all iterations of inner loops, and moves with this
  // one.
  bool MoveAlike(const Touch& a, const Touch& b) const {
    for (size_t d = 0; d < a.region.region.size(); ++d) {
      const Range &in_a = a.region.region[d], &in_b = b.region.region[d];
      if (!IsInt(in_a.extent, 1) || !IsInt(in_b.extent, 1) || !Moves(in_a.min, loop_->var)) continue;
      if (arith::SameExpr(in_a.min, in_b.min) && !UsesInnerLoop(in_a.min, a)) return true;
    }
    return false;
  }
  bool UsesInnerLoop(const Expr& e, const Touch& touch) const {
    const auto self = std::find(touch.loops.begin(), touch.loops.end(), loop_);
    return std::any_of(self + 1, touch.loops.end(), [&](const ForNode* inner) { return UsesVar(e, inner->var); });
  }

  // Whether b is a in the next iteration of serial loops.
  static bool IsNextOf(const Touch& a, const Touch& b) {
    if (a.block != b.block || !a.advanced.empty() || b.advanced.empty()) return false;
    VarMap next;
    for (const ForNode* loop : b.advanced) next[loop->var] = loop->var + 1;
    std::vector<Range> region;
    for (const Range& range : a.region.region) region.push_back(Substitute(range, next));
    return SameRegion(region, b.region.region);
  }

  bool AreApart(size_t i, size_t j) {
    const Touch &a = *touches_[i], &b = *touches_[j];
    if (SameRegion(a.region.region, b.region.region)) {
      // What only one of them does under a condition says nothing of the other: an init and its update, say.
      const Expr predicate = arith::SameExpr(a.predicate, b.predicate) ? a.predicate : Expr();
      // Over all threads together, or with those around held fixed, or with all loops around, of which these threads
      // are a digit: (block * 1024 + thread) // w.
      const ForNode* threads = OutermostThreads(a);
      if (IsInjective(a, threads, predicate) || (threads != loop_ && IsInjective(a, loop_, predicate))) return true;
      if (a.loops.front() != threads && IsInjective(a, a.loops.front(), predicate)) return true;
    }
    // A later iteration touches other elements than all earlier ones where each element belongs to one of them.
    if (IsNextOf(a, b) && IsInjective(a, a.loops.front(), Expr())) return true;
    const auto &box_a = Box(i), &box_b = Box(j);
    if (!box_a || !box_b) return false;
    if (ComesAfter(*box_a, *box_b) && (i == j || ComesAfter(*box_b, *box_a))) return true;
    return !StartsThreads(*loop_) && TilesAreApart(*box_a, *box_b, a.loops);
  }

  // The elements of the tile that an iteration touches by both determine the iteration (of a fused loop, say).
  bool TilesAreApart(const arith::Region& a, const arith::Region& b, const std::vector<const ForNode*>& loops) {
    arith::Analyzer analyzer;
    given_.AssumeSizes(&analyzer);
    BindOuter(loops, &analyzer);
    analyzer.Bind(loop_->var, {loop_->min, loop_->extent});
    const arith::Region hull = arith::UnionRegions(a, b, &analyzer);
    arith::Domain domain{{loop_->var, {loop_->min, loop_->extent}}};
    std::vector<Expr> elements;
    for (const Range& range : hull) {
      elements.push_back(range.min);
      if (IsInt(range.extent, 1)) continue;
      Var position("p" + std::to_string(elements.size()), range.min.dtype());
      const Range positions{Const(range.min.dtype(), 0), range.extent};
      analyzer.Bind(position, positions);
      domain.push_back({position, positions});
      elements.back() = range.min + position;
    }
    const auto map = arith::DetectIterMap(elements, domain, Expr(), arith::IterMapLevel::kNone, &analyzer);
    return map && map->injective;
  }

  // What iteration l + d of `later` touches lies apart from what iteration l of `earlier` touches, for all d >= 1.
  bool ComesAfter(const arith::Region& earlier, const arith::Region& later) {
    arith::Analyzer analyzer;
    given_.AssumeSizes(&analyzer);
    BindOuter(touches_[0]->loops, &analyzer);
    const DataType type = loop_->var.dtype();
    Var other("other", type);
    analyzer.Bind(loop_->var, {loop_->min, loop_->extent});
    analyzer.Bind(other, {loop_->min, loop_->extent});
    analyzer.Assume(loop_->var + 1 <= other);
    for (size_t d = 0; d < earlier.size(); ++d) {
      const Range there = Substitute(later[d], {{loop_->var, other}});
      if (analyzer.CanProveLessEqual(earlier[d].min + earlier[d].extent, there.min) ||
          analyzer.CanProveLessEqual(there.min + there.extent, earlier[d].min)) {
        return true;
      }
    }
    return false;
  }

  // The outermost of the loops over threads around `loop_`, which is among the touch's.
  const ForNode* OutermostThreads(const Touch& touch) const {
    const auto first = std::find_if(touch.loops.begin(), touch.loops.end(), [&](const ForNode* loop) {
      return loop == loop_ || (StartsThreads(*loop_) && StartsThreads(*loop));
    });
    return *first;
  }

  // The element determines the iterations of the loops from `outermost` inwards, as far as it depends on them, and of
  // `loop_`, where `condition` holds.
  bool IsInjective(const Touch& touch, const ForNode* outermost, const Expr& condition) {
    arith::Analyzer analyzer;
    given_.AssumeSizes(&analyzer);
    arith::Domain domain;
    bool inside = false;
    for (const ForNode* loop : touch.loops) {
      inside |= loop == outermost;
      if (!inside) {
        analyzer.Bind(loop->var, {loop->min, loop->extent});
        continue;
      }
      if (IsInt(loop->extent, 1)) {
        analyzer.Bind(loop->var, loop->min);
        continue;
      }
      const bool used = std::any_of(touch.region.region.begin(), touch.region.region.end(),
                                    [&](const Range& range) { return UsesVar(range.min, loop->var); });
      if (!used && loop != loop_) continue;
      analyzer.Bind(loop->var, {loop->min, loop->extent});
      domain.push_back({loop->var, {loop->min, loop->extent}});
    }
    std::vector<Expr> elements;
    for (const Range& range : touch.region.region) {
      if (IsInt(range.extent, 1)) {
        elements.push_back(range.min);
        continue;
      }
      Var position("p" + std::to_string(elements.size()), range.min.dtype());
      const Range positions{Const(range.min.dtype(), 0), range.extent};
      analyzer.Bind(position, positions);
      domain.push_back({position, positions});
      elements.push_back(range.min + position);
    }
    std::vector<Expr> joined;
    {
      arith::Analyzer::Scope scope(&analyzer);
      if (condition) analyzer.Assume(condition);
      joined = JoinDigits(elements, &analyzer);
    }
    for (const Expr& predicate : {condition, Expr()}) {
      for (const std::vector<Expr>& indices : {elements, joined}) {
        const auto map = arith::DetectIterMap(indices, domain, predicate, arith::IterMapLevel::kNone, &analyzer);
        if (map && map->injective) return true;
      }
      if (IsTrue(predicate)) break;
    }
    return false;
  }

  // What one iteration touches.
  const std::optional<arith::Region>& Box(size_t i) {
    if (const auto known = boxes_.find(i); known != boxes_.end()) return known->second;
    const Touch& touch = *touches_[i];
    arith::Analyzer analyzer;
    given_.AssumeSizes(&analyzer);
    BindOuter(touch.loops, &analyzer);
    analyzer.Bind(loop_->var, {loop_->min, loop_->extent});
    arith::Domain relaxed;
    bool inside = false;
    for (const ForNode* loop : touch.loops) {
      if (inside) relaxed.push_back({loop->var, {loop->min, loop->extent}});
      inside |= loop == loop_;
    }
    return boxes_[i] = arith::MayTouch(touch.region.region, relaxed, touch.predicate, &analyzer);
  }

  void BindOuter(const std::vector<const ForNode*>& loops, arith::Analyzer* analyzer) const {
    for (const ForNode* loop : loops) {
      if (loop == loop_) return;
      analyzer->Bind(loop->var, {loop->min, loop->extent});
    }
  }

  const ForNode* loop_;
  const std::vector<const Touch*>& touches_;
  const std::vector<Touch>& all_;
  const GivenValues& given_;
  const bool own_;
  std::optional<BlocksOfLoop> blocks_;
  std::map<size_t, std::optional<arith::Region>> boxes_;
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
      Unproven(0, "memory is touched in more than " + std::to_string(kMostTouches) + " places, too many to compare");
      return Conclude();
    }
    of_iterations_ = BuffersOfParallelIterations(function_->body);
    allocations_.Visit(function_->body);
    std::vector<const ForNode*> loops;
    for (const Touch& touch : all.touches) {
      for (const ForNode* loop : touch.loops) {
        if (!IsConcurrent(loop->kind) || IsInt(loop->extent, 1)) continue;
        if (std::find(loops.begin(), loops.end(), loop) == loops.end()) loops.push_back(loop);
      }
    }
    for (const ForNode* loop : loops) {
      Check(loop, all.touches);
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
    const auto unproven = LoopChecker(nests.loop, below, nests.touches, facts_, given_, /*own=*/true).FindUnproven();
    if (!unproven) return;
    const auto [a, b] = *unproven;
    refuse(a->write ? *b : *a, " may be of what another one writes: " + Describe(a->write ? *a : *b));
  }

  static std::string Describe(const Touch& touch) {
    const std::string block = touch.block == nullptr ? "" : " in block " + touch.block->name;
    return std::string(touch.write ? "a write of " : "a read of ") + Print(touch.region) + block;
  }

  void Check(const ForNode* loop, const std::vector<Touch>& all) {
    std::vector<const Touch*> below;
    for (const Touch& touch : all) {
      const bool inside = std::find(touch.loops.begin(), touch.loops.end(), loop) != touch.loops.end();
      if (inside && IsShared(*loop, touch)) below.push_back(&touch);
    }
    // Buffers that are only read need no proof.
    std::set<const BufferNode*> written;
    for (const Touch* touch : below) {
      if (touch->write) written.insert(touch->region.buffer.get());
    }
    std::erase_if(below, [&](const Touch* touch) { return !written.contains(touch->region.buffer.get()); });
    const auto unproven = LoopChecker(loop, below, all, facts_, given_).FindUnproven();
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
    if (unproven_.empty() || exact_->Get().outcome == ExactOutcome::kClean) return {};
    return std::move(unproven_);
  }

  const Function& function_;
  LazyExactRun* exact_;
  const RaceFacts& facts_;
  const GivenValues given_;
  std::unordered_set<const VarNode*> of_iterations_;
  AllocationDepths allocations_;
  Diagnostics unproven_;
};

}  // namespace

Diagnostics CheckRaces(const Function& function, LazyExactRun* exact, const RaceFacts& facts) {
  return Checker(function, exact, facts).Run();
}

}  // namespace tilewright
