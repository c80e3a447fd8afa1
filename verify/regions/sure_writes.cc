#include "verify/regions/sure_writes.h"

#include <algorithm>
#include <string_view>
#include <utility>

#include "ir/analysis.h"
#include "ir/arith/region.h"
#include "ir/arith/same_expr.h"
#include "ir/builtin.h"
#include "ir/functor.h"
#include "ir/substitute.h"
#include "verify/structure/own_memory.h"

namespace tilewright {
namespace {

// One store or nested block that writes a part of a buffer.
struct Piece {
  Buffer buffer;
  arith::Region region;
  std::vector<const ForNode*> loops;  // of the block, around it
  Expr condition;                     // null: always
};

// The pieces that a block's init and body write of one buffer, or of parts of it that are matched by the block.
class PieceCollector : public StmtVisitor {
 public:
  using StmtVisitor::Visit;
  PieceCollector(const BlockNode& block, const Buffer& buffer, SureWrites* sure) : sure_(sure) {
    buffers_.push_back(buffer);
    for (const MatchBuffer& match : block.match_buffers) {
      if (match.source.buffer.same_as(buffer)) buffers_.push_back(match.buffer);
    }
    Visit(block.init);
    Visit(block.body);
  }
  std::vector<Piece> pieces;
  bool calls_outside = false;

 protected:
  void VisitFor(const ForNode* op) override {
    loops_.push_back(op);
    Visit(op->body);
    loops_.pop_back();
  }
  void VisitWhile(const WhileNode*) override {}
  void VisitIf(const IfNode* op) override {
    const Expr outer = condition_;
    const Expr condition = Now(op->condition);
    const size_t first = pieces.size();
    const Expr holds = condition_ = outer ? And(outer, condition) : condition;
    Visit(op->then_case);
    const size_t middle = pieces.size();
    const Expr fails = condition_ = outer ? And(outer, Not(condition)) : Not(condition);
    Visit(op->else_case);
    condition_ = outer;
    for (size_t a = first, end = pieces.size(); a < middle; ++a) {
      for (size_t b = middle; b < end; ++b) {
        const bool only = pieces[a].condition.same_as(holds) && pieces[b].condition.same_as(fails);
        if (!only || !WriteTheSame(pieces[a], pieces[b])) continue;
        pieces.push_back({pieces[a].buffer, pieces[a].region, pieces[a].loops, outer});
        break;
      }
    }
  }
  void VisitLetStmt(const LetStmtNode* op) override {
    values_[op->var] = Now(op->value);
    Visit(op->body);
    values_.erase(op->var);
  }
  void VisitEvaluate(const EvaluateNode* op) override {
    PreOrder(op->value, [&](const Expr& e) {
      const auto* call = dyn_cast<CallNode>(e);
      calls_outside |= call != nullptr && EffectOf(call->op) != CallEffect::kPure;
      return !calls_outside;
    });
  }
  void VisitStore(const StoreNode* op) override {
    if (!IsOurs(op->buffer) || op->predicate) return;
    arith::Region region;
    for (const Expr& index : op->indices) {
      const auto* ramp = dyn_cast<RampNode>(index);
      if (ramp != nullptr && IsInt(ramp->stride, 1)) {
        region.push_back({Now(ramp->base), Const(ramp->base.dtype(), index.dtype().lanes())});
      } else if (index.dtype().lanes() == 1) {
        region.push_back({Now(index), Const(index.dtype(), 1)});
      } else {
        return;
      }
    }
    pieces.push_back({op->buffer, std::move(region), loops_, condition_});
  }
  void VisitBlockRealize(const BlockRealizeNode* op) override {
    for (const BufferRegion& write : op->block->writes) {
      if (!IsOurs(write.buffer) || !sure_->Of(*op->block, write)) continue;
      VarMap values = values_;
      for (size_t i = 0; i < op->bindings.size(); ++i) values[op->block->iter_vars[i].var] = Now(op->bindings[i]);
      Expr condition = condition_;
      if (!IsTrue(op->predicate)) condition = condition ? And(condition, Now(op->predicate)) : Now(op->predicate);
      pieces.push_back({write.buffer, Substitute(write, values).region, loops_, std::move(condition)});
    }
  }

 private:
  bool IsOurs(const Buffer& buffer) const {
    return std::any_of(buffers_.begin(), buffers_.end(), [&](const Buffer& ours) { return ours.same_as(buffer); });
  }
  Expr Now(const Expr& e) const { return values_.empty() ? e : Substitute(e, values_); }
  // Whether both write the same elements, by loops of the same lengths inside of the branches that they stand in.
  bool WriteTheSame(const Piece& a, const Piece& b) const {
    if (!a.buffer.same_as(b.buffer) || a.loops.size() != b.loops.size()) return false;
    VarMap same;
    for (size_t l = loops_.size(); l < a.loops.size(); ++l) {
      const ForNode &in_a = *a.loops[l], &in_b = *b.loops[l];
      if (!arith::SameExpr(in_a.min, in_b.min) || !arith::SameExpr(in_a.extent, in_b.extent)) return false;
      if (in_a.var.dtype() != in_b.var.dtype()) return false;
      same[in_b.var] = in_a.var;
    }
    for (size_t d = 0; d < a.region.size(); ++d) {
      const Range there = Substitute(b.region[d], same);
      if (!arith::SameExpr(a.region[d].min, there.min) || !arith::SameExpr(a.region[d].extent, there.extent)) {
        return false;
      }
    }
    return true;
  }

  SureWrites* sure_;
  std::vector<Buffer> buffers_;
  std::vector<const ForNode*> loops_;
  VarMap values_;  // of lets
  Expr condition_;
};

// The place depends on two loops over the same threads, which have one index: not all of the region is written.
bool UsesOneThreadTwice(const Piece& piece) {
  std::vector<std::string_view> tags;
  for (const ForNode* loop : piece.loops) {
    if (!loop->thread_tag.starts_with("threadIdx")) continue;
    const bool used = std::any_of(piece.region.begin(), piece.region.end(),
                                  [&](const Range& range) { return UsesVar(range.min, loop->var); });
    if (!used) continue;
    if (std::find(tags.begin(), tags.end(), loop->thread_tag) != tags.end()) return true;
    tags.push_back(loop->thread_tag);
  }
  return false;
}

class AllocatedByThreads : public StmtVisitor {
 public:
  using StmtVisitor::Visit;
  explicit AllocatedByThreads(std::unordered_set<const BufferNode*>* found) : found_(found) {}

 protected:
  void VisitFor(const ForNode* op) override {
    const bool threads = op->thread_tag.starts_with("threadIdx");
    threads_ += threads;
    StmtVisitor::VisitFor(op);
    threads_ -= threads;
  }
  void VisitBlock(const BlockNode* op) override {
    for (const Buffer& buffer : op->alloc_buffers) {
      if (threads_ > 0 && buffer->scope.owner() == OwnerLevel::kDevice) found_->insert(buffer.get());
    }
    StmtVisitor::VisitBlock(op);
  }

 private:
  std::unordered_set<const BufferNode*>* found_;
  int threads_ = 0;
};

// The whole of a block's computation is one store to the region that it declares.
bool IsOneStoreTo(const BlockNode& block, const BufferRegion& declared) {
  const auto* store = dyn_cast<StoreNode>(block.body);
  if (store == nullptr || !store->buffer.same_as(declared.buffer) || store->predicate) return false;
  for (size_t d = 0; d < store->indices.size(); ++d) {
    const Range& range = declared.region[d];
    if (!IsInt(range.extent, 1) || !arith::SameExpr(range.min, store->indices[d])) return false;
  }
  return true;
}

// Whether one of the boxes, or some of them that lie side by side, hold all that is needed and lies in the buffer.
bool HoldTogether(const std::vector<arith::Region>& boxes, const BufferRegion& needed, arith::Analyzer* analyzer) {
  const std::vector<Expr>& shape = needed.buffer->shape;
  std::optional<arith::Region> hull;
  for (const arith::Region& box : boxes) {
    if (arith::Covers(box, needed.region, shape, analyzer)) return true;
    if (!hull) {
      hull = box;
    } else if (Touching(*hull, box, analyzer)) {
      hull = arith::UnionRegions(*hull, box, analyzer);
    }
  }
  return hull && arith::Covers(*hull, needed.region, shape, analyzer);
}

// Whether the box has no elements where the size is 0 or less.
bool IsEmptyAtZero(const std::vector<Range>& box, const Var& size, arith::Analyzer* analyzer) {
  const auto is_empty = [&](const Expr& extent) {
    return analyzer->CanProveLessEqual(extent, Const(extent.dtype(), 0));
  };
  const Expr zero = Const(size.dtype(), 0);
  const bool never_negative = analyzer->CanProveLessEqual(zero, size);
  const VarMap at_zero = {{size, zero}};
  arith::Analyzer::Scope scope(analyzer);
  analyzer->Assume(size <= zero);
  return std::ranges::any_of(box, [&](const Range& range) {
    return is_empty(range.extent) || (never_negative && is_empty(Substitute(range.extent, at_zero)));
  });
}

}  // namespace

bool SureWrites::IsOwn(const Buffer& buffer, const ForNode& loop) const {
  if (HasOwnMemory(buffer, loop)) return true;
  if (!loop.thread_tag.starts_with("threadIdx")) return false;
  if (!allocated_by_threads_) AllocatedByThreads(&allocated_by_threads_.emplace()).Visit(function_->body);
  return allocated_by_threads_->contains(buffer.get());
}

bool SureWrites::Of(const BlockNode& block, const BufferRegion& declared) {
  if (IsOneStoreTo(block, declared)) return true;
  const auto known = known_.find(&declared);
  if (known != known_.end()) return known->second.sure;
  PieceCollector collector(block, declared.buffer, this);
  bool sure = collector.calls_outside;
  if (!sure) {
    arith::Analyzer analyzer;
    given_.AssumeSizes(&analyzer);
    for (const IterVar& iter : block.iter_vars) analyzer.Bind(iter.var, iter.domain);
    AssumeInside(declared.region, declared.buffer, {}, &analyzer);
    const auto boxes_of = [&](const Buffer& buffer) {
      std::vector<arith::Region> boxes;
      for (const Piece& piece : collector.pieces) {
        if (!piece.buffer.same_as(buffer) || !Runs(piece.loops, 0, piece.region, &analyzer)) continue;
        if (UsesOneThreadTwice(piece)) continue;
        auto box =
            arith::MustCover(piece.region, DomainOf(piece.loops, 0, declared.buffer), piece.condition, &analyzer);
        if (box && IsEmptyWithTheLoops(*box, piece.loops, 0, &analyzer)) boxes.push_back(std::move(*box));
      }
      return boxes;
    };
    std::vector<arith::Region> boxes = boxes_of(declared.buffer);
    // A matched part counts when all of it is written.
    for (const MatchBuffer& match : block.match_buffers) {
      if (!match.source.buffer.same_as(declared.buffer)) continue;
      if (HoldTogether(boxes_of(match.buffer), BufferRegion::Full(match.buffer), &analyzer)) {
        boxes.push_back(match.source.region);
      }
    }
    sure = HoldTogether(boxes, declared, &analyzer);
  }
  known_[&declared] = {Block(&block), sure};
  return sure;
}

arith::Domain SureWrites::DomainOf(const std::vector<const ForNode*>& loops, size_t first, const Buffer& buffer) const {
  arith::Domain domain;
  for (size_t i = first; i < loops.size(); ++i) {
    if (IsOwn(buffer, *loops[i])) continue;
    domain.push_back({loops[i]->var, {loops[i]->min, loops[i]->extent}});
  }
  return domain;
}

bool SureWrites::Runs(const std::vector<const ForNode*>& loops, size_t first, const std::vector<Range>& region,
                      arith::Analyzer* analyzer) const {
  for (size_t i = first; i < loops.size(); ++i) {
    const ForNode* loop = loops[i];
    const auto extent = AsInt(loop->extent);
    if (extent && *extent > 0) continue;
    const bool used =
        std::any_of(region.begin(), region.end(), [&](const Range& range) { return UsesVar(range.min, loop->var); });
    if (used) continue;
    arith::Analyzer::Scope scope(analyzer);
    for (size_t outer = first; outer < i; ++outer) {
      analyzer->Bind(loops[outer]->var, {loops[outer]->min, loops[outer]->extent});
    }
    // A size is at least 1; what is made of sizes may be less, n // 16.
    PreOrder(loop->extent, [&](const Expr& e) {
      const auto* var = dyn_cast<VarNode>(e);
      if (var != nullptr && given_.IsGiven(var)) analyzer->Assume(Const(e.dtype(), 1) <= e);
      return true;
    });
    if (!analyzer->CanProveLessEqual(Const(loop->extent.dtype(), 1), loop->extent)) return false;
  }
  return true;
}

bool SureWrites::IsEmptyWithTheLoops(const std::vector<Range>& box, const std::vector<const ForNode*>& loops,
                                     size_t first, arith::Analyzer* analyzer) const {
  for (size_t i = first; i < loops.size(); ++i) {
    std::vector<Var> sizes;
    PreOrder(loops[i]->extent, [&](const Expr& e) {
      if (const auto* var = dyn_cast<VarNode>(e); var != nullptr && given_.IsGiven(var)) sizes.push_back(Var(var));
      return true;
    });
    if (sizes.empty()) continue;
    arith::Analyzer::Scope scope(analyzer);
    for (size_t outer = first; outer < i; ++outer) {
      analyzer->Bind(loops[outer]->var, {loops[outer]->min, loops[outer]->extent});
    }
    for (const Var& size : sizes) {
      if (analyzer->CanProveLessEqual(Const(size.dtype(), 1), size) || IsEmptyAtZero(box, size, analyzer)) continue;
      const auto is_it = [&](const Var& other) { return other.same_as(size); };
      if (positive_ && std::ranges::none_of(*positive_, is_it)) return false;
      if (std::ranges::none_of(taken_as_positive_, is_it)) taken_as_positive_.push_back(size);
    }
  }
  return true;
}

void AssumeInside(const std::vector<Range>& region, const Buffer& buffer, const arith::Domain& relaxed,
                  arith::Analyzer* analyzer) {
  for (size_t d = 0; d < region.size(); ++d) {
    const Expr& place = region[d].min;
    if (isa<IntImmNode>(place) || !IsInt(region[d].extent, 1) || arith::ReadsMemory(place)) continue;
    const bool varies =
        std::any_of(relaxed.begin(), relaxed.end(), [&](const auto& entry) { return UsesVar(place, entry.first); });
    if (varies) continue;
    const Expr& extent = buffer->shape[d];
    const DataType wide = place.dtype().bits() < extent.dtype().bits() ? extent.dtype() : place.dtype();
    analyzer->Assume(Const(place.dtype(), 0) <= place);
    analyzer->Assume(CastTo(wide, place) < CastTo(wide, extent));
  }
}

std::string NamesOf(const std::vector<Var>& vars) {
  std::string names;
  for (size_t i = 0; i < vars.size(); ++i) {
    if (i > 0) names += i + 1 == vars.size() ? " and " : ", ";
    names += vars[i].name();
  }
  return names;
}

bool Touching(const std::vector<Range>& a, const std::vector<Range>& b, arith::Analyzer* analyzer) {
  int differing = 0;
  for (size_t d = 0; d < a.size(); ++d) {
    if (analyzer->CanProveEqual(a[d].min, b[d].min) && analyzer->CanProveEqual(a[d].extent, b[d].extent)) continue;
    ++differing;
    if (!analyzer->CanProveLessEqual(a[d].min, b[d].min + b[d].extent) ||
        !analyzer->CanProveLessEqual(b[d].min, a[d].min + a[d].extent)) {
      return false;
    }
  }
  return differing <= 1;
}

}  // namespace tilewright
