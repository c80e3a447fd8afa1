#include "schedule/reduction/fuse_reduction_epilogue.h"

#include <algorithm>
#include <optional>
#include <utility>
#include <vector>

#include "base/status_macros.h"
#include "ir/functor.h"
#include "ir/structural.h"
#include "ir/substitute.h"
#include "schedule/program/common_refusals.h"
#include "schedule/program/instances.h"
#include "schedule/program/loop_tree.h"
#include "schedule/program/reducer.h"
#include "schedule/program/sum_form.h"
#include "verify/structure/block_scope.h"

namespace tilewright {
namespace {

constexpr const char* kName = "fuse_reduction_epilogue";

class Fuser {
 public:
  Fuser(const Function& function, uint32_t reduction, uint32_t epilogue)
      : function_(function),
        scope_(BlockScope::Around(function, reduction)),
        reduction_(scope_.Find(reduction)),
        epilogue_(scope_.Find(epilogue)) {}

  Outcome<Function> Apply(uint32_t reduction_id, uint32_t epilogue_id) {
    if (reduction_ == nullptr || epilogue_ == nullptr || reduction_ >= epilogue_) {
      return Refusal{kName, "{block0} does not come before {block1} in one scope", {reduction_id, epilogue_id}};
    }
    for (auto check : {&Fuser::CheckReduction, &Fuser::CheckEpilogue, &Fuser::FindOther, &Fuser::MatchIterators,
                       &Fuser::CheckNeighbors}) {
      if (std::optional<Refusal> refusal = (this->*check)()) return *refusal;
    }
    return Rewrite();
  }

 private:
  using Check = std::optional<Refusal>;
  const BlockNode& reduction() const { return *reduction_->realize->block; }
  const BlockNode& epilogue() const { return *epilogue_->realize->block; }
  Refusal Refuse(const char* reason, std::vector<std::string> texts = {}, std::vector<Expr> exprs = {}) const {
    return Refusal{kName, reason, {reduction_->id(), epilogue_->id()}, std::move(exprs), std::move(texts)};
  }

  Check CheckReduction() {
    if (auto why = WhyNotReduction(scope_, *reduction_)) {
      return Refuse("{block0} is not a reduction block: {text0}", {*why});
    }
    TW_ASSIGN_OR_RETURN(Reducer reducer, DetectReducer(kName, reduction()));
    reducer_ = reducer;
    if (reducer_.components.size() != 1) return Refuse("{block0} has more than one output");
    output_ = reducer_.components[0].accumulator.buffer;
    const auto& allocated = scope_.block()->alloc_buffers;
    if (std::none_of(allocated.begin(), allocated.end(), [&](const Buffer& b) { return b.same_as(output_); })) {
      return Refuse("{text0} is seen outside of the scope of {block0}", {output_->name});
    }
    const std::vector<uint32_t> readers = scope_.Readers(output_);
    for (uint32_t reader : readers) {
      if (reader == epilogue_->id() || reader == reduction_->id()) continue;
      return Refusal{kName, "{block0} reads {text0} too", {reader}, {}, {output_->name}};
    }
    return std::nullopt;
  }

  Check CheckEpilogue() {
    if (auto why = WhyNotComplete(scope_, *epilogue_)) {
      return Refuse("{block1} is not a complete block: {text0}", {*why});
    }
    store_ = dyn_cast<StoreNode>(epilogue().body);
    if (store_ == nullptr || store_->predicate || !epilogue().match_buffers.empty()) {
      return Refuse("the body of {block1} is not one store");
    }
    if (store_->buffer->dtype != output_->dtype) {
      return Refuse("{block1} stores {text0}, the reduction computes in {text1}",
                    {store_->buffer->dtype.ToString(), output_->dtype.ToString()});
    }
    arith::Analyzer analyzer;
    if (!RunsAllInstances(*epilogue_->realize, epilogue_->loops, &analyzer)) {
      return Refuse("not all instances of {block1} run");
    }
    return std::nullopt;
  }

  // The operand other than the reduction's result; none where the epilogue only copies that.
  Check FindOther() {
    if (const auto* copied = dyn_cast<LoadNode>(store_->value); copied != nullptr && copied->buffer.same_as(output_)) {
      result_ = copied;
      return std::nullopt;
    }
    const auto* combined = dyn_cast<BinaryNode>(reducer_.components[0].combined);
    const auto* value = dyn_cast<BinaryNode>(store_->value);
    const bool same_operation = combined != nullptr && value != nullptr && value->op == combined->op;
    for (bool first : {true, false}) {
      if (!same_operation) break;
      const Expr &result = first ? value->a : value->b, &other = first ? value->b : value->a;
      const auto* load = dyn_cast<LoadNode>(result);
      if (load == nullptr || !load->buffer.same_as(output_) || Reads(other, output_)) continue;
      result_ = load;
      other_ = other;
      return std::nullopt;
    }
    return Refuse("{expr0} is not {text0} combined by the operation of {block0}'s reduction", {output_->name},
                  {store_->value});
  }

  // The epilogue's iterators as those of the reduction at the same element.
  Check MatchIterators() {
    const std::vector<Expr>& indices = reducer_.components[0].accumulator.indices;
    arith::Analyzer analyzer;
    for (size_t d = 0; d < indices.size(); ++d) {
      const auto *to = dyn_cast<VarNode>(indices[d]), *from = dyn_cast<VarNode>(result_->indices[d]);
      if (to == nullptr || from == nullptr || iters_.contains(Var(from))) {
        return Refuse("{block0} and {block1} do not index {text0} by iterators, one each", {output_->name});
      }
      const auto domain = [](const BlockNode& block, const VarNode* var) {
        return std::find_if(block.iter_vars.begin(), block.iter_vars.end(),
                            [&](const IterVar& iter) { return iter.var.get() == var; })
            ->domain;
      };
      const Range a = domain(reduction(), to), b = domain(epilogue(), from);
      if (!analyzer.CanProveEqual(a.min, b.min) || !analyzer.CanProveEqual(a.extent, b.extent)) {
        return Refuse("dimension {text0} of {text1} has different ranges in {block0} and {block1}",
                      {std::to_string(d), output_->name});
      }
      iters_[Var(from)] = Var(to);
    }
    for (const IterVar& iter : epilogue().iter_vars) {
      if (!iters_.contains(iter.var))
        return Refuse("the iterator {text0} of {block1} does not index {text1}", {iter.var.name(), output_->name});
    }
    return std::nullopt;
  }

  Check CheckNeighbors() {
    if (scope_.has_other_statements()) {
      return Refuse("the scope of {block0} holds statements other than loops and blocks");
    }
    const auto shares_loop = [&](const ScopeChild& child) {
      return !child.loops.empty() && !reduction_->loops.empty() && child.loops[0] == reduction_->loops[0];
    };
    for (const ScopeChild& child : scope_.children()) {
      if (&child == reduction_ || &child == epilogue_) continue;
      const BlockNode& block = *child.realize->block;
      for (const BufferRegion& read : epilogue().reads) {
        if (read.buffer.same_as(output_) || !Mentions(block.writes, read.buffer)) continue;
        if (&child < reduction_ && !shares_loop(child)) continue;
        return Refusal{kName,
                       "{block1} reads {text0}, which {block2} does not write before {block0}",
                       {reduction_->id(), epilogue_->id(), child.id()},
                       {},
                       {read.buffer->name}};
      }
    }
    return std::nullopt;
  }

  // What the reduction starts with. Sums and products that update an element wrap, so this does.
  static Expr Start(BinaryOp op, const Expr& init, const Expr& other) {
    const DataType type = init.dtype();
    const bool overflows = type.is_int() && type.bits() >= 32 && (op == BinaryOp::kAdd || op == BinaryOp::kMul);
    if (!overflows) return MakeBinary(op, init, other);
    const DataType wrapping = DataType::UInt(type.bits());
    return CastTo(type, MakeBinary(op, CastTo(wrapping, init), CastTo(wrapping, other)));
  }

  Outcome<Function> Rewrite() const {
    const Reducer::Component& component = reducer_.components[0];
    const Element target{store_->buffer, Substitute(store_->indices, iters_)};
    BlockNode::Fields block = reduction().fields();
    Expr start = component.init;
    if (other_) {
      const Expr other = Substitute(other_, iters_);
      const auto& combined = *cast<BinaryNode>(component.combined);
      const bool from_nothing = StructuralEqual(component.init, component.identity) &&
                                (combined.op == BinaryOp::kAdd || combined.op == BinaryOp::kMul);
      start = from_nothing ? other : Start(combined.op, component.init, other);
    }
    block.init = StoreInto({target}, {start});
    block.body = CombineInto(reducer_, {target}, {component.value});
    block.writes = {BufferRegion::Point(target.buffer, target.indices)};
    std::vector<BufferRegion> reads;
    for (const BufferRegion& read : epilogue().reads) {
      if (!read.buffer.same_as(output_) && !Mentions(block.reads, read.buffer))
        reads.push_back(Substitute(read, iters_));
    }
    reads.insert(reads.end(), block.reads.begin(), block.reads.end());
    block.reads = std::move(reads);
    const Stmt fused = Realize(reduction_->realize->bindings, reduction_->realize->predicate, Block(std::move(block)));
    const Function with_start = ReplaceIn(function_, reduction_->realize, fused, function_->next_id);
    return RemoveFrom(with_start, SubtreeOfOnly(FindPath(with_start, epilogue_->id())));
  }

  const Function& function_;
  const BlockScope scope_;
  const ScopeChild *reduction_, *epilogue_;
  Reducer reducer_;
  Buffer output_;  // of the reduction
  const StoreNode* store_ = nullptr;
  const LoadNode* result_ = nullptr;  // of the output, in the epilogue
  Expr other_;                        // what it is combined with; may be null
  VarMap iters_;                      // of the epilogue, in terms of the reduction's
};

}  // namespace

Outcome<Function> FuseReductionEpilogue(const Function& function, uint32_t reduction_block, uint32_t epilogue_block) {
  for (uint32_t block : {reduction_block, epilogue_block}) {
    TW_ASSIGN_OR_RETURN(Path path, PathToInnerBlock(kName, function, block));
  }
  return Fuser(function, reduction_block, epilogue_block).Apply(reduction_block, epilogue_block);
}

}  // namespace tilewright
