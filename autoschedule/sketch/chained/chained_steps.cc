#include "autoschedule/sketch/chained/chained_steps.h"

#include <algorithm>
#include <utility>

#include "autoschedule/program/block_loops.h"
#include "autoschedule/program/fuse_consumers.h"
#include "base/status_macros.h"
#include "ir/analysis.h"
#include "schedule/program/sum_form.h"

namespace tilewright {
ChainedSteps::ChainedSteps(Schedule& sch, const ChainedPlan& plan, const Target& target, Choices& choices)
    : sch_(sch),
      plan_(plan),
      target_(target),
      choices_(choices),
      name_(RealizeOf(sch, plan.product).block->name),
      chain_(plan.blocks) {}

const BlockNode& ChainedSteps::Node(BlockRv block) const { return *RealizeOf(sch_, block).block; }

std::vector<int64_t> ChainedSteps::Dividing(int64_t extent, std::vector<int64_t> sizes) {
  std::erase_if(sizes, [&](int64_t size) { return size > extent || extent % size != 0; });
  return sizes;
}

std::optional<BlockRv> ChainedSteps::Second() const {
  return second_ ? std::optional<BlockRv>(chain_[*second_].block) : std::nullopt;
}

void ChainedSteps::FindSecond() {
  std::erase_if(chain_, [&](const ChainedBlock& block) { return !Exists(sch_, block.block); });
  second_ = std::nullopt;
  if (!plan_.second) return;
  const auto second = std::ranges::find_if(
      chain_, [&](const ChainedBlock& b) { return b.block.index == plan_.blocks[*plan_.second].block.index; });
  if (second != chain_.end()) second_ = static_cast<size_t>(second - chain_.begin());
}

void ChainedSteps::DivideLate() {
  if (!plan_.second) return;
  for (size_t i = 0; i < *plan_.second; ++i) {
    if (chain_[i].reduces) continue;
    Attempt(sch_, [&](Schedule& s) { return s.ComputeInline(chain_[i].block).ok() && HoistAll(s); });
  }
  Attempt(sch_, [&](Schedule& s) { return HoistAll(s); });
  FindSecond();
}

Outcome<std::optional<BlockRv>> ChainedSteps::StageWeights() {
  if (!second_) return std::optional<BlockRv>();
  const BlockRv second = chain_[*second_].block;
  const Block node = RealizeOf(sch_, second).block;
  const std::optional<SumForm> sum = AsSum(*node);
  if (!sum) return std::optional<BlockRv>();
  const std::vector<Expr> factors = FactorsOf(sum->term);
  for (size_t n = 0; n < factors.size(); ++n) {
    const auto* converted = dyn_cast<CastNode>(factors[n]);
    if (isa<LoadNode>(converted != nullptr ? converted->value : factors[n])) continue;
    TW_ASSIGN_OR_RETURN(const BlockRv block, sch_.CacheFactors(second, {Value(static_cast<int64_t>(n))}));
    ChainedBlock weights{block, {}, false};
    for (size_t i = 0; i < node->iter_vars.size(); ++i) {
      if (UsesVar(factors[n], node->iter_vars[i].var)) weights.along.push_back(chain_[*second_].along[i]);
    }
    chain_.insert(chain_.begin() + static_cast<std::ptrdiff_t>(*second_), std::move(weights));
    ++*second_;
    return std::optional<BlockRv>(block);
  }
  return std::optional<BlockRv>();
}

// Whether something was taken out of the second product.
bool ChainedSteps::HoistAll(Schedule& sch) {
  const BlockRv second = plan_.blocks[*plan_.second].block;
  const size_t reads = RealizeOf(sch, second).block->reads.size();
  for (size_t read = 0; read < reads; ++read) {
    Outcome<BlockRv> scaled = sch.HoistFactor(second, static_cast<int>(read));
    if (!scaled.ok()) continue;
    scaled_ = *scaled;
    return true;
  }
  return false;
}

Outcome<ChainedSteps::Done> ChainedSteps::StageProduct() {
  TW_ASSIGN_OR_RETURN(scores_, KeepSums(plan_.product));
  FuseConsumers(sch_, *scores_);
  FindSecond();
  if (plan_.second && !second_) return Refusal{kName, "the second product was inlined"};
  return Done();
}

int64_t ChainedSteps::TileElements(int iterator) const {
  const auto row = std::ranges::find(tile_rows_, iterator, &TileRow::iterator);
  return row == tile_rows_.end() ? 0 : row->elements;
}

Outcome<ChainedSteps::SplitLoops> ChainedSteps::Divide(BlockRv block, const std::vector<int>& along, bool keys) {
  TW_ASSIGN_OR_RETURN(const std::vector<LoopRv> loops, LoopsByIterator(sch_, block, kName));
  SplitLoops split;
  for (const int row : plan_.rows) {
    const auto iterator = std::ranges::find(along, row);
    if (iterator == along.end()) return Refusal{kName, "{block0} has no rows", {Node(block).id}};
    const LoopRv loop = loops[static_cast<size_t>(iterator - along.begin())];
    const int64_t elements = TileElements(row);
    if (elements == 0) {
      split.outer.push_back(loop);
      continue;
    }
    TW_ASSIGN_OR_RETURN(const std::vector<LoopRv> parts, sch_.Split(loop, {Value(), Value(elements)}));
    split.outer.push_back(parts[0]);
    split.rest.push_back(parts[1]);
  }
  for (size_t i = 0; i < along.size(); ++i) {
    if (std::ranges::find(plan_.rows, along[i]) != plan_.rows.end()) continue;
    if (!keys || along[i] != plan_.key) {
      split.rest.push_back(loops[i]);
      continue;
    }
    TW_ASSIGN_OR_RETURN(const std::vector<LoopRv> parts, sch_.Split(loops[i], {Value(), Value(key_block_)}));
    split.outer.push_back(parts[0]);
    split.rest.push_back(parts[1]);
  }
  std::vector<LoopRv> order = split.outer;
  order.insert(order.end(), split.rest.begin(), split.rest.end());
  TW_RETURN_IF_ERROR(sch_.Reorder(order));
  return split;
}

std::vector<int> ChainedSteps::AlongScores() const {
  std::vector<int> along = plan_.rows;
  along.push_back(plan_.key);
  std::ranges::sort(along);
  return along;
}

Outcome<ChainedSteps::Done> ChainedSteps::KeepAllKeys() {
  TW_ASSIGN_OR_RETURN(const SplitLoops split, Divide(*scores_, AlongScores(), false));
  outer_ = split.outer;
  shared_ = outer_.back();
  if (second_) {
    const BlockRv second = chain_[*second_].block;
    TW_ASSIGN_OR_RETURN(result_, KeepSums(second));
    FuseConsumers(sch_, *result_);
  }
  for (const ChainedBlock& block : chain_) {
    if (!Exists(sch_, block.block)) continue;
    TW_RETURN_IF_ERROR(sch_.ReverseComputeAt(block.block, shared_));
    if (!second_ || block.block.index != chain_[*second_].block.index) continue;
    TW_RETURN_IF_ERROR(sch_.ReverseComputeAt(*result_, shared_));
    if (scaled_ && Exists(sch_, *scaled_)) TW_RETURN_IF_ERROR(sch_.ReverseComputeAt(*scaled_, shared_));
  }
  return Done();
}

Outcome<ChainedSteps::Done> ChainedSteps::FollowRunningValues(bool skip_leading) {
  std::vector<LoopRv> loops;
  std::vector<BlockRv> late, parts;
  for (const ChainedBlock& block : chain_) {
    if (block.IteratorAlong(plan_.key) < 0) {
      late.push_back(block.block);
      continue;
    }
    TW_ASSIGN_OR_RETURN(const SplitLoops split, Divide(block.block, block.along, true));
    loops.push_back(split.outer.back());
    if (loops.size() == 1) outer_.assign(split.outer.begin(), split.outer.end() - 1);
  }
  if (loops.size() > 1) {
    TW_ASSIGN_OR_RETURN(parts, sch_.RescaleReduction(loops, skip_leading));
  }
  if (scaled_) late.insert(late.begin(), *scaled_);
  shared_ = loops[0];
  if (second_) {
    result_ = chain_[*second_].block;
    product_part_ = parts.empty() ? std::nullopt : std::optional<BlockRv>(parts.back());
  }
  TW_RETURN_IF_ERROR(sch_.ComputeAt(*scores_, shared_));
  for (const BlockRv& block : late) TW_RETURN_IF_ERROR(sch_.ReverseComputeAt(block, outer_.back()));
  return Done();
}

std::vector<BlockRv> ChainedSteps::ReplaceByParts(const std::vector<BlockRv>& parts) {
  std::vector<ChainedBlock> inside;
  std::vector<BlockRv> combining, late;
  std::optional<size_t> second;
  for (size_t i = 0; i < chain_.size(); ++i) {
    ChainedBlock block = chain_[i];
    if (block.IteratorAlong(plan_.key) < 0) {
      late.push_back(block.block);
      continue;
    }
    if (second_ == i) second = inside.size();
    if (block.reduces) {
      const BlockRv part = parts[combining.size()];
      combining.push_back(std::exchange(block.block, part));
      block.along.insert(block.along.begin(), kAlongOther);
    }
    inside.push_back(std::move(block));
  }
  if (scaled_) late.insert(late.begin(), *scaled_);
  combining.insert(combining.begin() + 1, parts.begin() + static_cast<std::ptrdiff_t>(combining.size()), parts.end());
  combining.insert(combining.end(), late.begin(), late.end());
  chain_ = std::move(inside);
  second_ = second;
  return combining;
}

Outcome<ChainedSteps::Combination> ChainedSteps::ReduceParts() {
  std::vector<LoopRv> loops;
  size_t outer = 0;
  for (const ChainedBlock& block : chain_) {
    if (block.IteratorAlong(plan_.key) < 0) continue;
    TW_ASSIGN_OR_RETURN(const SplitLoops split, Divide(block.block, block.along, true));
    outer = split.outer.size();
    loops.push_back(split.outer.back());
  }
  if (loops.size() < 2) return Refusal{kName, "one reduction of {block0} alone", {Node(plan_.product).id}};
  TW_ASSIGN_OR_RETURN(const std::vector<BlockRv> parts, sch_.RescaleParts(loops));
  TW_ASSIGN_OR_RETURN(outer_, sch_.GetLoops(parts[0]));
  outer_.resize(outer);
  shared_ = outer_.back();
  has_parts_ = true;
  Combination combination{ReplaceByParts(parts), outer};
  TW_RETURN_IF_ERROR(sch_.ComputeAt(*scores_, shared_));
  if (second_) {
    // Parts are the first dimension of what they write: what cores write at once lies apart.
    const BlockRv sum = SecondSum();
    std::vector<Var> inputs;
    for (size_t d = 0; d < Node(sum).writes[0].region.size(); ++d) inputs.emplace_back("i" + std::to_string(d));
    std::vector<Expr> outputs(inputs.begin(), inputs.end());
    std::rotate(outputs.begin(), outputs.end() - 1, outputs.end());
    const Value::List written = {Value("write"), Value(0)};
    TW_RETURN_IF_ERROR(
        sch_.Apply("transform_layout", {sum, Value(written), Value(IndexMap(std::move(inputs), std::move(outputs)))}));
    TW_ASSIGN_OR_RETURN(result_, KeepSums(sum));
    TW_RETURN_IF_ERROR(sch_.ReverseComputeAt(*result_, shared_));
  }
  return combination;
}

Outcome<std::vector<LoopRv>> ChainedSteps::OwnLoops(BlockRv block) {
  TW_ASSIGN_OR_RETURN(const std::vector<LoopRv> loops, sch_.GetLoops(block));
  const auto outside = [&](const LoopRv& loop) {
    const uint32_t id = LoopOf(sch_, loop).id;
    return LoopOf(sch_, shared_).id == id ||
           std::ranges::any_of(outer_, [&](const LoopRv& outer) { return LoopOf(sch_, outer).id == id; });
  };
  std::vector<LoopRv> own;
  for (const LoopRv& loop : loops) {
    if (!outside(loop)) own.push_back(loop);
  }
  return own;
}

bool ChainedSteps::IsCombining(BlockRv block) const {
  const BlockRealizeNode& realize = RealizeOf(sch_, block);
  for (size_t i = 0; i < realize.bindings.size(); ++i) {
    const bool reduces = realize.block->iter_vars[i].kind == IterKind::kReduce;
    if (reduces && UsesVar(realize.bindings[i], LoopOf(sch_, shared_).var)) return true;
  }
  return false;
}

bool ChainedSteps::IsTile(BlockRv block) const {
  const uint32_t id = Node(block).id;
  const auto is = [&](const std::optional<BlockRv>& b) { return b && Exists(sch_, *b) && Node(*b).id == id; };
  return is(result_) || is(product_part_) || is(Second());
}

BlockRv ChainedSteps::SecondSum() const { return product_part_ ? *product_part_ : chain_[*second_].block; }

Var ChainedSteps::SecondVar(int along) const {
  return Node(SecondSum())
      .iter_vars[static_cast<size_t>(SecondIterator(along)) + (product_part_ || has_parts_ ? 1 : 0)]
      .var;
}

int ChainedSteps::SecondIterator(int along) const {
  const std::vector<int>& all = plan_.blocks[*plan_.second].along;
  int found = -1;
  for (size_t i = 0; i < all.size(); ++i) {
    if (all[i] == along) found = static_cast<int>(i);
  }
  return found;
}

size_t ChainedSteps::ResultIterator(int along) const {
  const std::vector<int>& all = plan_.blocks[*plan_.second].along;
  size_t place = Node(*result_).iter_vars.size() - (all.size() - 1);
  for (int i = 0; i < SecondIterator(along); ++i) place += all[static_cast<size_t>(i)] == plan_.key ? 0 : 1;
  return place;
}

}  // namespace tilewright
