#include "autoschedule/cost/gpu/product_time.h"

#include <algorithm>
#include <array>
#include <cmath>

#include "autoschedule/cost/speed_of_light.h"
#include "target/clusters.h"

namespace tilewright {
namespace {

// Cycles until the first operands of a tile arrive from memory, and until the last results leave.
constexpr double kSumBytes = 4;
constexpr double kFillCycles = 1300, kDrainCycles = 600;

double Tiles(int64_t extent, int64_t side) {
  return std::ceil(static_cast<double>(extent) / static_cast<double>(side));
}

// Cycles of a step until a core has its tiles of the operands.
double LoadCycles(const BlockTile& tile, double bytes, double l2, const ClusterFacts* clusters) {
  const auto m = static_cast<double>(tile.m), n = static_cast<double>(tile.n);
  const double row = static_cast<double>(tile.k) * bytes;
  const double read = (m / static_cast<double>(tile.cluster_n) + n / static_cast<double>(tile.cluster_m)) * row / l2;
  return clusters == nullptr ? read : std::max(read, (m + n) * row / clusters->fill_bytes_per_cycle);
}

}  // namespace

double ProductSeconds(const ProductShape& shape, const BlockTile& tile, const Target& target) {
  const auto bytes = static_cast<double>(shape.factor.bytes());
  const auto m = static_cast<double>(tile.m), n = static_cast<double>(tile.n), k = static_cast<double>(tile.k);
  const double multiply = m * n * k / MultiplyAddsPerCycle(target, shape.factor);
  const double l2 = target.levels.empty() ? 0 : target.Farthest().bytes_per_cycle;
  const double load = l2 == 0 ? 0 : LoadCycles(tile, bytes, l2, ClustersOf(target));
  const double store = l2 == 0 ? 0 : m * n * shape.output_bytes / l2;
  const auto parts = static_cast<double>(tile.parts);
  const double waves =
      std::ceil(parts * static_cast<double>(shape.batch) * Tiles(shape.m, tile.m) * Tiles(shape.n, tile.n) /
                (target.cores * ClusterFacts::UsableCores(tile.cluster_m * tile.cluster_n)));
  const double cycles = waves * (std::ceil(Tiles(shape.k, tile.k) / parts) * std::max(multiply, load) + store +
                                 kFillCycles + kDrainCycles);
  const auto [batch, all_m, all_n, all_k] = std::array{static_cast<double>(shape.batch), static_cast<double>(shape.m),
                                                       static_cast<double>(shape.n), static_cast<double>(shape.k)};
  const double moved = batch * ((all_m + all_n) * all_k * bytes + all_m * all_n * shape.output_bytes);
  // Sums of parts are written and read again.
  const double added = tile.parts == 1 || l2 == 0 ? 0
                                                  : batch * all_m * all_n * kSumBytes * 2 * parts /
                                                        (l2 * target.cores * target.clock_ghz * 1e9);
  const double launches = tile.parts == 1 ? 1 : 2;
  return std::max(cycles / (target.clock_ghz * 1e9), moved / (target.memory_gbs * 1e9)) + added +
         launches * target.gpu_part().launch_seconds;
}

}  // namespace tilewright
