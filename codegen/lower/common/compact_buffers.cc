#include "codegen/lower/common/compact_buffers.h"

#include <algorithm>
#include <optional>
#include <unordered_map>
#include <unordered_set>

#include "codegen/lower/common/ramp.h"
#include "codegen/lower/common/scoped_mutator.h"
#include "ir/builtin.h"
#include "ir/changes/may_change.h"
#include "ir/mentions.h"
#include "ir/regions.h"
#include "ir/substitute.h"
#include "verify/structure/own_memory.h"

namespace tilewright {
namespace {

// Bytes up to which a symbolic extent grows to what vectors reach at most. A slice to the far end may reach 2^60, which
// nobody can allocate.
constexpr int64_t kMaxBytesOfBound = int64_t{1} << 20;

using VarSet = std::unordered_set<const VarNode*>;

bool MentionsAny(const Expr& e, const VarSet& vars) {
  bool found = false;
  PreOrder(e, [&](const Expr& sub) {
    const auto* var = dyn_cast<VarNode>(sub);
    found |= var != nullptr && vars.contains(var);
    return !found;
  });
  return found;
}

// The part of each dimension of one buffer that is touched inside of its allocation, in variables from outside of it.
struct Touched {
  std::vector<std::optional<Range>> dims;  // nothing: unknown
  bool any = false;
  bool address_taken = false;
};

class TouchedCollector : public ScopedMutator {
 public:
  // `sharing`: loops around the allocation whose iterations share it.
  TouchedCollector(const Buffer& buffer, arith::Analyzer* outside, const std::vector<const ForNode*>& sharing)
      : buffer_(buffer), outside_(outside), loops_(sharing) {
    touched_.dims.resize(buffer->ndim());
    for (const ForNode* loop : sharing) inner_.insert(loop->var.get());
  }
  Touched Collect(const Stmt& body) {
    body_ = body;
    Mutate(body);
    return std::move(touched_);
  }
  using ScopedMutator::Mutate;

 protected:
  Expr MutateVar(const VarNode* op, const Expr& self) override {
    touched_.address_taken |= op == buffer_->data.get();
    return self;
  }
  Expr MutateLoad(const LoadNode* op, const Expr& self) override {
    if (op->buffer.same_as(buffer_)) {
      Add(BufferRegion::Point(buffer_, op->indices));
    } else {
      touched_.address_taken |= op->buffer->data.same_as(buffer_->data);
    }
    return ScopedMutator::MutateLoad(op, self);
  }
  Expr MutateCall(const CallNode* op, const Expr& self) override {
    if (op->op == kAddressOf) {
      const auto* load = dyn_cast<LoadNode>(op->args[0]);
      touched_.address_taken |= load != nullptr && load->buffer.same_as(buffer_);
    }
    return ScopedMutator::MutateCall(op, self);
  }
  Stmt MutateStore(const StoreNode* op, const Stmt& self) override {
    if (op->buffer.same_as(buffer_)) {
      Add(BufferRegion::Point(buffer_, op->indices));
    } else {
      touched_.address_taken |= op->buffer->data.same_as(buffer_->data);
    }
    return ScopedMutator::MutateStore(op, self);
  }
  Stmt MutateSeq(const SeqNode* op, const Stmt& self) override {
    if (in_list_) return ScopedMutator::MutateSeq(op, self);
    in_list_ = true;
    for (const size_t place : EntriesThatMention(*op, {buffer_->data.get()})) Mutate(op->stmts[place]);
    in_list_ = false;
    return self;
  }
  Stmt MutateFor(const ForNode* op, const Stmt& self) override {
    inner_.insert(op->var.get());
    loops_.push_back(op);
    Stmt result = ScopedMutator::MutateFor(op, self);
    loops_.pop_back();
    return result;
  }
  Stmt MutateLetStmt(const LetStmtNode* op, const Stmt& self) override {
    inner_.insert(op->var.get());
    return ScopedMutator::MutateLetStmt(op, self);
  }
  Expr MutateLet(const LetNode* op, const Expr& self) override {
    inner_.insert(op->var.get());
    return ScopedMutator::MutateLet(op, self);
  }
  Stmt MutateBlockRealize(const BlockRealizeNode* op, const Stmt& self) override {
    for (const MatchBuffer& match : op->block->match_buffers) {
      if (match.source.buffer.same_as(buffer_)) {
        Add(match.source);
      } else {
        touched_.address_taken |= match.source.buffer->data.same_as(buffer_->data);
      }
    }
    return ScopedMutator::MutateBlockRealize(op, self);
  }

 private:
  void Add(const BufferRegion& region) {
    for (size_t d = 0; d < touched_.dims.size(); ++d) {
      std::optional<Range>& sum = touched_.dims[d];
      if (touched_.any && !sum) continue;
      std::optional<Range> range = Relax(analyzer_.Simplify(WithoutLanes(region.region[d])));
      sum = range && touched_.any ? Union(*sum, *range) : range;
    }
    touched_.any = true;
  }

  // A vector of indices covers the range from its first to its last.
  static Range WithoutLanes(const Range& range) {
    const Expr min = FoldRamp(range.min);
    if (const auto* broadcast = dyn_cast<BroadcastNode>(min)) return WithoutLanes({broadcast->value, Expr(1)});
    const auto* ramp = dyn_cast<RampNode>(min);
    if (ramp == nullptr || !IsInt(ramp->stride, 1)) return range;
    return {ramp->base, Const(ramp->base.dtype(), min.dtype().lanes())};
  }

  // Relaxes the loops inside of the allocation, innermost first.
  std::optional<Range> Relax(const Range& range) {
    if (!range.min.dtype().is_scalar()) return std::nullopt;
    std::optional<Range> relaxed = range;
    for (size_t i = loops_.size(); i-- > 0 && relaxed;) {
      relaxed = RelaxRange(*relaxed, {{loops_[i]->var, {loops_[i]->min, loops_[i]->extent}}});
    }
    if (!relaxed || MentionsAny(relaxed->min, inner_) || MentionsAny(relaxed->extent, inner_)) return std::nullopt;
    // The first element of the part is evaluated anew at each access.
    if (MayChange(relaxed->min, body_) || MayChange(relaxed->extent, body_)) return std::nullopt;
    return outside_->Simplify(*relaxed);
  }

  std::optional<Range> Union(const Range& a, const Range& b) {
    auto less_equal = [&](const Expr& x, const Expr& y) { return outside_->CanProve(x <= y); };
    Expr a_end = a.min + a.extent, b_end = b.min + b.extent;
    Expr min = less_equal(a.min, b.min) ? a.min : less_equal(b.min, a.min) ? b.min : Min(a.min, b.min);
    Expr end = less_equal(a_end, b_end) ? b_end : less_equal(b_end, a_end) ? a_end : Max(a_end, b_end);
    return outside_->Simplify(Range{min, end - min});
  }

  const Buffer& buffer_;
  arith::Analyzer* outside_;
  Stmt body_;  // of the allocation
  Touched touched_;
  VarSet inner_;
  bool in_list_ = false;
  std::vector<const ForNode*> loops_;
};

class Compacter : public ScopedMutator {
 public:
  using ScopedMutator::Mutate;
  Buffer MutateBuffer(const Buffer& buffer) override {
    auto it = compacted_.find(buffer);
    return it == compacted_.end() ? buffer : it->second.buffer;
  }

 protected:
  Stmt MutateAllocate(const AllocateNode* op, const Stmt& self) override {
    const Buffer& buffer = op->buffer;
    if (buffer->layout || !buffer->strides.empty()) return ScopedMutator::MutateAllocate(op, self);
    Touched touched = TouchedCollector(buffer, &analyzer_, ThreadsSharing(buffer)).Collect(op->body);
    if (!touched.any || touched.address_taken) return ScopedMutator::MutateAllocate(op, self);
    BufferNode::Fields fields = buffer->fields();
    Compacted compacted;
    bool changed = false;
    compacted.first.resize(fields.shape.size());
    // Whether neighbours along the dimension are neighbours in memory.
    bool innermost = true;
    for (size_t d = fields.shape.size(); d-- > 0;) {
      compacted.first[d] = Const(fields.shape[d].dtype(), 0);
      const std::optional<Range>& range = touched.dims[d];
      if (range) {
        const Expr extent = ConstantIfBounded(range->extent);
        const bool beyond = innermost && buffer->scope.kind() == MemoryKind::kRegister && MayGrow(buffer, d, extent) &&
                            analyzer_.CanProve(extent > fields.shape[d]);
        // What is touched is no more than the buffer has, whatever its symbolic extent.
        const bool constant = !AsInt(fields.shape[d]) && AsInt(range->extent);
        if (beyond || constant || analyzer_.CanProve(extent < fields.shape[d])) {
          fields.shape[d] = CastTo(fields.shape[d].dtype(), extent);
          compacted.first[d] = range->min;
          changed = true;
        }
      }
      innermost = innermost && IsInt(fields.shape[d], 1);
    }
    if (!changed) return ScopedMutator::MutateAllocate(op, self);
    fields.data = Var(buffer->data.name(), buffer->data.dtype());
    compacted.buffer = Buffer(std::move(fields));
    compacted_[buffer] = compacted;
    Stmt body = Mutate(op->body);
    compacted_.erase(buffer);
    return Stmt(new AllocateNode(compacted.buffer, op->annotations, std::move(body)));
  }
  Stmt MutateFor(const ForNode* op, const Stmt& self) override {
    const bool thread = op->thread_tag.starts_with("threadIdx");
    if (thread) threads_.push_back(op);
    Stmt result = ScopedMutator::MutateFor(op, self);
    if (thread) threads_.pop_back();
    return result;
  }
  Expr MutateLoad(const LoadNode* op, const Expr& self) override {
    Expr mutated = ScopedMutator::MutateLoad(op, self);
    auto it = compacted_.find(op->buffer);
    if (it == compacted_.end()) return mutated;
    const auto* load = cast<LoadNode>(mutated);
    return it->second.buffer.Load(Shift(load->indices, it->second.first), load->predicate);
  }
  Stmt MutateStore(const StoreNode* op, const Stmt& self) override {
    Stmt mutated = ScopedMutator::MutateStore(op, self);
    auto it = compacted_.find(op->buffer);
    if (it == compacted_.end()) return mutated;
    const auto* store = cast<StoreNode>(mutated);
    return Store(it->second.buffer, store->value, Shift(store->indices, it->second.first), store->predicate);
  }
  Block MutateBlock(const Block& block) override {
    Block mutated = ScopedMutator::MutateBlock(block);
    BlockNode::Fields fields = mutated->fields();
    for (size_t i = 0; i < fields.match_buffers.size(); ++i) {
      auto it = compacted_.find(block->match_buffers[i].source.buffer);
      if (it == compacted_.end()) continue;
      std::vector<Range>& region = fields.match_buffers[i].source.region;
      for (size_t d = 0; d < region.size(); ++d) region[d].min = Shift(region[d].min, it->second.first[d]);
    }
    return fields.match_buffers.empty() ? mutated : Block(std::move(fields));
  }

 private:
  struct Compacted {
    Buffer buffer;
    std::vector<Expr> first;  // of each dimension: where the touched part begins
  };

  // The size of an allocation need not be exact; a constant one can live in registers.
  Expr ConstantIfBounded(const Expr& extent) {
    const arith::Bounds bounds = analyzer_.ConstBounds(extent);
    return bounds.max == arith::kPosInf ? extent : Const(extent.dtype(), std::max<int64_t>(bounds.max, 1));
  }
  // Whether memory may have `extent`, a bound of what is touched, which is more than the dimension has.
  static bool MayGrow(const Buffer& buffer, size_t d, const Expr& extent) {
    const std::optional<int64_t> most = AsInt(extent);
    const int64_t element_bytes = int64_t{buffer->dtype.bytes()} * buffer->dtype.lanes();
    return most && (AsInt(buffer->shape[d]) || *most <= kMaxBytesOfBound / element_bytes);
  }
  Expr Shift(const Expr& index, const Expr& first) {
    return IsInt(first, 0) ? index : analyzer_.Simplify(FoldRamp(index - first));
  }
  std::vector<Expr> Shift(const std::vector<Expr>& indices, const std::vector<Expr>& first) {
    std::vector<Expr> shifted;
    for (size_t d = 0; d < indices.size(); ++d) shifted.push_back(Shift(indices[d], first[d]));
    return shifted;
  }

  // The threads around an allocation that share what is allocated. Lanes have parts of a fragment.
  std::vector<const ForNode*> ThreadsSharing(const Buffer& buffer) const {
    const MemoryKind kind = buffer->scope.kind();
    if (kind == MemoryKind::kShared || kind == MemoryKind::kWarp) return threads_;
    std::vector<const ForNode*> lanes;
    if (kind != MemoryKind::kFragment) return lanes;
    for (const ForNode* loop : threads_) {
      if (!HasOwnMemory(buffer, *loop)) lanes.push_back(loop);
    }
    return lanes;
  }

  std::unordered_map<Buffer, Compacted, IdentityHash, IdentityEqual> compacted_;
  std::vector<const ForNode*> threads_;  // loops over threadIdx around here
};

}  // namespace

Function CompactBuffers(const Function& function) {
  const KeepMentions mentions;
  return function.WithBody(Compacter().Mutate(function->body), function->next_id);
}

}  // namespace tilewright
