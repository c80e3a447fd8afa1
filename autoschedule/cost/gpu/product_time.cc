#include "autoschedule/cost/gpu/product_time.h"

#include <algorithm>
#include <array>
#include <cmath>

#include "autoschedule/cost/speed_of_light.h"
#include "target/clusters.h"

namespace tilewright {
namespace {

constexpr double kSumBytes = 4;

double Tiles(int64_t extent, int64_t side) {
  return std::ceil(static_cast<double>(extent) / static_cast<double>(side));
}

// Cycles of a step until a core has its tiles of the operands.
double LoadCycles(const BlockTile& tile, double bytes, double l2, const GpuTarget& gpu) {
  const auto m = static_cast<double>(tile.m), n = static_cast<double>(tile.n);
  const double row = static_cast<double>(tile.k) * bytes;
  const double read = (m / static_cast<double>(tile.cluster_n) + n / static_cast<double>(tile.cluster_m)) * row / l2;
  const double fill = gpu.shared_fill_bytes_per_cycle;
  return fill > 0 ? std::max(read, (m + n) * row / fill) : read;
}

// Cycles until the results of a tile are stored.
double StoreCycles(const ProductShape& shape, const BlockTile& tile, double l2, const GpuTarget& gpu) {
  const double results = static_cast<double>(tile.m) * static_cast<double>(tile.n), bytes = shape.output_bytes,
               fill = gpu.shared_fill_bytes_per_cycle;
  if (shape.staged) return results * bytes / l2 + (fill > 0 ? results * bytes / fill : 0);
  // Lanes that hold neighbours fill a sector with results as wide as sums, and a part of it with narrower ones.
  return results * std::max(bytes, kSumBytes) / l2;
}

}  // namespace

double ProductSeconds(const ProductShape& shape, const BlockTile& tile, const Target& target) {
  const auto bytes = static_cast<double>(shape.factor.bytes());
  const auto m = static_cast<double>(tile.m), n = static_cast<double>(tile.n), k = static_cast<double>(tile.k);
  const double multiply = m * n * k / MultiplyAddsPerCycle(target, shape.factor);
  const GpuTarget& gpu = target.gpu_part();
  const double l2 = target.Farthest().bytes_per_cycle;
  const double load = LoadCycles(tile, bytes, l2, gpu);
  const double store = StoreCycles(shape, tile, l2, gpu);
  const auto parts = static_cast<double>(tile.parts);
  const double waves = std::ceil(parts * static_cast<double>(shape.batch) * Tiles(shape.m, tile.m) *
                                 Tiles(shape.n, tile.n) / CoresForClusters(target, tile.cluster_m * tile.cluster_n));
  const double cycles = waves * (std::ceil(Tiles(shape.k, tile.k) / parts) * std::max(multiply, load) + store +
                                 gpu.tile_fill_cycles + gpu.tile_drain_cycles);
  const auto [batch, all_m, all_n, all_k] = std::array{static_cast<double>(shape.batch), static_cast<double>(shape.m),
                                                       static_cast<double>(shape.n), static_cast<double>(shape.k)};
  const double moved = batch * ((all_m + all_n) * all_k * bytes + all_m * all_n * shape.output_bytes);
  // Sums of parts are written and read again.
  const double added =
      tile.parts == 1 ? 0
                      : batch * all_m * all_n * kSumBytes * 2 * parts / (l2 * target.cores * target.clock_ghz * 1e9);
  const double launches = tile.parts == 1 ? 1 : 2;
  return std::max(cycles / (target.clock_ghz * 1e9), moved / (target.memory_gbs * 1e9)) + added +
         launches * gpu.launch_seconds;
}

}  // namespace tilewright
