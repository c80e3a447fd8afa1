#include "autoschedule/sketch/cpu/chained/chained_plan.h"

#include <algorithm>
#include <array>
#include <map>
#include <utility>

#include "autoschedule/program/block_loops.h"
#include "ir/analysis.h"
#include "ir/functor.h"

namespace tilewright {
namespace {

class Planner {
 public:
  Planner(Schedule& sch, const SketchContext& context) : sch_(sch), context_(context) {}

  std::optional<ChainedPlan> Plan(BlockRv product) {
    plan_.product = product;
    if (!StartWithProduct()) return std::nullopt;
    const std::vector<ScopeChild>& children = context_.scope.children();
    const auto begin = std::ranges::find_if(children, [&](const ScopeChild& c) { return &c == &context_.child; });
    for (auto child = begin + 1; child < children.end(); ++child) {
      if (ReadsChain(*child) && !Add(*child)) return std::nullopt;
    }
    if (plan_.rows.empty() || !TakesRow() || !KeepsScores()) return std::nullopt;
    return std::move(plan_);
  }

 private:
  const BlockNode& Product() const { return *context_.child.realize->block; }

  bool StartWithProduct() {
    const auto* store = dyn_cast<StoreNode>(Product().body);
    if (!Product().init || store == nullptr || !IsOwnNest(context_.child) || !FindFactors(*store)) return false;
    std::vector<int> dimensions;
    for (const Expr& index : store->indices) {
      const int iterator = IteratorOf(Product(), index);
      if (iterator < 0) return false;
      dimensions.push_back(iterator);
    }
    return Write(store->buffer, std::move(dimensions));
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
    factors_ = {dyn_cast<LoadNode>(product->a), dyn_cast<LoadNode>(product->b)};
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
    if (buffer->dtype != DataType::Float(32)) return false;
    const auto& allocated = context_.scope.block()->alloc_buffers;
    const bool inside = std::ranges::any_of(allocated, [&](const Buffer& b) { return b.same_as(buffer); });
    writes_.push_back({buffer, dimensions, inside});
    return along_.emplace(buffer->data.get(), std::move(dimensions)).second;
  }

  bool Add(const ScopeChild& child) {
    const BlockNode& node = *child.realize->block;
    const auto rv = std::ranges::find_if(context_.blocks, [&](const BlockRv& b) {
      return Exists(sch_, b) && sch_.Get(b).As<BlockRef>()->id == node.id;
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
    if (block.reduces && !AddReduction(node, block)) return false;
    plan_.blocks.push_back(std::move(block));
    return Write(store->buffer, std::move(dimensions));
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
    if (plan_.second || reduced.size() != 1 || reduced[0] == kAlongOther) return false;
    if (plan_.rows.empty()) {
      if (others) return false;
      plan_.rows = rows;
      plan_.key = reduced[0];
      return true;
    }
    if (reduced[0] != plan_.key) return false;
    if (others) plan_.second = plan_.blocks.size();
    return true;
  }

  // The last row that one factor alone is indexed by, of a vector of elements at least; keys index the other one.
  bool TakesRow() {
    if (Indexes(*factors_[0], plan_.key)) std::swap(factors_[0], factors_[1]);
    if (Indexes(*factors_[0], plan_.key) || !Indexes(*factors_[1], plan_.key)) return false;
    const auto is_row = [&](int iterator) {
      return Indexes(*factors_[0], iterator) && !Indexes(*factors_[1], iterator);
    };
    const auto last = std::find_if(plan_.rows.rbegin(), plan_.rows.rend(), is_row);
    if (last == plan_.rows.rend()) return false;
    std::rotate(last.base() - 1, last.base(), plan_.rows.end());
    plan_.row_operand = factors_[0]->buffer;
    for (int i = 0; i < static_cast<int>(Product().iter_vars.size()); ++i) {
      if (Indexes(*factors_[0], i)) plan_.operand_iterators.push_back(i);
    }
    const auto extent = [&](int iterator) {
      return ExtentOf(Product().iter_vars[static_cast<size_t>(iterator)]).value_or(0);
    };
    plan_.row_extent = extent(plan_.row());
    plan_.key_extent = extent(plan_.key);
    return plan_.row_extent >= context_.target.lanes(32) && plan_.key_extent > 1;
  }

  bool KeepsScores() {
    for (const Written& written : writes_) {
      const bool scores = std::ranges::find(written.along, plan_.row()) != written.along.end() &&
                          std::ranges::find(written.along, plan_.key) != written.along.end();
      if (scores && !written.inside) return false;
      plan_.score_buffers += scores ? 1 : 0;
    }
    return true;
  }

  struct Written {
    Buffer buffer;
    std::vector<int> along;
    bool inside = false;
  };

  Schedule& sch_;
  const SketchContext& context_;
  ChainedPlan plan_;
  std::array<const LoadNode*, 2> factors_ = {};       // of the product; that of rows first
  std::map<const VarNode*, std::vector<int>> along_;  // dimensions of the chain's buffers, by their memory
  std::vector<Written> writes_;
};

}  // namespace

int ChainedBlock::IteratorAlong(int n) const {
  const auto found = std::ranges::find(along, n);
  return found == along.end() ? -1 : static_cast<int>(found - along.begin());
}

std::optional<ChainedPlan> PlanChain(Schedule& sch, BlockRv product, const SketchContext& context) {
  return Planner(sch, context).Plan(product);
}

}  // namespace tilewright
