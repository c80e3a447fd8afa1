#include "schedule/movement/rolling_buffer.h"

#include <algorithm>
#include <optional>
#include <utility>
#include <vector>

#include "ir/analysis.h"
#include "ir/arith/linear.h"
#include "ir/functor.h"
#include "ir/iteration_buffers.h"
#include "ir/regions.h"
#include "ir/structural.h"
#include "schedule/program/buffer_selector.h"
#include "schedule/program/buffer_uses.h"
#include "schedule/program/common_refusals.h"
#include "schedule/program/conjuncts.h"
#include "schedule/program/loop_tree.h"
#include "schedule/program/relaxed_region.h"
#include "verify/structure/block_scope.h"

namespace tilewright {
namespace {

constexpr const char* kName = "rolling_buffer";

// A dimension whose tile overlaps that of the loop's next iteration.
struct Overlap {
  size_t dim;
  const ForNode* loop;
  size_t depth;  // of the loop, from outside
  int64_t size;  // of the tile
  int64_t kept;  // elements that both tiles have
  Expr offset;   // in the tile, of what the writing block computes
};

// The buffer with one dimension that rolls.
class Roller : public Mutator {
 public:
  Roller(const Buffer& from, const Buffer& to, size_t dim) : from_(from), to_(to), dim_(dim) {}

  // The block with iterators of that dimension opaque, and the regions of its body.
  Block Roll(const Block& block) {
    vars_.clear();
    BlockNode::Fields fields = Mutator::MutateBlock(block)->fields();
    for (IterVar& iter : fields.iter_vars) {
      // What a reduction sums up over stays what it is: all of it runs for each element that is computed.
      const bool rolls = std::ranges::find(vars_, iter.var.get()) != vars_.end();
      if (rolls && iter.kind == IterKind::kSpatial) iter.kind = IterKind::kOpaque;
    }
    const AccessRegions accessed = DetectRegions(*Block(fields));
    for (bool read : {true, false}) {
      for (BufferRegion& region : read ? fields.reads : fields.writes) {
        if (!region.buffer.same_as(from_)) continue;
        for (const BufferRegion& found : read ? accessed.reads : accessed.writes) {
          if (found.buffer.same_as(to_)) region = found;
        }
      }
    }
    return Block(std::move(fields));
  }

 protected:
  Expr MutateLoad(const LoadNode* op, const Expr& self) override {
    if (!op->buffer.same_as(from_)) return Mutator::MutateLoad(op, self);
    return to_.Load(Rolled(MutateAll(op->indices)));
  }
  Stmt MutateStore(const StoreNode* op, const Stmt& self) override {
    if (!op->buffer.same_as(from_)) return Mutator::MutateStore(op, self);
    return Store(to_, Mutate(op->value), Rolled(MutateAll(op->indices)));
  }

 private:
  std::vector<Expr> Rolled(std::vector<Expr> indices) {
    Expr& index = indices[dim_];
    PreOrder(index, [&](const Expr& e) {
      if (const auto* var = dyn_cast<VarNode>(e)) vars_.push_back(var);
      return true;
    });
    index = FloorMod(index, to_->shape[dim_]);
    return indices;
  }
  const Buffer &from_, &to_;
  const size_t dim_;
  std::vector<const VarNode*> vars_;  // in the indices of that dimension
};

class Planner {
 public:
  Planner(const Function& function, uint32_t block)
      : function_(function), scope_(BlockScope::Around(function, block)), writer_(scope_.Find(block)) {}

  Outcome<Function> Apply(const BufferRegion& region) {
    buffer_ = region.buffer;
    for (auto check : {&Planner::CheckUses, &Planner::CheckWriter, &Planner::FindOverlaps}) {
      if (std::optional<Refusal> refusal = (this->*check)()) return *refusal;
    }
    return Rewrite();
  }

 private:
  using Check = std::optional<Refusal>;
  const BlockNode& block() const { return *writer_->realize->block; }
  Refusal Refuse(const char* reason) const { return Refusal{kName, reason, {block().id}, {}, {buffer_->name}}; }

  Check CheckUses() {
    if (scope_.has_other_statements()) {
      return Refuse("the scope of {block0} holds statements other than loops and blocks");
    }
    const BufferUses uses = FindBufferUses(function_, buffer_);
    if (uses.allocated_by != scope_.block()) return Refuse("{text0} is not allocated by the scope of {block0}");
    if (uses.matched_by != nullptr || uses.addressed_by != nullptr) {
      return Refuse("a part of {text0} is matched, or its address taken");
    }
    common_ = writer_->loops;
    for (const ScopeChild& child : scope_.children()) {
      const BlockNode& node = *child.realize->block;
      if (!Mentions(node.reads, buffer_) && !Mentions(node.writes, buffer_)) continue;
      users_.push_back(&child);
      if (!BlocksBelow(node.body).empty()) {
        return Refusal{kName, "{block0}, which uses {text0}, contains blocks", {node.id}, {}, {buffer_->name}};
      }
      size_t same = 0;
      while (same < std::min(common_.size(), child.loops.size()) && common_[same] == child.loops[same]) ++same;
      common_.resize(same);
    }
    if (users_.size() < 2) return Refuse("nobody reads {text0}, which {block0} writes");
    if (common_.empty()) return Refuse("no loop is around all uses of {text0}");
    return std::nullopt;
  }

  Check CheckWriter() {
    const bool reduces = !WhyNotReduction(scope_, *writer_);
    if (auto why = WhyNotComplete(scope_, *writer_); why && !reduces) {
      return Refusal{kName, "{block0} is not a complete block: {text0}", {block().id}, {}, {*why}};
    }
    for (const BufferRegion& read : block().reads) {
      for (uint32_t id : scope_.Writers(read.buffer)) {
        if (IsComplete(scope_, *scope_.Find(id))) continue;
        return Refusal{kName,
                       "{block0} reads {text0}, and {block1}, which writes it, is not a complete block",
                       {block().id, id},
                       {},
                       {read.buffer->name}};
      }
    }
    store_ = dyn_cast<StoreNode>(block().body);
    const bool plain = store_ != nullptr && store_->buffer.same_as(buffer_) && !store_->predicate &&
                       std::all_of(store_->indices.begin(), store_->indices.end(),
                                   [](const Expr& index) { return isa<VarNode>(index); });
    if (!plain || !InitsWhatItStores())
      return Refuse("{block0} does not store one element of {text0} at plain iterators");
    return WhyNotInOneTile();
  }

  bool InitsWhatItStores() const {
    if (!block().init) return true;
    const auto* init = dyn_cast<StoreNode>(block().init);
    return init != nullptr && init->buffer.same_as(buffer_) && StructuralEqual(init->indices, store_->indices);
  }

  // A reduction has to be finished for each tile: the next one takes over its results.
  Check WhyNotInOneTile() const {
    for (size_t i = 0; i < block().iter_vars.size(); ++i) {
      if (block().iter_vars[i].kind != IterKind::kReduce) continue;
      for (const ForNode* loop : common_) {
        if (!UsesVar(writer_->realize->bindings[i], loop->var)) continue;
        return Refusal{kName,
                       "{block0} reduces over {loop1}, which is around all uses of {text0}",
                       {block().id, loop->id},
                       {},
                       {buffer_->name}};
      }
    }
    return std::nullopt;
  }

  Check FindOverlaps() {
    const std::vector<const ForNode*> inner(writer_->loops.begin() + static_cast<ptrdiff_t>(common_.size()),
                                            writer_->loops.end());
    const BufferRegion tile = RelaxedRegion(BufferRegion::Point(buffer_, store_->indices), *writer_->realize, inner);
    arith::Analyzer analyzer;
    std::vector<Var> loops;
    for (const ForNode* loop : common_) loops.push_back(loop->var);
    for (size_t d = 0; d < tile.region.size(); ++d) {
      const auto linear = arith::DetectLinear(tile.region[d].min, loops, &analyzer);
      const auto size = AsInt(tile.region[d].extent);
      if (!linear || !AsInt(linear->base) || !size) continue;
      const std::optional<size_t> depth = MovingLoop(linear->coefficients);
      if (!depth) continue;
      const int64_t step = AsInt(linear->coefficients[*depth]).value_or(0);
      if (step <= 0 || step >= *size) continue;
      const ForNode* loop = common_[*depth];
      if (loop->kind != ForKind::kSerial || !IsInt(loop->min, 0)) continue;
      const bool taken =
          std::any_of(overlaps_.begin(), overlaps_.end(), [&](const Overlap& other) { return other.loop == loop; });
      if (taken) continue;
      const Expr& binding = BindingOf(store_->indices[d]);
      overlaps_.push_back({d, loop, *depth, *size, *size - step, analyzer.Simplify(binding - tile.region[d].min)});
    }
    if (overlaps_.empty()) return Refuse("no tile of {text0} overlaps the next one");
    rolls_ = *std::min_element(overlaps_.begin(), overlaps_.end(),
                               [](const Overlap& a, const Overlap& b) { return a.depth < b.depth; });
    return std::nullopt;
  }

  // The innermost of the loops that move the tile along a dimension: it rolls there, anew in each iteration of the
  // others. Those must run one after the other, or each have a buffer of its own.
  std::optional<size_t> MovingLoop(const std::vector<Expr>& coefficients) const {
    std::optional<size_t> innermost;
    for (size_t i = coefficients.size(); i-- > 0;) {
      if (IsInt(coefficients[i], 0)) continue;
      if (!innermost) {
        innermost = i;
      } else if (common_[i]->kind == ForKind::kParallel) {
        if (!BuffersOfParallelIterations(function_->body).contains(buffer_->data.get())) return std::nullopt;
      } else if (common_[i]->kind != ForKind::kSerial) {
        return std::nullopt;
      }
    }
    return innermost;
  }

  const Expr& BindingOf(const Expr& iterator) const {
    const auto at = std::find_if(block().iter_vars.begin(), block().iter_vars.end(),
                                 [&](const IterVar& iter) { return iter.var.get() == iterator.get(); });
    return writer_->realize->bindings[at - block().iter_vars.begin()];
  }

  Function Rewrite() const {
    std::vector<Expr> shape = buffer_->shape;
    shape[rolls_.dim] = Const(shape[rolls_.dim].dtype(), rolls_.size);
    BufferNode::Fields fields = buffer_->fields();
    fields.shape = std::move(shape);
    fields.data = Var();
    const Buffer rolling(std::move(fields));
    Expr predicate = writer_->realize->predicate;
    for (const Overlap& overlap : overlaps_) {
      const DataType type = overlap.loop->var.dtype();
      const Expr is_new =
          Or(overlap.loop->var < Const(type, 1), Const(overlap.offset.dtype(), overlap.kept) <= overlap.offset);
      predicate = WithGuard(predicate, is_new);
    }
    Roller roller(buffer_, rolling, rolls_.dim);
    Stmt body = scope_.block()->body;
    for (const ScopeChild* user : users_) {
      const BlockRealizeNode& realize = *user->realize;
      body = ReplaceStmt(
          body, &realize,
          Realize(realize.bindings, user == writer_ ? predicate : realize.predicate, roller.Roll(realize.block)));
    }
    Path path = FindPath(function_, scope_.block()->id);
    const auto* scope = cast<BlockRealizeNode>(path.back());
    BlockNode::Fields changed = scope->block->fields();
    changed.body = std::move(body);
    std::replace_if(
        changed.alloc_buffers.begin(), changed.alloc_buffers.end(),
        [&](const Buffer& buffer) { return buffer.same_as(buffer_); }, rolling);
    return ReplaceIn(function_, scope, Realize(scope->bindings, scope->predicate, Block(std::move(changed))),
                     function_->next_id);
  }

  const Function& function_;
  const BlockScope scope_;
  const ScopeChild* writer_;
  Buffer buffer_;
  std::vector<const ScopeChild*> users_;
  std::vector<const ForNode*> common_;  // loops around all users
  const StoreNode* store_ = nullptr;
  std::vector<Overlap> overlaps_;
  Overlap rolls_{};
};

}  // namespace

Outcome<Function> RollingBuffer(const Function& function, uint32_t block_id, int write_index) {
  Outcome<Path> path = PathToInnerBlock(kName, function, block_id);
  if (!path.ok()) return path.refusal();
  Outcome<BufferRegion> region = WriteRegion(kName, *cast<BlockRealizeNode>(path->back())->block, write_index);
  if (!region.ok()) return region.refusal();
  if (BlockScope::Around(function, block_id).Find(block_id) == nullptr) {
    return Refusal{kName, "{block0} lies in the init of a block", {block_id}};
  }
  return Planner(function, block_id).Apply(*region);
}

}  // namespace tilewright
