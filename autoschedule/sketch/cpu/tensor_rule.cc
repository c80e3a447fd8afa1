#include "autoschedule/sketch/cpu/tensor_rule.h"

#include <algorithm>
#include <numeric>
#include <string>

#include "autoschedule/movement/auto_copy.h"
#include "autoschedule/program/block_loops.h"
#include "autoschedule/program/choices.h"
#include "base/status_macros.h"
#include "ir/analysis.h"
#include "ir/functor.h"
#include "schedule/layout/hoist_prepack.h"

namespace tilewright {
namespace {

using Done = std::monostate;

// How the description accesses one of its parameters: the numbers of its iterators that index it, in order.
struct DescribedAccess {
  bool written = false;
  std::vector<int> iterators;
};

// In the order of the parameters; nothing when an index is more than an iterator.
Outcome<std::vector<DescribedAccess>> DescribedAccesses(const TensorIntrin& intrin) {
  const BlockNode& described = *DescribedBlock(intrin);
  std::vector<DescribedAccess> accesses;
  bool plain = true;
  auto iterators_of = [&](const std::vector<Expr>& indices) {
    std::vector<int> numbers;
    for (const Expr& index : indices) {
      const auto it =
          std::ranges::find_if(described.iter_vars, [&](const IterVar& iter) { return iter.var.get() == index.get(); });
      plain &= it != described.iter_vars.end();
      numbers.push_back(static_cast<int>(it - described.iter_vars.begin()));
    }
    return numbers;
  };
  const auto* store = cast<StoreNode>(described.body);
  for (const Param& param : intrin.description->params) {
    DescribedAccess access;
    if (param.buffer.same_as(store->buffer)) {
      access = {true, iterators_of(store->indices)};
    } else {
      PreOrder(store->value, [&](const Expr& e) {
        const auto* load = dyn_cast<LoadNode>(e);
        if (load != nullptr && load->buffer.same_as(param.buffer)) access.iterators = iterators_of(load->indices);
        return true;
      });
    }
    accesses.push_back(std::move(access));
  }
  if (!plain)
    return Refusal{"tensor_rule", "an index in the description of {text0} is not an iterator", {}, {}, {intrin.name}};
  return accesses;
}

// One schedule under construction.
class TensorSchedule {
 public:
  TensorSchedule(Schedule& sch, BlockRv block, const TensorMapping& mapping, const Target& target, Choices& choices)
      : sch_(sch), block_(block), mapping_(mapping), target_(target), choices_(choices) {}

  Outcome<Done> Apply();

 private:
  struct Operand {
    BlockRv stage;  // the copy into, or (of what is written) out of, the intrinsic's layout
    bool written;
    bool constant;
    std::string scope;  // that the description wants
  };

  Outcome<Done> MakeStages(const std::vector<DescribedAccess>& accesses);
  Outcome<Done> FuseIterators();
  Outcome<Done> MakeTiles();
  Outcome<Done> PlaceOperands();
  Outcome<Done> RunInParallel();

  // The extents of the block's iterators now, and whether each is a reduction.
  const std::vector<IterVar>& iterators() const { return RealizeOf(sch_, block_).block->iter_vars; }
  // Iterators of the block as one number, `inputs` being the variables of an index map.
  Expr Fused(const std::vector<int>& group, const std::vector<Var>& inputs, const std::vector<int64_t>& extents) const;

  Schedule& sch_;
  BlockRv block_;  // of elements; after MakeTiles() of tiles
  const TensorMapping& mapping_;
  const Target& target_;
  Choices& choices_;
  std::string name_;
  std::vector<Operand> operands_;
  std::vector<LoopRv> spatial_, reduce_;  // outside of the tile, in their order
};

Expr TensorSchedule::Fused(const std::vector<int>& group, const std::vector<Var>& inputs,
                           const std::vector<int64_t>& extents) const {
  Expr fused = 0;
  for (int iterator : group) {
    const auto i = static_cast<size_t>(iterator);
    fused = group.front() == iterator ? Expr(inputs[i]) : fused * extents[i] + inputs[i];
  }
  return fused;
}

Outcome<Done> TensorSchedule::MakeStages(const std::vector<DescribedAccess>& accesses) {
  std::vector<Var> all;
  std::vector<int64_t> extents;
  for (const IterVar& iter : iterators()) {
    all.push_back(iter.var);
    extents.push_back(*ExtentOf(iter));
  }
  for (size_t p = 0; p < accesses.size(); ++p) {
    const bool written = accesses[p].written;
    const BlockNode& block = *RealizeOf(sch_, block_).block;
    const auto& regions = written ? block.writes : block.reads;
    const Buffer& buffer = mapping_.operands[p];
    const auto region = std::ranges::find_if(regions, [&](const BufferRegion& r) { return r.buffer.same_as(buffer); });
    const int index = static_cast<int>(region - regions.begin());
    // The dimensions of the copy: the iterators in the operand's region, in the block's order.
    std::vector<Var> inputs;
    std::vector<bool> uses(all.size());
    for (size_t i = 0; i < all.size(); ++i) {
      uses[i] = std::ranges::any_of(region->region, [&](const Range& r) { return UsesVar(r.min, all[i]); });
      if (uses[i]) inputs.push_back(all[i]);
    }
    std::vector<Expr> outputs;
    for (int iterator : mapping_.outside) {
      if (uses[static_cast<size_t>(iterator)]) outputs.push_back(all[static_cast<size_t>(iterator)]);
    }
    for (int iterator : accesses[p].iterators) {
      outputs.push_back(Fused(mapping_.fused[static_cast<size_t>(iterator)], all, extents));
    }
    const bool constant = !written && IsConstantParam(FunctionOf(sch_, block_), buffer);
    const Value which(Value::List{Value(written ? "write" : "read"), Value(index)});
    TW_ASSIGN_OR_RETURN(const BlockRv stage, sch_.Reindex(block_, which, Value::List{}, /*skip_simplify=*/true));
    const Value copy(Value::List{Value(written ? "read" : "write"), Value(0)});
    const IndexMap layout(std::move(inputs), std::move(outputs));
    TW_RETURN_IF_ERROR(sch_.TransformLayout(stage, copy, layout));
    // The copy's loops run along the new dimensions, so that pad_einsum_in_place can extend them.
    TW_RETURN_IF_ERROR(sch_.TransformBlockLayout(stage, layout));
    const std::string scope = mapping_.intrin->description->params[p].buffer->scope.text();
    operands_.push_back({stage, written, constant, scope});
  }
  return Done();
}

Outcome<Done> TensorSchedule::FuseIterators() {
  std::vector<Var> inputs;
  std::vector<int64_t> extents;
  for (const IterVar& iter : iterators()) {
    inputs.push_back(iter.var);
    extents.push_back(*ExtentOf(iter));
  }
  std::vector<Expr> outputs;
  Value::List padding;
  bool pads = false;
  for (int iterator : mapping_.outside) {
    outputs.push_back(inputs[static_cast<size_t>(iterator)]);
    padding.push_back(1);
  }
  for (size_t i = 0; i < mapping_.fused.size(); ++i) {
    outputs.push_back(Fused(mapping_.fused[i], inputs, extents));
    padding.push_back(mapping_.tile[i]);
  }
  TW_RETURN_IF_ERROR(sch_.TransformBlockLayout(block_, IndexMap(std::move(inputs), std::move(outputs))));
  for (size_t i = 0; i < padding.size(); ++i) pads |= *ExtentOf(iterators()[i]) % *padding[i].As<int64_t>() != 0;
  if (pads) TW_RETURN_IF_ERROR(sch_.PadEinsumInPlace(block_, padding));
  return Done();
}

Outcome<Done> TensorSchedule::MakeTiles() {
  const BlockNode& described = *DescribedBlock(*mapping_.intrin);
  TW_ASSIGN_OR_RETURN(const std::vector<LoopRv> loops, LoopsByIterator(sch_, block_, "tensor_rule"));
  const size_t outside = mapping_.outside.size();
  const std::vector<IterVar> iters = iterators();
  std::vector<LoopRv> blocks, tiles;  // loops over blocks of tiles, over the elements of a tile
  for (size_t i = 0; i < loops.size(); ++i) {
    const bool reduce = iters[i].kind == IterKind::kReduce;
    if (i < outside) {
      (reduce ? reduce_ : blocks).push_back(loops[i]);
      continue;
    }
    const int64_t tile = mapping_.tile[i - outside];
    TW_ASSIGN_OR_RETURN(const std::vector<LoopRv> split, sch_.Split(loops[i], {Value(), tile}));
    tiles.push_back(split[1]);
    if (reduce) {
      reduce_.push_back(split[0]);
      continue;
    }
    std::vector<int64_t> sizes;
    const int64_t count = *ExtentOf(sch_, split[0]);
    for (int64_t size = 1; size <= std::min(count, kMostCandidates); ++size) {
      if (count % size == 0) sizes.push_back(size);
    }
    const std::string name = name_ + ".block_" + described.iter_vars[i - outside].var.name();
    TW_ASSIGN_OR_RETURN(const Choices::Pick size, choices_.Take(sch_, name, sizes, 0));
    TW_ASSIGN_OR_RETURN(const std::vector<LoopRv> blocked, sch_.Split(split[0], {Value(), size}));
    blocks.push_back(blocked[0]);
    spatial_.push_back(blocked[1]);
  }
  spatial_.insert(spatial_.begin(), blocks.begin(), blocks.end());
  std::vector<LoopRv> order = spatial_;
  order.insert(order.end(), reduce_.begin(), reduce_.end());
  order.insert(order.end(), tiles.begin(), tiles.end());
  TW_RETURN_IF_ERROR(sch_.Reorder(order));
  TW_ASSIGN_OR_RETURN(block_, sch_.Blockize(tiles[0]));
  return Done();
}

Outcome<Done> TensorSchedule::PlaceOperands() {
  const LoopRv innermost = reduce_.empty() ? spatial_.back() : reduce_.back();
  for (const Operand& operand : operands_) {
    if (operand.written) {
      TW_ASSIGN_OR_RETURN(const AutoCopy copy,
                          WriteStageAt(sch_, block_, operand.stage, spatial_.back(), operand.scope));
      TW_RETURN_IF_ERROR(Expand(sch_, copy));
      continue;
    }
    const BlockRealizeNode& stage = RealizeOf(sch_, operand.stage);
    const Buffer copied = stage.block->writes[0].buffer;
    if (copied->scope.text() == operand.scope) continue;
    TW_ASSIGN_OR_RETURN(const AutoCopy copy, ReadOperandAt(sch_, block_, copied, innermost, operand.scope));
    TW_RETURN_IF_ERROR(Expand(sch_, copy));
  }
  if (!reduce_.empty()) {
    TW_RETURN_IF_ERROR(sch_.DecomposeReduction(block_, reduce_[0]));
  }
  TW_RETURN_IF_ERROR(sch_.Tensorize(block_, mapping_.intrin->name));
  return Done();
}

Outcome<Done> TensorSchedule::RunInParallel() {
  std::vector<int64_t> counts(spatial_.size() + 1);
  std::iota(counts.begin(), counts.end(), 0);
  // The fewest loops that give every core something to do.
  size_t preferred = 0;
  for (int64_t iterations = 1; preferred < spatial_.size() && iterations < target_.cores; ++preferred) {
    iterations *= *ExtentOf(sch_, spatial_[preferred]);
  }
  TW_ASSIGN_OR_RETURN(const Choices::Pick parallel, choices_.Take(sch_, name_ + ".parallel_loops", counts, preferred));
  if (parallel.value != 0) {
    TW_ASSIGN_OR_RETURN(const LoopRv threads, sch_.Fuse({spatial_.begin(), spatial_.begin() + parallel.value}));
    TW_RETURN_IF_ERROR(sch_.Parallel(threads));
  }
  for (const Operand& operand : operands_) {
    if (operand.written) continue;
    if (operand.constant) {
      TW_RETURN_IF_ERROR(sch_.HoistPrepack(operand.stage));
      continue;
    }
    TW_ASSIGN_OR_RETURN(const std::vector<LoopRv> loops, sch_.GetLoops(operand.stage));
    TW_RETURN_IF_ERROR(sch_.Parallel(loops[0]));
  }
  return Done();
}

Outcome<Done> TensorSchedule::Apply() {
  name_ = RealizeOf(sch_, block_).block->name;
  TW_ASSIGN_OR_RETURN(const std::vector<DescribedAccess> accesses, DescribedAccesses(*mapping_.intrin));
  TW_RETURN_IF_ERROR(MakeStages(accesses));
  TW_RETURN_IF_ERROR(FuseIterators());
  TW_RETURN_IF_ERROR(MakeTiles());
  TW_RETURN_IF_ERROR(PlaceOperands());
  return RunInParallel();
}

}  // namespace

Outcome<Done> ScheduleTensorized(Schedule& sch, BlockRv block, const std::vector<TensorMapping>& mappings,
                                 const Target& target, Choices& choices) {
  std::vector<int64_t> numbers(static_cast<size_t>(std::min(std::ssize(mappings), kMostCandidates)));
  std::iota(numbers.begin(), numbers.end(), 0);
  const BlockNode& node = *RealizeOf(sch, block).block;
  const std::string name = node.name;
  for (const IterVar& iter : node.iter_vars) {
    if (ExtentOf(iter)) continue;
    return Refusal{"tensor_rule",
                   "iterator {text0} of {block0} does not have a constant extent, which tensor intrinsics need",
                   {RealizeOf(sch, block).block->id},
                   {},
                   {iter.var.name()}};
  }
  TW_ASSIGN_OR_RETURN(const Choices::Pick mapping, choices.Take(sch, name + ".mapping", numbers, 0));
  return TensorSchedule(sch, block, mappings[static_cast<size_t>(mapping.value)], target, choices).Apply();
}

}  // namespace tilewright
