#include "autoschedule/sketch/gpu/warpgroup_tiling.h"

#include <algorithm>
#include <vector>

#include "absl/strings/str_cat.h"
#include "autoschedule/cost/gpu/product_time.h"
#include "autoschedule/sketch/gpu/depth_parts.h"
#include "base/math.h"
#include "base/status_macros.h"
#include "ir/named_layouts.h"
#include "target/clusters.h"
#include "target/costs.h"

namespace tilewright {
namespace {

using Done = std::monostate;

// Columns of a tile, where the instruction has them.
constexpr int64_t kSidesN[] = {16, 32, 64, 128, 256};
constexpr int64_t kLeastStages = WarpgroupTiling{}.stages, kMostStages = 8;
// Blocks of a cluster.
constexpr int64_t kClusterSizes[] = {2, 4};

// What is divided: all that estimates depend on.
struct Problem {
  const WarpgroupProduct& product;
  const Target& target;

  const MatrixSizes& sizes() const { return product.plan.sizes; }
  const OperandWay& way() const { return product.way; }
  const MachineInstruction& row() const { return *product.tile.instruction; }
  int64_t Bytes() const { return product.tile.Bytes(); }
  std::vector<int64_t> SidesM() const { return {product.tile.Rows(), 2 * product.tile.Rows()}; }
  int64_t StageBytes(const ProductTile& tile) const { return (tile.m + tile.n) * tile.k * Bytes(); }
  int64_t SharedBytes() const { return target.gpu_part().max_shared_bytes_per_block - GpuCostsOf(target).tile_bytes; }
  // Threads that copy need registers for addresses beside those of sums.
  int64_t MostColumns() const {
    return way().bulk() ? kSidesN[std::size(kSidesN) - 1] : GpuCostsOf(target).columns_of_two_blocks;
  }
  int64_t Steps(int64_t depth) const { return CeilDiv(sizes().k, depth); }
  // Elements of the rows' operand where windows of it overlap; 0 where they do not.
  int64_t RowElements() const {
    int64_t elements = 1;
    for (const Expr& extent : product.plan.contraction.row_operand->shape) elements *= AsInt(extent).value_or(0);
    return elements < sizes().batch * sizes().m * sizes().k ? elements : 0;
  }
  int64_t Blocks(const ProductTile& tile, int64_t parts) const {
    return sizes().batch * parts * CeilDiv(sizes().m, tile.m) * CeilDiv(sizes().n, tile.n);
  }
};

double Seconds(const Problem& problem, const ProductTile& tile, int64_t parts, const ClusterShape& cluster = {},
               int64_t turns = 1) {
  const MatrixSizes& sizes = problem.sizes();
  const ProductResult& result = problem.product.result;
  const ProductShape shape = {.batch = sizes.batch,
                              .m = sizes.m,
                              .n = sizes.n,
                              .k = sizes.k,
                              .factor = problem.row().a.type,
                              .output_bytes = result.type.bytes(),
                              .staged = parts == 1 && PrefersStaging(result, problem.target),
                              .row_elements = problem.RowElements()};
  return ProductSeconds(shape, {tile.m, tile.n, tile.k, parts, cluster.m, cluster.n, turns}, problem.target);
}

// The fastest of the parts that the depth may be divided into.
int64_t FastestParts(const Problem& problem, const ProductTile& tile) {
  return std::ranges::min(PartsOf(problem.Steps(tile.k)), {},
                          [&](int64_t count) { return Seconds(problem, tile, count); });
}

// Clusters along rows or columns of tiles that the grid divides into, in which blocks copy whole repeats of swizzles
// for each other.
std::vector<ClusterShape> Clusters(const Problem& problem, const ProductTile& tile) {
  std::vector<ClusterShape> clusters = {{}};
  if (!problem.way().bulk() || MaxClusterBlocks(problem.target) == 1) return clusters;
  const int64_t columns_rows = problem.way().by_depth ? tile.n : tile.k;
  for (const int64_t size : kClusterSizes) {
    if (CeilDiv(problem.sizes().m, tile.m) % size == 0 && columns_rows % (size * kSwizzleRows) == 0)
      clusters.push_back({size, 1});
    // Blocks do not copy pixels for each other.
    const bool pixels = problem.way().copies == OperandCopies::kPixels;
    if (!pixels && CeilDiv(problem.sizes().n, tile.n) % size == 0 && tile.m % (size * kSwizzleRows) == 0)
      clusters.push_back({1, size});
  }
  return clusters;
}
// Whether two blocks of few registers are to run on a core: one multiplies while the other begins or ends.
bool TwoOnACore(const Problem& problem, const ProductTile& tile, int64_t blocks) {
  return tile.m == problem.product.tile.Rows() && tile.n <= GpuCostsOf(problem.target).columns_of_two_blocks &&
         blocks > problem.target.cores;
}

// Bytes of shared memory for results that stay there while the next tile is loaded, by the preferred way to store.
int64_t StagedBytes(const Problem& problem, const ProductTile& tile, bool staged) {
  return staged ? tile.m * tile.n * problem.product.result.type.bytes() : 0;
}

// Turns of blocks, or clusters of them, that fill the cores once.
int64_t TurnsOfCores(const Problem& problem, const ProductTile& tile, int64_t parts, const ClusterShape& cluster) {
  const int64_t cores = CoresForClusters(problem.target, cluster.Blocks());
  return CeilDiv(problem.Blocks(tile, parts), cores);
}

// How tiles go to the cores.
struct Division {
  ClusterShape cluster;
  int64_t turns = 1;
  double seconds = 0;
};
// The fastest turns of a cluster. Preferred are several where one block has a core for itself, of which the copies are
// a producer's.
Division FastestTurns(const Problem& problem, const ProductTile& tile, int64_t parts, const ClusterShape& cluster) {
  const int64_t blocks = problem.Blocks(tile, parts), turns = TurnsOfCores(problem, tile, parts, cluster);
  const Division once = {cluster, 1, Seconds(problem, tile, parts, cluster)};
  const bool fits =
      problem.SharedBytes() - StagedBytes(problem, tile, PrefersStaging(problem.product.result, problem.target)) >=
      kLeastStages * problem.StageBytes(tile);
  if (turns == 1 || parts > 1 || !problem.way().bulk() || !fits || TwoOnACore(problem, tile, blocks)) return once;
  const Division several = {cluster, turns, Seconds(problem, tile, parts, cluster, turns)};
  return several.seconds < once.seconds ? several : once;
}
// Blocks of a cluster that follow others on the cores wait for each other about as long as they save
// (measured: docs/h200.md).
Division FastestDivision(const Problem& problem, const ProductTile& tile, int64_t parts) {
  Division best = FastestTurns(problem, tile, parts, {});
  for (const ClusterShape& cluster : Clusters(problem, tile)) {
    const Division other = FastestTurns(problem, tile, parts, cluster);
    if (other.turns == 1 && problem.Blocks(tile, parts) > problem.target.cores) continue;
    if (other.seconds < best.seconds) best = other;
  }
  return best;
}

// Elements of K of a stage: as wide as the widest swizzle where that leaves two steps or more, of which one is copied
// while the other is multiplied.
int64_t DepthOfStage(const Problem& problem) {
  int64_t depth = problem.way().depth;
  while (depth > problem.row().k && depth >= problem.sizes().k) depth /= 2;
  return depth;
}

// The tile that is estimated to be the fastest.
ProductTile FastestTile(const Problem& problem) {
  ProductTile best;
  double least = 0;
  const int64_t depth = DepthOfStage(problem), fetched = problem.target.gpu_part().fetched_bytes;
  for (const int64_t m : problem.SidesM()) {
    for (const int64_t n : kSidesN) {
      if (n > problem.MostColumns()) break;
      const bool narrow = !problem.way().by_depth && n * problem.Bytes() < fetched && n < problem.sizes().n;
      if (narrow || !problem.row().HasColumns(static_cast<int>(n))) continue;
      const ProductTile tile = {m, n, depth};
      const int64_t parts = FastestParts(problem, tile);
      const double seconds = FastestDivision(problem, tile, parts).seconds;
      if (best.m != 0 && seconds >= least) continue;
      best = tile;
      least = seconds;
    }
  }
  return best;
}

Outcome<Done> ChooseTile(const Problem& problem, Picker& picker, WarpgroupTiling& tiling) {
  const ProductTile best = FastestTile(problem);
  std::vector<int64_t> columns, depths;
  TW_ASSIGN_OR_RETURN(tiling.tile.m, picker.Take(".tile_m", problem.SidesM(), best.m));
  for (const int64_t n : kSidesN) {
    if (n <= problem.MostColumns() && problem.row().HasColumns(static_cast<int>(n))) columns.push_back(n);
  }
  TW_ASSIGN_OR_RETURN(tiling.tile.n, picker.Take(".tile_n", columns, best.n));
  for (int64_t depth = problem.row().k; depth <= best.k; depth *= 2) depths.push_back(depth);
  TW_ASSIGN_OR_RETURN(tiling.tile.k, picker.Take(".tile_k", depths, best.k));
  tiling.warpgroups = tiling.tile.m / problem.product.tile.Rows();
  return Done();
}

// Few tiles leave cores idle: parts of the depth are more of them.
Outcome<Done> ChooseParts(const Problem& problem, Picker& picker, WarpgroupTiling& tiling) {
  TW_ASSIGN_OR_RETURN(tiling.parts,
                      picker.Take(".parts", PartsOf(problem.Steps(tiling.tile.k)), FastestParts(problem, tiling.tile)));
  return Done();
}

// Blocks that bring operands to each other read less from L2.
Outcome<Done> ChooseCluster(const Problem& problem, Picker& picker, WarpgroupTiling& tiling) {
  const std::vector<ClusterShape> clusters = Clusters(problem, tiling.tile);
  const ClusterShape best = FastestDivision(problem, tiling.tile, tiling.parts).cluster;
  std::vector<int64_t> sizes, along;
  for (const ClusterShape& each : clusters) {
    if (std::ranges::find(sizes, each.Blocks()) == sizes.end()) sizes.push_back(each.Blocks());
  }
  TW_ASSIGN_OR_RETURN(const int64_t size, picker.Take(".cluster", sizes, best.Blocks()));
  if (size == 1) return Done();
  for (const ClusterShape& each : clusters) {
    if (each.Blocks() == size) along.push_back(each.m > 1 ? 0 : 1);
  }
  TW_ASSIGN_OR_RETURN(const int64_t columns, picker.Take(".cluster_columns", along, best.n > best.m ? 1 : 0));
  (columns == 1 ? tiling.cluster.n : tiling.cluster.m) = size;
  return Done();
}

Outcome<Done> ChooseStages(const Problem& problem, Picker& picker, WarpgroupTiling& tiling) {
  const ProductTile& tile = tiling.tile;
  const bool staged = tiling.turns > 1 && tiling.stores != ResultStores::kLanes;
  const int64_t room = problem.SharedBytes() - StagedBytes(problem, tile, staged),
                fit = room / problem.StageBytes(tile), steps = problem.Steps(tile.k) / tiling.parts;
  std::vector<int64_t> stages = {kLeastStages};
  const int64_t most = problem.way().bulk() ? kMostStages : MostStagesOfThreads(problem.target);
  while (stages.back() < std::min({most, fit, steps})) stages.push_back(stages.back() + 1);
  const int64_t blocks = tiling.SharingBlocks(problem.Blocks(tile, tiling.parts)),
                half = room - problem.SharedBytes() / 2;
  const int64_t preferred = TwoOnACore(problem, tile, blocks)
                                ? std::max<int64_t>(kLeastStages, half / problem.StageBytes(tile))
                                : kMostStages;
  TW_ASSIGN_OR_RETURN(tiling.stages, picker.Take(".stages", stages, preferred));
  return Done();
}

// Tiles, or clusters of them, that a block multiplies one after the other: as many as leave one or two blocks for each
// core, or a few.
Outcome<Done> ChooseTurns(const Problem& problem, Picker& picker, WarpgroupTiling& tiling) {
  const int64_t clusters = problem.Blocks(tiling.tile, tiling.parts) / tiling.cluster.Blocks(),
                of_cores = TurnsOfCores(problem, tiling.tile, tiling.parts, tiling.cluster);
  const int64_t staged = StagedBytes(problem, tiling.tile, tiling.stores != ResultStores::kLanes);
  const bool fits = problem.SharedBytes() - staged >= kLeastStages * problem.StageBytes(tiling.tile);
  std::vector<int64_t> turns = {1};
  if (fits) turns.insert(turns.end(), {2, 3, CeilDiv(of_cores, 2), of_cores});
  std::ranges::sort(turns);
  turns.erase(std::ranges::unique(turns).begin(), turns.end());
  std::erase_if(turns, [&](int64_t each) { return each > clusters; });
  const int64_t preferred = FastestTurns(problem, tiling.tile, tiling.parts, tiling.cluster).turns;
  TW_ASSIGN_OR_RETURN(tiling.turns, picker.Take(".turns", turns, preferred));
  return Done();
}

Outcome<Done> ChooseResultStores(const Problem& problem, Picker& picker, WarpgroupTiling& tiling) {
  if (tiling.parts > 1) return Done();
  const ResultTile tile = ResultTileOf(problem.sizes(), tiling.tile, tiling.warpgroups);
  TW_ASSIGN_OR_RETURN(tiling.stores, ChooseStores(picker.sch, picker.name, problem.product.result, tile, problem.target,
                                                  picker.choices));
  return Done();
}

}  // namespace

ResultTile ResultTileOf(const MatrixSizes& sizes, const ProductTile& tile, int64_t warpgroups) {
  return {.rows = std::min(tile.m, sizes.m),
          .columns = std::min(tile.n, sizes.n),
          .warpgroups = warpgroups,
          .divides = sizes.m % tile.m == 0 && sizes.n % tile.n == 0};
}

std::string ToString(const WarpgroupTiling& tiling) {
  return absl::StrCat(tiling.tile.m, "x", tiling.tile.n, "x", tiling.tile.k, " tiles, ", tiling.warpgroups,
                      " warpgroups, ", tiling.parts, " parts, cluster ", tiling.cluster.m, "x", tiling.cluster.n, ", ",
                      tiling.stages, " stages, groups of ", tiling.group, ", ", tiling.turns, " turns");
}

Outcome<WarpgroupTiling> ChooseTiling(Schedule& sch, const WarpgroupProduct& product, const Target& target,
                                      Choices& choices) {
  const Problem problem{product, target};
  Picker picker{sch, product.plan.name, choices};
  WarpgroupTiling tiling;
  TW_RETURN_IF_ERROR(ChooseTile(problem, picker, tiling));
  TW_RETURN_IF_ERROR(ChooseParts(problem, picker, tiling));
  TW_RETURN_IF_ERROR(ChooseCluster(problem, picker, tiling));
  TW_RETURN_IF_ERROR(ChooseResultStores(problem, picker, tiling));
  TW_ASSIGN_OR_RETURN(tiling.group, TakeGroup(picker, product.plan, tiling.tile, target, tiling.cluster.m));
  TW_RETURN_IF_ERROR(ChooseTurns(problem, picker, tiling));
  TW_RETURN_IF_ERROR(ChooseStages(problem, picker, tiling));
  return tiling;
}

}  // namespace tilewright
