#include "autoschedule/sketch/gpu/mma_tiling.h"

#include <algorithm>
#include <bit>
#include <utility>
#include <vector>

#include "absl/strings/str_cat.h"
#include "autoschedule/cost/gpu/product_time.h"
#include "autoschedule/sketch/gpu/depth_parts.h"
#include "base/math.h"
#include "base/status_macros.h"
#include "target/costs.h"

namespace tilewright {
namespace {

using Done = std::monostate;

// What is divided: all that estimates depend on.
struct Problem {
  const WarpgroupProduct& product;
  const Target& target;

  const MatrixSizes& sizes() const { return product.plan.sizes; }
  const OperandWay& way() const { return product.way; }
  const MachineInstruction& row() const { return *product.tile.instruction; }
  const GpuTarget& gpu() const { return target.gpu_part(); }
  int64_t StageBytes(const ProductTile& tile) const { return (tile.m + tile.n) * tile.k * product.tile.Bytes(); }
  int64_t Stages(const ProductTile& tile) const { return gpu().max_shared_bytes_per_block / StageBytes(tile); }
  int64_t Steps(int64_t depth) const { return CeilDiv(sizes().k, depth); }
  int64_t Blocks(const ProductTile& tile) const {
    return sizes().batch * CeilDiv(sizes().m, tile.m) * CeilDiv(sizes().n, tile.n);
  }
  // Whether registers of a core hold what the warps of a block need.
  bool Holds(const MmaTiling& tiling) const {
    const int64_t threads = tiling.Warps() * gpu().warp_size;
    const int64_t most = std::min<int64_t>(gpu().max_registers_per_thread, gpu().registers_per_core / threads);
    return threads <= gpu().max_threads_per_block && RegistersOfLane(tiling, row(), target) <= most;
  }
};

// Sides of tiles: whole fragments, up to what there is to multiply and to the rows of two warpgroups.
std::vector<int64_t> Sides(const Problem& problem, int64_t extent) {
  const int64_t most = std::min<int64_t>(2 * problem.gpu().warpgroup_size, RoundUp(extent, kFragmentSide));
  std::vector<int64_t> sides;
  for (int64_t side = kFragmentSide; side <= most; side += kFragmentSide) sides.push_back(side);
  return sides;
}

// Ways to divide a tile among warps whose registers hold their parts.
std::vector<MmaTiling> Divisions(const Problem& problem, const ProductTile& tile) {
  std::vector<MmaTiling> found;
  for (const int64_t m : {1, 2, 4}) {
    for (const int64_t n : {1, 2, 4}) {
      const MmaTiling tiling{.tile = tile, .warps_m = m, .warps_n = n};
      if (tile.m % (m * kFragmentSide) == 0 && tile.n % (n * kFragmentSide) == 0 && problem.Holds(tiling))
        found.push_back(tiling);
    }
  }
  return found;
}

// Whether threads copy the tiles of both operands in equal parts, along rows whose places need no divisions: otherwise
// the extents of what is copied are not known.
bool CopiesEqually(const Problem& problem, const MmaTiling& tiling) {
  if (!problem.way().by_depth && !std::has_single_bit(static_cast<uint64_t>(tiling.tile.n))) return false;
  const int64_t vector = problem.gpu().max_access_bytes / problem.product.tile.Bytes(),
                at_once = tiling.Warps() * problem.gpu().warp_size * vector;
  return tiling.tile.m * tiling.tile.k % at_once == 0 && tiling.tile.n * tiling.tile.k % at_once == 0;
}

double Seconds(const Problem& problem, const MmaTiling& tiling) {
  const MatrixSizes& sizes = problem.sizes();
  const ProductShape shape = {.batch = sizes.batch,
                              .m = sizes.m,
                              .n = sizes.n,
                              .k = sizes.k,
                              .factor = problem.row().a.type,
                              .output_bytes = problem.product.result.type.bytes()};
  const ProductTile& tile = tiling.tile;
  return ProductSeconds(shape,
                        {.m = tile.m,
                         .n = tile.n,
                         .k = tile.k,
                         .parts = tiling.parts,
                         .warps_m = tiling.warps_m,
                         .warps_n = tiling.warps_n},
                        problem.target);
}

// The parts that are estimated to be the fastest. Blocks for each core are enough of them.
MmaTiling WithFastestParts(const Problem& problem, MmaTiling tiling) {
  if (problem.Blocks(tiling.tile) >= problem.target.cores) return tiling;
  double least = Seconds(problem, tiling);
  for (MmaTiling other = tiling; const int64_t parts : PartsOf(problem.Steps(tiling.tile.k))) {
    other.parts = parts;
    const double seconds = Seconds(problem, other);
    if (seconds >= least) continue;
    least = seconds;
    tiling = other;
  }
  return tiling;
}

// The widest step that leaves room for stages which hide the latency of memory, and two steps at least.
int64_t DepthOf(const Problem& problem, ProductTile tile) {
  tile.k = problem.product.way.depth;
  while (tile.k > problem.row().k &&
         (tile.k >= problem.sizes().k || problem.Stages(tile) < GpuCostsOf(problem.target).hiding_stages))
    tile.k /= 2;
  return tile.k;
}

MmaTiling FastestTiling(const Problem& problem) {
  MmaTiling best;
  double least = 0;
  for (const int64_t m : Sides(problem, problem.sizes().m)) {
    for (const int64_t n : Sides(problem, problem.sizes().n)) {
      ProductTile tile{m, n, 0};
      tile.k = DepthOf(problem, tile);
      for (const MmaTiling& division : Divisions(problem, tile)) {
        if (!CopiesEqually(problem, division)) continue;
        const MmaTiling tiling = WithFastestParts(problem, division);
        const double seconds = Seconds(problem, tiling);
        if (best.tile.m != 0 && seconds >= least) continue;
        best = tiling;
        least = seconds;
      }
    }
  }
  return best;
}

Outcome<Done> ChooseTile(const Problem& problem, const MmaTiling& best, Picker& picker, ProductTile& tile) {
  std::vector<int64_t> columns, depths;
  TW_ASSIGN_OR_RETURN(tile.m, picker.Take(".tile_m", Sides(problem, problem.sizes().m), best.tile.m));
  tile.k = problem.row().k;
  for (const int64_t n : Sides(problem, problem.sizes().n)) {
    tile.n = n;
    if (!Divisions(problem, tile).empty() && problem.Stages(tile) >= 2) columns.push_back(n);
  }
  TW_ASSIGN_OR_RETURN(tile.n, picker.Take(".tile_n", columns, best.tile.n));
  for (; tile.k <= problem.product.way.depth && problem.Stages(tile) >= 1; tile.k *= 2) depths.push_back(tile.k);
  TW_ASSIGN_OR_RETURN(tile.k, picker.Take(".tile_k", depths, DepthOf(problem, tile)));
  return Done();
}

Outcome<Done> ChooseWarps(const Problem& problem, Picker& picker, MmaTiling& tiling) {
  const std::vector<MmaTiling> divisions = Divisions(problem, tiling.tile);
  const MmaTiling best = std::ranges::min(
      divisions, {}, [&](const MmaTiling& t) { return std::pair(!CopiesEqually(problem, t), Seconds(problem, t)); });
  std::vector<int64_t> rows, columns;
  for (const MmaTiling& each : divisions) rows.push_back(each.warps_m);
  TW_ASSIGN_OR_RETURN(tiling.warps_m, picker.Take(".warps_m", rows, best.warps_m));
  for (const MmaTiling& each : divisions) {
    if (each.warps_m == tiling.warps_m) columns.push_back(each.warps_n);
  }
  TW_ASSIGN_OR_RETURN(tiling.warps_n, picker.Take(".warps_n", columns, best.warps_n));
  return Done();
}

Outcome<Done> ChooseStages(const Problem& problem, Picker& picker, MmaTiling& tiling) {
  const int64_t steps = problem.Steps(tiling.tile.k) / tiling.parts;
  const int64_t most = problem.target.has("cp.async") ? std::min(MostStagesOfThreads(problem.target), steps) : 1;
  std::vector<int64_t> stages = {1};
  while (stages.back() < std::min(most, problem.Stages(tiling.tile))) stages.push_back(stages.back() + 1);
  TW_ASSIGN_OR_RETURN(tiling.stages, picker.Take(".stages", stages, MostStagesOfThreads(problem.target)));
  return Done();
}

}  // namespace

std::string ToString(const MmaTiling& tiling) {
  return absl::StrCat(tiling.tile.m, "x", tiling.tile.n, "x", tiling.tile.k, " tiles, ", tiling.warps_m, "x",
                      tiling.warps_n, " warps, ", tiling.parts, " parts, ", tiling.stages, " stages, groups of ",
                      tiling.group);
}

int64_t RegistersOfLane(const MmaTiling& tiling, const MachineInstruction& instruction, const Target& target) {
  const int64_t rows = tiling.tile.m / tiling.warps_m / kFragmentSide,
                columns = tiling.tile.n / tiling.warps_n / kFragmentSide;
  const int64_t of_fragment = instruction.m * instruction.k * instruction.a.type.bits() / 1024,
                of_sums = kFragmentSide * kFragmentSide * instruction.c.type.bits() / 1024;
  return rows * columns * of_sums + (rows + columns) * of_fragment + GpuCostsOf(target).tile_registers;
}

Outcome<MmaTiling> ChooseMmaTiling(Schedule& sch, const WarpgroupProduct& product, const Target& target,
                                   Choices& choices) {
  const Problem problem{product, target};
  Picker picker{sch, product.plan.name, choices};
  MmaTiling tiling;
  const MmaTiling best = FastestTiling(problem);
  TW_RETURN_IF_ERROR(ChooseTile(problem, best, picker, tiling.tile));
  TW_RETURN_IF_ERROR(ChooseWarps(problem, picker, tiling));
  TW_ASSIGN_OR_RETURN(tiling.parts, picker.Take(".parts", PartsOf(problem.Steps(tiling.tile.k)),
                                                WithFastestParts(problem, tiling).parts));
  TW_ASSIGN_OR_RETURN(tiling.group, TakeGroup(picker, product.plan, tiling.tile, target));
  TW_RETURN_IF_ERROR(ChooseStages(problem, picker, tiling));
  return tiling;
}

}  // namespace tilewright
