#include <algorithm>
#include <ranges>
#include <set>
#include <unordered_set>

#include "autoschedule/program/contraction.h"
#include "graph/fusion/layout.h"
#include "ir/analysis.h"
#include "ir/builtin.h"
#include "ir/functor.h"

namespace tilewright::graph {
namespace {

using Iterators = std::set<const SymbolNode*>;

Iterators IteratorsOf(const Expr& index) {
  Iterators found;
  PreOrder(index, [&](const Expr& part) {
    if (const auto* var = dyn_cast<SymbolNode>(part)) found.insert(var);
    return true;
  });
  return found;
}

bool Meet(const Iterators& a, const Iterators& b) {
  return std::any_of(a.begin(), a.end(), [&](const SymbolNode* v) { return b.contains(v); });
}

struct Access {
  const BufferNode* buffer = nullptr;
  std::vector<Iterators> at;

  static Access Of(const Buffer& buffer, const std::vector<Expr>& indices) {
    Access access{buffer.get(), {}};
    for (const Expr& index : indices) access.at.push_back(IteratorsOf(index));
    return access;
  }
  bool Mentions(const SymbolNode* var) const {
    return std::any_of(at.begin(), at.end(), [&](const Iterators& i) { return i.contains(var); });
  }
};

// What a block stores and loads.
struct BlockAccesses {
  Stmt statement;
  const BlockRealizeNode* realize = nullptr;  // that statement
  std::vector<Access> stores, loads;
};

std::vector<BlockAccesses> BlocksOf(const PrimFunc& program) {
  std::vector<BlockAccesses> blocks;
  PreOrder(cast<BlockRealizeNode>(program->body)->block->body, [&](const Stmt& stmt) {
    const auto* realize = dyn_cast<BlockRealizeNode>(stmt);
    if (realize == nullptr) return true;
    BlockAccesses& block = blocks.emplace_back();
    block.statement = stmt;
    block.realize = realize;
    PreOrder(realize->block->body, [&](const Stmt& s) {
      if (const auto* store = dyn_cast<StoreNode>(s)) block.stores.push_back(Access::Of(store->buffer, store->indices));
      return true;
    });
    PreOrderExprs(realize->block->body, [&](const Expr& e) {
      if (const auto* load = dyn_cast<LoadNode>(e)) block.loads.push_back(Access::Of(load->buffer, load->indices));
      return true;
    });
    return false;
  });
  return blocks;
}

// Whether the dimensions of `a` are those of `b`: the same channel, or positions at the same places.
bool SameDimensions(const Access& a, const Access& b) {
  const size_t rank = a.at.size();
  if (rank < 3 || b.at.size() != rank) return false;
  const bool positions =
      std::ranges::any_of(std::views::iota(size_t{2}, rank), [&](size_t d) { return Meet(a.at[d], b.at[d]); });
  const bool batch = Meet(a.at[0], b.at[0]) || a.at[0].empty() || b.at[0].empty();
  // Weights (in, out, window...) have neither.
  return Meet(a.at[1], b.at[1]) ? positions || batch : positions && batch;
}

// Whether the block is a product of elements of which some are chosen or zero: such as those between which a transposed
// convolution puts zeros, which the schedule skips (schedule/algebra/skip_zero_terms.h).
bool IsProductOfChosen(const BlockAccesses& block) {
  const Stmt chosen = RewriteExprs(block.statement, [](const Expr& e) {
    const auto* call = dyn_cast<tilewright::CallNode>(e);
    return call != nullptr && call->op == kIfThenElse && IsZero(call->args[2]) ? call->args[1] : e;
  });
  return MatchContraction(*cast<BlockRealizeNode>(chosen)).ok();
}

// Whether an image has more channels than rows of the other one have positions. Vectors run along the last dimension:
// rows are read in vectors too, unless they are short.
bool HasMoreChannels(const BufferNode& image, const BufferNode& rows) {
  const auto channels = AsInt(image.shape[1]), positions = AsInt(rows.shape.back());
  return channels && positions && *channels > *positions;
}

// Whether the sum runs through channels of an image of bytes: instructions multiply bytes that lie side by side.
bool AddsChannelsOfBytes(const BlockNode& block, const Access& image, const Access& other) {
  const auto of_bytes = [](const BufferNode& b) { return b.dtype.is_integer() && b.dtype.bits() == 8; };
  return of_bytes(*image.buffer) && of_bytes(*other.buffer) &&
         std::ranges::any_of(block.iter_vars, [&](const IterVar& iter) {
           return iter.kind == IterKind::kReduce && !IsInt(iter.domain.extent, 1) &&
                  image.at[1].contains(iter.var.get());
         });
}

// Whether a product's operand is the same for all images of the batch and all positions of the result, as weights are.
// The other operand of a product for each head of attention is not.
bool IsSameAtPositions(const Access& operand, const Access& result) {
  return std::ranges::all_of(std::views::iota(size_t{0}, result.at.size()), [&](size_t d) {
    return d == 1 || std::ranges::none_of(result.at[d], [&](const SymbolNode* v) { return operand.Mentions(v); });
  });
}

class FormFinder {
 public:
  explicit FormFinder(const PrimFunc& program) : program_(program), blocks_(BlocksOf(program)) {}

  LayoutForm Run() {
    form_.image.resize(program_->params.size());
    form_.weights.resize(program_->params.size());
    FindImages();
    FindTranspose();
    for (const BlockAccesses& block : blocks_) {
      form_.reads_plain |= !LookAtProduct(block);
    }
    if (form_.reads_plain) return form_;
    for (size_t i = 0; i < program_->params.size(); ++i) {
      form_.image[i] = images_.contains(program_->params[i].buffer.get());
    }
    for (const Buffer& buffer : cast<BlockRealizeNode>(program_->body)->block->alloc_buffers) {
      if (images_.contains(buffer.get())) form_.temporaries.push_back(buffer.get());
    }
    return form_;
  }

 private:
  int ParamOf(const BufferNode* buffer) const {
    for (size_t i = 0; i < program_->params.size(); ++i) {
      if (program_->params[i].buffer.get() == buffer) return static_cast<int>(i);
    }
    return -1;
  }

  void FindImages() {
    for (const BlockAccesses& block : blocks_) {
      for (const Access& store : block.stores) {
        if (ParamOf(store.buffer) >= 0 && store.at.size() >= 3) images_.insert(store.buffer);
      }
    }
    for (bool changed = true; changed;) {
      changed = false;
      for (const BlockAccesses& block : blocks_) {
        for (const Access& store : block.stores) {
          for (const Access& load : block.loads) {
            if (load.buffer == store.buffer || !SameDimensions(load, store)) continue;
            if (images_.contains(store.buffer)) changed |= images_.insert(load.buffer).second;
            const bool temporary = ParamOf(store.buffer) < 0;
            if (temporary && images_.contains(load.buffer)) changed |= images_.insert(store.buffer).second;
          }
        }
      }
    }
  }

  // Whether the program's only block copies elements to other places.
  void FindTranspose() {
    if (blocks_.size() != 1 || blocks_[0].stores.size() != 1 || blocks_[0].loads.size() != 1) return;
    const auto* store = dyn_cast<StoreNode>(blocks_[0].realize->block->body);
    if (store == nullptr || !isa<LoadNode>(store->value)) return;
    const Access &to = blocks_[0].stores[0], &from = blocks_[0].loads[0];
    const size_t rank = to.at.size();
    const auto one_each = [](const Access& access) {
      return std::ranges::all_of(access.at, [](const Iterators& i) { return i.size() == 1; });
    };
    if (rank < 3 || from.at.size() != rank || !one_each(to) || !one_each(from)) return;
    const Permutation order = ChannelsLast(static_cast<int>(rank));
    form_.from_channels_last = Permute(to.at, order) == from.at;
    form_.to_channels_last = Permute(from.at, order) == to.at;
  }

  // False for a product that is not one of an image and weights.
  bool LookAtProduct(const BlockAccesses& block) {
    if (!block.realize->block->init || block.stores.size() != 1) return true;
    const bool product = MatchContraction(*block.realize).ok();
    const Access& store = block.stores[0];
    if (!images_.contains(store.buffer)) return !product;
    const Access* image = nullptr;
    const Access* other = nullptr;
    for (const Access& load : block.loads) {
      if (load.buffer == store.buffer) continue;
      const Access*& place = images_.contains(load.buffer) ? image : other;
      if (place != nullptr && place->buffer != load.buffer) return !product;
      place = &load;
    }
    if (image == nullptr || other == nullptr || !IsSameAtPositions(*other, store)) return !product;
    if (other->at.size() >= 3 && ParamOf(other->buffer) >= 0) {
      form_.weights[static_cast<size_t>(ParamOf(other->buffer))] = WeightOrder(*block.realize->block, *image, *other);
    }
    const bool channel_of_weights = store.at[1].size() == 1 && other->Mentions(*store.at[1].begin());
    // An image that is padded, a temporary, is copied in any case.
    const bool in_groups = channel_of_weights && image->Mentions(*store.at[1].begin());
    form_.wants_channels_last |=
        channel_of_weights &&
        (in_groups ? product && ParamOf(image->buffer) < 0 && AddsChannelsOfBytes(*block.realize->block, *image, *other)
                   : product || (HasMoreChannels(*store.buffer, *image->buffer) && IsProductOfChosen(block)));
    return true;
  }

  // Dimensions that are summed over first, in the order in which the image has them channels last; then those of the
  // result.
  static Permutation WeightOrder(const BlockNode& block, const Access& image, const Access& weight) {
    const std::vector<Iterators> ordered = Permute(image.at, ChannelsLast(static_cast<int>(image.at.size())));
    const auto key = [&](int d) {
      for (const IterVar& iter : block.iter_vars) {
        if (!weight.at[static_cast<size_t>(d)].contains(iter.var.get())) continue;
        if (iter.kind != IterKind::kReduce) return 1000;
        for (size_t place = 0; place < ordered.size(); ++place) {
          if (ordered[place].contains(iter.var.get())) return static_cast<int>(place);
        }
      }
      return -1;
    };
    Permutation order;
    for (size_t d = 0; d < weight.at.size(); ++d) order.push_back(static_cast<int>(d));
    std::sort(order.begin(), order.end(),
              [&](int a, int b) { return std::make_pair(key(a), a) < std::make_pair(key(b), b); });
    return order;
  }

  const PrimFunc& program_;
  const std::vector<BlockAccesses> blocks_;
  std::unordered_set<const BufferNode*> images_;
  LayoutForm form_;
};

}  // namespace

Permutation ChannelsLast(int rank) {
  Permutation permutation = {0};
  for (int d = 2; d < rank; ++d) permutation.push_back(d);
  permutation.push_back(1);
  return permutation;
}

LayoutForm LayoutFormOf(const PrimFunc& program) { return FormFinder(program).Run(); }

}  // namespace tilewright::graph
