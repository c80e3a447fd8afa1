#include "verify/threads/touches.h"

#include <algorithm>
#include <optional>
#include <utility>

#include "ir/analysis.h"
#include "ir/annotations.h"
#include "ir/arith/same_expr.h"
#include "ir/functor.h"
#include "ir/substitute.h"
#include "ir/thread_tags.h"
#include "verify/structure/loop_kinds.h"
#include "verify/structure/touched_reads.h"

namespace tilewright {
namespace {

// The body takes no part in concurrency: its signature stands for it.
bool IsAtomic(const BlockNode& block) {
  bool atomic = true;
  PreOrder(block.body, [&](const Stmt& s) {
    const auto* loop = dyn_cast<ForNode>(s);
    atomic &= !isa<BlockRealizeNode>(s) && !isa<SyncNode>(s) && (loop == nullptr || !IsConcurrent(loop->kind));
    return atomic;
  });
  return atomic;
}

bool HasConcurrency(const Stmt& s) {
  bool found = false;
  PreOrder(s, [&](const Stmt& part) {
    const auto* loop = dyn_cast<ForNode>(part);
    found |= loop != nullptr && IsConcurrent(loop->kind);
    return !found;
  });
  return found;
}

bool Loads(const Expr& e) {
  bool found = false;
  PreOrder(e, [&](const Expr& part) {
    found |= isa<LoadNode>(part);
    return !found;
  });
  return found;
}

// The region without vectors in its bounds; all of the buffer where they are not known, or, if `known_loads` does not
// say otherwise, where memory decides them.
BufferRegion OfScalars(BufferRegion region, bool known_loads = false) {
  for (Range& range : region.region) {
    const auto* ramp = dyn_cast<RampNode>(range.min);
    bool known = range.min.dtype().lanes() == 1 || (ramp != nullptr && IsInt(ramp->stride, 1));
    if (!known_loads) known = known && !Loads(range.min);
    if (!known) return BufferRegion::Full(region.buffer);
    if (ramp != nullptr) range = {ramp->base, Expr(range.min.dtype().lanes())};
  }
  return region;
}

// A region of a matched part as one of the buffer it is a part of; all of the part where their dimensions do not
// correspond one to one, those of a single element left out.
BufferRegion InSource(const MatchBuffer& match, const BufferRegion& region) {
  BufferRegion result = match.source;
  size_t d = 0;
  const std::vector<Expr>& shape = match.buffer->shape;
  for (Range& range : result.region) {
    if (IsInt(range.extent, 1)) continue;
    while (d < shape.size() && IsInt(shape[d], 1)) ++d;
    const DataType type = range.extent.dtype();
    if (d == shape.size() || !arith::SameExpr(CastTo(type, shape[d]), range.extent)) return match.source;
    range = {range.min + CastTo(range.min.dtype(), region.region[d].min), CastTo(type, region.region[d].extent)};
    ++d;
  }
  while (d < shape.size() && IsInt(shape[d], 1)) ++d;
  return d == shape.size() ? result : match.source;
}

// Whether the range is known to be shorter, and does not depend on memory.
bool IsShorter(const Range& range, const Range& declared) {
  if (Loads(range.min)) return false;
  const auto extent = AsInt(range.extent), than = AsInt(declared.extent);
  return extent && (than ? *extent < *than : *extent == 1);
}

// The declared region, in each dimension no wider than the only one that the body touches of the buffer.
BufferRegion Tighter(const BufferRegion& declared, const std::vector<BufferRegion>& touched) {
  const auto is_same = [&](const BufferRegion& region) { return region.buffer.same_as(declared.buffer); };
  if (std::ranges::count_if(touched, is_same) != 1) return declared;
  BufferRegion result = declared;
  const std::vector<Range>& by_body = std::ranges::find_if(touched, is_same)->region;
  for (size_t d = 0; d < by_body.size(); ++d) {
    if (IsShorter(by_body[d], declared.region[d])) result.region[d] = by_body[d];
  }
  return result;
}

class Collector : public Visitor {
 public:
  using Visitor::Visit;
  explicit Collector(const Function& function) : memory_(function) {}
  Touches Take() {
    result_.values = memory_.Take();
    return std::move(result_);
  }

 protected:
  void VisitFor(const ForNode* op) override {
    const ForNode* joined = StartsThreads(*op) ? OuterOfSameTag(op->thread_tag) : nullptr;
    if (joined != nullptr) {
      Barrier(op->id);
      values_[op->var] = IsInt(op->min, 0) ? Expr(joined->var) : joined->var + op->min;
      Visit(op->body);
      Barrier(op->id);
      return;
    }
    const bool concurrent = IsConcurrent(op->kind);
    concurrent_ += concurrent;
    loops_.push_back(op);
    const size_t conditions = conditions_.size();
    AddCondition(op->extent);
    VisitIterations(op, op->body, concurrent || IsInt(op->extent, 1), [&](bool next) {
      if (next) {
        values_[op->var] = op->var + 1;
      } else {
        values_.erase(op->var);
      }
    });
    conditions_.resize(conditions);
    loops_.pop_back();
    concurrent_ -= concurrent;
    // Threads that end here have met; not those of loops around, each of which started some of them.
    if (StartsThreads(*op) && !std::any_of(loops_.begin(), loops_.end(), [](auto* l) { return StartsThreads(*l); })) {
      ++phase_;
    }
  }
  void VisitWhile(const WhileNode* op) override {
    Visit(op->condition);
    AddCondition(op->condition);
    VisitIterations(op, op->body, /*at_once=*/false, [](bool) {});
    conditions_.pop_back();
  }
  void VisitIf(const IfNode* op) override {
    Visit(op->condition);
    AddCondition(op->condition);
    Visit(op->then_case);
    if (op->else_case && memory_.any()) memory_.Change(op->then_case);
    Visit(op->else_case);
    if (memory_.any()) memory_.Change(Stmt(op));
    conditions_.pop_back();
  }
  void VisitLetStmt(const LetStmtNode* op) override {
    Visit(op->value);
    const bool is_index = op->var.dtype().is_integer() && memory_.any();
    if (is_index) values_[op->var] = memory_.Named(Now(op->value));
    Visit(op->body);
    if (is_index) values_.erase(op->var);
  }
  // An attribute's value is not executed: what an instruction accesses, its body says.
  void VisitAttrStmt(const AttrStmtNode* op) override { Visit(op->body); }
  void VisitSync(const SyncNode* op) override {
    if (op->sync == SyncKind::kBarrier && op->participants >= OwnerLevel::kBlock) Barrier(object_);
  }
  void VisitLoad(const LoadNode* op) override {
    Visitor::VisitLoad(op);
    Add(BufferRegion::Point(op->buffer, op->indices), false);
  }
  void VisitStore(const StoreNode* op) override {
    Visitor::VisitStore(op);
    Add(BufferRegion::Point(op->buffer, op->indices), true);
    if (memory_.any()) memory_.Change(Stmt(op));
  }
  void VisitBlockRealize(const BlockRealizeNode* op) override {
    const BlockNode* outer_block = std::exchange(block_, op->block.get());
    const uint32_t outer_object = std::exchange(object_, op->block->id);
    const Expr outer_predicate = predicate_;
    const std::vector<const ForNode*> outer_reduces = reduces_over_;
    if (!IsTrue(op->predicate)) {
      const Expr condition = Now(op->predicate);
      predicate_ = IsTrue(predicate_) ? condition : And(predicate_, condition);
      AddCondition(op->predicate);
    }
    for (size_t i = 0; i < op->bindings.size(); ++i) {
      const IterVar& iter = op->block->iter_vars[i];
      values_[iter.var] = Now(op->bindings[i]);
      if (iter.kind != IterKind::kReduce || !op->block->init) continue;
      for (const ForNode* loop : loops_) {
        if (loop->thread_tag.starts_with("threadIdx") && UsesVar(values_[iter.var], loop->var)) {
          reduces_over_.push_back(loop);
        }
      }
    }
    if (IsAtomic(*op->block)) {
      AddReads(*op->block);
      AddWrites(*op->block);
      if (memory_.any()) memory_.Change(op->block->body);
    } else {
      // What a matched part touches counts for the buffer it is a part of.
      for (const MatchBuffer& match : op->block->match_buffers) parts_.push_back(match);
      Visit(op->block->init);
      Visit(op->block->body);
      parts_.resize(parts_.size() - op->block->match_buffers.size());
    }
    if (!IsTrue(op->predicate)) conditions_.pop_back();
    predicate_ = outer_predicate;
    block_ = outer_block;
    object_ = outer_object;
    reduces_over_ = outer_reduces;
  }

 private:
  struct Condition {
    Expr holds;
    LoopSet loops;  // in iterations of which it may differ
  };

  Expr Now(const Expr& e) const { return values_.empty() ? e : Substitute(e, values_); }

  void AddCondition(const Expr& e) {
    const Expr now = Now(e);
    conditions_.push_back({now, memory_.any() ? memory_.DependsOn(now) : LoopSet()});
  }

  // The body once, and once more as the next iteration where threads meet in it.
  template <class Advance>
  void VisitIterations(const StmtNode* loop, const Stmt& body, bool at_once, Advance advance) {
    const int before = phase_;
    const bool unsteady = memory_.any() && !at_once && !HoldsBarrier(loops_, body);
    if (memory_.any()) memory_.Change(body);
    if (unsteady) memory_.EnterUnsteady(body);
    Visit(body);
    if (!at_once && !result_.too_many && phase_ != before && concurrent_ > 0) {
      advance(true);
      advanced_.push_back(loop);
      if (memory_.any()) memory_.Change(body);
      Visit(body);
      advanced_.pop_back();
      advance(false);
    }
    if (unsteady) memory_.LeaveUnsteady(body);
    if (memory_.any()) memory_.Change(body);
  }

  const ForNode* OuterOfSameTag(const std::string& tag) const {
    const auto outer =
        std::find_if(loops_.begin(), loops_.end(), [&](const ForNode* loop) { return loop->thread_tag == tag; });
    return outer == loops_.end() || !tag.starts_with("threadIdx") ? nullptr : *outer;
  }

  void Barrier(uint32_t object) {
    ++phase_;
    for (const auto& [condition, varies] : conditions_) {
      const bool divides = std::any_of(loops_.begin(), loops_.end(), [&](const ForNode* loop) {
        if (!StartsThreads(*loop) || IsInt(loop->extent, 1)) return false;
        return UsesVar(condition, loop->var) || varies.contains(loop);
      });
      if (divides) result_.divided_barriers.push_back({object, condition});
    }
  }

  // By the signature; by the body where somebody declared more than that touches.
  void AddReads(const BlockNode& block) {
    if (block.annotations.contains(kExplicitReads)) {
      if (const auto touched = TouchedReads(block)) {
        for (const BufferRegion& read : *touched) Add(read, false);
        return;
      }
    }
    AddDeclared(block, block.reads, TouchedReads, false);
  }
  void AddWrites(const BlockNode& block) { AddDeclared(block, block.writes, TouchedWrites, true); }
  template <class TouchedOf>
  void AddDeclared(const BlockNode& block, const std::vector<BufferRegion>& regions, TouchedOf of, bool write) {
    const auto is_wide = [](const BufferRegion& region) {
      return std::ranges::any_of(region.region, [](const Range& range) { return !IsInt(range.extent, 1); });
    };
    std::optional<std::vector<BufferRegion>> touched;
    if (std::ranges::any_of(regions, is_wide)) touched = of(block);
    for (const BufferRegion& declared : regions) {
      Add(touched && is_wide(declared) ? Tighter(declared, *touched) : declared, write);
    }
  }

  void Add(BufferRegion region, bool write) {
    const OwnerLevel owner = region.buffer->scope.owner();
    const bool is_own = owner != OwnerLevel::kDevice && owner != OwnerLevel::kCore;
    if ((concurrent_ == 0 && !is_own) || result_.too_many) return;
    if (!advanced_.empty() && ++repeated_ > kMostRepeatedTouches) {
      result_.too_many = true;
      return;
    }
    BufferRegion place = memory_.any() ? PlaceOf(region) : BufferRegion();
    region = OfScalars(std::move(region));
    for (size_t i = parts_.size(); i-- > 0;) {
      if (parts_[i].buffer.same_as(region.buffer)) region = OfScalars(InSource(parts_[i], region));
    }
    if (!values_.empty()) region = Substitute(region, values_);
    const auto is_named = [&](const Range& range) {
      return memory_.HasNames(range.min) || memory_.HasNames(range.extent);
    };
    if (std::ranges::any_of(region.region, is_named)) region = BufferRegion::Full(region.buffer);
    if (!place.buffer) place = region;
    result_.touches.push_back(
        {std::move(region), std::move(place), write, phase_, loops_, predicate_, block_, advanced_, reduces_over_});
  }

  BufferRegion PlaceOf(BufferRegion region) {
    region = OfScalars(std::move(region), /*known_loads=*/true);
    for (size_t i = parts_.size(); i-- > 0;) {
      if (parts_[i].buffer.same_as(region.buffer)) {
        region = OfScalars(InSource(parts_[i], region), /*known_loads=*/true);
      }
    }
    const BufferRegion all = BufferRegion::Full(region.buffer);
    for (size_t d = 0; d < region.region.size(); ++d) {
      Range& range = region.region[d];
      range = {memory_.Named(Now(range.min)), memory_.Named(Now(range.extent))};
      // A length loaded from memory decides which elements are touched, not how many there may be.
      if (Loads(range.min) || Loads(range.extent) || memory_.HasNames(range.extent)) range = all.region[d];
    }
    return region;
  }

  std::vector<const ForNode*> loops_;
  std::vector<const StmtNode*> advanced_;
  MemoryValues memory_;
  Touches result_;
  VarMap values_;                      // of iterators and names, of joined and of advanced loops
  std::vector<Condition> conditions_;  // that decide whether a thread comes here
  std::vector<MatchBuffer> parts_;
  Expr predicate_;
  const BlockNode* block_ = nullptr;
  uint32_t object_ = 0;
  std::vector<const ForNode*> reduces_over_;
  int phase_ = 0;
  int concurrent_ = 0;   // concurrent loops around here
  size_t repeated_ = 0;  // touches in next iterations
};

}  // namespace

bool StartsThreads(const ForNode& loop) { return loop.kind == ForKind::kThreadBound && !IsBlockTag(loop.thread_tag); }

Touches CollectTouches(const Function& function) {
  if (!HasConcurrency(function->body)) return {};
  Collector collector(function);
  collector.Visit(function->body);
  return collector.Take();
}

}  // namespace tilewright
