#include "schedule/reduction/online_chain.h"

#include <algorithm>
#include <optional>
#include <string>
#include <unordered_map>
#include <utility>

#include "base/status_macros.h"
#include "ir/analysis.h"
#include "ir/arith/analyzer.h"
#include "ir/functor.h"
#include "ir/structural.h"
#include "ir/substitute.h"
#include "schedule/program/common_refusals.h"
#include "schedule/program/loop_ranges.h"
#include "schedule/program/loop_tree.h"
#include "schedule/program/produced_box.h"
#include "schedule/program/reducer.h"
#include "schedule/program/relaxed_region.h"
#include "schedule/program/sum_form.h"
#include "verify/structure/block_scope.h"

namespace tilewright {
namespace {

using Check = std::optional<Refusal>;

bool IsWide(DataType type) { return type.is_float() && type.bits() >= 32; }

// 1 or -1 where the expression rises or falls with m: m times and divided by constants. 0: not known.
int SlopeOf(const Expr& e, const Var& m) {
  if (e.same_as(m)) return 1;
  const auto sign = [](const Expr& factor) {
    const auto* imm = dyn_cast<FloatImmNode>(factor);
    return imm == nullptr ? 0 : (imm->value > 0) - (imm->value < 0);
  };
  const auto* op = dyn_cast<BinaryNode>(e);
  if (op == nullptr) return 0;
  if (op->op == BinaryOp::kMul)
    return UsesVar(op->a, m) ? SlopeOf(op->a, m) * sign(op->b) : sign(op->a) * SlopeOf(op->b, m);
  return op->op == BinaryOp::kDiv ? SlopeOf(op->a, m) * sign(op->b) : 0;
}

// Whether two terms are equal, products in either order.
bool SameTerm(const Expr& a, const Expr& b) {
  if (StructuralEqual(a, b)) return true;
  const auto *x = dyn_cast<BinaryNode>(a), *y = dyn_cast<BinaryNode>(b);
  return x != nullptr && y != nullptr && x->op == BinaryOp::kMul && y->op == BinaryOp::kMul &&
         StructuralEqual(x->a, y->b) && StructuralEqual(x->b, y->a);
}

// 1: a maximum, -1: a minimum, those that pass NaN on included; 0: neither.
int DirectionOf(const Reducer::Component& component) {
  const auto* op = dyn_cast<BinaryNode>(component.combined);
  if (const auto* select = dyn_cast<SelectNode>(component.combined)) op = dyn_cast<BinaryNode>(select->false_value);
  if (op == nullptr || (op->op != BinaryOp::kMax && op->op != BinaryOp::kMin)) return 0;
  return op->op == BinaryOp::kMax ? 1 : -1;
}

class Finder {
 public:
  Finder(const char* primitive, const Function& function) : name_(primitive), function_(function) {}

  Outcome<OnlineChain> Find(uint32_t loop, const std::vector<uint32_t>& loops) {
    TW_ASSIGN_OR_RETURN(chain_.first, FindBlockOf(loop));
    chain_.scope = scope_.block()->id;
    if (Check refusal = CheckFirst()) return *refusal;
    if (loops.empty()) return Refusal{name_, "no block is named that reads what {block0} reduces", {chain_.first.id()}};
    for (const uint32_t other : loops) {
      TW_ASSIGN_OR_RETURN(OnlineBlock block, FindBlockOf(other));
      for (auto check :
           {&Finder::CheckPlace, &Finder::CheckKind, &Finder::Expand, &Finder::CheckReads, &Finder::FindFactor}) {
        if (Check refusal = (this->*check)(block)) return *refusal;
      }
      chain_.others.push_back(std::move(block));
    }
    if (Check refusal = CheckOthers()) return *refusal;
    return std::move(chain_);
  }

 private:
  const Reducer::Component& first() const { return chain_.first.component(); }
  const Buffer& reduced() const { return first().accumulator.buffer; }

  Outcome<OnlineBlock> FindBlockOf(uint32_t loop_id) {
    TW_ASSIGN_OR_RETURN(Path path, PathToLoop(name_, function_, loop_id));
    const auto* loop = cast<ForNode>(path.back());
    const std::vector<const BlockRealizeNode*> blocks = BlocksBelow(Stmt(loop));
    if (blocks.size() != 1) return Refusal{name_, "{loop0} does not hold one block alone", {loop_id}};
    const uint32_t block_id = blocks[0]->block->id;
    BlockScope scope = BlockScope::Around(function_, block_id);
    const ScopeChild* child = scope.Find(block_id);
    if (child == nullptr) return Refusal{name_, "{block0} lies in the init of a block", {block_id}};
    OnlineBlock found{.loop = loop_id, .realize = child->realize, .loops = child->loops};
    found.outer = static_cast<size_t>(std::ranges::find(found.loops, loop) - found.loops.begin()) + 1;
    for (size_t i = 0; i < found.outer; ++i) {
      const ForNode& around = *found.loops[i];
      if (around.kind != ForKind::kSerial) return Refusal{name_, "{loop0} is not serial", {around.id}};
      if (!IsInt(around.min, 0)) return Refusal{name_, "{loop0} does not begin at 0", {around.id}};
    }
    if (BlocksBelow(Stmt(found.loops[0])).size() != 1) {
      return Refusal{name_, "{loop0} holds other blocks than {block1}", {found.loops[0]->id, block_id}};
    }
    if (chain_.first.realize == nullptr) scope_ = std::move(scope);
    return found;
  }

  const ScopeChild& ChildOf(const OnlineBlock& block) const { return *scope_.Find(block.id()); }

  Check CheckFirst() {
    OnlineBlock& block = chain_.first;
    if (scope_.has_other_statements()) {
      return Refusal{name_, "the scope of {block0} holds statements other than loops and blocks", {block.id()}};
    }
    if (auto why = WhyNotReduction(scope_, ChildOf(block))) {
      return Refusal{name_, "{block0} is not a reduction block: {text0}", {block.id()}, {}, {*why}};
    }
    TW_ASSIGN_OR_RETURN(block.reducer, DetectReducer(name_, block.block()));
    block.reduces = true;
    if (block.reducer.components.size() != 1) return Refusal{name_, "{block0} has more than one output", {block.id()}};
    if (!IsWide(reduced()->dtype)) {
      return Refusal{name_, "{text0} is not kept in float32 or float64", {block.id()}, {}, {reduced()->name}};
    }
    chain_.m = Var("m", reduced()->dtype);
    return CheckReducesInside(block);
  }

  // The loops outside of the shared one carry no part of the reduction.
  Check CheckReducesInside(const OnlineBlock& block) const {
    for (size_t l = 0; l + 1 < block.outer; ++l) {
      for (size_t i = 0; i < block.realize->bindings.size(); ++i) {
        const bool reduce = block.block().iter_vars[i].kind == IterKind::kReduce;
        if (!reduce || !UsesVar(block.realize->bindings[i], block.loops[l]->var)) continue;
        return Refusal{name_,
                       "{loop0}, outside of {loop1}, takes part in the reduction of {block2}",
                       {block.loops[l]->id, block.loop, block.id()}};
      }
    }
    return std::nullopt;
  }

  Check CheckPlace(OnlineBlock& block) {
    const OnlineBlock& first = chain_.first;
    const ScopeChild* child = scope_.Find(block.id());
    if (child == nullptr || child->realize != block.realize) {
      return Refusal{name_, "{block0} and {block1} are in different scopes", {first.id(), block.id()}};
    }
    const OnlineBlock& before = chain_.others.empty() ? first : chain_.others.back();
    if (&ChildOf(before) >= child) {
      return Refusal{name_, "{block1} does not come after {block0}", {before.id(), block.id()}};
    }
    arith::Analyzer analyzer;
    bool same = block.outer == first.outer;
    for (size_t i = 0; same && i < block.outer; ++i) {
      VarMap vars;
      for (size_t j = 0; j < i; ++j) vars[block.loops[j]->var] = first.loops[j]->var;
      same = analyzer.CanProveEqual(Substitute(block.loops[i]->extent, vars), first.loops[i]->extent);
    }
    if (same) return std::nullopt;
    return Refusal{name_,
                   "{loop1} and the loops around it do not have the extents of {loop0} and the loops around that",
                   {first.loop, block.loop}};
  }

  Check CheckKind(OnlineBlock& block) {
    const ScopeChild& child = ChildOf(block);
    const BlockNode& node = block.block();
    const auto not_reduction = WhyNotReduction(scope_, child);
    if (not_reduction && node.init) {
      return Refusal{name_, "{block0} is not a reduction block: {text0}", {block.id()}, {}, {*not_reduction}};
    }
    if (!not_reduction) {
      TW_ASSIGN_OR_RETURN(block.reducer, DetectReducer(name_, node));
      block.reduces = true;
      if (block.reducer.components.size() != 1)
        return Refusal{name_, "{block0} has more than one output", {block.id()}};
      return CheckReducesInside(block);
    }
    if (auto why = WhyNotComplete(scope_, child)) {
      return Refusal{name_, "{block0} is neither a reduction nor a complete block: {text0}", {block.id()}, {}, {*why}};
    }
    const auto* store = dyn_cast<StoreNode>(node.body);
    if (store == nullptr || store->predicate || !node.match_buffers.empty() || !node.alloc_buffers.empty()) {
      return Refusal{name_, "the body of {block0} is not one store", {block.id()}};
    }
    for (size_t d = 0; d < store->indices.size(); ++d) {
      const bool repeats = std::ranges::any_of(store->indices.begin(), store->indices.begin() + static_cast<long>(d),
                                               [&](const Expr& e) { return e.same_as(store->indices[d]); });
      if (isa<VarNode>(store->indices[d]) && !repeats) continue;
      return Refusal{name_, "{block0} does not store at its iterators, each one index", {block.id()}};
    }
    return std::nullopt;
  }

  // The value in terms of m and of what no elementwise block of the chain makes.
  Check Expand(OnlineBlock& block) {
    const BlockNode& node = block.block();
    Expr value = block.reduces ? block.component().value : cast<StoreNode>(node.body)->value;
    value = RewriteExpr(value, [&](const Expr& e) -> Expr {
      const auto* load = dyn_cast<LoadNode>(e);
      if (load == nullptr) return e;
      for (const OnlineBlock& other : chain_.others) {
        if (other.reduces || !load->buffer.same_as(other.output())) continue;
        const auto* store = cast<StoreNode>(other.block().body);
        VarMap at;
        for (size_t d = 0; d < load->indices.size(); ++d) at[Var(cast<VarNode>(store->indices[d]))] = load->indices[d];
        // Its indices are in terms of its own iterators.
        if (!other.indices.empty() && !Remember(block, Substitute(other.indices, at))) several_ = true;
        return Substitute(other.value, at);
      }
      if (!load->buffer.same_as(reduced())) return e;
      if (!Remember(block, load->indices)) several_ = true;
      return chain_.m;
    });
    if (several_) {
      return Refusal{name_, "{block0} reads {text0} at several indices", {block.id()}, {}, {reduced()->name}};
    }
    block.value = std::move(value);
    return std::nullopt;
  }
  static bool Remember(OnlineBlock& block, const std::vector<Expr>& indices) {
    if (block.indices.empty()) block.indices = indices;
    return StructuralEqual(block.indices, indices);
  }

  // What the block reads of the chain is of the same iteration.
  Check CheckReads(OnlineBlock& block) {
    const BlockNode& node = block.block();
    for (const IterVar& iter : node.iter_vars) {
      const bool used = std::ranges::any_of(block.indices, [&](const Expr& e) { return UsesVar(e, iter.var); });
      if (iter.kind == IterKind::kSpatial || !used) continue;
      return Refusal{name_,
                     "{block0} reads {text0} at its reduce iterator {text1}",
                     {block.id()},
                     {},
                     {reduced()->name, iter.var.name()}};
    }
    if (Reads(block.realize->predicate, reduced()) || (node.init && Mentions(DetectReadsOf(node.init), reduced()))) {
      return Refusal{name_, "{block0} reads {text0} outside of its terms", {block.id()}, {}, {reduced()->name}};
    }
    if (!block.indices.empty()) {
      const BufferRegion written = BufferRegion::Point(reduced(), first().accumulator.indices);
      const BufferRegion read = BufferRegion::Point(reduced(), block.indices);
      if (Check refusal = CheckSameIteration(block, read, chain_.first, written)) return refusal;
    }
    for (const OnlineBlock& other : chain_.others) {
      for (const BufferRegion& read : node.reads) {
        if (!read.buffer.same_as(other.output())) continue;
        if (other.reduces) {
          return Refusal{name_,
                         "{block0} reads {text0}, which {block1} sums up in the same loop",
                         {block.id(), other.id()},
                         {},
                         {read.buffer->name}};
        }
        if (Check refusal = CheckSameIteration(block, read, other, other.block().writes[0])) return refusal;
      }
    }
    return std::nullopt;
  }
  static std::vector<BufferRegion> DetectReadsOf(const Stmt& s) {
    std::vector<BufferRegion> reads;
    PreOrderExprs(s, [&](const Expr& e) {
      if (const auto* load = dyn_cast<LoadNode>(e)) reads.push_back(BufferRegion::Point(load->buffer, load->indices));
      return true;
    });
    return reads;
  }

  VarMap ToFirst(const OnlineBlock& block) const {
    VarMap vars;
    for (size_t i = 0; i < block.outer; ++i) vars[block.loops[i]->var] = chain_.first.loops[i]->var;
    return vars;
  }

  Check CheckSameIteration(const OnlineBlock& reader, const BufferRegion& read, const OnlineBlock& writer,
                           const BufferRegion& written) const {
    arith::Analyzer analyzer;
    for (const OnlineBlock* block : {&chain_.first, &reader, &writer}) {
      BindLoops(analyzer, {block->loops.begin(), block->loops.begin() + static_cast<std::ptrdiff_t>(block->outer)});
    }
    auto box = BoxWithoutGaps(*writer.realize, writer.inner_loops(), written, &analyzer);
    BufferRegion needed = RelaxedRegion(read, *reader.realize, reader.inner_loops());
    if (box) {
      for (Range& range : *box) range = Substitute(range, ToFirst(writer));
      needed = Substitute(needed, ToFirst(reader));
      if (ProvablyInside(&analyzer, needed.region, *box)) return std::nullopt;
    }
    return Refusal{name_,
                   "an iteration of {loop0} may read elements of {text0} that {block1} makes in another one",
                   {reader.loop, writer.id()},
                   {},
                   {read.buffer->name}};
  }

  // ---- The factor

  Check FindFactor(OnlineBlock& block) {
    if (!block.reduces) return std::nullopt;
    if (block.indices.empty()) {
      return Refusal{name_, "{block0} does not read {text0}", {block.id()}, {}, {reduced()->name}};
    }
    const Reducer::Component& component = block.component();
    const auto* combined = dyn_cast<BinaryNode>(component.combined);
    if (combined == nullptr || combined->op != BinaryOp::kAdd || !IsZero(component.init)) {
      return Refusal{name_, "{block0} is not a sum that begins at zero", {block.id()}};
    }
    if (!IsWide(component.accumulator.buffer->dtype)) {
      return Refusal{
          name_, "{text0} is not kept in float32 or float64", {block.id()}, {}, {component.accumulator.buffer->name}};
    }
    const auto is_fixed = [&](const Expr& e) {
      bool fixed = true;
      PreOrder(e, [&](const Expr& part) {
        const auto* var = dyn_cast<VarNode>(part);
        fixed &= !isa<LoadNode>(part);
        fixed &= var == nullptr || std::ranges::none_of(block.block().iter_vars,
                                                        [&](const IterVar& iter) { return iter.var.get() == var; });
        return fixed;
      });
      return fixed;
    };
    auto factored = FactorOut(block.value, chain_.m, is_fixed);
    if (const auto* none = std::get_if<NoFactor>(&factored)) {
      return Refusal{name_,
                     "{expr0} in terms of {block0} is not a product of something with what {text0} alone decides (m)",
                     {block.id()},
                     {none->part},
                     {reduced()->name}};
    }
    return TakeFactor(block, std::get<FactoredValue>(std::move(factored)).factor);
  }

  Check TakeFactor(OnlineBlock& block, ValueFactor factor) {
    const Expr value = FactorAt(factor, chain_.m, chain_.m, reduced()->dtype);
    for (const ValueFactor::Exponential& exponential : factor.exponentials) {
      for (const ValueFactor::Addend& addend : exponential.addends) {
        if (!IsWide(addend.value.dtype())) {
          return Refusal{
              name_, "the exponent {expr0} is not computed in float32 or float64", {block.id()}, {addend.value}};
        }
        if (IsBounded(block, exponential, addend)) continue;
        return Refusal{name_,
                       "{block1} is not a maximum or minimum of what bounds the exponents with {expr0} (m) in {block0}",
                       {block.id(), chain_.first.id()},
                       {addend.value}};
      }
    }
    if (!InvertibleAt(factor, chain_.m)) {
      return Refusal{
          name_, "no m is known for which the factor {expr0} of {block0} can be inverted", {block.id()}, {value}};
    }
    const auto same = std::ranges::find_if(chain_.factors, [&](const ValueFactor& f) { return SameFactor(f, factor); });
    block.factor = static_cast<size_t>(same - chain_.factors.begin());
    if (same == chain_.factors.end()) chain_.factors.push_back(std::move(factor));
    return std::nullopt;
  }

  // Whether the exponent has the addend of the terms that the first block takes the greatest (least) of, with the other
  // sign: x - m.
  bool IsBounded(const OnlineBlock& block, const ValueFactor::Exponential& exponential,
                 const ValueFactor::Addend& addend) const {
    const int slope = SlopeOf(addend.value, chain_.m) * (addend.negative ? -1 : 1);
    if (slope == 0 || slope != -DirectionOf(first())) return false;
    VarMap iters;
    std::vector<Var> open;
    for (size_t d = 0; d < block.indices.size(); ++d) {
      if (const auto* var = dyn_cast<VarNode>(first().accumulator.indices[d])) iters[Var(var)] = block.indices[d];
    }
    for (const IterVar& iter : chain_.first.block().iter_vars) {
      if (iter.kind == IterKind::kReduce) open.push_back(iter.var);
    }
    return MatchesTerm(block, exponential, addend, iters, open);
  }
  bool MatchesTerm(const OnlineBlock& block, const ValueFactor::Exponential& exponential,
                   const ValueFactor::Addend& addend, VarMap& iters, std::vector<Var> open) const {
    if (!open.empty()) {
      const Var var = open.back();
      open.pop_back();
      return std::ranges::any_of(block.block().iter_vars, [&](const IterVar& iter) {
        if (iter.kind != IterKind::kReduce || iter.var.dtype() != var.dtype()) return false;
        iters[var] = iter.var;
        return MatchesTerm(block, exponential, addend, iters, open);
      });
    }
    const Expr term = Substitute(Substitute(addend.value, VarMap{{chain_.m, first().value}}), iters);
    return std::ranges::any_of(exponential.others, [&](const ValueFactor::Addend& other) {
      return other.negative != addend.negative && SameTerm(other.value, term);
    });
  }

  // ---- Others

  bool IsInChain(uint32_t id) const {
    return id == chain_.first.id() ||
           std::ranges::any_of(chain_.others, [&](const OnlineBlock& block) { return block.id() == id; });
  }
  bool IsAllocated(const Buffer& buffer) const {
    return std::ranges::any_of(scope_.block()->alloc_buffers, [&](const Buffer& b) { return b.same_as(buffer); });
  }
  static const Buffer* Shared(const std::vector<BufferRegion>& a, const std::vector<BufferRegion>& b) {
    for (const BufferRegion& x : a) {
      for (const BufferRegion& y : b) {
        if (x.buffer->data.same_as(y.buffer->data)) return &x.buffer;
      }
    }
    return nullptr;
  }

  Check CheckOthers() {
    for (const OnlineBlock& block : chain_.others) {
      if (Check refusal = CheckBetween(block)) return refusal;
      if (block.reduces) continue;
      const Buffer& output = block.output();
      if (!IsAllocated(output)) {
        return Refusal{name_, "{text0} is seen outside of the scope of {block0}", {block.id()}, {}, {output->name}};
      }
      for (const uint32_t reader : scope_.Readers(output)) {
        if (!IsInChain(reader)) {
          return Refusal{name_, "{block1} reads {text0} too", {block.id(), reader}, {}, {output->name}};
        }
      }
    }
    return std::nullopt;
  }

  // The block moves to the first one: nothing that stays may come between.
  Check CheckBetween(const OnlineBlock& block) const {
    const BlockNode& node = block.block();
    const auto conflict = [&](const BlockNode& other) -> const Buffer* {
      if (const Buffer* buffer = Shared(other.writes, node.reads)) return buffer;
      if (const Buffer* buffer = Shared(node.writes, other.reads)) return buffer;
      return Shared(node.writes, other.writes);
    };
    for (const ScopeChild* child = &ChildOf(chain_.first); child != &ChildOf(block); ++child) {
      const BlockNode& other = *child->realize->block;
      const bool first = other.id == chain_.first.id();
      const Buffer* buffer = first ? Shared(node.writes, other.reads) : IsInChain(other.id) ? nullptr : conflict(other);
      if (buffer == nullptr) continue;
      return Refusal{
          name_, "{block1}, before {block0}, touches {text0} too", {block.id(), other.id}, {}, {(*buffer)->name}};
    }
    return std::nullopt;
  }

  const char* name_;
  const Function& function_;
  BlockScope scope_;
  OnlineChain chain_;
  bool several_ = false;
};

}  // namespace

Outcome<OnlineChain> FindOnlineChain(const char* primitive, const Function& function, uint32_t loop,
                                     const std::vector<uint32_t>& loops) {
  return Finder(primitive, function).Find(loop, loops);
}

}  // namespace tilewright
