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

namespace tilewright {
namespace {

using Done = std::monostate;

// Rows, or nothing where their number is symbolic.
std::optional<int64_t> RowsOf(const BlockNode& block, const Contraction& contraction) {
  int64_t rows = 1;
  for (int iterator : contraction.rows) {
    const std::optional<int64_t> extent = ExtentOf(block.iter_vars[static_cast<size_t>(iterator)]);
    if (!extent) return std::nullopt;
    rows *= *extent;
  }
  return rows;
}

// Vectors whose sums, weights, bytes and scales registers hold.
int64_t MostVectors(int64_t rows, const Target& target) { return target.cpu_part().vector_registers / (rows + 3); }

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
  Outcome<std::vector<int64_t>> PickDepth();
  Outcome<Done> StageSums();
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
  int64_t vectors_ = 1;
  bool is_cut_ = false;
  BlockRv write_back_;
  LoopRv tiles_;
  std::vector<LoopRv> depth_;  // outermost first; bytes that are written out and their elements are the last two
};

// Half of what registers hold, as the next bytes are unpacked meanwhile; fewer where cores would have no tile.
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

// Divides the depth into blocks and bytes as the unpacker does, some of which are written out: as many elements of them
// whatever their bits.
Outcome<std::vector<int64_t>> PackedSchedule::PickDepth() {
  std::vector<int64_t> factors = DepthFactors(sch_, unpacker_, Extent(contraction_.inner[0]));
  const int64_t elements = ElementsOfByte(factors);
  if (elements > 1) factors.pop_back();
  std::vector<int64_t> bytes = {1, 2, 4};
  std::erase_if(bytes, [&](int64_t count) { return factors.back() % count != 0; });
  const int64_t preferred = std::max<int64_t>(std::ssize(bytes) - elements, 0);
  TW_ASSIGN_OR_RETURN(const Choices::Pick pick,
                      choices_.Take(sch_, name_ + ".tile_depth", bytes, static_cast<size_t>(preferred)));
  factors.back() /= pick.value;
  factors.insert(factors.end(), {pick.value, elements});
  return factors;
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
  TW_ASSIGN_OR_RETURN(const std::vector<int64_t> factors, PickDepth());
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

Outcome<Done> PackedSchedule::Apply() {
  TW_RETURN_IF_ERROR(PackInPanels(sch_, unpacker_, target_));
  TW_RETURN_IF_ERROR(PickVectors());
  TW_RETURN_IF_ERROR(StageSums());
  TW_RETURN_IF_ERROR(SplitLoops());
  TW_RETURN_IF_ERROR(PlaceBlocks());
  const size_t preferred = ParallelLoops(sch_, {tiles_}, target_.cores);
  TW_ASSIGN_OR_RETURN(const Choices::Pick parallel, choices_.Take(sch_, name_ + ".parallel_loops", {0, 1}, preferred));
  return parallel.value == 0 ? Outcome<Done>(Done()) : sch_.Parallel(tiles_);
}

}  // namespace

bool IsPackedProduct(Schedule& sch, BlockRv block, const Target& target) {
  const BlockRealizeNode& realize = RealizeOf(sch, block);
  const absl::StatusOr<Contraction> contraction = MatchContraction(realize);
  if (!contraction.ok()) return false;
  const std::optional<int64_t> rows = RowsOf(*realize.block, *contraction);
  // Two vectors of weights at least for each element of a row.
  if (!rows || MostVectors(*rows, target) < 2) return false;
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
