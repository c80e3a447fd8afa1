#include "autoschedule/sketch/chained/prepared_chain.h"

#include <algorithm>
#include <set>
#include <unordered_map>
#include <utility>
#include <vector>

#include "autoschedule/normalize/split_iterators.h"
#include "autoschedule/program/block_loops.h"
#include "ir/analysis.h"
#include "ir/arith/analyzer.h"
#include "ir/functor.h"

namespace tilewright {
namespace {

// Whether some block stores at an index of several iterators: without one there are no parts to join.
bool HasIndexOfParts(const BlockScope& scope) {
  return std::ranges::any_of(scope.children(), [](const ScopeChild& child) {
    const BlockNode& block = *child.realize->block;
    const auto* store = dyn_cast<StoreNode>(block.body);
    return store != nullptr &&
           !std::ranges::all_of(store->indices, [](const Expr& index) { return isa<VarNode>(index); });
  });
}

// h0 * 2 + h1, where h1 comes next to h0 and has two values: one iterator.
bool JoinPartsOf(Schedule& sch, BlockRv block) {
  const Block node = RealizeOf(sch, block).block;
  const auto* store = dyn_cast<StoreNode>(node->body);
  if (store == nullptr) return false;
  for (const Expr& index : store->indices) {
    for (size_t i = 1; i < node->iter_vars.size(); ++i) {
      const IterVar &outer = node->iter_vars[i - 1], &inner = node->iter_vars[i];
      const auto extent = ExtentOf(inner);
      if (!extent || !UsesVar(index, outer.var) || !UsesVar(index, inner.var)) continue;
      const Expr sum = outer.var * Const(outer.var.dtype(), *extent) + inner.var;
      if (arith::Analyzer().CanProveEqual(index, sum) && FuseIterators(sch, block, i, *extent)) return true;
    }
  }
  return false;
}

// All at once: who looks for each of them walks over the function as often.
std::unordered_map<uint32_t, Block> BlocksIn(const Function& function) {
  std::unordered_map<uint32_t, Block> blocks;
  PreOrder(function->body, [&](const Stmt& s) {
    if (const auto* realize = dyn_cast<BlockRealizeNode>(s)) blocks.emplace(realize->block->id, realize->block);
    return !isa<StoreNode>(s);
  });
  return blocks;
}

// `or_converts`: to a wider floating-point type, too.
bool OnlyMoves(const BlockNode& block, bool or_converts) {
  const auto* store = dyn_cast<StoreNode>(block.body);
  if (block.init || store == nullptr || store->predicate) return false;
  const auto* converted = or_converts ? dyn_cast<CastNode>(store->value) : nullptr;
  if (converted == nullptr) return isa<LoadNode>(store->value);
  const DataType from = converted->value.dtype(), to = converted->dtype();
  return isa<LoadNode>(converted->value) && from.is_float() && to.is_float() && from.bits() < to.bits();
}

// The factors of a sum of products: what it loads beside the sum.
std::vector<const LoadNode*> FactorsOf(const BlockNode& block) {
  std::vector<const LoadNode*> factors;
  const auto* store = dyn_cast<StoreNode>(block.body);
  if (store == nullptr) return factors;
  PreOrder(store->value, [&](const Expr& e) {
    const auto* load = dyn_cast<LoadNode>(e);
    if (load != nullptr && !load->buffer.same_as(store->buffer)) factors.push_back(load);
    return load == nullptr;
  });
  return factors;
}

// The iterator whose elements lie next to each other in the factor; -1: none.
int IteratorOfVectors(const BlockNode& block, const LoadNode& factor) {
  if (factor.indices.empty()) return -1;
  for (size_t i = 0; i < block.iter_vars.size(); ++i) {
    if (factor.indices.back().same_as(block.iter_vars[i].var)) return static_cast<int>(i);
  }
  return -1;
}

// The chain that begins with the block in a program that was changed since the context was made.
std::optional<ChainedPlan> PlanAgain(Schedule& sch, BlockRv block, const SketchContext& context,
                                     const ChainLimits& limits) {
  const uint32_t id = context.child.id();
  const BlockScope scope = BlockScope::Around(FunctionOf(sch, block), id);
  return PlanChain(sch, block, {context.target, context.intrins, scope, *scope.Find(id), context.blocks}, limits);
}

// Inlines what writes the n-th factor of the product. `by_vectors`: where the same iterator runs along its vectors.
bool InlineMove(Schedule& sch, BlockRv product, size_t n, bool by_vectors, bool or_converts) {
  const Block before = RealizeOf(sch, product).block;
  const std::vector<const LoadNode*> factors = FactorsOf(*before);
  const std::optional<BlockRv> move = WriterOf(sch, product, factors[n]->buffer);
  if (!move || !OnlyMoves(*RealizeOf(sch, *move).block, or_converts)) return false;
  const Outcome<std::vector<BlockRv>> consumers = sch.GetConsumers(*move);
  if (!consumers.ok() || consumers->size() != 1) return false;
  Schedule attempt = sch;
  if (!attempt.ComputeInline(*move).ok()) return false;
  const BlockNode& after = *RealizeOf(attempt, product).block;
  const std::vector<const LoadNode*> moved = FactorsOf(after);
  if (moved.size() != factors.size()) return false;
  if (by_vectors && IteratorOfVectors(after, *moved[n]) != IteratorOfVectors(*before, *factors[n])) return false;
  sch = std::move(attempt);
  return true;
}

// The normal form takes iterators apart that an operand divides (heads that share keys); behind a product they are rows
// like others. Makes them one iterator again, in the block and in those of `blocks` that read what it gives. Whether
// there were any.
bool JoinParts(Schedule& sch, BlockRv product, std::span<const BlockRv> blocks) {
  // Joined iterators change what a block is made of, not what it reads and writes.
  const std::unordered_map<uint32_t, Block> there = BlocksIn(FunctionOf(sch, product));
  std::set<const VarNode*> made;
  bool joined = false;
  for (const BlockRv& block : blocks) {
    const auto found = there.find(sch.Get(block).As<BlockRef>()->id);
    if (found == there.end()) continue;
    const Block& node = found->second;
    const bool reads = std::ranges::any_of(
        node->reads, [&](const BufferRegion& read) { return made.contains(read.buffer->data.get()); });
    if (block.index != product.index && !reads) continue;
    for (const BufferRegion& write : node->writes) made.insert(write.buffer->data.get());
    joined |= JoinPartsOf(sch, block);
  }
  return joined;
}

// Inlines blocks that do nothing but move elements of a product's factor (keys by heads, transposed keys), or convert
// them. Those of second products are inlined only where the vectors that it loads stay vectors. Whether there were any:
// `plan.row_operand` is another buffer then, so the chain is planned again.
bool InlineMoves(Schedule& sch, const ChainedPlan& plan, bool or_converts) {
  bool inlined = false;
  const auto inline_factors = [&](BlockRv product, bool by_vectors) {
    const size_t factors = FactorsOf(*RealizeOf(sch, product).block).size();
    for (size_t n = 0; n < factors; ++n) {
      while (InlineMove(sch, product, n, by_vectors, or_converts)) inlined = true;
    }
  };
  inline_factors(plan.product, false);
  for (const size_t second : plan.seconds) inline_factors(plan.blocks[second].block, true);
  return inlined;
}

}  // namespace

std::optional<PreparedChain> PrepareChain(Schedule& sch, BlockRv product, const SketchContext& context,
                                          const ChainLimits& limits) {
  if (!context.child.realize->block->init) return std::nullopt;
  std::optional<ChainedPlan> plan = PlanChain(sch, product, context, limits);
  Schedule changed = sch;
  const bool joins = !plan && HasIndexOfParts(context.scope) && JoinParts(changed, product, context.blocks);
  if (joins) plan = PlanAgain(changed, product, context, limits);
  if (!plan) return std::nullopt;
  std::optional<ChainedPlan> before;
  if (InlineMoves(changed, *plan, limits.converts)) {
    std::optional<ChainedPlan> after = PlanAgain(changed, product, context, limits);
    if (after) before = std::exchange(plan, std::move(after));
  }
  const std::vector<BlockRv> blocks(context.blocks.begin(), context.blocks.end());
  return PreparedChain{*plan, [before, joins, blocks, product, converts = limits.converts](Schedule& s) {
                         if (joins) JoinParts(s, product, blocks);
                         if (before) InlineMoves(s, *before, converts);
                       }};
}

}  // namespace tilewright
