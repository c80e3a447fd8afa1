#include "autoschedule/sketch/gpu/chained/gpu_chained_steps.h"

#include <algorithm>
#include <bit>
#include <string>
#include <utility>

#include "autoschedule/program/block_loops.h"
#include "autoschedule/sketch/gpu/plain_gpu_rule.h"
#include "base/status_macros.h"
#include "ir/analysis.h"
#include "target/costs.h"

namespace tilewright {

Outcome<GpuChainedSteps::Done> GpuChainedSteps::ScheduleChain() {
  TW_RETURN_IF_ERROR(FindOperands());
  TW_RETURN_IF_ERROR(ChooseTiles());
  DivideLate();
  TW_RETURN_IF_ERROR(StageWeights());
  TW_RETURN_IF_ERROR(StageProduct());
  if (!all_keys_) TW_RETURN_IF_ERROR(KeepResults());
  TW_RETURN_IF_ERROR(KeepRead());
  // Fragments are copied by loops that begin at 0.
  TW_RETURN_IF_ERROR(all_keys_ ? KeepAllKeys() : FollowRunningValues(false));
  TW_RETURN_IF_ERROR(BindGrid());
  TW_RETURN_IF_ERROR(PlaceBuffers());
  TW_RETURN_IF_ERROR(BindBlocks());
  return StageOperands();
}

Outcome<GpuChainedSteps::Done> GpuChainedSteps::FindOperands() {
  const BlockNode& product = Node(plan_.product);
  for (const IterVar& iter : product.iter_vars) {
    if (iter.kind == IterKind::kReduce) depth_ *= ExtentOf(iter).value_or(1);
  }
  for (const SecondProduct& second : seconds_) {
    int64_t columns = 1;
    for (size_t i = 0; i < second.along.size(); ++i) {
      if (second.along[i] == kAlongOther) columns *= ExtentOf(Node(second.block).iter_vars[i]).value_or(1);
    }
    columns_ += columns;
  }
  for (const BufferRegion& read : product.reads) {
    if (read.buffer.same_as(product.writes[0].buffer) || read.buffer.same_as(plan_.row_operand)) continue;
    keys_ = read.buffer;
  }
  if (!keys_) return Refusal{kName, "both factors of {block0} are one array", {product.id}};
  return Done();
}

bool GpuChainedSteps::FitsShared(int64_t rows, int64_t keys, int64_t weights) const {
  const int64_t bytes = keys_->dtype.bytes(), pad = gpu_.max_access_bytes;
  int64_t all = rows * (depth_ * bytes + pad) + std::max(keys, depth_) * (std::min(keys, depth_) * bytes + pad);
  const auto products = static_cast<int64_t>(seconds_.size());
  all += keys * (columns_ * bytes + products * pad);
  if (all_keys_) {
    all += plan_.score_buffers * rows * (plan_.key_extent * plan_.type.bytes() + pad);
  } else if (weights > 0) {
    all += products * rows * (keys * weights + pad);
  }
  return all <= gpu_.max_shared_bytes_per_block - GpuCostsOf(target_).tile_bytes;
}

bool GpuChainedSteps::IsAllocated(const Buffer& buffer) const {
  const Function function = FunctionOf(sch_, plan_.product);
  return std::ranges::none_of(function->params, [&](const Param& p) { return p.buffer && p.buffer.same_as(buffer); });
}

Outcome<GpuChainedSteps::Done> GpuChainedSteps::KeepResults() {
  for (const SecondProduct& second : seconds_) {
    if (!second.scaled.empty() || IsAllocated(Node(second.block).writes[0].buffer)) continue;
    TW_ASSIGN_OR_RETURN(const BlockRv copy, KeepSums(second.block));
    std::vector<int> along = second.along;
    std::erase(along, plan_.key);
    const auto place = std::ranges::find(chain_, second.block.index, [](const auto& b) { return b.block.index; });
    chain_.insert(place + 1, {copy, std::move(along), false});
  }
  return Done();
}

Outcome<GpuChainedSteps::Done> GpuChainedSteps::KeepRead() {
  TW_RETURN_IF_ERROR(KeepRead(*scores_, AlongScores(), 0));
  for (size_t i = 0; i < chain_.size(); ++i) {
    const ChainedBlock block = chain_[i];
    if (SecondOf(block.block) != nullptr) continue;
    std::vector<int> along = block.along;
    if (block.reduces) std::erase(along, plan_.key);
    TW_RETURN_IF_ERROR(KeepRead(block.block, along, i + 1));
  }
  return Done();
}

Outcome<GpuChainedSteps::Done> GpuChainedSteps::KeepRead(BlockRv block, const std::vector<int>& along, size_t next) {
  for (size_t w = 0; w < Node(block).writes.size(); ++w) {
    const Buffer written = Node(block).writes[w].buffer;
    if (IsAllocated(written)) continue;
    std::vector<Value> readers;
    for (size_t later = next; later < chain_.size(); ++later) {
      const auto reads = [&](const BufferRegion& read) { return read.buffer.same_as(written); };
      if (std::ranges::any_of(Node(chain_[later].block).reads, reads)) readers.emplace_back(chain_[later].block);
    }
    if (readers.empty()) continue;
    TW_ASSIGN_OR_RETURN(const BlockRv copy, sch_.CacheWrite(block, static_cast<int>(w), "local", readers));
    chain_.insert(chain_.begin() + static_cast<std::ptrdiff_t>(next), {copy, along, false});
  }
  return Done();
}

bool GpuChainedSteps::IsProduct(BlockRv block) const {
  const uint32_t id = Node(block).id;
  const auto is_sum = [&](const SecondProduct& second) {
    return id == Node(second.sum()).id && (!second.result || id != Node(*second.result).id);
  };
  return id == Node(plan_.product).id || std::ranges::any_of(seconds_, is_sum);
}

bool GpuChainedSteps::HasKeys(BlockRv block) const {
  const uint32_t id = Node(block).id;
  if (id == Node(*scores_).id) return true;
  return std::ranges::any_of(chain_, [&](const ChainedBlock& member) {
    return Exists(sch_, member.block) && id == Node(member.block).id && member.IteratorAlong(plan_.key) >= 0 &&
           !IsTile(block);
  });
}

Outcome<std::vector<BlockRv>> GpuChainedSteps::Blocks() {
  TW_ASSIGN_OR_RETURN(std::vector<BlockRv> blocks, sch_.GetChildBlocks(outer_.back()));
  std::erase_if(blocks, [&](const BlockRv& block) { return IsProduct(block); });
  return blocks;
}

// The place of the loop over a tile's rows among the block's own loops: what it is added to is a block of rows.
std::optional<size_t> GpuChainedSteps::RowLoop(BlockRv block, const std::vector<LoopRv>& own) const {
  const Var tile = LoopOf(sch_, outer_.back()).var;
  for (const Expr& binding : RealizeOf(sch_, block).bindings) {
    if (!UsesVar(binding, tile)) continue;
    for (size_t l = 0; l < own.size(); ++l) {
      if (UsesVar(binding, LoopOf(sch_, own[l]).var)) return l;
    }
  }
  // There is one block of rows, or one row, which has no loop.
  if (ExtentOf(sch_, outer_.back()) == 1 && plan_.row_extent > 1 && !own.empty()) return 0;
  return std::nullopt;
}

Outcome<GpuChainedSteps::TileLoops> GpuChainedSteps::LoopsOfTile(BlockRv block) {
  TW_ASSIGN_OR_RETURN(const std::vector<LoopRv> own, OwnLoops(block));
  const std::optional<size_t> row = RowLoop(block, own);
  if (!row && plan_.row_extent == 1) {
    TW_ASSIGN_OR_RETURN(const LoopRv unit, own.empty() ? sch_.AddUnitLoop(block) : sch_.AddUnitLoop(own.front()));
    return TileLoops{unit, own};
  }
  if (!row) return Refusal{kName, "{block0} does not have rows", {Node(block).id}};
  TileLoops loops{own[*row], own};
  loops.others.erase(loops.others.begin() + static_cast<std::ptrdiff_t>(*row));
  return loops;
}

Outcome<bool> GpuChainedSteps::GivesMatrix(BlockRv block) {
  TW_ASSIGN_OR_RETURN(const TileLoops loops, LoopsOfTile(block));
  const BlockRealizeNode& realize = RealizeOf(sch_, block);
  const auto is_other = [&](const Expr& binding) {
    return std::ranges::any_of(loops.others,
                               [&](const LoopRv& loop) { return UsesVar(binding, LoopOf(sch_, loop).var); });
  };
  for (const BufferRegion& write : realize.block->writes) {
    for (const Range& range : write.region) {
      for (size_t i = 0; i < realize.bindings.size(); ++i) {
        if (UsesVar(range.min, realize.block->iter_vars[i].var) && is_other(realize.bindings[i])) return true;
      }
    }
  }
  return false;
}

Outcome<GpuChainedSteps::SumLoops> GpuChainedSteps::ComputeSumAt(BlockRv sum, LoopRv place) {
  TW_RETURN_IF_ERROR(sch_.ComputeAt(sum, place));
  TW_ASSIGN_OR_RETURN(const std::vector<LoopRv> inside, LoopsInside(sch_, sum, place));
  return LoopsOfSum(sum, inside);
}

Outcome<GpuChainedSteps::SumLoops> GpuChainedSteps::LoopsOfSum(BlockRv sum, const std::vector<LoopRv>& inside) const {
  SumLoops loops;
  const BlockRealizeNode& realize = RealizeOf(sch_, sum);
  for (const LoopRv& loop : inside) {
    bool reduces = false;
    for (size_t i = 0; i < realize.bindings.size(); ++i) {
      reduces |=
          realize.block->iter_vars[i].kind == IterKind::kReduce && UsesVar(realize.bindings[i], LoopOf(sch_, loop).var);
    }
    (reduces ? loops.reduced : loops.spatial).push_back(loop);
  }
  if (loops.reduced.size() != 1) return Refusal{kName, "{block0} does not add up along one loop", {realize.block->id}};
  return loops;
}

Outcome<GpuChainedSteps::Done> GpuChainedSteps::Pad(BlockRv writer, DataType type) {
  const auto elements = [&](int64_t bytes) { return static_cast<int>(bytes / type.bytes()); };
  return sch_.StorageAlign(writer, 0, -2, elements(gpu_.max_swizzle_bytes), elements(gpu_.max_access_bytes));
}

Outcome<std::optional<BlockRv>> GpuChainedSteps::Stage(BlockRv reader, const Buffer& operand, LoopRv loop,
                                                       const ThreadAxes& threads,
                                                       std::optional<std::pair<int, int>> last) {
  const BlockNode& node = Node(reader);
  const auto read = std::ranges::find_if(node.reads, [&](const BufferRegion& r) { return r.buffer.same_as(operand); });
  if (read == node.reads.end()) return std::optional<BlockRv>();
  const size_t rank = operand->shape.size();
  std::vector<size_t> order(rank);
  for (size_t d = 0; d < rank; ++d) order[d] = d;
  if (last) {
    for (const int iterator : {last->first, last->second}) {
      const Var& var = node.iter_vars[static_cast<size_t>(iterator)].var;
      const auto uses = [&](size_t d) { return UsesVar(read->region[d].min, var); };
      const auto at = std::ranges::find_if(order, uses);
      if (at == order.end())
        return Refusal{kName, "{text0} is not a matrix of {block0}", {node.id}, {}, {operand->name}};
      std::rotate(at, at + 1, order.end());
    }
  }
  const bool moves = !std::ranges::is_sorted(order);
  const int64_t most = gpu_.max_access_bytes / operand->dtype.bytes();
  const bool in_rows = order.back() + 1 == rank && AsInt(operand->shape.back()).value_or(1) % most == 0;
  TW_ASSIGN_OR_RETURN(const AutoCopy copy, ReadOperandAt(sch_, reader, operand, loop, kChainedShared));
  TW_RETURN_IF_ERROR(CopyByThreads(copy, threads, in_rows ? most : 1));
  if (moves) TW_RETURN_IF_ERROR(Permute(copy.block, order));
  return std::optional<BlockRv>(copy.block);
}

Outcome<GpuChainedSteps::Done> GpuChainedSteps::CopyByThreads(const AutoCopy& copy, const ThreadAxes& threads,
                                                              int64_t vector) {
  int64_t at_once = vector, elements = 1;
  for (const auto& [axis, extent] : threads) at_once *= extent;
  for (const Range& range : Node(copy.block).writes[0].region) elements *= AsInt(range.extent).value_or(0);
  const int64_t columns = AsInt(Node(copy.block).writes[0].region.back().extent).value_or(0);
  const bool even = elements > 0 && elements % at_once == 0 && std::has_single_bit(static_cast<uint64_t>(columns));
  if (even) return CopyTogether(sch_, copy, threads, vector);
  // Rows by threads along y, their elements by those along x.
  TW_RETURN_IF_ERROR(Expand(sch_, copy));
  TW_ASSIGN_OR_RETURN(std::vector<LoopRv> loops, LoopsInside(sch_, copy.block, copy.loop));
  while (loops.size() < 2) {
    TW_ASSIGN_OR_RETURN(const LoopRv unit,
                        loops.empty() ? sch_.AddUnitLoop(copy.block) : sch_.AddUnitLoop(loops.front()));
    loops.insert(loops.begin(), unit);
  }
  const Value count(ExtentOf(sch_, loops.back()).value_or(1) % vector == 0 ? vector : int64_t{1});
  const LoopRv row = loops[loops.size() - 2];
  TW_ASSIGN_OR_RETURN(const std::vector<LoopRv> r, sch_.Split(row, {Value(), Value(threads[0].second)}));
  TW_ASSIGN_OR_RETURN(const std::vector<LoopRv> c,
                      sch_.Split(loops.back(), {Value(), Value(threads[1].second), count}));
  TW_RETURN_IF_ERROR(sch_.Bind(r[1], threads[0].first));
  TW_RETURN_IF_ERROR(sch_.Bind(c[1], threads[1].first));
  return ExtentOf(sch_, c[2]) == 1 ? Outcome<Done>(Done()) : sch_.Vectorize(c[2]);
}

Outcome<GpuChainedSteps::Done> GpuChainedSteps::Permute(BlockRv writer, const std::vector<size_t>& order) {
  std::vector<Var> inputs;
  std::vector<Expr> outputs;
  for (size_t d = 0; d < order.size(); ++d) inputs.emplace_back("i" + std::to_string(d));
  for (const size_t d : order) outputs.push_back(inputs[d]);
  const Value::List selected = {Value("write"), Value(0)};
  TW_RETURN_IF_ERROR(sch_.Apply("transform_layout",
                                {writer, Value(selected), Value(IndexMap(std::move(inputs), std::move(outputs)))}));
  return Done();
}

std::vector<Buffer> GpuChainedSteps::GlobalReads(BlockRv sum) const {
  std::vector<Buffer> buffers;
  for (const BufferRegion& read : Node(sum).reads) {
    if (read.buffer->scope.kind() == MemoryKind::kGlobal) buffers.push_back(read.buffer);
  }
  return buffers;
}

int GpuChainedSteps::Reduced(const BlockNode& sum) {
  int reduced = -1;
  for (size_t i = 0; i < sum.iter_vars.size(); ++i) {
    if (sum.iter_vars[i].kind == IterKind::kReduce) reduced = static_cast<int>(i);
  }
  return reduced;
}

std::pair<int, int> GpuChainedSteps::FirstIterators() const { return {plan_.key, Reduced(Node(plan_.product))}; }

std::pair<int, int> GpuChainedSteps::SecondIterators(const SecondProduct& second) const {
  const BlockNode& node = Node(second.sum());
  const Var column = SecondColumn(second);
  for (size_t i = 0; i < node.iter_vars.size(); ++i) {
    if (node.iter_vars[i].var.same_as(column)) return {Reduced(node), static_cast<int>(i)};
  }
  return {Reduced(node), -1};
}

Outcome<GpuChainedSteps::Done> GpuChainedSteps::BindGrid() {
  TW_RETURN_IF_ERROR(sch_.Bind(outer_.back(), "blockIdx.x"));
  if (outer_.size() == 1) return Done();
  TW_ASSIGN_OR_RETURN(const LoopRv others, FuseFirst(sch_, outer_, outer_.size() - 1));
  outer_ = {others, outer_.back()};
  return sch_.Bind(others, "blockIdx.y");
}

}  // namespace tilewright
