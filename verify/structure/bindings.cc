#include "verify/structure/bindings.h"

#include <algorithm>
#include <map>
#include <set>
#include <utility>
#include <vector>

#include "ir/analysis.h"
#include "ir/arith/iter_map.h"
#include "ir/arith/linear.h"
#include "ir/arith/region.h"
#include "ir/arith/same_expr.h"
#include "ir/changes/known_inside.h"
#include "ir/functor.h"
#include "ir/script/printer.h"
#include "ir/substitute.h"
#include "verify/structure/block_checker.h"
#include "verify/structure/instances.h"
#include "verify/structure/shift_loops.h"

namespace tilewright {
namespace {

class Checker : public BlockChecker {
 public:
  using BlockChecker::BlockChecker;
  std::unordered_set<const BlockNode*> repeating;

 protected:
  void VisitFor(const ForNode* op) override {
    arith::Analyzer::Scope scope(&analyzer_);
    BindInside(*op, &analyzer_);
    const ForNode* same_threads = ThreadsOf(op->thread_tag);
    if (same_threads != nullptr) {
      CheckInstancesOfOneThread(*op, same_threads);
      joined_[op->var] = op->min + same_threads->var;
      joined_loops_.push_back({op, same_threads});
      Visit(op->body);
      joined_loops_.pop_back();
      joined_.erase(op->var);
      return;
    }
    loops_.push_back({op->var, {op->min, op->extent}});
    threads_.push_back(op);
    Visit(op->body);
    threads_.pop_back();
    loops_.pop_back();
  }
  void VisitIf(const IfNode* op) override {
    {
      arith::Analyzer::Scope scope(&analyzer_);
      AssumeInside(op->condition, op->then_case, &analyzer_);
      Visit(op->then_case);
    }
    arith::Analyzer::Scope scope(&analyzer_);
    if (op->else_case) AssumeInside(Not(op->condition), op->else_case, &analyzer_);
    Visit(op->else_case);
  }
  void VisitBlockRealize(const BlockRealizeNode* op) override {
    Check(*op);
    const size_t outer_of_threads = of_threads_.size();
    if (!threads_.empty()) FollowThreads(*op);
    // Inside, the iterators are all that is known of the loops around.
    arith::Domain outer = std::move(loops_);
    loops_.clear();
    {
      arith::Analyzer::Scope scope(&analyzer_);
      for (const IterVar& iter : op->block->iter_vars) analyzer_.Bind(iter.var, iter.domain);
      Visit(op->block->init);
      Visit(op->block->body);
    }
    loops_ = std::move(outer);
    of_threads_.erase(of_threads_.begin() + static_cast<ptrdiff_t>(outer_of_threads), of_threads_.end());
  }

 private:
  // An iterator of a block around whose value depends on the index of a thread.
  struct OfThread {
    Var iterator;
    const ForNode* thread;
    const BlockNode* block;
  };

  // A loop over threadIdx inside of another of the same tag takes the index of its thread.
  const ForNode* ThreadsOf(const std::string& tag) const {
    if (!tag.starts_with("threadIdx")) return nullptr;
    for (const ForNode* loop : threads_) {
      if (loop->thread_tag == tag) return loop;
    }
    return nullptr;
  }

  void FollowThreads(const BlockRealizeNode& realize) {
    const size_t outer = of_threads_.size();
    const auto add = [&](size_t i, const ForNode* thread) {
      of_threads_.push_back({realize.block->iter_vars[i].var, thread, realize.block.get()});
    };
    for (size_t i = 0; i < realize.bindings.size(); ++i) {
      const Expr binding = joined_.empty() ? realize.bindings[i] : Substitute(realize.bindings[i], joined_);
      for (const ForNode* loop : threads_) {
        if (loop->thread_tag.starts_with("threadIdx") && UsesVar(binding, loop->var)) add(i, loop);
      }
      for (size_t o = 0; o < outer; ++o) {
        if (UsesVar(binding, of_threads_[o].iterator)) add(i, of_threads_[o].thread);
      }
    }
  }

  // What the loop encloses may use iterators of blocks around that depend on the same thread, or the loop's own
  // variable, not both: an instance of such a block would run one iteration of the loop only.
  void CheckInstancesOfOneThread(const ForNode& joined, const ForNode* thread) {
    for (const OfThread& outer : of_threads_) {
      if (outer.thread != thread) continue;
      bool both = false;
      PreOrder(joined.body, [&](const Stmt& s) {
        const bool is_step = isa<BlockRealizeNode>(s) || isa<StoreNode>(s);
        both |= is_step && UsesVar(s, joined.var) && UsesVar(s, outer.iterator);
        return !is_step && !both;
      });
      if (!both) continue;
      diagnostics.push_back({Verdict::kRefuted, "bindings", joined.id,
                             "loop " + joined.var.name() + " takes the index of its thread, on which iterator " +
                                 outer.iterator.name() + " of block " + outer.block->name +
                                 " depends too, so that each instance of the block runs one of its iterations"});
      return;
    }
  }

  // Whether the bindings depend on two loops that take the same index, so that only few of the instances run.
  bool DependsOnOneThreadTwice(const BlockRealizeNode& realize) {
    const auto depends = [&](const ForNode* loop) {
      return std::any_of(realize.bindings.begin(), realize.bindings.end(),
                         [&](const Expr& binding) { return UsesVar(binding, loop->var); });
    };
    for (const auto& [joined, thread] : joined_loops_) {
      if (IsInt(thread->extent, 1) || !depends(joined)) continue;
      const ForNode* other = depends(thread) ? thread : nullptr;
      for (const auto& [second, of] : joined_loops_) {
        if (other == nullptr && second != joined && of == thread && depends(second)) other = second;
      }
      if (other == nullptr) continue;
      Refuse(realize, "it depends on loops " + other->var.name() + " and " + joined->var.name() +
                          ", which both take the index of their thread in " + thread->thread_tag);
      return true;
    }
    return false;
  }

  // Whether it is a // b with 0 <= a < b * n in a domain of n values from 0 on: then b is positive, whatever it is.
  bool IsQuotientInside(const Expr& binding, const Range& domain) {
    const auto* as = dyn_cast<CastNode>(binding);
    const auto* op = dyn_cast<BinaryNode>(as == nullptr ? binding : as->value);
    const auto values = AsInt(domain.extent);
    if (op == nullptr || op->op != BinaryOp::kFloorDiv || !IsInt(domain.min, 0) || !values || *values <= 0)
      return false;
    return analyzer_.CanProveLessEqual(Const(op->a.dtype(), 0), op->a) &&
           analyzer_.CanProveLess(op->a, op->b * Const(op->b.dtype(), *values));
  }

  // If memory decides how far a loop runs, its end is taken to be inside of the domain; so is a value that memory
  // gives.
  void CheckDomain(const BlockRealizeNode& realize, const IterVar& iter, const Expr& binding) {
    const Expr end = iter.domain.min + iter.domain.extent;
    const bool begins_inside = analyzer_.CanProveLessEqual(iter.domain.min, binding);
    if (begins_inside && analyzer_.CanProveLess(binding, end)) return;
    if (IsQuotientInside(binding, iter.domain)) return;
    const bool from_memory = std::any_of(loops_.begin(), loops_.end(), [&](const auto& loop) {
      return UsesVar(binding, loop.first) && arith::ReadsMemory(loop.second.extent);
    });
    std::string what = "iterator " + iter.var.name() + " is bound to " + Print(binding) + ", which is ";
    const std::string domain =
        "inside of its domain [" + Print(iter.domain.min) + ", " + Print(analyzer_.Simplify(end)) + ")";
    const bool never_inside =
        analyzer_.CanProveLessEqual(end, binding) || analyzer_.CanProveLess(binding, iter.domain.min);
    if (((begins_inside && from_memory) || arith::ReadsMemory(binding)) && !never_inside) {
      diagnostics.push_back({Verdict::kAssumed, "bindings", realize.block->id,
                             "block " + realize.block->name + ": " + what + "taken to be " + domain});
    } else {
      Refuse(realize, what + "not " + domain, /*enumerable=*/true);
    }
  }

  void Check(const BlockRealizeNode& realize) {
    repeating.insert(realize.block.get());
    if (DependsOnOneThreadTwice(realize)) return;
    std::vector<Expr> independent;
    std::vector<const IterVar*> iterators;
    {
      arith::Analyzer::Scope scope(&analyzer_);
      analyzer_.Assume(realize.predicate);
      for (size_t i = 0; i < realize.bindings.size(); ++i) {
        const IterVar& iter = realize.block->iter_vars[i];
        const Expr& binding = realize.bindings[i];
        CheckDomain(realize, iter, binding);
        if (iter.kind == IterKind::kSpatial || iter.kind == IterKind::kReduce) {
          independent.push_back(joined_.empty() ? binding : analyzer_.Simplify(Substitute(binding, joined_)));
          iterators.push_back(&iter);
        }
      }
    }
    const Expr predicate = joined_.empty() ? realize.predicate : Substitute(realize.predicate, joined_);
    const std::vector<Expr> as_bound = independent;
    CountUp(iterators, &independent);
    arith::IterMapError error;
    auto map = arith::DetectIterMap(independent, loops_, predicate, arith::IterMapLevel::kNone, &analyzer_, &error);
    if (!map) {
      // Iterations that are told apart without the predicate are told apart under it too.
      const auto of_all = arith::DetectIterMap(independent, WithoutGaps(independent, loops_), Expr(),
                                               arith::IterMapLevel::kNone, &analyzer_);
      if (of_all && of_all->injective) map = of_all;
    }
    if (!map) map = OfShiftedLoops(independent, iterators);
    if (map) {
      if (map->injective) {
        repeating.erase(realize.block.get());
      } else {
        CheckReductionRunsOnce(realize, independent, iterators, predicate);
      }
      return;
    }
    if (OnlySpatialInstancesRepeat(independent, iterators, predicate)) {
      return CheckReductionRunsOnce(realize, independent, iterators, predicate);
    }
    if (AreIndependentByCount(realize, predicate)) return;
    std::string reason = "the binding of iterator " + iterators[error.index]->var.name() + ", " +
                         Print(as_bound[error.index]) + ": " + std::string(error.Reason());
    if (error.expr) reason += ": " + Print(error.expr);
    Refuse(realize, std::move(reason));
  }

  // Null unless instances are told apart, whether or not the predicate holds.
  std::optional<arith::IterMap> OfShiftedLoops(const std::vector<Expr>& bindings,
                                               const std::vector<const IterVar*>& iterators) {
    std::vector<bool> may_shift;
    for (const IterVar* iter : iterators) may_shift.push_back(iter->kind == IterKind::kSpatial);
    const ShiftedLoops shifted = ShiftLoops(loops_, bindings, may_shift, &analyzer_);
    if (!shifted.any) return std::nullopt;
    auto map = arith::DetectIterMap(shifted.bindings, WithoutGaps(shifted.bindings, shifted.loops), Expr(),
                                    arith::IterMapLevel::kNone, &analyzer_);
    return map && map->injective ? map : std::nullopt;
  }

  // Bindings that count down, 5 - f // 8, count up from the other end of their domain.
  void CountUp(const std::vector<const IterVar*>& iterators, std::vector<Expr>* bindings) {
    for (size_t i = 0; i < bindings->size(); ++i) {
      Expr& binding = (*bindings)[i];
      const auto* op = dyn_cast<BinaryNode>(binding);
      if (op == nullptr || (op->op != BinaryOp::kSub && op->op != BinaryOp::kAdd)) continue;
      const Range& domain = iterators[i]->domain;
      const auto counts = [&](const Expr& e) {
        return arith::DetectIterMap({e}, loops_, Expr(), arith::IterMapLevel::kNone, &analyzer_).has_value();
      };
      if (counts(binding)) continue;
      const Expr reversed = analyzer_.Simplify(domain.min * 2 + domain.extent - 1 - binding);
      if (counts(reversed)) binding = reversed;
    }
  }

  // By counting what few constant loops do: iterators have their values in all combinations, and what repeats instances
  // of a reduction runs all of its values, each once, from the first on.
  bool AreIndependentByCount(const BlockRealizeNode& realize, const Expr& predicate) {
    std::vector<Expr> bindings;
    for (const Expr& binding : realize.bindings) {
      bindings.push_back(joined_.empty() ? binding : Substitute(binding, joined_));
    }
    const auto instances = InstancesInOrder(loops_, predicate, bindings);
    if (!instances || instances->empty()) return false;
    using Values = InstanceValues;
    std::vector<std::set<int64_t>> of_iterator(bindings.size());
    std::set<Values> different, combinations;  // of all iterators; of those that are spatial or reduce
    std::map<Values, std::vector<Values>> sums;
    Values first;  // of the reduce iterators
    for (const IterVar& iter : realize.block->iter_vars) {
      if (iter.kind != IterKind::kReduce) continue;
      const auto min = AsInt(iter.domain.min);
      if (!min) return false;
      first.push_back(*min);
    }
    for (const Values& values : *instances) {
      Values independent, reduced, others;
      for (size_t i = 0; i < values.size(); ++i) {
        const IterKind kind = realize.block->iter_vars[i].kind;
        (kind == IterKind::kReduce ? reduced : others).push_back(values[i]);
        if (kind != IterKind::kSpatial && kind != IterKind::kReduce) continue;
        independent.push_back(values[i]);
        of_iterator[i].insert(values[i]);
      }
      different.insert(values);
      combinations.insert(std::move(independent));
      sums[std::move(others)].push_back(std::move(reduced));
    }
    size_t box = 1, terms = 1;
    for (size_t i = 0; i < of_iterator.size(); ++i) {
      box *= std::max<size_t>(of_iterator[i].size(), 1);
      if (realize.block->iter_vars[i].kind == IterKind::kReduce) terms *= of_iterator[i].size();
      if (box > static_cast<size_t>(kMostInstances)) return false;
    }
    if (combinations.size() != box) return false;
    const bool once = different.size() == instances->size();
    if (!first.empty()) {
      for (const auto& [others, sum] : sums) {
        if (!RunsWhole(sum, terms, realize.block->init ? &first : nullptr)) return false;
      }
    }
    if (once) repeating.erase(realize.block.get());
    return true;
  }
  // Whether it is all terms, each once; with an init also several times, from `first` on, which sets it anew.
  static bool RunsWhole(const std::vector<InstanceValues>& sum, size_t terms, const InstanceValues* first) {
    if (sum.size() % terms != 0 || (sum.size() > terms && first == nullptr)) return false;
    for (size_t begin = 0; begin < sum.size(); begin += terms) {
      const auto from = sum.begin() + static_cast<ptrdiff_t>(begin);
      if (first != nullptr && *from != *first) return false;
      if (std::set<InstanceValues>(from, from + static_cast<ptrdiff_t>(terms)).size() != terms) return false;
    }
    return true;
  }

  // The loops, longer where a binding has gaps: k0 * 4 + k1 with k1 in [0, 2), after the loop over k1 was partitioned.
  // Those that begin at a value of others begin at 0.
  arith::Domain WithoutGaps(const std::vector<Expr>& bindings, const arith::Domain& loops) {
    arith::Domain longer = loops;
    for (auto& [loop, range] : longer) {
      const Expr zero = Const(range.min.dtype(), 0);
      if (AsInt(range.min) || !analyzer_.CanProveLessEqual(zero, range.min)) continue;
      range = {zero, analyzer_.Simplify(range.min + range.extent)};
    }
    std::vector<Var> vars;
    for (const auto& [loop, range] : loops) vars.push_back(loop);
    for (const Expr& binding : bindings) {
      const auto linear = arith::DetectLinear(binding, vars, &analyzer_);
      if (!linear) continue;
      std::vector<std::pair<int64_t, size_t>> steps;
      for (size_t i = 0; i < vars.size(); ++i) {
        const auto step = AsInt(linear->coefficients[i]);
        if (step && *step > 0) steps.emplace_back(*step, i);
      }
      std::ranges::sort(steps);
      for (size_t s = 0; s + 1 < steps.size(); ++s) {
        Expr& extent = longer[steps[s].second].second.extent;
        const int64_t room = steps[s + 1].first / steps[s].first;
        if (const auto length = AsInt(extent); length && *length < room) extent = Const(extent.dtype(), room);
      }
    }
    return longer;
  }

  // Instances of a reduction may run again as a whole, from the init on: what repeats them lies outside of the loops of
  // the reduction. Further inside it would add the same values again.
  void CheckReductionRunsOnce(const BlockRealizeNode& realize, std::vector<Expr> bindings,
                              std::vector<const IterVar*> iterators, const Expr& predicate) {
    // Opaque iterators tell instances apart too.
    for (size_t i = 0; i < realize.bindings.size(); ++i) {
      const IterVar& iter = realize.block->iter_vars[i];
      if (iter.kind == IterKind::kSpatial || iter.kind == IterKind::kReduce) continue;
      bindings.push_back(joined_.empty() ? realize.bindings[i] : Substitute(realize.bindings[i], joined_));
      iterators.push_back(&iter);
    }
    const auto reduces = [&](const std::pair<Var, Range>& loop) {
      for (size_t i = 0; i < bindings.size(); ++i) {
        if (iterators[i]->kind == IterKind::kReduce && UsesVar(bindings[i], loop.first)) return true;
      }
      return false;
    };
    const auto first = std::find_if(loops_.begin(), loops_.end(), reduces);
    if (first == loops_.end()) return;
    const arith::Domain inner(first, loops_.end());
    for (const Expr& condition : {predicate, Expr()}) {
      const auto map = arith::DetectIterMap(bindings, inner, condition, arith::IterMapLevel::kNone, &analyzer_);
      if (map && map->injective) return;
      if (IsTrue(predicate)) break;
    }
    for (const auto& [loop, range] : inner) {
      const bool used =
          std::any_of(bindings.begin(), bindings.end(), [&](const Expr& binding) { return UsesVar(binding, loop); });
      if (used || IsInt(range.extent, 1) || UsesVar(predicate, loop)) continue;
      return Refuse(realize, "loop " + loop.name() + " repeats instances inside of loop " + first->first.name() +
                                 ", which carries the reduction");
    }
    if (IsTrue(predicate) && RunsMoreOftenThanItHasInstances(bindings, iterators, inner)) {
      Refuse(realize, "its instances run more than once inside of loop " + first->first.name() +
                          ", which carries the reduction");
    }
  }

  // Whether the loops have more iterations than the bindings can have values in them: k % 8 of 16, or overlapping
  // tiles.
  bool RunsMoreOftenThanItHasInstances(const std::vector<Expr>& bindings, const std::vector<const IterVar*>& iterators,
                                       const arith::Domain& loops) {
    __int128 iterations = 1, instances = 1;
    constexpr int64_t kMost = int64_t{1} << 40;
    for (const auto& [loop, range] : loops) {
      const auto extent = AsInt(range.extent);
      if (!extent) return false;
      iterations = std::min<__int128>(iterations * *extent, kMost);
    }
    for (size_t i = 0; i < bindings.size() && instances < iterations; ++i) {
      const auto values = arith::MayTouch({{bindings[i], Const(bindings[i].dtype(), 1)}}, loops, Expr(), &analyzer_);
      const auto count = values ? AsInt((*values)[0].extent) : std::nullopt;
      const auto domain = AsInt(iterators[i]->domain.extent);
      if (!count && !domain) return false;
      instances *= std::min(count.value_or(kMost), domain.value_or(kMost));
    }
    return instances < iterations;
  }

  // Tiles with borders: outer loops, which move spatial iterators independently of each other, may run instances again;
  // from some loop inwards the bindings are independent.
  bool OnlySpatialInstancesRepeat(const std::vector<Expr>& bindings, const std::vector<const IterVar*>& iterators,
                                  const Expr& predicate) {
    const auto feeds = [&](const Var& loop) {
      return std::count_if(bindings.begin(), bindings.end(),
                           [&](const Expr& binding) { return UsesVar(binding, loop); });
    };
    const auto may_repeat = [&](const Var& loop) {
      for (size_t i = 0; i < bindings.size(); ++i) {
        if (iterators[i]->kind == IterKind::kReduce && UsesVar(bindings[i], loop)) return false;
      }
      return true;
    };
    arith::Domain loops = loops_;
    size_t outer = 0, moving_one = 0;
    while (outer < loops.size() && may_repeat(loops[outer].first)) ++outer;
    // Outer loops whose threads further loops take belong to the innermost.
    const auto end = loops.begin() + static_cast<ptrdiff_t>(outer);
    for (const auto& joined : joined_loops_) {
      const ForNode* threads = joined.second;
      const auto at =
          std::find_if(loops.begin(), end, [&](const auto& loop) { return loop.first.same_as(threads->var); });
      if (at != end) std::rotate(at, at + 1, end);
    }
    while (moving_one < outer && feeds(loops[moving_one].first) <= 1) ++moving_one;
    // The fewer loops are left the easier.
    for (; outer > 0; --outer) {
      const arith::Domain inner(loops.begin() + static_cast<ptrdiff_t>(outer), loops.end());
      for (const Expr& condition : {predicate, Expr()}) {
        const auto map = arith::DetectIterMap(bindings, inner, condition, arith::IterMapLevel::kNone, &analyzer_);
        if (map && (outer <= moving_one || TilesAreIndependent(*map, loops, outer))) return true;
        if (IsTrue(predicate)) break;
      }
    }
    return OnlyDisjointLoops(bindings, iterators, predicate);
  }
  // Fused outer loops give each iterator a part of its own, where its tile begins, and no more.
  bool TilesAreIndependent(const arith::IterMap& tile, const arith::Domain& loops, size_t outer) {
    const auto uses_outer = [&](const Expr& e) {
      return std::any_of(loops.begin(), loops.begin() + static_cast<ptrdiff_t>(outer),
                         [&](const auto& loop) { return UsesVar(e, loop.first); });
    };
    std::vector<Expr> begins;
    for (arith::IterSum index : tile.indices) {
      begins.push_back(std::exchange(index.base, Const(index.base.dtype(), 0)));
      if (uses_outer(arith::ToExpr(index, tile, &analyzer_))) return false;
    }
    for (size_t inner = outer; inner < loops.size(); ++inner) {
      if (uses_outer(loops[inner].second.min) || uses_outer(loops[inner].second.extent)) return false;
    }
    const arith::Domain around(loops.begin(), loops.begin() + static_cast<ptrdiff_t>(outer));
    return arith::DetectIterMap(begins, around, Expr(), arith::IterMapLevel::kNone, &analyzer_).has_value();
  }
  // No loop feeds two iterators, and those of reduce iterators are affine by themselves.
  bool OnlyDisjointLoops(const std::vector<Expr>& bindings, const std::vector<const IterVar*>& iterators,
                         const Expr& predicate) {
    for (const auto& [loop, range] : loops_) {
      int feeds = 0;
      for (const Expr& binding : bindings) feeds += UsesVar(binding, loop);
      if (feeds > 1) return false;
    }
    std::vector<Expr> reduce;
    for (size_t i = 0; i < bindings.size(); ++i) {
      if (iterators[i]->kind == IterKind::kReduce) reduce.push_back(bindings[i]);
    }
    return reduce.empty() || arith::DetectIterMap(reduce, loops_, predicate, arith::IterMapLevel::kNone, &analyzer_);
  }
  void Refuse(const BlockRealizeNode& realize, std::string reason, bool enumerable = false) {
    diagnostics.push_back({Verdict::kRefuted, "bindings", realize.block->id,
                           "block " + realize.block->name + ": " + std::move(reason), enumerable});
  }

  arith::Domain loops_;                  // between the scope and here, joined ones left out
  std::vector<const ForNode*> threads_;  // loops around, of all scopes
  VarMap joined_;
  std::vector<std::pair<const ForNode*, const ForNode*>> joined_loops_;  // with the loops that start their threads
  std::vector<OfThread> of_threads_;
};

}  // namespace

Diagnostics CheckBindings(const Function& function, std::unordered_set<const BlockNode*>* repeating) {
  Checker checker(function);
  checker.Visit(function->body);
  if (repeating != nullptr) *repeating = std::move(checker.repeating);
  return std::move(checker.diagnostics);
}

}  // namespace tilewright
