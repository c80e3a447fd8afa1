#include "autoschedule/sketch/gpu/warpgroup_tiling.h"

#include <algorithm>
#include <vector>

#include "absl/strings/str_cat.h"
#include "autoschedule/cost/gpu/product_time.h"
#include "base/math.h"
#include "base/status_macros.h"
#include "target/clusters.h"

namespace tilewright {
namespace {

using Done = std::monostate;

// Columns of a tile, where the instruction has them.
constexpr int64_t kSidesN[] = {16, 32, 64, 128, 256};
constexpr int64_t kMostStages = 8, kMostStagesOfThreads = 4;
// Columns of a tile of one warpgroup up to which registers are left for a second block.
constexpr int64_t kMostColumnsOfTwo = 128;
// Parts of the depth at most.
constexpr int64_t kMostParts = 16;
// Bytes of shared memory that the barriers of stages take, and what keeps buffers aligned.
constexpr int64_t kOtherSharedBytes = 2048;
// Blocks of a cluster, and rows after which swizzles repeat: blocks copy whole repeats for each other.
constexpr int64_t kClusterSizes[] = {2, 4}, kRepeat = 8;

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
  int64_t SharedBytes() const { return target.gpu_part().max_shared_bytes_per_block - kOtherSharedBytes; }
  // Threads that copy need registers for addresses beside those of sums.
  int64_t MostColumns() const { return way().bulk() ? kSidesN[std::size(kSidesN) - 1] : kMostColumnsOfTwo; }
  int64_t Steps(int64_t depth) const { return CeilDiv(sizes().k, depth); }
  int64_t Blocks(const ProductTile& tile, int64_t parts) const {
    return sizes().batch * parts * CeilDiv(sizes().m, tile.m) * CeilDiv(sizes().n, tile.n);
  }
};

double Seconds(const Problem& problem, const ProductTile& tile, int64_t parts, const ClusterShape& cluster = {}) {
  const MatrixSizes& sizes = problem.sizes();
  const ProductResult& result = problem.product.result;
  const ProductShape shape = {.batch = sizes.batch,
                              .m = sizes.m,
                              .n = sizes.n,
                              .k = sizes.k,
                              .factor = problem.row().a.type,
                              .output_bytes = result.type.bytes(),
                              .staged = parts == 1 && PrefersStaging(result, problem.target)};
  return ProductSeconds(shape, {tile.m, tile.n, tile.k, parts, cluster.m, cluster.n}, problem.target);
}

// How many parts of whole steps the depth may be divided into, and the fastest of them.
std::vector<int64_t> Parts(const Problem& problem, int64_t depth) {
  const int64_t steps = problem.Steps(depth);
  std::vector<int64_t> parts;
  for (int64_t count = 1; count <= std::min(kMostParts, steps / 2 + 1); ++count) {
    if (steps % count == 0) parts.push_back(count);
  }
  return parts;
}
int64_t FastestParts(const Problem& problem, const ProductTile& tile) {
  return std::ranges::min(Parts(problem, tile.k), {}, [&](int64_t count) { return Seconds(problem, tile, count); });
}

// Clusters along rows or columns of tiles that the grid divides into, in which blocks copy whole repeats of swizzles
// for each other.
std::vector<ClusterShape> Clusters(const Problem& problem, const ProductTile& tile) {
  std::vector<ClusterShape> clusters = {{}};
  if (!problem.way().bulk() || MaxClusterBlocks(problem.target) == 1) return clusters;
  const int64_t columns_rows = problem.way().by_depth ? tile.n : tile.k;
  for (const int64_t size : kClusterSizes) {
    if (CeilDiv(problem.sizes().m, tile.m) % size == 0 && columns_rows % (size * kRepeat) == 0)
      clusters.push_back({size, 1});
    // Blocks do not copy pixels for each other.
    const bool pixels = problem.way().copies == OperandCopies::kPixels;
    if (!pixels && CeilDiv(problem.sizes().n, tile.n) % size == 0 && tile.m % (size * kRepeat) == 0)
      clusters.push_back({1, size});
  }
  return clusters;
}
// Blocks of a cluster that follow others on the cores wait for each other about as long as they save
// (measured: docs/h200.md).
ClusterShape FastestCluster(const Problem& problem, const ProductTile& tile, int64_t parts) {
  if (problem.Blocks(tile, parts) > problem.target.cores) return {};
  return std::ranges::min(Clusters(problem, tile), {},
                          [&](const ClusterShape& cluster) { return Seconds(problem, tile, parts, cluster); });
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
      const double seconds = Seconds(problem, tile, parts, FastestCluster(problem, tile, parts));
      if (best.m != 0 && seconds >= least) continue;
      best = tile;
      least = seconds;
    }
  }
  return best;
}

// Takes choices after the name of the product's block.
struct Picker {
  Schedule& sch;
  const std::string& name;
  Choices& choices;

  Outcome<int64_t> Take(const char* what, const std::vector<int64_t>& candidates, int64_t preferred) {
    TW_ASSIGN_OR_RETURN(const Choices::Pick pick, TakeUpTo(sch, name + what, candidates, preferred, choices));
    return pick.value;
  }
};

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
                      picker.Take(".parts", Parts(problem, tiling.tile.k), FastestParts(problem, tiling.tile)));
  return Done();
}

// Blocks that bring operands to each other read less from L2.
Outcome<Done> ChooseCluster(const Problem& problem, Picker& picker, WarpgroupTiling& tiling) {
  const std::vector<ClusterShape> clusters = Clusters(problem, tiling.tile);
  const ClusterShape best = FastestCluster(problem, tiling.tile, tiling.parts);
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
  const int64_t fit = problem.SharedBytes() / problem.StageBytes(tile), steps = problem.Steps(tile.k) / tiling.parts;
  std::vector<int64_t> stages = {2};
  const int64_t most = problem.way().bulk() ? kMostStages : kMostStagesOfThreads;
  while (stages.back() < std::min({most, fit, steps})) stages.push_back(stages.back() + 1);
  // Two blocks of few registers run on a core where both have room: one multiplies while the other begins or ends.
  const bool two = tiling.warpgroups == 1 && tile.n <= kMostColumnsOfTwo &&
                   problem.Blocks(tile, tiling.parts) > problem.target.cores;
  const int64_t preferred =
      two ? std::max<int64_t>(2, problem.SharedBytes() / 2 / problem.StageBytes(tile)) : kMostStages;
  TW_ASSIGN_OR_RETURN(tiling.stages, picker.Take(".stages", stages, preferred));
  return Done();
}

// Rows of tiles that run at the same time, with as many columns of tiles as cores are left: a group that is about as
// high as it is wide reads the least.
Outcome<Done> ChooseGroup(const Problem& problem, Picker& picker, WarpgroupTiling& tiling) {
  const int64_t rows = CeilDiv(problem.sizes().m, tiling.tile.m);
  std::vector<int64_t> groups;
  for (int64_t group = 1; group <= rows; group *= 2) {
    if (rows % group == 0 && group % tiling.cluster.m == 0) groups.push_back(group);
  }
  int64_t square = 1;
  while (4 * square * square * tiling.tile.m <= 2 * problem.target.cores * tiling.tile.n) square *= 2;
  TW_ASSIGN_OR_RETURN(tiling.group, picker.Take(".group", groups, square));
  return Done();
}

}  // namespace

std::string ToString(const WarpgroupTiling& tiling) {
  return absl::StrCat(tiling.tile.m, "x", tiling.tile.n, "x", tiling.tile.k, " tiles, ", tiling.warpgroups,
                      " warpgroups, ", tiling.parts, " parts, cluster ", tiling.cluster.m, "x", tiling.cluster.n, ", ",
                      tiling.stages, " stages, groups of ", tiling.group);
}

Outcome<WarpgroupTiling> ChooseTiling(Schedule& sch, const WarpgroupProduct& product, const Target& target,
                                      Choices& choices) {
  const Problem problem{product, target};
  Picker picker{sch, product.plan.name, choices};
  WarpgroupTiling tiling;
  TW_RETURN_IF_ERROR(ChooseTile(problem, picker, tiling));
  TW_RETURN_IF_ERROR(ChooseParts(problem, picker, tiling));
  TW_RETURN_IF_ERROR(ChooseCluster(problem, picker, tiling));
  TW_RETURN_IF_ERROR(ChooseStages(problem, picker, tiling));
  TW_RETURN_IF_ERROR(ChooseGroup(problem, picker, tiling));
  return tiling;
}

}  // namespace tilewright
