#include "schedule/movement/rolling_buffer.h"

#include <algorithm>
#include <optional>
#include <utility>
#include <vector>

#include "base/status_macros.h"
#include "ir/analysis.h"
#include "ir/arith/analyzer.h"
#include "ir/functor.h"
#include "ir/iteration_buffers.h"
#include "ir/regions.h"
#include "ir/structural.h"
#include "schedule/program/buffer_selector.h"
#include "schedule/program/buffer_uses.h"
#include "schedule/program/common_refusals.h"
#include "schedule/program/conjuncts.h"
#include "schedule/program/instances.h"
#include "schedule/program/loop_ranges.h"
#include "schedule/program/loop_tree.h"
#include "schedule/program/produced_box.h"
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
  int64_t kept;  // elements that both tiles have, at least
  Expr offset;   // in the tile, of what the writing block computes
};

// By how much an expression grows, at least and at most, when a variable grows by one.
struct Growth {
  int64_t least = 0, most = 0;
};

std::optional<Growth> GrowthOf(const Expr& e, const Var& var);

// The growth of a product with a number, and of a quotient by a number above 0.
std::optional<Growth> GrowthOfMultiple(const BinaryNode& op, const Growth& a) {
  constexpr int64_t kLimit = int64_t{1} << 31;
  const std::optional<int64_t> factor = AsInt(op.b);
  if (!factor || *factor <= 0 || *factor >= kLimit || a.least <= -kLimit || a.most >= kLimit) return std::nullopt;
  if (op.op == BinaryOp::kMul) return Growth{a.least * *factor, a.most * *factor};
  const auto floor_div = [&](int64_t n) { return n >= 0 ? n / *factor : -((-n + *factor - 1) / *factor); };
  return Growth{floor_div(a.least), floor_div(a.most + *factor - 1)};
}

std::optional<Growth> GrowthOf(const Expr& e, const Var& var) {
  if (e.same_as(var)) return Growth{1, 1};
  if (isa<VarNode>(e) || AsInt(e)) return Growth{};
  const auto* op = dyn_cast<BinaryNode>(e);
  if (op == nullptr) return std::nullopt;
  const std::optional<Growth> a = GrowthOf(op->a, var), b = GrowthOf(op->b, var);
  if (!a || !b) return std::nullopt;
  switch (op->op) {
    case BinaryOp::kAdd:
      return Growth{a->least + b->least, a->most + b->most};
    case BinaryOp::kSub:
      return Growth{a->least - b->most, a->most - b->least};
    case BinaryOp::kMul:
    case BinaryOp::kFloorDiv:
      return GrowthOfMultiple(*op, *a);
    default:
      return std::nullopt;
  }
}

// The buffer with one dimension that rolls, or no longer does.
class Roller : public Mutator {
 public:
  enum class Way { kRoll, kUnroll };
  Roller(const Buffer& from, const Buffer& to, size_t dim, Way way = Way::kRoll)
      : from_(from), to_(to), dim_(dim), way_(way) {}

  // The block with iterators of that dimension opaque (spatial), and the regions of its body.
  Block Roll(const Block& block) {
    vars_.clear();
    BlockNode::Fields fields = Mutator::MutateBlock(block)->fields();
    const bool rolls = way_ == Way::kRoll;
    for (IterVar& iter : fields.iter_vars) {
      if (std::ranges::find(vars_, iter.var.get()) == vars_.end()) continue;
      // What a reduction sums up over stays what it is: all of it runs for each element that is computed.
      if (iter.kind == (rolls ? IterKind::kSpatial : IterKind::kOpaque)) {
        iter.kind = rolls ? IterKind::kOpaque : IterKind::kSpatial;
      }
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
    if (way_ == Way::kRoll) {
      index = FloorMod(index, to_->shape[dim_]);
    } else if (const auto* rolled = dyn_cast<BinaryNode>(index);
               rolled != nullptr && rolled->op == BinaryOp::kFloorMod) {
      index = rolled->a;
    }
    return indices;
  }
  const Buffer &from_, &to_;
  const size_t dim_;
  const Way way_;
  std::vector<const VarNode*> vars_;  // in the indices of that dimension
};

// A buffer whose dimension gets another extent, and the predicate that its writer gets.
struct NewExtent {
  Buffer buffer;
  size_t dim;
  Expr extent;
  const ScopeChild& writer;
  Expr predicate;
};

Function WithExtent(const Function& function, const BlockScope& scope, const NewExtent& change, Roller::Way way) {
  BufferNode::Fields fields = change.buffer->fields();
  fields.shape[change.dim] = change.extent;
  fields.data = Var();
  const Buffer after(std::move(fields));
  Roller roller(change.buffer, after, change.dim, way);
  Stmt body = scope.block()->body;
  for (const ScopeChild& child : scope.children()) {
    const BlockRealizeNode& realize = *child.realize;
    if (!Mentions(realize.block->reads, change.buffer) && !Mentions(realize.block->writes, change.buffer)) continue;
    const Expr& predicate = &child == &change.writer ? change.predicate : realize.predicate;
    body = ReplaceStmt(body, &realize, Realize(realize.bindings, predicate, roller.Roll(realize.block)));
  }
  Path path = FindPath(function, scope.block()->id);
  const auto* outer = cast<BlockRealizeNode>(path.back());
  BlockNode::Fields changed = outer->block->fields();
  changed.body = std::move(body);
  std::replace_if(
      changed.alloc_buffers.begin(), changed.alloc_buffers.end(),
      [&](const Buffer& buffer) { return buffer.same_as(change.buffer); }, after);
  return ReplaceIn(function, outer, Realize(outer->bindings, outer->predicate, Block(std::move(changed))),
                   function->next_id);
}

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
        if (IsFinal(*scope_.Find(id))) continue;
        return Refusal{kName,
                       "{block0} reads {text0}, and {block1}, which writes it, is neither a complete block nor a "
                       "reduction that is finished before",
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
    if (!PredicateOnlyGuardsDomains(*writer_->realize, &analyzer_)) {
      return Refusal{kName,
                     "the predicate {expr0} of {block0} says more than that its iterators are inside of their domains",
                     {block().id},
                     {writer_->realize->predicate}};
    }
    return WhyNotInOneTile();
  }

  // Whether what another block writes has its value when the block reads it.
  bool IsFinal(const ScopeChild& producer) const {
    if (IsComplete(scope_, producer)) return true;
    if (!IsReduction(scope_, producer)) return false;
    const auto [end, unused] = std::ranges::mismatch(producer.loops, writer_->loops);
    return std::none_of(producer.loops.begin(), end, [&](const ForNode* loop) { return Reduces(producer, *loop); });
  }

  static bool Reduces(const ScopeChild& child, const ForNode& loop) {
    const BlockRealizeNode& realize = *child.realize;
    for (size_t i = 0; i < realize.bindings.size(); ++i) {
      const bool reduce = realize.block->iter_vars[i].kind == IterKind::kReduce;
      if (reduce && UsesVar(realize.bindings[i], loop.var)) return true;
    }
    return false;
  }

  bool InitsWhatItStores() const {
    if (!block().init) return true;
    const auto* init = dyn_cast<StoreNode>(block().init);
    return init != nullptr && init->buffer.same_as(buffer_) && StructuralEqual(init->indices, store_->indices);
  }

  // A reduction has to be finished for each tile: the next one takes over its results.
  Check WhyNotInOneTile() const {
    for (const ForNode* loop : common_) {
      if (!Reduces(*writer_, *loop)) continue;
      return Refusal{kName,
                     "{block0} reduces over {loop1}, which is around all uses of {text0}",
                     {block().id, loop->id},
                     {},
                     {buffer_->name}};
    }
    return std::nullopt;
  }

  Check FindOverlaps() {
    const std::vector<const ForNode*> inner(writer_->loops.begin() + static_cast<ptrdiff_t>(common_.size()),
                                            writer_->loops.end());
    const BufferRegion element = BufferRegion::Point(buffer_, store_->indices);
    const BufferRegion tile = RelaxedRegion(element, *writer_->realize, inner);
    BindLoops(analyzer_, common_);
    if (!BoxWithoutGaps(*writer_->realize, inner, element, &analyzer_))
      return Refuse("a tile of {text0} may have gaps");
    for (size_t d = 0; d < tile.region.size(); ++d) {
      const auto size = AsInt(tile.region[d].extent);
      const std::optional<size_t> depth = MovingLoop(tile.region[d].min);
      if (!size || !depth) continue;
      const ForNode* loop = common_[*depth];
      const std::optional<Growth> step = GrowthOf(tile.region[d].min, loop->var);
      if (!step || step->least < 0 || step->most >= *size) continue;
      if (loop->kind != ForKind::kSerial || !IsInt(loop->min, 0)) continue;
      const bool taken =
          std::any_of(overlaps_.begin(), overlaps_.end(), [&](const Overlap& other) { return other.loop == loop; });
      if (taken) continue;
      const Expr& binding = BindingOf(store_->indices[d]);
      overlaps_.push_back(
          {d, loop, *depth, *size, *size - step->most, analyzer_.Simplify(binding - tile.region[d].min)});
    }
    if (overlaps_.empty()) return Refuse("no tile of {text0} overlaps the next one");
    rolls_ = *std::min_element(overlaps_.begin(), overlaps_.end(),
                               [](const Overlap& a, const Overlap& b) { return a.depth < b.depth; });
    return WhyNotFromOneTile(tile.region[rolls_.dim]);
  }

  // What tiles before had is gone.
  Check WhyNotFromOneTile(const Range& tile) {
    for (const ScopeChild* user : users_) {
      const std::vector<const ForNode*> inner(user->loops.begin() + static_cast<ptrdiff_t>(common_.size()),
                                              user->loops.end());
      for (const BufferRegion& read : user->realize->block->reads) {
        if (!read.buffer.same_as(buffer_)) continue;
        const Range range = RelaxedRegion(read, *user->realize, inner).region[rolls_.dim];
        if (ProvablyInside(&analyzer_, {range}, {tile})) continue;
        return Refusal{kName,
                       "{block0} may read elements of {text0} that the tile of an iteration does not hold",
                       {user->id()},
                       {},
                       {buffer_->name}};
      }
    }
    return std::nullopt;
  }

  // The innermost of the loops that move the tile along a dimension: it rolls there, anew in each iteration of the
  // others. Those must run one after the other, or each have a buffer of its own.
  std::optional<size_t> MovingLoop(const Expr& start) const {
    std::optional<size_t> innermost;
    for (size_t i = common_.size(); i-- > 0;) {
      if (!UsesVar(start, common_[i]->var)) continue;
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
    Expr predicate = writer_->realize->predicate;
    for (const Overlap& overlap : overlaps_) {
      const DataType type = overlap.loop->var.dtype();
      const Expr is_new =
          Or(overlap.loop->var < Const(type, 1), Const(overlap.offset.dtype(), overlap.kept) <= overlap.offset);
      predicate = WithGuard(predicate, is_new);
    }
    const Expr extent = Const(buffer_->shape[rolls_.dim].dtype(), rolls_.size);
    return WithExtent(function_, scope_, {buffer_, rolls_.dim, extent, *writer_, predicate}, Roller::Way::kRoll);
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
  arith::Analyzer analyzer_;  // knows the loops around all users
};

// The predicate without what rolling adds to it.
Expr WithoutIsNew(const Expr& predicate) {
  Expr left = True();
  for (const Expr& condition : Conjuncts(predicate)) {
    const auto* either = dyn_cast<BinaryNode>(condition);
    const auto* first = either != nullptr && either->op == BinaryOp::kOr ? dyn_cast<BinaryNode>(either->a) : nullptr;
    if (first != nullptr && isa<VarNode>(first->a) && IsInt(first->b, 1)) continue;
    left = IsTrue(left) ? condition : And(left, condition);
  }
  return left;
}

// The program in which what the block writes does not roll yet; nothing when it does not look as if it did.
std::optional<Function> BeforeRolling(const Function& function, uint32_t block) {
  const BlockScope scope = BlockScope::Around(function, block);
  const ScopeChild& writer = *scope.Find(block);
  const BlockNode& node = *writer.realize->block;
  const auto* store = dyn_cast<StoreNode>(node.body);
  if (store == nullptr || FindBufferUses(function, store->buffer).allocated_by != scope.block()) return std::nullopt;
  for (size_t d = 0; d < store->indices.size(); ++d) {
    const auto* rolled = dyn_cast<BinaryNode>(store->indices[d]);
    if (rolled == nullptr || rolled->op != BinaryOp::kFloorMod) continue;
    const auto iter =
        std::ranges::find_if(node.iter_vars, [&](const IterVar& i) { return i.var.get() == rolled->a.get(); });
    if (iter == node.iter_vars.end() || !StructuralEqual(rolled->b, store->buffer->shape[d])) continue;
    const Expr extent = arith::Simplify(iter->domain.min + iter->domain.extent);
    return WithExtent(function, scope, {store->buffer, d, extent, writer, WithoutIsNew(writer.realize->predicate)},
                      Roller::Way::kUnroll);
  }
  return std::nullopt;
}

// Lets what these blocks, in the order of the program, write roll: consumers first, whose iterators are opaque once
// what they read rolls.
Outcome<Function> RollAll(Function function, const std::vector<uint32_t>& writers) {
  for (size_t i = writers.size(); i-- > 0;) {
    const auto* realize = cast<BlockRealizeNode>(FindPath(function, writers[i]).back());
    TW_ASSIGN_OR_RETURN(Function rolled, Planner(function, writers[i]).Apply(realize->block->writes[0]));
    function = rolled;
  }
  return function;
}

// A cascade: what the block reads rolls already. Lets all buffers of the cascade roll from the start; nothing where the
// program is none that rolling made.
std::optional<Outcome<Function>> RollCascade(const Function& function, uint32_t block) {
  Function before = function;
  std::vector<uint32_t> rolling, all;
  const BlockScope scope = BlockScope::Around(function, block);
  for (const ScopeChild& child : scope.children()) {
    if (child.id() == block) {
      all.push_back(block);
    } else if (std::optional<Function> unrolled = BeforeRolling(before, child.id())) {
      before = *std::move(unrolled);
      rolling.push_back(child.id());
      all.push_back(child.id());
    }
  }
  if (rolling.empty()) return std::nullopt;
  const Outcome<Function> again = RollAll(before, rolling);
  if (!again.ok() || !StructuralEqual(*again, function)) return std::nullopt;
  return RollAll(before, all);
}

}  // namespace

Outcome<Function> RollingBuffer(const Function& function, uint32_t block_id, int write_index) {
  TW_ASSIGN_OR_RETURN(Path path, PathToInnerBlock(kName, function, block_id));
  TW_ASSIGN_OR_RETURN(BufferRegion region,
                      WriteRegion(kName, *cast<BlockRealizeNode>(path.back())->block, write_index));
  if (BlockScope::Around(function, block_id).Find(block_id) == nullptr) {
    return Refusal{kName, "{block0} lies in the init of a block", {block_id}};
  }
  if (write_index == 0) {
    if (std::optional<Outcome<Function>> rolled = RollCascade(function, block_id)) return *std::move(rolled);
  }
  return Planner(function, block_id).Apply(region);
}

}  // namespace tilewright
