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
      chain_(plan.blocks) {
  for (const size_t second : plan.seconds) {
    seconds_.push_back({.block = chain_[second].block, .along = chain_[second].along});
  }
}

const BlockNode& ChainedSteps::Node(BlockRv block) const { return *RealizeOf(sch_, block).block; }

std::vector<int64_t> ChainedSteps::Dividing(int64_t extent, std::vector<int64_t> sizes) {
  std::erase_if(sizes, [&](int64_t size) { return size > extent || extent % size != 0; });
  return sizes;
}

ChainedSteps::SecondProduct* ChainedSteps::SecondOf(BlockRv block) {
  const auto second = std::ranges::find(seconds_, block.index, [](const SecondProduct& s) { return s.block.index; });
  return second == seconds_.end() ? nullptr : &*second;
}

void ChainedSteps::ForgetInlined() {
  std::erase_if(chain_, [&](const ChainedBlock& block) { return !Exists(sch_, block.block); });
}

void ChainedSteps::DivideLate() {
  if (seconds_.empty()) return;
  for (size_t i = 0; i < plan_.seconds.back(); ++i) {
    if (!chain_[i].reduces) HoistIfAll(chain_[i].block);
  }
  HoistIfAll(std::nullopt);
  ForgetInlined();
}

// Takes a factor out of each second product, where all have one; what is inlined before may give it to them.
void ChainedSteps::HoistIfAll(const std::optional<BlockRv>& inlined) {
  Hoisted hoisted;
  const bool done =
      Attempt(sch_, [&](Schedule& s) { return (!inlined || s.ComputeInline(*inlined).ok()) && HoistAll(s, &hoisted); });
  for (size_t i = 0; done && i < seconds_.size(); ++i) {
    seconds_[i].scaled.insert(seconds_[i].scaled.begin(), hoisted[i]);
  }
}

Outcome<std::vector<BlockRv>> ChainedSteps::StageWeights() {
  std::vector<BlockRv> staged;
  for (const SecondProduct& second : seconds_) {
    const Block node = RealizeOf(sch_, second.block).block;
    const std::optional<SumForm> sum = AsSum(*node);
    const std::vector<Expr> factors = sum ? FactorsOf(sum->term) : std::vector<Expr>();
    const auto is_loaded = [](const Expr& factor) {
      const auto* converted = dyn_cast<CastNode>(factor);
      return isa<LoadNode>(converted != nullptr ? converted->value : factor);
    };
    const auto computed = std::ranges::find_if_not(factors, is_loaded);
    if (computed == factors.end()) continue;
    TW_ASSIGN_OR_RETURN(const BlockRv block,
                        sch_.CacheFactors(second.block, {Value(static_cast<int64_t>(computed - factors.begin()))}));
    ChainedBlock weights{block, {}, false};
    for (size_t i = 0; i < node->iter_vars.size(); ++i) {
      if (UsesVar(*computed, node->iter_vars[i].var)) weights.along.push_back(second.along[i]);
    }
    const auto before = std::ranges::find(chain_, second.block.index, [](const auto& b) { return b.block.index; });
    chain_.insert(before, std::move(weights));
    staged.push_back(block);
  }
  return staged;
}

// Whether something was taken out of each second product.
bool ChainedSteps::HoistAll(Schedule& sch, Hoisted* hoisted) const {
  hoisted->clear();
  for (const SecondProduct& second : seconds_) {
    const size_t reads = RealizeOf(sch, second.block).block->reads.size();
    for (size_t read = 0; read < reads; ++read) {
      const Outcome<BlockRv> scaled = sch.HoistFactor(second.block, static_cast<int>(read));
      if (!scaled.ok()) continue;
      hoisted->push_back(*scaled);
      break;
    }
  }
  return hoisted->size() == seconds_.size();
}

Outcome<ChainedSteps::Done> ChainedSteps::StageProduct() {
  TW_ASSIGN_OR_RETURN(scores_, KeepSums(plan_.product));
  FuseConsumers(sch_, *scores_);
  ForgetInlined();
  if (std::ranges::all_of(seconds_, [&](const SecondProduct& second) { return Exists(sch_, second.block); })) {
    return Done();
  }
  return Refusal{kName, "a second product was inlined"};
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
  for (SecondProduct& second : seconds_) {
    TW_ASSIGN_OR_RETURN(second.result, KeepSums(second.block));
    FuseConsumers(sch_, *second.result);
  }
  for (const ChainedBlock& block : chain_) {
    if (!Exists(sch_, block.block)) continue;
    TW_RETURN_IF_ERROR(sch_.ReverseComputeAt(block.block, shared_));
    const SecondProduct* second = SecondOf(block.block);
    if (second == nullptr) continue;
    TW_RETURN_IF_ERROR(sch_.ReverseComputeAt(*second->result, shared_));
    for (const BlockRv& scaled : second->scaled) {
      if (Exists(sch_, scaled)) TW_RETURN_IF_ERROR(sch_.ReverseComputeAt(scaled, shared_));
    }
  }
  return Done();
}

Outcome<ChainedSteps::Done> ChainedSteps::FollowRunningValues(bool skip_leading) {
  std::vector<LoopRv> loops;
  std::vector<BlockRv> late, parts, reducing;
  for (const SecondProduct& second : seconds_) late.insert(late.end(), second.scaled.begin(), second.scaled.end());
  for (const ChainedBlock& block : chain_) {
    if (block.IteratorAlong(plan_.key) < 0) {
      late.push_back(block.block);
      continue;
    }
    if (block.reduces) reducing.push_back(block.block);
    TW_ASSIGN_OR_RETURN(const SplitLoops split, Divide(block.block, block.along, true));
    loops.push_back(split.outer.back());
    if (loops.size() == 1) outer_.assign(split.outer.begin(), split.outer.end() - 1);
  }
  if (loops.size() > 1) {
    TW_ASSIGN_OR_RETURN(parts, sch_.RescaleReduction(loops, skip_leading));
  }
  shared_ = loops[0];
  for (size_t i = 0; i < reducing.size(); ++i) {
    SecondProduct* second = SecondOf(reducing[i]);
    if (second == nullptr) continue;
    second->result = second->block;
    if (!parts.empty()) second->part = parts[i];
  }
  TW_RETURN_IF_ERROR(sch_.ComputeAt(*scores_, shared_));
  for (const BlockRv& block : late) TW_RETURN_IF_ERROR(sch_.ReverseComputeAt(block, outer_.back()));
  return Done();
}

std::vector<BlockRv> ChainedSteps::ReplaceByParts(const std::vector<BlockRv>& parts) {
  std::vector<ChainedBlock> inside;
  std::vector<BlockRv> combining, late;
  for (const SecondProduct& second : seconds_) late.insert(late.end(), second.scaled.begin(), second.scaled.end());
  for (ChainedBlock block : chain_) {
    if (block.IteratorAlong(plan_.key) < 0) {
      late.push_back(block.block);
      continue;
    }
    if (block.reduces) {
      const BlockRv part = parts[combining.size()];
      if (SecondProduct* second = SecondOf(block.block)) second->block = part;
      combining.push_back(std::exchange(block.block, part));
      block.along.insert(block.along.begin(), kAlongOther);
    }
    inside.push_back(std::move(block));
  }
  combining.insert(combining.begin() + 1, parts.begin() + static_cast<std::ptrdiff_t>(combining.size()), parts.end());
  combining.insert(combining.end(), late.begin(), late.end());
  chain_ = std::move(inside);
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
  for (SecondProduct& second : seconds_) {
    // Parts are the first dimension of what they write: what cores write at once lies apart.
    const BlockRv sum = second.block;
    std::vector<Var> inputs;
    for (size_t d = 0; d < Node(sum).writes[0].region.size(); ++d) inputs.emplace_back("i" + std::to_string(d));
    std::vector<Expr> outputs(inputs.begin(), inputs.end());
    std::rotate(outputs.begin(), outputs.end() - 1, outputs.end());
    const Value::List written = {Value("write"), Value(0)};
    TW_RETURN_IF_ERROR(
        sch_.Apply("transform_layout", {sum, Value(written), Value(IndexMap(std::move(inputs), std::move(outputs)))}));
    TW_ASSIGN_OR_RETURN(second.result, KeepSums(sum));
    TW_RETURN_IF_ERROR(sch_.ReverseComputeAt(*second.result, shared_));
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
  return std::ranges::any_of(
      seconds_, [&](const SecondProduct& second) { return is(second.result) || is(second.part) || is(second.block); });
}

Var ChainedSteps::SecondVar(const SecondProduct& second, int along) const {
  const size_t before = second.part || has_parts_ ? 1 : 0;
  return Node(second.sum()).iter_vars[static_cast<size_t>(SecondIterator(second, along)) + before].var;
}

int ChainedSteps::SecondIterator(const SecondProduct& second, int along) {
  int found = -1;
  for (size_t i = 0; i < second.along.size(); ++i) {
    if (second.along[i] == along) found = static_cast<int>(i);
  }
  return found;
}

size_t ChainedSteps::ResultIterator(const SecondProduct& second, int along) const {
  const std::vector<int>& all = second.along;
  size_t place = Node(*second.result).iter_vars.size() - (all.size() - 1);
  for (int i = 0; i < SecondIterator(second, along); ++i) place += all[static_cast<size_t>(i)] == plan_.key ? 0 : 1;
  return place;
}

}  // namespace tilewright
