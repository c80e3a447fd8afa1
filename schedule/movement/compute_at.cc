#include "schedule/movement/compute_at.h"

#include <algorithm>
#include <iterator>

#include "base/status_macros.h"
#include "ir/analysis.h"
#include "ir/arith/iter_map.h"
#include "ir/changes/may_change.h"
#include "ir/substitute.h"
#include "ir/thread_tags.h"
#include "schedule/program/common_refusals.h"
#include "schedule/program/instance_domain.h"
#include "schedule/program/instances.h"
#include "schedule/program/loop_independence.h"
#include "schedule/program/loop_ranges.h"
#include "schedule/program/loop_tree.h"
#include "schedule/program/produced_box.h"
#include "schedule/program/proven_after.h"
#include "schedule/program/relaxed_region.h"
#include "schedule/program/tile_length.h"
#include "verify/structure/block_scope.h"
#include "verify/structure/instance_order.h"

namespace tilewright {
namespace {

bool Contains(const std::vector<uint32_t>& ids, uint32_t id) {
  return std::find(ids.begin(), ids.end(), id) != ids.end();
}

// Whether iterations cannot add to one sum in turn. Threads of a block can combine theirs.
bool RunsAtOnce(const ForNode& loop) {
  if (loop.kind == ForKind::kThreadBound) return IsBlockTag(loop.thread_tag);
  return loop.kind == ForKind::kParallel || loop.kind == ForKind::kVectorized;
}

// The move of one block: what both primitives share.
class Move {
 public:
  Move(const char* name, const Function& function, uint32_t block, uint32_t loop, bool preserve_unit_loops, int index)
      : name_(name),
        function_(function),
        block_id_(block),
        loop_id_(loop),
        preserve_unit_loops_(preserve_unit_loops),
        index_(index) {}

  Outcome<ComputeAtResult> ComputeAt();
  Outcome<ComputeAtResult> ReverseComputeAt();

 private:
  using Check = std::optional<Refusal>;

  Check Locate();
  // `leaves_out`: the predicate of a complete block may leave out any instances.
  Check CheckBlock(bool leaves_out);
  Check CheckAllBelowLoop(const std::vector<uint32_t>& others, const char* none, const char* outside);
  Check CheckNoReductionAround(const std::vector<uint32_t>& producers);
  // Which instances run is decided at another time than before: by memory only where that stays the same.
  Check CheckValues(const Stmt& moved) const;
  Check CheckInstances(const BlockRealizeNode& moved, const std::vector<const ForNode*>& new_loops,
                       const std::vector<BoxAccess>& accesses);
  Outcome<size_t> Position(const std::vector<uint32_t>& producers, const std::vector<uint32_t>& consumers) const;
  // New loops around the block with the instances that `accesses` ask for.
  Stmt Regenerate(const std::vector<BoxAccess>& accesses, BoxRelation relation);
  bool CountsInside(const Expr& binding, const Range& domain, const std::vector<ForNode::Fields>& loops);
  Stmt WithCondition(const Stmt& moved) const;
  ComputeAtResult Finish(const Stmt& moved, size_t position);
  Outcome<ComputeAtResult> Proven(ComputeAtResult result) const;

  const ScopeChild& Child(uint32_t id) const { return *scope_.Find(id); }
  const BlockRealizeNode& realize() const { return *Child(block_id_).realize; }
  bool IsBelowLoop(const ScopeChild& child) const {
    return std::any_of(child.loops.begin(), child.loops.end(), [&](const ForNode* l) { return l->id == loop_id_; });
  }
  std::vector<const ForNode*> LoopsBelowTarget(const ScopeChild& child) const {
    return {child.loops.begin() + static_cast<ptrdiff_t>(around_.size()), child.loops.end()};
  }
  std::vector<Stmt> LoopBody() const {
    const auto* seq = dyn_cast<SeqNode>(loop_->body);
    return seq != nullptr ? seq->stmts : std::vector<Stmt>{loop_->body};
  }

  const char* name_;
  const Function function_;
  const uint32_t block_id_, loop_id_;
  const bool preserve_unit_loops_;
  const int index_;
  BlockScope scope_;
  const ForNode* loop_ = nullptr;
  std::vector<const ForNode*> around_;  // from the scope down to the loop, which is the last
  const StmtNode* old_place_ = nullptr;
  arith::Analyzer analyzer_;
  uint32_t next_id_ = 0;
  // The predicate over the block's iterators, when it says more than that they are inside of their domains.
  Expr condition_;
  OrderedInstances ordered_;  // of the block
};

// Whether the new loops, one for each iterator in turn, run the block's instances in the order of those that it has.
bool RunInOrderOfIterators(const ScopeChild& child, const OrderedInstances& ordered) {
  if (ordered.by_elements) return false;
  size_t next = 0;
  for (const size_t i : ordered.iterators) {
    const auto* loop_var = dyn_cast<VarNode>(child.realize->bindings[i]);
    while (next < child.loops.size() && child.loops[next]->var.get() != loop_var) ++next;
    if (next == child.loops.size()) return false;
  }
  return true;
}

// Finds the block and the loop in one scope.
Move::Check Move::Locate() {
  TW_ASSIGN_OR_RETURN(Path block_path, PathToInnerBlock(name_, function_, block_id_));
  TW_ASSIGN_OR_RETURN(Path loop_path, PathToLoop(name_, function_, loop_id_));
  scope_ = BlockScope::Around(function_, block_id_);
  if (scope_.Find(block_id_) == nullptr) return Refusal{name_, "{block0} lies in the init of a block", {block_id_}};
  if (ScopeOf(loop_path)->block->id != scope_.block()->id) {
    return Refusal{name_, "{block0} and {loop1} are in different scopes", {block_id_, loop_id_}};
  }
  loop_ = cast<ForNode>(loop_path.back());
  around_ = LoopsAbove(loop_path);
  around_.push_back(loop_);
  if (IsBelowLoop(Child(block_id_))) return Refusal{name_, "{loop1} is around {block0}", {block_id_, loop_id_}};
  old_place_ = SubtreeOfOnly(block_path);
  if (old_place_ == nullptr) return Refusal{name_, "{block0} is the only block of its scope", {block_id_}};
  BindLoops(analyzer_, around_);
  next_id_ = function_->next_id;
  return std::nullopt;
}

Move::Check Move::CheckBlock(bool leaves_out) {
  if (scope_.has_other_statements()) {
    return Refusal{name_, "the scope of {block0} holds statements other than loops and blocks", {block_id_}};
  }
  const ScopeChild& child = Child(block_id_);
  std::optional<std::string> not_complete = WhyNotComplete(scope_, child);
  if (not_complete) {
    if (std::optional<std::string> not_reduction = WhyNotReduction(scope_, child)) {
      return Refusal{name_,
                     "{block0} is neither a complete block ({text0}) nor a reduction ({text1})",
                     {block_id_},
                     {},
                     {*not_complete, *not_reduction}};
    }
  }
  ordered_ = FindOrderedInstances(*child.realize->block);
  if (!ordered_.none() && !RunInOrderOfIterators(child, ordered_))
    return WhyInstancesDepend(name_, *child.realize->block);
  const auto only_guards_domains = [&] {
    arith::Analyzer::Scope inside(&analyzer_);
    BindLoops(analyzer_, child.loops);
    return PredicateOnlyGuardsDomains(*child.realize, &analyzer_);
  };
  if (!only_guards_domains()) {
    const bool may_move =
        (leaves_out && !not_complete) || PredicateHoldsAtStart(*child.realize, child.loops, child.loops);
    if (may_move) condition_ = OfIterators(child);
    if (!condition_) {
      return Refusal{name_,
                     "the predicate {expr0} of {block0} says more than that its iterators are inside of their domains",
                     {block_id_},
                     {child.realize->predicate}};
    }
  }
  return std::nullopt;
}

Move::Check Move::CheckAllBelowLoop(const std::vector<uint32_t>& others, const char* none, const char* outside) {
  if (others.empty()) return Refusal{name_, none, {block_id_}};
  for (uint32_t other : others) {
    if (!IsBelowLoop(Child(other))) return Refusal{name_, outside, {block_id_, other, loop_id_}};
  }
  return std::nullopt;
}

// While a loop runs that carries a producer's reduction, what the producer wrote is not final.
Move::Check Move::CheckNoReductionAround(const std::vector<uint32_t>& producers) {
  for (uint32_t id : producers) {
    const BlockRealizeNode& producer = *Child(id).realize;
    for (size_t i = 0; i < producer.bindings.size(); ++i) {
      if (producer.block->iter_vars[i].kind == IterKind::kSpatial) continue;
      for (const ForNode* loop : around_) {
        if (!IsInt(loop->extent, 1) && UsesVar(producer.bindings[i], loop->var)) {
          return Refusal{name_,
                         "{loop2} carries the reduction of {block1}, whose values are not final in it",
                         {block_id_, id, loop->id}};
        }
      }
    }
  }
  return std::nullopt;
}

Outcome<size_t> Move::Position(const std::vector<uint32_t>& producers, const std::vector<uint32_t>& consumers) const {
  const std::vector<Stmt> body = LoopBody();
  size_t first = 0, last = body.size();
  for (size_t i = body.size(); i-- > 0;) {
    for (const BlockRealizeNode* block : BlocksBelow(body[i])) {
      if (Contains(producers, block->block->id)) first = std::max(first, i + 1);
      if (Contains(consumers, block->block->id)) last = i;
    }
  }
  if (first > last) {
    return Refusal{name_,
                   "no place in {loop1} is behind the producers and before the consumers of {block0}",
                   {block_id_, loop_id_}};
  }
  if (index_ == -1) return last;
  if (index_ == -2) return first;
  if (index_ < 0 || static_cast<size_t>(index_) < first || static_cast<size_t>(index_) > last) {
    return Refusal{
        name_, "{block0} cannot be put at {num0} in {loop1}, only at {num1} to {num2}", {block_id_, loop_id_}, {},
        {},    {index_, static_cast<int64_t>(first), static_cast<int64_t>(last)}};
  }
  return static_cast<size_t>(index_);
}

// Whether the binding is a digit of the loops around it and of `loops` that has no more values than the domain: f // m
// of f in [0, n * m) has n.
bool Move::CountsInside(const Expr& binding, const Range& domain, const std::vector<ForNode::Fields>& loops) {
  arith::Domain ranges = DomainOf(around_);
  for (const ForNode::Fields& loop : loops) ranges.push_back({loop.var, {Const(loop.var.dtype(), 0), loop.extent}});
  const auto map = arith::DetectIterMap({binding}, ranges, Expr(), arith::IterMapLevel::kNone, &analyzer_);
  if (!map || map->indices[0].args.empty() || !map->indices[0].args.back().scale.IsOne()) return false;
  const Expr& first = map->indices[0].base;
  const Expr end = first + map->extents[0].ToExpr(binding.dtype());
  return analyzer_.CanProveLessEqual(domain.min, first) && analyzer_.CanProveLessEqual(end, domain.min + domain.extent);
}

Stmt Move::Regenerate(const std::vector<BoxAccess>& accesses, BoxRelation relation) {
  const BlockNode& block = *realize().block;
  const std::vector<Interval> intervals = SolveInstances(block, accesses, relation, &analyzer_);
  const bool inside = relation == BoxRelation::kInside;
  // A producer may run instances that nobody asks for; a consumer's instances outside of the interval lack their input.
  const auto runs_whole = [&](const Interval& interval, const Range& domain) {
    if (interval.IsWhole()) return true;
    if (!inside) return IsInt(domain.extent, 1);
    return analyzer_.CanProveLessEqual(interval.min, domain.min) &&
           analyzer_.CanProveLess(domain.min + domain.extent, interval.max + 2);
  };
  std::vector<ForNode::Fields> loops;
  std::vector<Expr> bindings, guards;
  for (size_t i = 0; i < intervals.size(); ++i) {
    const Range& domain = block.iter_vars[i].domain;
    const DataType type = block.iter_vars[i].var.dtype();
    Range range = domain;
    Expr guard_max;  // when the loop may run further than the interval
    if (!runs_whole(intervals[i], domain)) {
      const Expr length = analyzer_.Simplify(intervals[i].max - intervals[i].min + 1);
      const bool varies =
          std::any_of(around_.begin(), around_.end(), [&](const ForNode* loop) { return UsesVar(length, loop->var); });
      const int64_t longest = LongestOf(length, &analyzer_);
      if (!varies && (inside || !analyzer_.CanProveLessEqual(domain.extent, length))) {
        range = {intervals[i].min, length};
      } else if (varies && longest != arith::kPosInf &&
                 !analyzer_.CanProveLessEqual(domain.extent, Const(type, longest))) {
        range = {intervals[i].min, Const(type, std::max<int64_t>(longest, 0))};
        guard_max = intervals[i].max;
      }
    }
    Expr binding = CastTo(type, analyzer_.Simplify(range.min));
    if (preserve_unit_loops_ || !IsInt(range.extent, 1)) {
      Var loop_var("ax" + std::to_string(loops.size()), type);
      // Before the range is bound: a loop that runs once stays in the binding.
      binding = analyzer_.Simplify(binding + loop_var);
      analyzer_.Bind(loop_var, {Const(type, 0), range.extent});
      loops.push_back({.id = next_id_++, .var = loop_var, .extent = CastTo(type, range.extent)});
    }
    bindings.push_back(binding);
    const Expr from = domain.min <= binding, to = binding < domain.min + domain.extent;
    const bool known = IsTrue(analyzer_.Simplify(from)) && IsTrue(analyzer_.Simplify(to));
    if (!known && !CountsInside(binding, domain, loops)) {
      guards.push_back(from);
      guards.push_back(to);
    }
    if (guard_max) guards.push_back(binding <= guard_max);
  }
  Expr predicate = True();
  for (const Expr& guard : guards) {
    const Expr needed = analyzer_.Simplify(guard);
    if (!IsTrue(needed)) predicate = IsTrue(predicate) ? needed : And(predicate, needed);
  }
  return Nest(std::move(loops), Realize(std::move(bindings), predicate, realize().block));
}

// Adds the moved block to the loop and takes it from where it was.
ComputeAtResult Move::Finish(const Stmt& moved, size_t position) {
  std::vector<Stmt> body = LoopBody();
  body.insert(body.begin() + static_cast<ptrdiff_t>(position), WithCondition(moved));
  ForNode::Fields fields = loop_->fields();
  fields.body = Sequence(std::move(body));
  Function without = RemoveFrom(function_, old_place_);
  // The loop is another node when it shares an outer loop with the block's old place; it kept its id.
  const ForNode* loop = FindLoop(without, loop_id_);
  return {ReplaceIn(without, loop, For(std::move(fields)), next_id_)};
}

// The moved block runs the instances that its condition allows. Which of them the new loops reach does not depend on
// it.
Stmt Move::WithCondition(const Stmt& moved) const {
  if (!condition_) return moved;
  const BlockRealizeNode& realize = *BlocksBelow(moved)[0];
  VarMap values;
  for (size_t i = 0; i < realize.bindings.size(); ++i) values[realize.block->iter_vars[i].var] = realize.bindings[i];
  return AddPredicateBelow(moved, Substitute(condition_, values));
}

Outcome<ComputeAtResult> Move::ComputeAt() {
  if (Check refusal = Locate()) return *refusal;
  if (Check refusal = CheckBlock(false)) return *refusal;
  if (scope_.IsOutput(Child(block_id_))) {
    return Refusal{name_, "{block0} writes a buffer that outlives its scope", {block_id_}};
  }
  const std::vector<uint32_t> consumers = scope_.Consumers(block_id_);
  if (Check refusal = CheckAllBelowLoop(consumers, "{block0} has no consumer",
                                        "{block1} consumes what {block0} produces and is not below {loop2}")) {
    return *refusal;
  }
  for (const Dependence& dependence : scope_.DependencesOf(block_id_)) {
    if (dependence.source == block_id_ && dependence.kind == DependenceKind::kWriteAfterRead) {
      return Refusal{name_,
                     "{block1} overwrites {text0}, which {block0} reads",
                     {block_id_, dependence.destination},
                     {},
                     {dependence.buffer->name}};
    }
  }
  TW_ASSIGN_OR_RETURN(size_t position, Position(scope_.Producers(block_id_), consumers));

  std::vector<BoxAccess> accesses;
  for (const BufferRegion& write : realize().block->writes) {
    std::vector<Range> needed;
    for (uint32_t id : consumers) {
      const ScopeChild& consumer = Child(id);
      for (const BufferRegion& read : consumer.realize->block->reads) {
        if (!read.buffer.same_as(write.buffer)) continue;
        std::vector<const ForNode*> relaxed, below = LoopsBelowTarget(consumer);
        std::ranges::copy_if(around_, std::back_inserter(relaxed),
                             [&](const ForNode* loop) { return IsSharedByThreadsOf(*loop, write.buffer->scope); });
        relaxed.insert(relaxed.end(), below.begin(), below.end());
        std::vector<Range> box = RelaxedRegion(read, *consumer.realize, relaxed).region;
        needed = needed.empty() ? box : Hull(needed, box, &analyzer_);
      }
    }
    if (!needed.empty()) accesses.push_back({write, std::move(needed)});
  }
  Stmt moved = Regenerate(accesses, BoxRelation::kTouches);
  if (Check refusal = CheckValues(moved)) return *refusal;
  return Proven(Finish(moved, position));
}

// More instances may run than are needed, and some of them before what they read is written.
Outcome<ComputeAtResult> Move::Proven(ComputeAtResult result) const {
  if (auto refusal = WhyVectorsAreNotParallel(name_, result.function, around_)) return *refusal;
  const auto follows = [&](uint32_t id) {
    const std::vector<const ForNode*>& loops = Child(id).loops;
    return !loops.empty() && loops[0] == around_[0];
  };
  if (std::ranges::none_of(scope_.Producers(block_id_), follows)) return result;
  const std::optional<Diagnostic> unwritten = FindUnwrittenRead(function_, result.function, block_id_);
  if (!unwritten) return result;
  return Refusal{name_,
                 "below {loop1} more instances of {block0} would run than are needed, of which some may read {text0} "
                 "before it is written",
                 {block_id_, loop_id_},
                 {},
                 {unwritten->buffer ? unwritten->buffer->name : "what their producers write"}};
}

Move::Check Move::CheckValues(const Stmt& moved) const {
  const Stmt placed = WithCondition(moved);
  const BlockBelow block = BlocksWithLoopsBelow(placed)[0];
  std::vector<Expr> values = block.realize->bindings;
  values.push_back(block.realize->predicate);
  for (const ForNode* loop : block.loops) values.push_back(loop->extent);
  for (const Expr& value : values) {
    if (!MayChange(value, scope_.block()->body)) continue;
    return Refusal{
        name_, "{expr0}, which decides which instances of {block0} run, may change in its scope", {block_id_}, {value}};
  }
  return std::nullopt;
}

Move::Check Move::CheckInstances(const BlockRealizeNode& moved, const std::vector<const ForNode*>& new_loops,
                                 const std::vector<BoxAccess>& accesses) {
  for (const BoxAccess& access : accesses) {
    const BufferRegion read = RelaxedRegion(access.region, moved, new_loops);
    arith::Analyzer::Scope inside(&analyzer_);
    if (!ProvablyInside(&analyzer_, read.region, access.box)) {
      return Refusal{name_,
                     "{block0} may read elements of {text0} that an iteration of {loop1} does not produce",
                     {block_id_, loop_id_},
                     {},
                     {access.region.buffer->name}};
    }
  }
  arith::Analyzer outside;
  std::vector<const ForNode*> all_loops = around_;
  all_loops.insert(all_loops.end(), new_loops.begin(), new_loops.end());
  if (!RunsAllInstances(moved, all_loops, &outside)) {
    return Refusal{name_, "below {loop1} not all instances of {block0} would run", {block_id_, loop_id_}};
  }
  bool spread = false;
  for (size_t i = 0; i < moved.bindings.size(); ++i) {
    if (moved.block->iter_vars[i].kind == IterKind::kSpatial) continue;
    for (const ForNode* loop : around_) {
      if (IsInt(loop->extent, 1) || !UsesVar(moved.bindings[i], loop->var)) continue;
      spread = true;
      if (!ordered_.none()) return WhyInstancesDepend(name_, *moved.block);
      if (RunsAtOnce(*loop)) {
        return Refusal{name_,
                       "{loop2} would carry the reduction of {block0}, and its iterations run at the same time",
                       {block_id_, loop_id_, loop->id}};
      }
    }
  }
  if (spread && !RunsEachInstanceOnce(moved, all_loops, &outside)) {
    return Refusal{name_,
                   "below {loop1} the reduction of {block0} would be spread over iterations that repeat instances",
                   {block_id_, loop_id_}};
  }
  return std::nullopt;
}

Outcome<ComputeAtResult> Move::ReverseComputeAt() {
  if (Check refusal = Locate()) return *refusal;
  if (Check refusal = CheckBlock(true)) return *refusal;
  // New loops run what the domains allow; the block keeps its predicate.
  arith::Analyzer outside;
  const Stmt all(new BlockRealizeNode(realize().bindings, True(), realize().block));
  if (!RunsAllInstances(*cast<BlockRealizeNode>(all), Child(block_id_).loops, &outside)) {
    return Refusal{name_, "the loops of {block0} may not run all instances that its domains allow", {block_id_}};
  }
  std::vector<uint32_t> producers = scope_.Producers(block_id_);
  if (std::ranges::any_of(producers, [&](uint32_t id) { return IsBelowLoop(Child(id)); })) {
    std::erase_if(producers, [&](uint32_t id) { return IsDoneBefore(scope_, Child(id), *around_[0]); });
  }
  if (Check refusal = CheckAllBelowLoop(producers, "{block0} has no producer",
                                        "{block1} produces what {block0} consumes and is not below {loop2}")) {
    return *refusal;
  }
  if (Check refusal = CheckNoReductionAround(producers)) return *refusal;
  TW_ASSIGN_OR_RETURN(size_t position, Position(producers, scope_.Consumers(block_id_)));

  std::vector<BoxAccess> accesses;
  for (const BufferRegion& read : realize().block->reads) {
    for (uint32_t id : producers) {
      const ScopeChild& producer = Child(id);
      if (!PredicateOnlyGuardsDomains(*producer.realize, &analyzer_) &&
          !PredicateHoldsAtStart(*producer.realize, producer.loops, LoopsBelowTarget(producer))) {
        return Refusal{name_,
                       "the predicate {expr0} of the producer {block1} says more than that its iterators are inside of "
                       "their domains",
                       {block_id_, id},
                       {producer.realize->predicate}};
      }
      for (const BufferRegion& write : producer.realize->block->writes) {
        if (!write.buffer.same_as(read.buffer)) continue;
        std::optional<std::vector<Range>> box =
            BoxWithoutGaps(*producer.realize, LoopsBelowTarget(producer), write, &analyzer_);
        if (!box) {
          return Refusal{name_,
                         "an iteration of {loop1} produces {text0} with gaps in between",
                         {block_id_, loop_id_},
                         {},
                         {read.buffer->name}};
        }
        accesses.push_back({read, *std::move(box)});
      }
    }
  }
  Stmt moved = Regenerate(accesses, BoxRelation::kInside);
  const std::vector<BlockBelow> below = BlocksWithLoopsBelow(moved);
  for (const ForNode* loop : below[0].loops) {
    if (const auto extent = AsInt(loop->extent); extent && *extent <= 0) {
      return Refusal{
          name_, "an iteration of {loop1} produces too little for any instance of {block0}", {block_id_, loop_id_}};
    }
  }
  if (Check refusal = CheckValues(moved)) return *refusal;
  if (Check refusal = CheckInstances(*below[0].realize, below[0].loops, accesses)) return *refusal;
  return Finish(moved, position);
}

}  // namespace

Outcome<ComputeAtResult> ComputeAt(const Function& function, uint32_t block, uint32_t loop, bool preserve_unit_loops,
                                   int index) {
  return Move("compute_at", function, block, loop, preserve_unit_loops, index).ComputeAt();
}
Outcome<ComputeAtResult> ReverseComputeAt(const Function& function, uint32_t block, uint32_t loop,
                                          bool preserve_unit_loops, int index) {
  return Move("reverse_compute_at", function, block, loop, preserve_unit_loops, index).ReverseComputeAt();
}

}  // namespace tilewright
