#include "schedule/layout/decompose_padding.h"

#include <algorithm>
#include <utility>
#include <vector>

#include "base/status_macros.h"
#include "ir/analysis.h"
#include "ir/arith/analyzer.h"
#include "ir/arith/linear.h"
#include "ir/functor.h"
#include "ir/substitute.h"
#include "schedule/program/common_refusals.h"
#include "schedule/program/conjuncts.h"
#include "schedule/program/loop_independence.h"
#include "schedule/program/loop_tree.h"
#include "schedule/program/simplify_block.h"
#include "verify/structure/block_scope.h"

namespace tilewright {
namespace {

constexpr const char* kName = "decompose_padding";

struct Padding {
  const BlockRealizeNode* realize;
  const ForNode* loop;
  std::vector<const ForNode*> loops;  // above the block, outermost first
  size_t first_inner;                 // the place of `loop` among them
  const StoreNode* store;
  Expr inside, value, constant;  // of the if_then_else
  const BlockNode& block() const { return *realize->block; }
  // The block's, simplified with the ranges of the loops outside of `loop`.
  std::vector<Expr> Bindings() const {
    arith::Analyzer analyzer;
    for (size_t i = 0; i < first_inner; ++i) analyzer.Bind(loops[i]->var, Range{loops[i]->min, loops[i]->extent});
    std::vector<Expr> bindings;
    for (const Expr& binding : realize->bindings) bindings.push_back(analyzer.Simplify(binding));
    return bindings;
  }
};

bool IsConstant(const Expr& e) { return isa<IntImmNode>(e) || isa<FloatImmNode>(e); }

Outcome<Padding> Check(const Function& function, uint32_t block_id, uint32_t loop_id) {
  TW_ASSIGN_OR_RETURN(Path path, PathToInnerBlock(kName, function, block_id));
  TW_ASSIGN_OR_RETURN(Path loop_path, PathToLoop(kName, function, loop_id));
  Padding padding{};
  padding.realize = cast<BlockRealizeNode>(path.back());
  padding.loop = cast<ForNode>(loop_path.back());
  padding.loops = LoopsAbove(path);
  const auto place = std::find(padding.loops.begin(), padding.loops.end(), padding.loop);
  if (place == padding.loops.end()) return Refusal{kName, "{loop1} is not above {block0}", {block_id, loop_id}};
  padding.first_inner = place - padding.loops.begin();
  const BlockScope scope = BlockScope::Around(function, block_id);
  const ScopeChild* child = scope.Find(block_id);
  if (child == nullptr) return Refusal{kName, "{block0} lies in the init of a block", {block_id}};
  if (auto why = WhyNotComplete(scope, *child)) {
    return Refusal{kName, "{block0} is not a complete block: {text0}", {block_id}, {}, {*why}};
  }
  padding.store = dyn_cast<StoreNode>(padding.block().body);
  const auto* choice = padding.store == nullptr ? nullptr : dyn_cast<CallNode>(padding.store->value);
  const bool pads = choice != nullptr && choice->op == "if_then_else" && IsConstant(choice->args[2]);
  if (!pads || !padding.block().match_buffers.empty()) {
    return Refusal{kName, "{block0} does not store one value that is constant unless a condition holds", {block_id}};
  }
  padding.inside = choice->args[0], padding.value = choice->args[1], padding.constant = choice->args[2];
  if (auto refusal = WhyOthersUseOutputs(kName, function, *padding.realize, *padding.loop)) return *refusal;
  return padding;
}

// The range of each iterator in which the condition holds: [min, end), or why it is not a box.
struct Bounds {
  Expr min, end;
};
Outcome<std::vector<Bounds>> SolveBounds(const Padding& padding, arith::Analyzer* analyzer) {
  const BlockNode& block = padding.block();
  std::vector<Bounds> bounds;
  for (const IterVar& iter : block.iter_vars) {
    bounds.push_back({iter.domain.min, analyzer->Simplify(iter.domain.min + iter.domain.extent)});
  }
  std::vector<Var> iters;
  for (const IterVar& iter : block.iter_vars) iters.push_back(iter.var);
  for (const Expr& condition : Conjuncts(padding.inside)) {
    if (IsTrue(condition)) continue;
    const Refusal refusal{
        kName, "the condition {expr0} of {block0} bounds no single iterator", {block.id}, {condition}};
    const auto* compare = dyn_cast<BinaryNode>(condition);
    if (compare == nullptr || !compare->a.dtype().is_index()) return refusal;
    // less <= limit or less < limit
    Expr less = compare->a, limit = compare->b;
    const bool greater = compare->op == BinaryOp::kGT || compare->op == BinaryOp::kGE;
    const bool strict = compare->op == BinaryOp::kGT || compare->op == BinaryOp::kLT;
    if (!greater && !strict && compare->op != BinaryOp::kLE) return refusal;
    if (greater) std::swap(less, limit);
    const auto linear = arith::DetectLinear(analyzer->Simplify(less - limit), iters, analyzer);
    if (!linear) return refusal;
    size_t at = iters.size();
    int64_t coefficient = 0;
    for (size_t i = 0; i < iters.size(); ++i) {
      const std::optional<int64_t> factor = AsInt(linear->coefficients[i]);
      if (!factor || (*factor != 0 && coefficient != 0)) return refusal;
      if (*factor != 0) at = i, coefficient = *factor;
    }
    if (coefficient == 0) return refusal;
    Bounds& bound = bounds[at];
    // coefficient * v <= slack
    const Expr slack = (strict ? Expr(-1) : Expr(0)) - linear->base;
    if (coefficient > 0) {
      bound.end = analyzer->Simplify(Min(bound.end, FloorDiv(slack, Expr(coefficient)) + 1));
    } else {
      bound.min = analyzer->Simplify(Max(bound.min, Expr(0) - FloorDiv(slack, Expr(-coefficient))));
    }
  }
  for (const Bounds& bound : bounds) {
    if (!analyzer->CanProveLess(bound.min, bound.end)) {
      return Refusal{kName, "the condition {expr0} of {block0} may never hold", {block.id}, {padding.inside}};
    }
  }
  return bounds;
}

// The nest of the block that stores the constant everywhere. It runs in parallel, in vectors and in threads like the
// block's; being unrolled and annotations are about the block.
Stmt MakeFill(const Padding& padding, uint32_t* next_id, uint32_t* block_id) {
  const BlockNode& block = padding.block();
  std::vector<ForNode::Fields> loops;
  for (size_t i = padding.first_inner; i < padding.loops.size(); ++i) {
    loops.push_back(padding.loops[i]->fields());
    loops.back().annotations.clear();
    if (loops.back().kind == ForKind::kUnrolled) loops.back().kind = ForKind::kSerial;
  }
  BlockNode::Fields fill = block.fields();
  fill.name += "_pad_const";
  fill.reads.clear();
  fill.annotations.clear();
  fill.body = Store(padding.store->buffer, padding.constant, padding.store->indices);
  const Stmt nest = CopyWithFreshNames(
      Nest(std::move(loops), Realize(padding.Bindings(), padding.realize->predicate, Block(std::move(fill)))), next_id);
  *block_id = BlocksBelow(nest)[0]->block->id;
  return nest;
}

// The block with iterators that count from the first element inside, and the loops that shrink with them.
class CopyMaker {
 public:
  CopyMaker(const Padding& padding, const std::vector<Bounds>& bounds) : padding_(padding), bounds_(bounds) {}

  Stmt Make() {
    const BlockRealizeNode& realize = *padding_.realize;
    BlockNode::Fields block = padding_.block().fields();
    block.body = Store(padding_.store->buffer, padding_.value, padding_.store->indices);
    arith::Analyzer analyzer, outside;
    for (const ForNode* loop : padding_.loops) outside.Bind(loop->var, Range{loop->min, loop->extent});
    VarMap iters;
    Expr predicate = realize.predicate;
    std::vector<Expr> bindings = padding_.Bindings();
    for (size_t i = 0; i < block.iter_vars.size(); ++i) {
      IterVar& iter = block.iter_vars[i];
      const Expr &min = bounds_[i].min, extent = outside.Simplify(bounds_[i].end - min);
      if (arith::Analyzer().CanProveEqual(min, iter.domain.min) && outside.CanProveEqual(extent, iter.domain.extent)) {
        continue;
      }
      const Var inner(iter.var.name(), iter.var.dtype());
      iters[iter.var] = analyzer.Simplify(inner + min);
      iter = {inner, {Const(inner.dtype(), 0), CastTo(inner.dtype(), extent)}, iter.kind};
      if (Shrink(realize, i, extent)) continue;
      for (const Expr& condition : {min <= bindings[i], bindings[i] < bounds_[i].end}) {
        const Expr needed = outside.Simplify(condition);
        if (!IsTrue(needed)) predicate = IsTrue(predicate) ? needed : And(predicate, needed);
      }
      bindings[i] = outside.Simplify(bindings[i] - min);
    }
    ReplaceInBlock(&block, iters, &analyzer);
    Stmt nest = ReplaceStmt(Stmt(padding_.loop), &realize, Realize(bindings, predicate, Block(std::move(block))));
    return RewriteStmt(nest, [&](const Stmt& s) -> Stmt {
      const auto* loop = dyn_cast<ForNode>(s);
      const auto extent = loop == nullptr ? extents_.end() : extents_.find(loop->var);
      if (extent == extents_.end()) return s;
      ForNode::Fields fields = loop->fields();
      fields.extent = extent->second;
      return For(std::move(fields));
    });
  }

 private:
  // Whether the iterator is one of the inner loops, which nothing else uses; it then gets that extent.
  bool Shrink(const BlockRealizeNode& realize, size_t i, const Expr& extent) {
    const Expr& binding = realize.bindings[i];
    for (size_t place = padding_.first_inner; place < padding_.loops.size(); ++place) {
      const ForNode* loop = padding_.loops[place];
      if (!binding.same_as(loop->var) || !IsInt(loop->min, 0) || BlocksBelow(Stmt(loop)).size() != 1) continue;
      bool used = UsesVar(realize.predicate, loop->var) ||
                  !arith::Analyzer().CanProveEqual(loop->extent, padding_.block().iter_vars[i].domain.extent) ||
                  !IsInt(padding_.block().iter_vars[i].domain.min, 0);
      for (size_t other = 0; other < realize.bindings.size(); ++other) {
        used |= other != i && UsesVar(realize.bindings[other], loop->var);
      }
      for (const ForNode* other : padding_.loops) used |= UsesVar({other->min, other->extent}, loop->var);
      if (used) return false;
      extents_[loop->var] = CastTo(loop->var.dtype(), extent);
      return true;
    }
    return false;
  }

  const Padding& padding_;
  const std::vector<Bounds>& bounds_;
  VarMap extents_;
};

}  // namespace

Outcome<DecomposePaddingResult> DecomposePadding(const Function& function, uint32_t block_id, uint32_t loop_id) {
  TW_ASSIGN_OR_RETURN(Padding padding, Check(function, block_id, loop_id));
  arith::Analyzer analyzer;
  TW_ASSIGN_OR_RETURN(std::vector<Bounds> bounds, SolveBounds(padding, &analyzer));
  DecomposePaddingResult result;
  uint32_t next_id = function->next_id;
  const Stmt fill = MakeFill(padding, &next_id, &result.block);
  const Stmt copy = CopyMaker(padding, bounds).Make();
  result.function = ReplaceIn(function, padding.loop, Sequence({fill, copy}), next_id);
  return result;
}

}  // namespace tilewright
