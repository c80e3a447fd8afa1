#include "autoschedule/sketch/chained/chained_plan.h"

#include <algorithm>
#include <array>
#include <map>
#include <numeric>
#include <set>
#include <utility>

#include "autoschedule/cost/machine_costs.h"
#include "autoschedule/program/block_loops.h"
#include "autoschedule/program/sizes.h"
#include "ir/analysis.h"
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
    if (plan_.rows.empty() || !TakesWholeRows() || !TakesRow() || !KeepsScores()) return std::nullopt;
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
    if (!FollowLoads(node, *store, &block) || !HasType(store->buffer->dtype, block.reduces)) return false;
    std::vector<int> dimensions;
    for (const Expr& index : store->indices) {
      const int iterator = IteratorOf(node, index);
      if (iterator < 0 && !AsInt(index)) return false;
      dimensions.push_back(iterator < 0 ? kAlongOther : block.along[static_cast<size_t>(iterator)]);
    }
    if (block.reduces && !AddReduction(node, store->buffer, block)) return false;
    compared_.push_back(ComparedIn(*store, node, block));
    plan_.blocks.push_back(std::move(block));
    return Write(store->buffer, std::move(dimensions));
  }

  // What is narrower than the product is converted to float32. Integers are places of keys, or what is made of them.
  bool HasType(DataType type, bool reduces) const {
    if (!type.is_float()) return limits_.gives_places;
    return type == plan_.type || (!reduces && !IsDouble() && type.bits() < plan_.type.bits());
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
  bool FollowLoads(const BlockNode& node, const StoreNode& store, ChainedBlock* block) {
    bool known = true;
    PreOrder(store.value, [&](const Expr& e) {
      const auto* load = dyn_cast<LoadNode>(e);
      if (load == nullptr || load->buffer.same_as(store.buffer)) return true;
      const auto read = along_.find(load->buffer->data.get());
      if (read == along_.end()) return true;
      for (size_t d = 0; d < load->indices.size(); ++d) {
        const int iterator = IteratorOf(node, load->indices[d]);
        if (iterator < 0) {
          const bool of_row = limits_.chooses_keys && read->second[d] != kAlongOther;
          if (of_row) across_.insert(read->second[d]);
          known &= of_row || (read->second[d] == kAlongOther && AsInt(load->indices[d]).has_value());
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
  bool AddReduction(const BlockNode& node, const Buffer& sum, const ChainedBlock& block) {
    std::vector<int> rows, reduced;
    bool others = false;
    plan_.whole_rows |= !sum->dtype.is_float();
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
    if (!others) return true;
    plan_.seconds.push_back(plan_.blocks.size());
    sums_.push_back(sum);
    return sum->dtype.is_float();
  }

  // Whether the block reads what a second product sums up.
  bool ReadsSecond(const BlockNode& node) const {
    return std::ranges::any_of(sums_, [&](const Buffer& sum) {
      return std::ranges::any_of(node.reads, [&](const BufferRegion& read) { return read.buffer.same_as(sum); });
    });
  }

  // Blocks that choose elements of what lies before them choose them along keys.
  bool TakesWholeRows() {
    plan_.whole_rows |= !across_.empty();
    return std::ranges::all_of(across_, [&](int along) { return along == plan_.key; });
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
    if (last == plan_.rows.rend() || extent(*last) < limits_.least_rows) {
      return limits_.few_rows && !plan_.whole_rows && TakesFewRows();
    }
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
    return !plan_.needs_all_keys() || (bytes <= limits_.score_bytes && BytesOfKeys() <= limits_.key_bytes);
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
  std::vector<Buffer> sums_;             // of second products
  std::vector<std::set<int>> compared_;  // of each block
  std::set<int> across_;                 // what dimensions run along that blocks index otherwise than by iterators
};

}  // namespace

int ChainedBlock::IteratorAlong(int n) const {
  const auto found = std::ranges::find(along, n);
  return found == along.end() ? -1 : static_cast<int>(found - along.begin());
}

std::optional<ChainedPlan> PlanChain(Schedule& sch, BlockRv product, const SketchContext& context,
                                     const ChainLimits& limits) {
  return Planner(sch, product, context, limits).Plan();
}

}  // namespace tilewright
