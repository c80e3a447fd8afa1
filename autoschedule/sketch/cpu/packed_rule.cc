#include "autoschedule/sketch/cpu/packed_rule.h"

#include <algorithm>
#include <optional>
#include <string>
#include <vector>

#include "absl/status/statusor.h"
#include "autoschedule/movement/cpu/operand_stages.h"
#include "autoschedule/movement/cpu/packed_constants.h"
#include "autoschedule/program/block_loops.h"
#include "autoschedule/program/contraction.h"
#include "autoschedule/program/fuse_consumers.h"
#include "autoschedule/program/unpacked_constants.h"
#include "base/status_macros.h"
#include "ir/analysis.h"
#include "target/costs.h"

namespace tilewright {
namespace {

using Done = std::monostate;

// The number of rows; nothing if it is symbolic.
std::optional<int64_t> RowsOf(const BlockNode& block, const Contraction& contraction) {
  int64_t rows = 1;
  for (int iterator : contraction.rows) {
    const std::optional<int64_t> extent = ExtentOf(block.iter_vars[static_cast<size_t>(iterator)]);
    if (!extent) return std::nullopt;
    rows *= *extent;
  }
  return rows;
}

// The most vectors whose sums, weights, bytes and scales fit in registers.
int64_t MostVectors(int64_t rows, const Target& target) { return target.cpu_part().vector_registers / (rows + 3); }

// The outer iterators of the depth along which a scale changes, and what is read of it.
struct BlockScale {
  Buffer scale;
  size_t outer = 0;
};

// The operands that the unpacker reads only at columns and at some of its outer iterators, any of which may be a factor
// of a block's whole sum: scales of the smallest blocks first.
std::vector<BlockScale> BlockScales(const BlockNode& unpacker) {
  const size_t depths = unpacker.iter_vars.size() - 1;
  const auto outer_of = [&](const BufferRegion& read) {
    size_t outer = 0;
    for (size_t i = 0; i < depths; ++i) {
      const auto uses = [&](const Range& range) { return UsesVar(range.min, unpacker.iter_vars[i].var); };
      if (std::ranges::any_of(read.region, uses)) outer = i + 1;
    }
    return outer;
  };
  std::vector<BlockScale> found;
  for (size_t outer = depths; outer-- > 1;) {
    for (const BufferRegion& read : unpacker.reads) {
      if (outer_of(read) == outer) found.push_back({read.buffer, outer});
    }
  }
  return found;
}

// The blocks of a row whose sums of blocks are scaled: `block` adds them up.
struct ScaledSums {
  BlockRv write_back, sums;
};

// Multiplies the sum of each block of the depth by its scale, not each weight:
//
//   C[j] += A[k] * ((q - 8) * s[k // 32, j])      ->      S[b, j] += A[k] * (q - 8);  C[j] += S[b, j] * s[b, j]
Outcome<ScaledSums> ScaleSums(Schedule& sch, BlockRv block, BlockRv unpacker, const BlockScale& scale,
                              const std::vector<int64_t>& factors) {
  ScaledSums result;
  TW_ASSIGN_OR_RETURN(result.write_back, StageOutput(sch, block, "register"));
  TW_RETURN_IF_ERROR(sch.ComputeInline(unpacker));
  // Blocks of K come first, the elements of a block last.
  std::vector<Var> inputs;
  for (const IterVar& iter : RealizeOf(sch, block).block->iter_vars)
    inputs.emplace_back(iter.var.name(), iter.var.dtype());
  const Var depth = inputs.back();
  std::vector<Expr> indices(inputs.begin(), inputs.end() - 1);
  int64_t within = 1;
  for (size_t i = factors.size(); i-- > scale.outer;) {
    const Expr index = FloorDiv(depth, Const(depth.dtype(), within));
    within *= factors[i];
    indices.insert(indices.begin() + std::ssize(inputs) - 1, FloorMod(index, Const(depth.dtype(), factors[i])));
  }
  indices.insert(indices.begin(), FloorDiv(depth, Const(depth.dtype(), within)));
  TW_RETURN_IF_ERROR(sch.TransformBlockLayout(block, IndexMap(std::move(inputs), std::move(indices))));
  TW_ASSIGN_OR_RETURN(const std::vector<LoopRv> loops, sch.GetLoops(block));
  TW_ASSIGN_OR_RETURN(result.sums, sch.Rfactor(loops[0], 0));
  const std::vector<BufferRegion>& reads = RealizeOf(sch, result.sums).block->reads;
  const auto read = std::ranges::find_if(reads, [&](const BufferRegion& r) { return r.buffer.same_as(scale.scale); });
  TW_ASSIGN_OR_RETURN(const BlockRv scaled, sch.HoistFactor(result.sums, static_cast<int>(read - reads.begin())));
  TW_RETURN_IF_ERROR(sch.ComputeInline(scaled));
  return result;
}

// One schedule under construction.
class PackedSchedule {
 public:
  PackedSchedule(Schedule& sch, BlockRv block, BlockRv unpacker, const Contraction& contraction, const Target& target,
                 Choices& choices)
      : sch_(sch),
        block_(block),
        unpacker_(unpacker),
        contraction_(contraction),
        target_(target),
        choices_(choices),
        name_(RealizeOf(sch, block).block->name),
        lanes_(target.lanes(contraction.column_operand->dtype.bits())) {}

  Outcome<Done> Apply();

 private:
  Outcome<Done> PickVectors();
  Outcome<Done> PickDepth();
  // The depth as the unpacker divides it into blocks and bytes.
  std::vector<int64_t> DepthOf(const Schedule& sch) const {
    return DepthFactors(sch, unpacker_, Extent(contraction_.inner[0]));
  }
  Outcome<Done> StageSums();
  Outcome<bool> ScheduleScaledSums();
  Outcome<Done> PlaceScaledSums(const ScaledSums& parts);
  Outcome<Done> ShareTiles();
  Outcome<Done> SplitLoops();
  Outcome<Done> PlaceBlocks();
  int64_t Extent(int iterator) const {
    return ExtentOf(RealizeOf(sch_, block_).block->iter_vars[static_cast<size_t>(iterator)]).value_or(1);
  }

  Schedule& sch_;
  const BlockRv block_, unpacker_;
  const Contraction contraction_;
  const Target& target_;
  Choices& choices_;
  const std::string name_;
  const int lanes_;
  // Vectors of a tile; bytes along the depth that are written out, and the elements of each.
  int64_t vectors_ = 1, tile_depth_ = 1, elements_ = 1;
  bool is_cut_ = false;
  BlockRv write_back_;
  LoopRv tiles_;
  std::vector<LoopRv> depth_;  // outermost first; bytes that are written out and their elements are the last two
};

// Half of the registers, since the next bytes are unpacked meanwhile; fewer if some core would not have a tile.
Outcome<Done> PackedSchedule::PickVectors() {
  const int64_t rows = RowsOf(*RealizeOf(sch_, block_).block, contraction_).value_or(1);
  const int64_t columns = Extent(contraction_.columns[0]), most = MostVectors(rows, target_);
  std::vector<int64_t> candidates = {1};
  while (candidates.back() < most && candidates.back() * lanes_ < columns) candidates.push_back(candidates.back() + 1);
  size_t preferred = std::min<size_t>(candidates.size(), std::max<size_t>(2, static_cast<size_t>(most / 2))) - 1;
  while (preferred > 0 && columns < candidates[preferred] * lanes_ * target_.cores) --preferred;
  TW_ASSIGN_OR_RETURN(const Choices::Pick pick, choices_.Take(sch_, name_ + ".tile_vectors", candidates, preferred));
  vectors_ = pick.value;
  return Done();
}

// The number of bytes along K that are unrolled, which hold about as many elements for any number of bits.
Outcome<Done> PackedSchedule::PickDepth() {
  std::vector<int64_t> factors = DepthOf(sch_);
  elements_ = ElementsOfByte(factors);
  if (elements_ > 1) factors.pop_back();
  std::vector<int64_t> bytes = {1, 2, 4};
  std::erase_if(bytes, [&](int64_t count) { return factors.back() % count != 0; });
  const int64_t preferred = std::max<int64_t>(std::ssize(bytes) - elements_, 0);
  TW_ASSIGN_OR_RETURN(const Choices::Pick pick,
                      choices_.Take(sch_, name_ + ".tile_depth", bytes, static_cast<size_t>(preferred)));
  tile_depth_ = pick.value;
  return Done();
}

Outcome<Done> PackedSchedule::StageSums() {
  TW_ASSIGN_OR_RETURN(write_back_, StageOutput(sch_, block_, "register"));
  const Schedule unfused = sch_;
  FuseConsumers(sch_, write_back_);
  is_cut_ = !IsTrue(RealizeOf(sch_, write_back_).predicate);
  if (is_cut_) sch_ = unfused;
  const int64_t tile = vectors_ * lanes_;
  if (Extent(contraction_.columns[0]) % tile == 0) return Done();
  Value::List padding(RealizeOf(sch_, block_).bindings.size(), Value(1));
  padding[static_cast<size_t>(contraction_.columns[0])] = Value(tile);
  return sch_.PadEinsumInPlace(block_, std::move(padding));
}

Outcome<Done> PackedSchedule::SplitLoops() {
  std::vector<int64_t> factors = DepthOf(sch_);
  if (elements_ > 1) factors.pop_back();
  factors.back() /= tile_depth_;
  factors.insert(factors.end(), {tile_depth_, elements_});
  TW_ASSIGN_OR_RETURN(const std::vector<LoopRv> loops, LoopsByIterator(sch_, block_, "packed_rule"));
  TW_ASSIGN_OR_RETURN(const std::vector<LoopRv> columns, sch_.Split(loops[static_cast<size_t>(contraction_.columns[0])],
                                                                    {Value(), Value(vectors_), Value(lanes_)}));
  std::vector<Value> parts = {Value()};
  for (size_t i = 1; i < factors.size(); ++i) parts.emplace_back(factors[i]);
  TW_ASSIGN_OR_RETURN(depth_, sch_.Split(loops[static_cast<size_t>(contraction_.inner[0])], parts));
  tiles_ = columns[0];
  std::vector<LoopRv> order = {tiles_};
  order.insert(order.end(), depth_.begin(), depth_.end());
  for (int row : contraction_.rows) order.push_back(loops[static_cast<size_t>(row)]);
  order.insert(order.end(), columns.begin() + 1, columns.end());
  return sch_.Reorder(order);
}

Outcome<Done> PackedSchedule::PlaceBlocks() {
  TW_RETURN_IF_ERROR(sch_.ReverseComputeAt(write_back_, tiles_));
  TW_RETURN_IF_ERROR(sch_.ComputeAt(unpacker_, depth_.back()));
  TW_RETURN_IF_ERROR(sch_.SetScope(unpacker_, 0, "register"));
  TW_ASSIGN_OR_RETURN(const BlockRv init, sch_.DecomposeReduction(block_, depth_[0]));
  TW_RETURN_IF_ERROR(SplitInnermost(sch_, unpacker_, lanes_));
  for (const BlockRv& block : {unpacker_, block_}) TW_RETURN_IF_ERROR(WriteOut(sch_, block, depth_.back(), true));
  for (const BlockRv& block : {init, write_back_}) TW_RETURN_IF_ERROR(WriteOut(sch_, block, tiles_, true));
  for (size_t i = depth_.size() - 2; i < depth_.size(); ++i) TW_RETURN_IF_ERROR(sch_.Unroll(depth_[i]));
  if (is_cut_) FuseConsumers(sch_, write_back_);
  return Done();
}

// Schedules one row whose tiles divide the columns, with loops over the row, columns and K. Returns whether that is
// possible and was chosen.
Outcome<bool> PackedSchedule::ScheduleScaledSums() {
  const int column = static_cast<int>(contraction_.rows.size());
  if (contraction_.columns[0] != column || contraction_.inner[0] != column + 1) return false;
  if (RowsOf(*RealizeOf(sch_, block_).block, contraction_) != 1) return false;
  if (Extent(column) % (vectors_ * lanes_) != 0) return false;
  for (const BlockScale& scale : BlockScales(*RealizeOf(sch_, unpacker_).block)) {
    Schedule attempt = sch_;
    if (!ScaleSums(attempt, block_, unpacker_, scale, DepthOf(attempt)).ok()) continue;
    TW_ASSIGN_OR_RETURN(const Choices::Pick pick,
                        choices_.Take(sch_, name_ + ".scaled", {0, 1}, 1, {{"weights"}, {"sums"}}));
    if (pick.value == 0) return false;
    TW_ASSIGN_OR_RETURN(const ScaledSums parts, ScaleSums(sch_, block_, unpacker_, scale, DepthOf(sch_)));
    TW_RETURN_IF_ERROR(PlaceScaledSums(parts));
    return true;
  }
  return false;
}

Outcome<Done> PackedSchedule::PlaceScaledSums(const ScaledSums& parts) {
  write_back_ = parts.write_back;
  FuseConsumers(sch_, write_back_);
  TW_ASSIGN_OR_RETURN(const std::vector<LoopRv> loops, sch_.GetLoops(block_));
  TW_ASSIGN_OR_RETURN(const std::vector<LoopRv> columns, sch_.Split(loops.back(), {Value(), vectors_, lanes_}));
  tiles_ = columns[0];
  std::vector<LoopRv> tile = {tiles_};
  tile.insert(tile.end(), loops.begin(), loops.end() - 1);
  tile.insert(tile.end(), columns.begin() + 1, columns.end());
  TW_RETURN_IF_ERROR(sch_.Reorder(tile));
  TW_RETURN_IF_ERROR(sch_.ReverseComputeAt(write_back_, tiles_));
  TW_RETURN_IF_ERROR(sch_.SetScope(block_, 0, "register"));
  TW_RETURN_IF_ERROR(sch_.ComputeAt(parts.sums, loops[0]));
  TW_RETURN_IF_ERROR(sch_.SetScope(parts.sums, 0, "register"));
  TW_ASSIGN_OR_RETURN(const BlockRv init, sch_.DecomposeReduction(block_, loops[0]));
  // Columns, then what a block of the depth is divided into.
  TW_ASSIGN_OR_RETURN(std::vector<LoopRv> inside, LoopsInside(sch_, parts.sums, loops[0]));
  const bool bytes = elements_ > 1;
  TW_ASSIGN_OR_RETURN(const std::vector<LoopRv> vector, sch_.Split(inside[0], {Value(), lanes_}));
  TW_ASSIGN_OR_RETURN(const std::vector<LoopRv> depth,
                      sch_.Split(bytes ? inside[inside.size() - 2] : inside.back(), {Value(), tile_depth_}));
  std::vector<LoopRv> order(inside.begin() + 1, inside.end() - (bytes ? 2 : 1));
  order.insert(order.end(), depth.begin(), depth.end());
  if (bytes) order.push_back(inside.back());
  const LoopRv outermost = order[0];
  order.insert(order.end(), vector.begin(), vector.end());
  TW_RETURN_IF_ERROR(sch_.Reorder(order));
  TW_ASSIGN_OR_RETURN(const BlockRv zero, sch_.DecomposeReduction(parts.sums, outermost));
  TW_RETURN_IF_ERROR(WriteOut(sch_, parts.sums, depth[0], true));
  for (const BlockRv& block : {zero, block_}) TW_RETURN_IF_ERROR(WriteOut(sch_, block, loops[0], true));
  for (const BlockRv& block : {init, write_back_}) TW_RETURN_IF_ERROR(WriteOut(sch_, block, tiles_, true));
  return Done();
}

Outcome<Done> PackedSchedule::ShareTiles() {
  const size_t preferred = ParallelLoops(sch_, {tiles_}, target_.cores);
  TW_ASSIGN_OR_RETURN(const Choices::Pick parallel, choices_.Take(sch_, name_ + ".parallel_loops", {0, 1}, preferred));
  return parallel.value == 0 ? Outcome<Done>(Done()) : sch_.Parallel(tiles_);
}

Outcome<Done> PackedSchedule::Apply() {
  TW_RETURN_IF_ERROR(PackInPanels(sch_, unpacker_, target_));
  TW_RETURN_IF_ERROR(PickVectors());
  TW_RETURN_IF_ERROR(PickDepth());
  TW_ASSIGN_OR_RETURN(const bool done, ScheduleScaledSums());
  if (done) return ShareTiles();
  TW_RETURN_IF_ERROR(StageSums());
  TW_RETURN_IF_ERROR(SplitLoops());
  TW_RETURN_IF_ERROR(PlaceBlocks());
  return ShareTiles();
}

}  // namespace

bool IsPackedProduct(Schedule& sch, BlockRv block, const Target& target) {
  const BlockRealizeNode& realize = RealizeOf(sch, block);
  const absl::StatusOr<Contraction> contraction = MatchContraction(realize);
  if (!contraction.ok()) return false;
  const std::optional<int64_t> rows = RowsOf(*realize.block, *contraction);
  if (!rows || *rows > TileCostsOf(target).most_rows || MostVectors(*rows, target) < 1) return false;
  return UnpackerOf(sch, block, *contraction).has_value();
}

Outcome<std::monostate> SchedulePackedProduct(Schedule& sch, BlockRv block, const Target& target, Choices& choices) {
  const absl::StatusOr<Contraction> contraction = MatchContraction(RealizeOf(sch, block));
  const Refusal refusal{
      "packed_rule", "{block0} does not multiply by packed constants", {RealizeOf(sch, block).block->id}};
  if (!contraction.ok()) return refusal;
  const std::optional<BlockRv> unpacker = UnpackerOf(sch, block, *contraction);
  if (!unpacker) return refusal;
  return PackedSchedule(sch, block, *unpacker, *contraction, target, choices).Apply();
}

}  // namespace tilewright
