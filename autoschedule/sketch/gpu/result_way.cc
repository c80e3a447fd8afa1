#include "autoschedule/sketch/gpu/result_way.h"

#include <algorithm>
#include <bit>
#include <functional>
#include <iterator>
#include <utility>
#include <vector>

#include "absl/strings/str_cat.h"
#include "autoschedule/movement/gpu/copy_together.h"
#include "autoschedule/program/block_loops.h"
#include "base/status_macros.h"
#include "intrin/instructions.h"
#include "intrin/operand_layout.h"
#include "ir/named_layouts.h"

namespace tilewright {
namespace {

using Done = std::monostate;
constexpr const char* kShared = "shared.dyn";

// The loops of sums that a warpgroup or warp holds, by lanes and registers (codegen/lower/gpu/fragment_lanes.h): those
// of a warpgroup are tiles of its warps, one below the other.
Outcome<Done> BindLanes(Schedule& sch, BlockRv sums, LoopRv holders, bool pairs, const SumHolder& holder) {
  TW_ASSIGN_OR_RETURN(const std::vector<LoopRv> loops, LoopsInside(sch, sums, holders));
  TW_ASSIGN_OR_RETURN(const LaneLoops rows, SplitByLanes(sch, loops[loops.size() - 2], 0, {Value(), holder.warps}));
  TW_ASSIGN_OR_RETURN(const LaneLoops columns, SplitByLanes(sch, loops.back(), 1, {Value()}));
  std::vector<LoopRv> order = rows.owners;
  order.insert(order.end(), columns.owners.begin(), columns.owners.end());
  const size_t owners = order.size();
  const LoopRv pair = columns.registers.back();
  order.insert(order.end(), {rows.rest, columns.rest, rows.registers[0], pair});
  TW_RETURN_IF_ERROR(sch.Reorder(order));
  TW_ASSIGN_OR_RETURN(const LoopRv lanes, FuseFirst(sch, order, owners));
  TW_RETURN_IF_ERROR(sch.Bind(lanes, "threadIdx.x"));
  for (const LoopRv& loop : {rows.rest, columns.rest, rows.registers[0]}) TW_RETURN_IF_ERROR(sch.Unroll(loop));
  return pairs ? sch.Vectorize(pair) : sch.Unroll(pair);
}

Outcome<BlockRv> SumsInRegisters(Schedule& sch, BlockRv product, std::optional<BlockRv> stored, LoopRv holders,
                                 const SumHolder& holder) {
  TW_ASSIGN_OR_RETURN(const AutoCopy sums, stored ? WriteStageAt(sch, product, *stored, holders, holder.scope)
                                                  : WriteResultAt(sch, product, holders, holder.scope));
  TW_RETURN_IF_ERROR(Expand(sch, sums));
  return sums.block;
}

// Lays the tile out in shared memory: as the engine takes it, or so that rows begin in other banks than those before.
Outcome<Done> PlaceTile(Schedule& sch, BlockRv writer, DataType type, int64_t span, const GpuTarget& gpu) {
  if (span > 0) return sch.SetLayout(writer, 0, SwizzleNamed(span));
  const auto elements = [&](int64_t bytes) { return static_cast<int>(bytes / type.bytes()); };
  return sch.StorageAlign(writer, 0, -2, elements(gpu.max_swizzle_bytes), elements(gpu.max_access_bytes));
}

// What the lanes hold of 16-bit results goes to shared memory by matrices of 64 x 16: the block that writes there.
Outcome<BlockRv> MakeMatrices(Schedule& sch, BlockRv sums, LoopRv warpgroup, int64_t columns) {
  TW_ASSIGN_OR_RETURN(const AutoCopy copy, WriteResultAt(sch, sums, warpgroup, "wgmma.matrix_a"));
  TW_RETURN_IF_ERROR(Expand(sch, copy));
  TW_ASSIGN_OR_RETURN(const std::vector<LoopRv> loops, LoopsInside(sch, copy.block, warpgroup));
  const LoopRv rows = loops[loops.size() - 2];
  TW_ASSIGN_OR_RETURN(const std::vector<LoopRv> c, sch.Split(loops.back(), {Value(), columns}));
  TW_RETURN_IF_ERROR(sch.Reorder({c[0], rows, c[1]}));
  TW_RETURN_IF_ERROR(sch.Unroll(c[0]));
  return sch.Blockize(rows);
}

// The row of stmatrix for results of the type; null where there is none.
const MachineInstruction* MatrixStore(DataType type, const Target& target) {
  for (const MachineInstruction& row : Instructions()) {
    if (row.family == "stmatrix" && row.a.type == type && Executes(target, row)) return &row;
  }
  return nullptr;
}

// The swizzle of the rows of a tile, which may be panels of it; 0: there is none.
int64_t SpanOf(DataType type, const ResultTile& tile, const GpuTarget& gpu) {
  const int64_t bytes = tile.columns * type.bytes(), repeat = gpu.max_swizzle_bytes / gpu.bulk_alignment;
  for (int64_t span = gpu.max_swizzle_bytes; span >= 2 * gpu.bulk_alignment && tile.rows % repeat == 0; span /= 2) {
    if (bytes % span == 0) return span;
  }
  return 0;
}

}  // namespace

Outcome<LaneLoops> SplitByLanes(Schedule& sch, LoopRv loop, size_t index, std::vector<Value> factors) {
  const TileLayout layout = LayoutOfSums("mma", 8);
  std::vector<LayoutDigit> digits;
  std::ranges::copy_if(layout.digits(), std::back_inserter(digits),
                       [&](const LayoutDigit& digit) { return digit.sources[0].index == index; });
  std::ranges::sort(digits, std::greater(), [](const LayoutDigit& digit) { return digit.sources[0].divisor; });
  const size_t before = factors.size();
  for (const LayoutDigit& digit : digits) factors.emplace_back(digit.extent);
  TW_ASSIGN_OR_RETURN(const std::vector<LoopRv> loops, sch.Split(loop, factors));
  LaneLoops parts = {loops[0], {}, {}};
  for (size_t i = 1; i < loops.size(); ++i) {
    const bool of_lane = i < before || digits[i - before].place == 0;
    (of_lane ? parts.owners : parts.registers).push_back(loops[i]);
  }
  return parts;
}

ProductResult ResultOf(const Schedule& sch, BlockRv stored, const GpuTarget& gpu) {
  const Block block = RealizeOf(sch, stored).block;
  const Buffer& buffer = block->writes[0].buffer;
  const std::vector<int> last = {static_cast<int>(block->iter_vars.size()) - 1};
  const int64_t most = gpu.max_access_bytes;
  const int64_t vector = VectorAlong(*block, buffer, last, most / buffer->dtype.bytes(), most, /*stored=*/true);
  return {buffer->dtype, vector};
}

bool PrefersStaging(const ProductResult& result, const Target& target) {
  const bool narrow = result.type.bits() < 32;
  return narrow && result.vector * result.type.bytes() >= target.gpu_part().max_access_bytes;
}

Outcome<ResultStores> ChooseStores(Schedule& sch, const std::string& name, const ProductResult& result,
                                   const ResultTile& tile, const Target& target, Choices& choices) {
  const GpuTarget& gpu = target.gpu_part();
  const int64_t bytes = result.type.bytes();
  std::vector<int64_t> values = {0};
  std::vector<Choice::Meaning> meanings = {{"lanes"}};
  // Threads share a tile's vectors equally, in lines of them.
  const int64_t at_once = tile.warpgroups * gpu.warpgroup_size * result.vector;
  const bool shared = std::has_single_bit(static_cast<uint64_t>(tile.columns)) && tile.columns >= result.vector &&
                      tile.rows * tile.columns % at_once == 0;
  if (shared && result.vector * bytes >= gpu.max_access_bytes) {
    values.push_back(1);
    meanings.push_back({"vectors"});
    if (target.has("tma") && SpanOf(result.type, tile, gpu) > 0) {
      values.push_back(2);
      meanings.push_back({"bulk"});
    }
  }
  if (values.size() == 1) return ResultStores::kLanes;
  TW_ASSIGN_OR_RETURN(const Choices::Pick pick,
                      choices.Take(sch, name + ".store", values, PrefersStaging(result, target) ? values.size() - 1 : 0,
                                   std::move(meanings)));
  return static_cast<ResultStores>(pick.value);
}

Outcome<Done> StoreResults(Schedule& sch, BlockRv product, std::optional<BlockRv> stored, LoopRv holders, bool pairs,
                           const SumHolder& holder) {
  TW_ASSIGN_OR_RETURN(const BlockRv sums, SumsInRegisters(sch, product, stored, holders, holder));
  return BindLanes(sch, sums, holders, pairs, holder);
}

Outcome<Done> StageResults(Schedule& sch, BlockRv product, BlockRv stored, LoopRv tiles, LoopRv warpgroup,
                           const ResultTile& tile, ResultStores stores, const Target& target) {
  const GpuTarget& gpu = target.gpu_part();
  const ProductResult result = ResultOf(sch, stored, gpu);
  // The results as a matrix, which another block copies to where they belong.
  TW_ASSIGN_OR_RETURN(const BlockRv copied,
                      sch.Reindex(stored, Value(Value::List{Value("write"), Value(0)}), Value::List{}, true));
  TW_ASSIGN_OR_RETURN(const BlockRv sums, SumsInRegisters(sch, product, stored, warpgroup, kWarpgroup));
  TW_ASSIGN_OR_RETURN(const AutoCopy copy, WriteStageAt(sch, sums, copied, tiles, kShared));
  TW_RETURN_IF_ERROR(
      CopyTogether(sch, copy, {{"threadIdx.y", tile.warpgroups}, {"threadIdx.x", gpu.warpgroup_size}}, result.vector));
  const int64_t span = stores == ResultStores::kBulk ? SpanOf(result.type, tile, gpu) : 0;
  const MachineInstruction* matrix = tile.divides ? MatrixStore(result.type, target) : nullptr;
  if (matrix == nullptr) {
    TW_RETURN_IF_ERROR(PlaceTile(sch, sums, result.type, span, gpu));
  } else {
    TW_ASSIGN_OR_RETURN(const BlockRv matrices, MakeMatrices(sch, sums, warpgroup, matrix->k));
    TW_RETURN_IF_ERROR(PlaceTile(sch, matrices, result.type, span, gpu));
    TW_RETURN_IF_ERROR(
        sch.Tensorize(matrices, absl::StrCat("wgmma_stmatrix_64x16_", std::string(matrix->types), "_shared_dyn")));
  }
  return BindLanes(sch, sums, warpgroup, /*pairs=*/true, kWarpgroup);
}

}  // namespace tilewright
