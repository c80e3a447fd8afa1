#include "autoschedule/sketch/gpu/warp_tile_rule.h"

#include <algorithm>

#include "absl/strings/str_cat.h"
#include "autoschedule/program/block_loops.h"
#include "base/math.h"
#include "base/status_macros.h"
#include "target/costs.h"

namespace tilewright {
namespace {

using Done = std::monostate;
constexpr const char* kName = "warp_tile_rule";
const std::vector<int64_t> kSides = {16, 32, 64, 128}, kDepths = {16, 32, 64};
// A row of a tile in shared memory is an access longer than a multiple of this: rows that are read together lie in
// different banks.
constexpr int64_t kRowBytes = 64;

// As intrinsics call a type; empty for those that no instruction takes.
std::string ShortName(DataType type) {
  if (type == DataType::Float(16)) return "f16";
  if (type == DataType::Float(32)) return "f32";
  if (type == DataType::BFloat16()) return "bf16";
  if (type == DataType::Int(8)) return "s8";
  if (type == DataType::UInt(8)) return "u8";
  return type == DataType::Int(32) ? "s32" : "";
}

class WarpSchedule {
 public:
  WarpSchedule(Schedule& sch, const ProductPlan& plan, const WarpTile& warp, const Target& target, Choices& choices)
      : sch_(sch), plan_(plan), warp_(warp), target_(target), choices_(choices) {}

  Outcome<Done> Apply(BlockRv block) {
    TW_RETURN_IF_ERROR(Choose(block));
    TW_ASSIGN_OR_RETURN(blocks_, MakeProductBlocks(sch_, block, plan_, tile_, warp_.by_depth));
    const BlockRv product = blocks_.form.product;
    TW_ASSIGN_OR_RETURN(const ProductLoops loops, LoopsOfProduct(sch_, blocks_));
    TW_ASSIGN_OR_RETURN(const std::vector<LoopRv> i, SplitSide(loops.m, tile_.m, warps_m_));
    TW_ASSIGN_OR_RETURN(const std::vector<LoopRv> j, SplitSide(loops.n, tile_.n, warps_n_));
    TW_ASSIGN_OR_RETURN(const std::vector<LoopRv> k,
                        sch_.Split(loops.k, {Value(), tile_.k / kFragmentSide, kFragmentSide}));
    TW_RETURN_IF_ERROR(sch_.Reorder({i[0], j[0], i[1], j[1], k[0], k[1], i[2], j[2], i[3], j[3], k[2]}));
    TW_RETURN_IF_ERROR(BindTiles(sch_, loops, i[0], j[0]));
    TW_RETURN_IF_ERROR(sch_.Bind(i[1], "threadIdx.z"));
    TW_RETURN_IF_ERROR(sch_.Bind(j[1], "threadIdx.y"));
    TW_ASSIGN_OR_RETURN(const AutoCopy output, WriteStageAt(sch_, product, blocks_.form.output, j[0], "shared.dyn"));
    TW_ASSIGN_OR_RETURN(const AutoCopy sums, WriteResultAt(sch_, product, j[1], "wmma.accumulator"));
    TW_RETURN_IF_ERROR(MoveTiles(k[0]));
    TW_RETURN_IF_ERROR(CopyTogether(sch_, output, Threads(), 1));
    TW_ASSIGN_OR_RETURN(const AutoCopy rows,
                        ReadOperandAt(sch_, product, Written(blocks_.form.rows), k[1], "wmma.matrix_a"));
    TW_ASSIGN_OR_RETURN(const AutoCopy columns,
                        ReadOperandAt(sch_, product, Written(blocks_.form.columns), k[1], "wmma.matrix_b"));
    TW_ASSIGN_OR_RETURN(const BlockRv init, sch_.DecomposeReduction(product, k[0]));
    TW_RETURN_IF_ERROR(TensorizeTiles(rows, warp_.load_rows));
    TW_RETURN_IF_ERROR(TensorizeTiles(columns, warp_.load_columns));
    TW_RETURN_IF_ERROR(TensorizeTiles(sums, warp_.store));
    TW_ASSIGN_OR_RETURN(const std::vector<LoopRv> filled, sch_.GetLoops(init));
    TW_RETURN_IF_ERROR(sch_.Tensorize(filled[filled.size() - 2], warp_.fill));
    TW_RETURN_IF_ERROR(sch_.Tensorize(i[3], warp_.product));
    return stages_ == 1 ? Outcome<Done>(Done()) : PipelineCopies(sch_, k[0], stages_);
  }

 private:
  Outcome<Done> Choose(BlockRv block) {
    const GpuTarget& gpu = target_.gpu_part();
    TW_ASSIGN_OR_RETURN(tile_, TakeProductTile(sch_, plan_, kSides, kDepths, target_, choices_));
    // Warps of two fragments along M.
    TW_ASSIGN_OR_RETURN(warps_m_, TakeWarps(".warps_m", tile_.m, std::max<int64_t>(2, tile_.m / kFragmentSide / 2)));
    TW_ASSIGN_OR_RETURN(warps_n_, TakeWarps(".warps_n", tile_.n, 2));
    std::vector<int64_t> stages = {1};
    const int64_t steps = CeilDiv(plan_.sizes.k, tile_.k);
    while (target_.has("cp.async") && stages.back() < std::min(MostStagesOfThreads(target_), steps))
      stages.push_back(stages.back() + 1);
    TW_ASSIGN_OR_RETURN(const Choices::Pick pick,
                        TakeUpTo(sch_, plan_.name + ".stages", stages, GpuCostsOf(target_).hiding_stages, choices_));
    stages_ = pick.value;
    const int64_t bytes = plan_.contraction.row_operand->dtype.bytes();
    const auto row = [&](int64_t elements) { return RoundUp(elements * bytes, kRowBytes) + gpu.max_access_bytes; };
    const int64_t columns = warp_.by_depth ? tile_.n * row(tile_.k) : tile_.k * row(tile_.n);
    const int64_t all = stages_ * (tile_.m * row(tile_.k) + columns) + tile_.m * tile_.n * DataType::Float(32).bytes();
    if (all > gpu.max_shared_bytes_per_block) {
      return Refusal{kName, "the tiles of {block0} do not fit in shared memory", {RealizeOf(sch_, block).block->id}};
    }
    return Done();
  }

  Outcome<int64_t> TakeWarps(const char* name, int64_t side, int64_t preferred) {
    std::vector<int64_t> counts;
    for (int64_t count : {1, 2, 4}) {
      if (side / kFragmentSide >= count) counts.push_back(count);
    }
    TW_ASSIGN_OR_RETURN(const Choices::Pick warps, TakeUpTo(sch_, plan_.name + name, counts, preferred, choices_));
    return warps.value;
  }

  Outcome<std::vector<LoopRv>> SplitSide(LoopRv loop, int64_t side, int64_t warps) {
    return sch_.Split(loop, {Value(), warps, side / warps / kFragmentSide, kFragmentSide});
  }

  ThreadAxes Threads() const {
    return {{"threadIdx.z", warps_m_}, {"threadIdx.y", warps_n_}, {"threadIdx.x", target_.gpu_part().warp_size}};
  }

  Buffer Written(BlockRv block) const { return RealizeOf(sch_, block).block->writes[0].buffer; }

  // The copies from global to shared memory.
  Outcome<Done> MoveTiles(LoopRv depth_loop) {
    TW_RETURN_IF_ERROR(CopyOperands(sch_, blocks_, blocks_.form.product, "shared.dyn", depth_loop, Threads()));
    const int64_t bytes = plan_.contraction.row_operand->dtype.bytes();
    for (const BlockRv& copy : {blocks_.form.rows, blocks_.form.columns}) {
      TW_RETURN_IF_ERROR(sch_.StorageAlign(copy, 0, -2, static_cast<int>(kRowBytes / bytes),
                                           static_cast<int>(target_.gpu_part().max_access_bytes / bytes)));
    }
    return Done();
  }

  // A copy by an intrinsic that loads or stores fragments.
  Outcome<Done> TensorizeTiles(const AutoCopy& copy, const std::string& intrin) {
    TW_RETURN_IF_ERROR(Expand(sch_, copy));
    TW_ASSIGN_OR_RETURN(const std::vector<LoopRv> loops, sch_.GetLoops(copy.block));
    TW_ASSIGN_OR_RETURN(const std::vector<LoopRv> r, sch_.Split(loops[loops.size() - 2], {Value(), kFragmentSide}));
    TW_ASSIGN_OR_RETURN(const std::vector<LoopRv> c, sch_.Split(loops.back(), {Value(), kFragmentSide}));
    TW_RETURN_IF_ERROR(sch_.Reorder({r[0], c[0], r[1], c[1]}));
    return sch_.Tensorize(r[1], intrin);
  }

  Schedule& sch_;
  const ProductPlan& plan_;
  const WarpTile& warp_;
  const Target& target_;
  Choices& choices_;
  ProductTile tile_;
  ProductBlocks blocks_;
  int64_t warps_m_ = 1, warps_n_ = 1, stages_ = 1;
};

}  // namespace

std::optional<WarpTile> FindWarpTile(const BlockNode& block, const Contraction& contraction, const Target& target,
                                     IntrinRegistry* intrins) {
  const DataType factor = contraction.row_operand->dtype;
  const std::string type = ShortName(factor), sum = ShortName(contraction.product_type);
  if (intrins == nullptr || factor != contraction.column_operand->dtype || type.empty() || sum.empty()) {
    return std::nullopt;
  }
  const std::string shape = absl::StrCat(kFragmentSide, "x", kFragmentSide, "x", kFragmentSide, "_");
  // Bytes are not transposed on their way into fragments.
  WarpTile tile{.side = kFragmentSide, .by_depth = factor.bits() == 8 || ColumnsRunAlongDepth(block, contraction)};
  tile.load_rows = absl::StrCat("wmma_load_", shape, type, "_a_shared_dyn");
  tile.load_columns = absl::StrCat("wmma_load_", shape, type, "_b", tile.by_depth ? "_trans" : "", "_shared_dyn");
  tile.fill = absl::StrCat("wmma_fill_", shape, sum);
  tile.store = absl::StrCat("wmma_store_", shape, sum, "_shared_dyn");
  const auto executes = [&](const std::string& name) {
    const TensorIntrin* intrin = intrins->Find(name);
    return intrin != nullptr &&
           std::ranges::all_of(intrin->features, [&](const std::string& f) { return target.has(f); });
  };
  for (const std::string& name : {tile.load_rows, tile.load_columns, tile.fill, tile.store}) {
    if (!executes(name)) return std::nullopt;
  }
  // By instructions of the tile's depth, or of half of it.
  const std::string product = absl::StrCat("wmma_sync_", shape, type, type, sum, tile.by_depth ? "_trans" : "");
  for (const char* depth : {"", "_k8"}) {
    tile.product = absl::StrCat(product, depth);
    if (executes(tile.product)) return tile;
  }
  return std::nullopt;
}

Outcome<Done> ScheduleWarpTiles(Schedule& sch, BlockRv block, const ProductPlan& plan, const WarpTile& warp,
                                const Target& target, Choices& choices) {
  return WarpSchedule(sch, plan, warp, target, choices).Apply(block);
}

}  // namespace tilewright
