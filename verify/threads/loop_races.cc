#include "verify/threads/loop_races.h"

#include <algorithm>
#include <deque>
#include <map>
#include <unordered_map>
#include <unordered_set>
#include <utility>

#include "ir/analysis.h"
#include "ir/arith/iter_map.h"
#include "ir/arith/region.h"
#include "ir/arith/same_expr.h"
#include "ir/functor.h"
#include "ir/substitute.h"
#include "verify/structure/equal_values.h"
#include "verify/structure/instance_order.h"
#include "verify/structure/join_digits.h"
#include "verify/threads/independent_parts.h"

namespace tilewright {
namespace {

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
              const ValuesByName& values, const RaceFacts& facts, const GivenValues& given, bool own)
      : loop_(loop), originals_(touches), touches_(touches), all_(all), values_(values), given_(given), own_(own) {
    if (!StartsThreads(*loop)) blocks_.emplace(*loop, facts);
    if (values.empty()) return;
    for (const Touch*& touch : touches_) {
      if (std::ranges::any_of(touch->place.region, [&](const Range& range) { return HasNames(range.min); })) {
        touch = &placed_.emplace_back(OfUsableNames(*touch));
      }
    }
  }

  // Two touches that are apart if places from memory are; found by FindUnproven.
  const std::optional<TouchPair>& taken_apart() const { return taken_apart_; }

  // The first two touches that were not proven to be apart, nor are taken to be.
  std::optional<TouchPair> FindUnproven() {
    std::unordered_map<const BufferNode*, std::vector<size_t>> of_buffers;
    for (size_t i = 0; i < touches_.size(); ++i) of_buffers[touches_[i]->region.buffer.get()].push_back(i);
    for (size_t i = 0; i < touches_.size(); ++i) {
      const std::vector<size_t>& of_buffer = of_buffers[touches_[i]->region.buffer.get()];
      for (auto it = std::ranges::lower_bound(of_buffer, i); it != of_buffer.end(); ++it) {
        const size_t j = *it;
        const Touch &a = *touches_[i], &b = *touches_[j];
        if (!(a.write || b.write) || (i == j && !a.write)) continue;
        if (own_ && a.write && b.write) continue;
        if (StartsThreads(*loop_) && a.phase != b.phase) continue;
        if (BothInNextIteration(a, b) || CombineAcrossThreads(a, b) || VirtualThreadsRepeat(a, b)) continue;
        if (blocks_ && blocks_->Decide(a, b)) continue;
        if (MoveAlike(a, b) || AreApart(i, j)) continue;
        const TouchPair pair(originals_[i], originals_[j]);
        if (!AreTakenApart(*pair.first, *pair.second)) return pair;
        if (!taken_apart_) taken_apart_ = pair;
      }
    }
    return std::nullopt;
  }

 private:
  // What holds for two touches in one iteration of a serial loop holds in the next one too.
  static bool BothInNextIteration(const Touch& a, const Touch& b) {
    return std::any_of(a.advanced.begin(), a.advanced.end(), [&](const StmtNode* loop) {
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
    for (const StmtNode* advanced : b.advanced) {
      const auto* loop = dyn_cast<ForNode>(advanced);
      if (loop == nullptr) return false;
      next[loop->var] = loop->var + 1;
    }
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
    if (!StartsThreads(*loop_) && TilesAreApart(*box_a, *box_b, a.loops)) return true;
    return AgreeInOwnDimensions(a, b) || NeverMeetAtOnce(a, b) || AgreeInOtherLoops(a, b);
  }

  // Whether both touch the same but for the names of inner loops, and serial ones may be one further, and the element
  // tells the iterations apart: A[i, t, j] and A[i + 1, t, k].
  bool AgreeInOtherLoops(const Touch& a, const Touch& b) {
    const std::vector<const ForNode*> of_a = LoopsUsed(a), of_b = LoopsUsed(b);
    if (of_a.size() != of_b.size()) return false;
    VarMap names, before_a, before_b;
    for (size_t l = 0; l < of_a.size(); ++l) {
      const ForNode &in_a = *of_a[l], &in_b = *of_b[l];
      if (&in_a == &in_b) continue;
      if (!IsInside(in_a, a) || !IsInside(in_b, b)) return false;
      if (!arith::SameExpr(in_a.min, in_b.min) || !arith::SameExpr(in_a.extent, in_b.extent)) return false;
      names[in_b.var] = in_a.var;
    }
    std::vector<const StmtNode*> further = a.advanced;
    further.insert(further.end(), b.advanced.begin(), b.advanced.end());
    if (!TakeBack(a, &before_a) || !TakeBack(b, &before_b)) return false;
    Touch both = a;
    arith::Analyzer analyzer;
    given_.AssumeSizes(&analyzer);
    for (size_t d = 0; d < a.region.region.size(); ++d) {
      const Range in_a = Substitute(a.region.region[d], before_a);
      const Range in_b = Substitute(Substitute(b.region.region[d], before_b), names);
      if (!analyzer.CanProveEqual(in_a.min, in_b.min) || !arith::SameExpr(in_a.extent, in_b.extent)) return false;
      both.region.region[d] = {analyzer.Simplify(in_a.min), in_a.extent};
    }
    return IsInjective(both, a.loops.front(), Expr(), further);
  }
  bool IsInside(const ForNode& inner, const Touch& touch) const {
    return std::find(std::ranges::find(touch.loops, loop_) + 1, touch.loops.end(), &inner) != touch.loops.end();
  }
  static std::vector<const ForNode*> LoopsUsed(const Touch& touch) {
    std::vector<const ForNode*> used = touch.loops;
    std::erase_if(used, [&](const ForNode* loop) {
      return IsInt(loop->extent, 1) || std::ranges::none_of(touch.region.region, [&](const Range& range) {
               return UsesVar(range.min, loop->var);
             });
    });
    return used;
  }
  // What makes the touch one of this iteration of loops again, without those of one iteration. Whether they are all for
  // loops.
  static bool TakeBack(const Touch& touch, VarMap* before) {
    for (const ForNode* loop : touch.loops) {
      if (IsInt(loop->extent, 1)) (*before)[loop->var] = loop->min;
    }
    for (const StmtNode* advanced : touch.advanced) {
      const auto* loop = dyn_cast<ForNode>(advanced);
      if (loop == nullptr) return false;
      (*before)[loop->var] = loop->var - 1;
    }
    return true;
  }

  // Whether what runs at once touches other elements by the one than by the other: the rows of A[(t + 1) % 2, i] and
  // A[t % 2, i] in a step t, and those of A[i, j] and A[k, j] where i > k.
  bool NeverMeetAtOnce(const Touch& a, const Touch& b) {
    if (a.loops != b.loops || !a.advanced.empty() || !b.advanced.empty()) return false;
    arith::Analyzer analyzer;
    given_.AssumeSizes(&analyzer);
    arith::Domain varying, fixed;
    bool inside = false;
    for (const ForNode* loop : a.loops) {
      inside |= loop == OutermostThreads(a);
      const Range range{loop->min, loop->extent};
      analyzer.Bind(loop->var, range);
      (inside ? varying : fixed).push_back({loop->var, range});
    }
    const bool alike = a.predicate && b.predicate && arith::SameExpr(a.predicate, b.predicate);
    const Expr condition = alike && !arith::ReadsMemory(a.predicate) ? a.predicate : Expr();
    return NeverMeet(a.region.region, b.region.region, varying, fixed, condition, &analyzer);
  }

  // Some dimensions, in which both touch the same in each iteration, tell the iterations apart: X[p, v] and X[q, v].
  bool AgreeInOwnDimensions(const Touch& a, const Touch& b) {
    Touch both = a;
    both.region.region.clear();
    for (size_t d = 0; d < a.region.region.size(); ++d) {
      if (SameRegion({a.region.region[d]}, {b.region.region[d]})) both.region.region.push_back(a.region.region[d]);
    }
    const size_t dimensions = both.region.region.size();
    if (dimensions == 0 || dimensions == a.region.region.size()) return false;
    const Expr predicate = arith::SameExpr(a.predicate, b.predicate) ? a.predicate : Expr();
    return IsInjective(both, OutermostThreads(a), predicate) || IsInjective(both, a.loops.front(), predicate);
  }

  bool HasNames(const Expr& e) const {
    return UsesVar(e, [&](const VarNode* var) { return values_.contains(var); });
  }

  // The touch in terms of those values from memory that are the same in all iterations that are compared.
  Touch OfUsableNames(const Touch& touch) const {
    Touch result = touch;
    const auto outermost = std::find(touch.loops.begin(), touch.loops.end(), OutermostThreads(touch));
    const auto is_usable = [&](const MemoryValue& value) {
      if (StartsThreads(*loop_) ? !value.is_steady : !value.lasts) return false;
      return std::none_of(outermost, touch.loops.end(), [&](const ForNode* l) { return value.loops.contains(l); });
    };
    arith::Analyzer analyzer;
    given_.AssumeSizes(&analyzer);
    for (const ForNode* loop : touch.loops) analyzer.Bind(loop->var, {loop->min, loop->extent});
    result.region = touch.place;
    const std::vector<Range> all = BufferRegion::Full(touch.place.buffer).region;
    for (size_t d = 0; d < all.size(); ++d) {
      Range& range = result.region.region[d];
      if (!HasNames(range.min)) continue;
      range.min = analyzer.Simplify(range.min);
      const bool unusable = UsesVar(range.min, [&](const VarNode* var) {
        const auto value = values_.find(var);
        return value != values_.end() && !is_usable(value->second);
      });
      if (unusable) range = all[d];
    }
    return result;
  }

  // Whether data that the function is given decides where both touch, each iteration looks up data of its own, and the
  // program says that iterations are independent.
  bool AreTakenApart(const Touch& a, const Touch& b) {
    if (values_.empty() || own_ || loop_->kind == ForKind::kVectorized) return false;
    if (!independent_) independent_.emplace(*loop_);
    for (const Touch* touch : {&a, &b}) {
      if (!independent_->Contain(touch->block)) return false;
      Touch decided = *touch;
      decided.region.region.clear();
      bool by_data = false;
      for (const Range& range : touch->place.region) {
        for (Expr& by : DecidedBy(range.min, values_)) {
          const auto same = [&](const Range& known) { return arith::SameExpr(known.min, by); };
          if (std::ranges::any_of(decided.region.region, same)) continue;
          const Expr one = Const(by.dtype(), 1);
          decided.region.region.push_back({std::move(by), one});
        }
        by_data |= UsesVar(range.min, [&](const VarNode* var) {
          const auto value = values_.find(var);
          return value != values_.end() && !value->second.decided_by.empty() && value->second.loops.contains(loop_);
        });
      }
      if (!by_data || !IsInjective(decided, loop_, touch->predicate)) return false;
    }
    return true;
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
      const Range positions{Const(range.min.dtype(), 0), LongestTile(range.extent, &analyzer)};
      analyzer.Bind(position, positions);
      domain.push_back({position, positions});
      elements.back() = range.min + position;
    }
    const auto map = arith::DetectIterMap(elements, domain, Expr(), arith::IterMapLevel::kNone, &analyzer);
    return map && map->injective;
  }

  // The last tile may be shorter than the others: min(64, 83 - f % 2 * 64).
  Expr LongestTile(const Expr& extent, arith::Analyzer* analyzer) const {
    if (!UsesVar(extent, loop_->var)) return extent;
    const int64_t longest = analyzer->ConstBounds(extent).max;
    return longest == arith::kPosInf ? extent : Const(extent.dtype(), longest);
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
  // `loop_`, where `condition` holds. `further`: loops that have one more iteration.
  bool IsInjective(const Touch& touch, const ForNode* outermost, const Expr& condition,
                   const std::vector<const StmtNode*>& further = {}) {
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
      const bool more = std::ranges::find(further, loop) != further.end();
      if (IsInt(loop->extent, 1) && !more) {
        analyzer.Bind(loop->var, loop->min);
        continue;
      }
      const Range range{loop->min, more ? loop->extent + 1 : loop->extent};
      const bool used = std::any_of(touch.region.region.begin(), touch.region.region.end(),
                                    [&](const Range& range) { return UsesVar(range.min, loop->var); });
      if (!used && loop != loop_) continue;
      analyzer.Bind(loop->var, range);
      domain.push_back({loop->var, range});
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
  const std::vector<const Touch*>& originals_;
  std::vector<const Touch*> touches_;  // the same in terms of values from memory that can be compared
  std::deque<Touch> placed_;
  const std::vector<Touch>& all_;
  const ValuesByName& values_;
  const GivenValues& given_;
  const bool own_;
  std::optional<BlocksOfLoop> blocks_;
  std::optional<IndependentParts> independent_;
  std::optional<TouchPair> taken_apart_;
  std::map<size_t, std::optional<arith::Region>> boxes_;
};

}  // namespace

LoopRaces FindLoopRaces(const ForNode* loop, const std::vector<const Touch*>& touches, const std::vector<Touch>& all,
                        const ValuesByName& values, const RaceFacts& facts, const GivenValues& given, bool own) {
  LoopChecker checker(loop, touches, all, values, facts, given, own);
  LoopRaces races;
  races.unproven = checker.FindUnproven();
  races.taken_apart = checker.taken_apart();
  return races;
}

}  // namespace tilewright
