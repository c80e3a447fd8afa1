#include "autoschedule/sketch/chained/chained_plan.h"

#include <algorithm>
#include <array>
#include <map>
#include <numeric>
#include <set>
#include <unordered_map>
#include <utility>

#include "autoschedule/cost/machine_costs.h"
#include "autoschedule/normalize/split_iterators.h"
#include "autoschedule/program/block_loops.h"
#include "autoschedule/program/sizes.h"
#include "ir/analysis.h"
#include "ir/arith/analyzer.h"
#include "ir/functor.h"
#include "schedule/layout/hoist_prepack.h"

namespace tilewright {
namespace {

class Planner {
 public:
  Planner(Schedule& sch, BlockRv product, const SketchContext& context, const ChainLimits& limits)
      : sch_(sch), context_(context), limits_(limits), sizes_(LikelySizes::Of(FunctionOf(sch, product))) {
    plan_.product = product;
  }

  std::optional<ChainedPlan> Plan() {
    if (!StartWithProduct()) return std::nullopt;
    const std::vector<ScopeChild>& children = context_.scope.children();
    const auto begin = std::ranges::find_if(children, [&](const ScopeChild& c) { return &c == &context_.child; });
    for (auto child = begin + 1; child < children.end(); ++child) {
      if (ReadsChain(*child) && !Add(*child)) return std::nullopt;
    }
    if (plan_.rows.empty() || !TakesRow() || !KeepsScores()) return std::nullopt;
    plan_.narrow = IsNarrow();
    plan_.masked = std::ranges::any_of(
        compared_, [&](const std::set<int>& all) { return all.contains(plan_.row()) && all.contains(plan_.key); });
    return std::move(plan_);
  }

 private:
  const BlockNode& Product() const { return *context_.child.realize->block; }
  const IterVar& ProductIterator(int iterator) const { return Product().iter_vars[static_cast<size_t>(iterator)]; }
  int64_t Likely(const IterVar& iter) const { return sizes_.Likely(iter.domain.extent); }

  bool StartWithProduct() {
    const auto* store = dyn_cast<StoreNode>(Product().body);
    if (!Product().init || store == nullptr || !IsOwnNest(context_.child) || !FindFactors(*store)) return false;
    plan_.type = store->buffer->dtype;
    if (plan_.type != DataType::Float(32) && plan_.type != DataType::Float(64)) return false;
    if (IsDouble() && !std::ranges::all_of(factors_, [&](const LoadNode* f) { return f->dtype() == plan_.type; })) {
      return false;
    }
    std::vector<int> dimensions;
    for (const Expr& index : store->indices) {
      const int iterator = IteratorOf(Product(), index);
      if (iterator < 0) return false;
      dimensions.push_back(iterator);
    }
    return Write(store->buffer, std::move(dimensions));
  }

  bool IsDouble() const { return plan_.type.bits() == 64; }

  // An element, or one of a narrower type that is converted.
  static const LoadNode* LoadOf(const Expr& e) {
    const auto* cast_node = dyn_cast<CastNode>(e);
    if (cast_node == nullptr) return dyn_cast<LoadNode>(e);
    const auto* load = dyn_cast<LoadNode>(cast_node->value);
    return load != nullptr && load->buffer->dtype.is_float() ? load : nullptr;
  }

  // The sum is one of products of two elements.
  bool FindFactors(const StoreNode& store) {
    const auto* sum = dyn_cast<BinaryNode>(store.value);
    if (sum == nullptr || sum->op != BinaryOp::kAdd) return false;
    const auto is_sum = [&](const Expr& e) {
      const auto* load = dyn_cast<LoadNode>(e);
      return load != nullptr && load->buffer.same_as(store.buffer);
    };
    const auto* product = dyn_cast<BinaryNode>(is_sum(sum->a) ? sum->b : sum->a);
    if (!(is_sum(sum->a) || is_sum(sum->b)) || product == nullptr || product->op != BinaryOp::kMul) return false;
    factors_ = {LoadOf(product->a), LoadOf(product->b)};
    return factors_[0] != nullptr && factors_[1] != nullptr;
  }
  bool Indexes(const LoadNode& load, int iterator) const {
    const Var& var = Product().iter_vars[static_cast<size_t>(iterator)].var;
    return std::ranges::any_of(load.indices, [&](const Expr& index) { return UsesVar(index, var); });
  }

  static int IteratorOf(const BlockNode& block, const Expr& index) {
    for (size_t i = 0; i < block.iter_vars.size(); ++i) {
      if (index.same_as(block.iter_vars[i].var)) return static_cast<int>(i);
    }
    return -1;
  }

  // Alone in its loops, which nothing has scheduled.
  bool IsOwnNest(const ScopeChild& child) const {
    if (!IsSerial(child) || child.loops.empty()) return false;
    return std::ranges::none_of(context_.scope.children(), [&](const ScopeChild& other) {
      return &other != &child && !other.loops.empty() && other.loops[0] == child.loops[0];
    });
  }

  bool ReadsChain(const ScopeChild& child) const {
    return std::ranges::any_of(child.realize->block->reads,
                               [&](const BufferRegion& read) { return along_.contains(read.buffer->data.get()); });
  }

  bool Write(const Buffer& buffer, std::vector<int> dimensions) {
    const auto& allocated = context_.scope.block()->alloc_buffers;
    const bool inside = std::ranges::any_of(allocated, [&](const Buffer& b) { return b.same_as(buffer); });
    writes_.push_back({buffer, dimensions, inside});
    return along_.emplace(buffer->data.get(), std::move(dimensions)).second;
  }

  bool Add(const ScopeChild& child) {
    const BlockNode& node = *child.realize->block;
    const auto rv = std::ranges::find_if(context_.blocks, [&](const BlockRv& b) {
      return sch_.Get(b).As<BlockRef>()->id == node.id && Exists(sch_, b);
    });
    const auto* store = dyn_cast<StoreNode>(node.body);
    if (rv == context_.blocks.end() || !IsOwnNest(child) || store == nullptr || store->predicate) return false;
    ChainedBlock block{*rv, std::vector<int>(node.iter_vars.size(), kAlongOther), static_cast<bool>(node.init)};
    if (!FollowLoads(node, *store, &block)) return false;
    std::vector<int> dimensions;
    for (const Expr& index : store->indices) {
      const int iterator = IteratorOf(node, index);
      if (iterator < 0 && !AsInt(index)) return false;
      dimensions.push_back(iterator < 0 ? kAlongOther : block.along[static_cast<size_t>(iterator)]);
    }
    const DataType type = store->buffer->dtype;
    // What is narrower is converted to float32.
    if (!type.is_float() || type.bits() > plan_.type.bits() || (IsDouble() && type != plan_.type)) return false;
    if (block.reduces && (type != plan_.type || !AddReduction(node, block))) return false;
    compared_.push_back(ComparedIn(*store, node, block));
    plan_.blocks.push_back(std::move(block));
    return Write(store->buffer, std::move(dimensions));
  }

  // What the sides of comparisons run along.
  static std::set<int> ComparedIn(const StoreNode& store, const BlockNode& node, const ChainedBlock& block) {
    std::set<int> compared;
    PreOrder(store.value, [&](const Expr& e) {
      const auto* op = dyn_cast<BinaryNode>(e);
      if (op == nullptr || !IsComparison(op->op)) return true;
      for (size_t i = 0; i < node.iter_vars.size(); ++i) {
        if (UsesVar(e, node.iter_vars[i].var)) compared.insert(block.along[i]);
      }
      return false;
    });
    return compared;
  }

  // What the iterators run along, from what is read of the chain.
  bool FollowLoads(const BlockNode& node, const StoreNode& store, ChainedBlock* block) const {
    bool known = true;
    PreOrder(store.value, [&](const Expr& e) {
      const auto* load = dyn_cast<LoadNode>(e);
      if (load == nullptr || load->buffer.same_as(store.buffer)) return true;
      const auto read = along_.find(load->buffer->data.get());
      if (read == along_.end()) return true;
      for (size_t d = 0; d < load->indices.size(); ++d) {
        const int iterator = IteratorOf(node, load->indices[d]);
        if (iterator < 0) {
          known &= read->second[d] == kAlongOther && AsInt(load->indices[d]).has_value();
          continue;
        }
        int& along = block->along[static_cast<size_t>(iterator)];
        known &= along == kAlongOther || along == read->second[d];
        along = read->second[d];
      }
      return known;
    });
    return known;
  }

  // Reductions go along keys: first those of rows, then perhaps a product.
  bool AddReduction(const BlockNode& node, const ChainedBlock& block) {
    std::vector<int> rows, reduced;
    bool others = false;
    for (size_t i = 0; i < node.iter_vars.size(); ++i) {
      const bool spatial = node.iter_vars[i].kind == IterKind::kSpatial;
      others |= block.along[i] == kAlongOther;
      (spatial ? rows : reduced).push_back(block.along[i]);
    }
    if (reduced.size() != 1 || reduced[0] == kAlongOther || ReadsSecond(node)) return false;
    if (plan_.rows.empty()) {
      if (others) return false;
      plan_.rows = rows;
      plan_.key = reduced[0];
      return true;
    }
    if (reduced[0] != plan_.key) return false;
    if (others) plan_.seconds.push_back(plan_.blocks.size());
    return true;
  }

  // Whether the block reads what a second product sums up.
  bool ReadsSecond(const BlockNode& node) const {
    return std::ranges::any_of(plan_.seconds, [&](size_t second) {
      const Buffer& sum = writes_[second + 1].buffer;  // the product's comes first
      return std::ranges::any_of(node.reads, [&](const BufferRegion& read) { return read.buffer.same_as(sum); });
    });
  }

  // The last row that one factor alone is indexed by; keys index the other one.
  bool TakesRow() {
    if (Indexes(*factors_[0], plan_.key)) std::swap(factors_[0], factors_[1]);
    if (Indexes(*factors_[0], plan_.key) || !Indexes(*factors_[1], plan_.key)) return false;
    const auto is_row = [&](int iterator) {
      return Indexes(*factors_[0], iterator) && !Indexes(*factors_[1], iterator);
    };
    const auto extent = [&](int iterator) { return Likely(ProductIterator(iterator)); };
    plan_.key_extent = extent(plan_.key);
    if (plan_.key_extent <= 1) return false;
    const auto last = std::find_if(plan_.rows.rbegin(), plan_.rows.rend(), is_row);
    if (last == plan_.rows.rend() || extent(*last) < limits_.least_rows) return limits_.few_rows && TakesFewRows();
    plan_.row_extent = extent(*last);
    std::rotate(last.base() - 1, last.base(), plan_.rows.end());
    plan_.row_operand = factors_[0]->buffer;
    for (int i = 0; i < static_cast<int>(Product().iter_vars.size()); ++i) {
      if (Indexes(*factors_[0], i)) plan_.operand_iterators.push_back(i);
    }
    return true;
  }

  // Whether factors, or what is made of scores, have a type of fewer than 32 bits.
  bool IsNarrow() const {
    const auto narrow = [](const Buffer& buffer) { return buffer->dtype.bits() < 32; };
    return std::ranges::any_of(factors_, [&](const LoadNode* load) { return narrow(load->buffer); }) ||
           std::ranges::any_of(writes_, [&](const Written& written) { return narrow(written.buffer); });
  }

  // Rows that read the same keys, where threads have enough other ones or parts of the keys, or nothing is worth
  // threads. A constant is packed ahead of time instead.
  bool TakesFewRows() {
    if (plan_.seconds.empty() || IsConstantParam(FunctionOf(sch_, plan_.product), factors_[1]->buffer)) return false;
    int64_t tile = 1, others = 1, work = 1;
    for (const IterVar& iter : Product().iter_vars) work *= Likely(iter);
    for (const int row : plan_.rows) {
      // A tile has as many elements at every size: one where their number is known at a call alone.
      const std::optional<int64_t> constant = ExtentOf(ProductIterator(row));
      const int64_t extent = constant.value_or(Likely(ProductIterator(row)));
      const int64_t together = Indexes(*factors_[1], row) ? SharingKeys(row, extent) : extent;
      const int64_t elements = constant ? together : 1;
      if (elements == 1 || tile * elements > 2 * limits_.least_rows) {
        others *= extent;
        continue;
      }
      plan_.few_rows.push_back({row, elements});
      tile *= elements;
      others *= extent / elements;
    }
    plan_.tiles = others;
    if (KeepsCoresBusy(others, context_.target.cores) || !IsWorthThreads(work, context_.target)) return true;
    plan_.parts_keys = limits_.parts_keys && ExtentOf(ProductIterator(plan_.key)).has_value();
    return plan_.parts_keys;
  }
  // Elements of the iterator that follow each other and read the same keys: four of h in K[h // 4, j, d].
  int64_t SharingKeys(int iterator, int64_t extent) const {
    const Var& var = Product().iter_vars[static_cast<size_t>(iterator)].var;
    int64_t shared = 0;
    for (const Expr& index : factors_[1]->indices) {
      if (!UsesVar(index, var)) continue;
      const auto* division = dyn_cast<BinaryNode>(index);
      const bool divides = division != nullptr && division->op == BinaryOp::kFloorDiv && division->a.same_as(var);
      shared = std::gcd(shared, divides ? AsInt(division->b).value_or(1) : 1);
    }
    return shared > 0 && extent % shared == 0 ? shared : 1;
  }

  bool KeepsScores() {
    for (const Written& written : writes_) {
      const bool scores = std::ranges::find(written.along, plan_.row()) != written.along.end() &&
                          std::ranges::find(written.along, plan_.key) != written.along.end();
      if (scores && !written.inside) {
        if (&written == &writes_.front()) return false;
        plan_.gives_scores = true;
      }
      plan_.score_buffers += scores ? 1 : 0;
    }
    // The fewest rows with all their keys; and keys, which each block of rows reads where they lie.
    const int64_t bytes = limits_.least_rows * plan_.key_extent * plan_.type.bytes() * plan_.score_buffers;
    return !plan_.gives_scores || std::max(bytes, 2 * BytesOfKeys()) <= limits_.score_bytes;
  }

  // Those that one row reads.
  int64_t BytesOfKeys() const {
    int64_t bytes = factors_[1]->buffer->dtype.bytes();
    for (int i = 0; i < static_cast<int>(Product().iter_vars.size()); ++i) {
      const bool batch = std::ranges::find(plan_.rows, i) != plan_.rows.end();
      if (!batch && Indexes(*factors_[1], i)) bytes *= Likely(ProductIterator(i));
    }
    return bytes;
  }

  struct Written {
    Buffer buffer;
    std::vector<int> along;
    bool inside = false;
  };

  Schedule& sch_;
  const SketchContext& context_;
  const ChainLimits& limits_;
  const LikelySizes sizes_;
  ChainedPlan plan_;
  std::array<const LoadNode*, 2> factors_ = {};       // of the product; that of rows first
  std::map<const VarNode*, std::vector<int>> along_;  // dimensions of the chain's buffers, by their memory
  std::vector<Written> writes_;
  std::vector<std::set<int>> compared_;  // of each block
};

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

int ChainedBlock::IteratorAlong(int n) const {
  const auto found = std::ranges::find(along, n);
  return found == along.end() ? -1 : static_cast<int>(found - along.begin());
}

std::optional<ChainedPlan> PlanChain(Schedule& sch, BlockRv product, const SketchContext& context,
                                     const ChainLimits& limits) {
  return Planner(sch, product, context, limits).Plan();
}

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
