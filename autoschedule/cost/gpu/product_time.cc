#include "autoschedule/cost/gpu/product_time.h"

#include <algorithm>
#include <array>
#include <cmath>

#include "autoschedule/cost/speed_of_light.h"
#include "target/clusters.h"

namespace tilewright {
namespace {

constexpr double kSumBytes = DataType::Float(32).bytes();

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

// Cycles of a step in which tiles of the operands go into shared memory and from there to registers of warps.
double SharedCycles(const BlockTile& tile, double bytes, const Target& target) {
  const auto m = static_cast<double>(tile.m), n = static_cast<double>(tile.n);
  const double elements = m * (1 + static_cast<double>(tile.warps_n)) + n * (1 + static_cast<double>(tile.warps_m));
  return elements * static_cast<double>(tile.k) * bytes / target.Nearest().bytes_per_cycle;
}

// Cycles in which the results of a tile leave the registers of those who multiply, in which they go to L2, and until
// they are there.
struct Storing {
  double threads = 0, l2 = 0, whole = 0;
};
Storing StoreCycles(const ProductShape& shape, const BlockTile& tile, double l2, const GpuTarget& gpu) {
  const double results = static_cast<double>(tile.m) * static_cast<double>(tile.n), bytes = shape.output_bytes,
               fill = gpu.shared_fill_bytes_per_cycle;
  if (shape.staged) {
    const double staged = fill > 0 ? results * bytes / fill : 0, stored = results * bytes / l2;
    return {staged, stored, stored + staged};
  }
  // Lanes that hold neighbours fill a sector with results as wide as sums, and a part of it with narrower ones.
  const double stored = results * std::max(bytes, kSumBytes) / l2;
  return {stored, stored, stored};
}

// Cycles of a core that has so many tiles, of so many steps each. Loads and stores share the way to L2.
double CoreCycles(double tiles, double steps, double multiply, double load, const Storing& store, bool stays,
                  const GpuTarget& gpu) {
  const double ends = gpu.tile_fill_cycles + gpu.tile_drain_cycles;
  if (!stays) return tiles * (steps * std::max(multiply, load) + store.whole + ends);
  return tiles * std::max(steps * multiply + store.threads, steps * load + store.l2) + store.l2 + ends;
}

}  // namespace

double ProductSeconds(const ProductShape& shape, const BlockTile& tile, const Target& target) {
  const auto bytes = static_cast<double>(shape.factor.bytes());
  const auto m = static_cast<double>(tile.m), n = static_cast<double>(tile.n), k = static_cast<double>(tile.k);
  const GpuTarget& gpu = target.gpu_part();
  double multiply = m * n * k / MultiplyAddsPerCycle(target, shape.factor);
  if (const int64_t warps = tile.warps_m * tile.warps_n; warps > 0) {
    const double idle = std::max(1.0, gpu.warp_instructions_per_cycle / static_cast<double>(warps));
    multiply = std::max(multiply * idle, SharedCycles(tile, bytes, target));
  }
  const double l2 = target.Farthest().bytes_per_cycle;
  const double load = LoadCycles(tile, bytes, l2, gpu);
  const Storing store = StoreCycles(shape, tile, l2, gpu);
  const auto parts = static_cast<double>(tile.parts), turns = static_cast<double>(tile.turns);
  const double tiles = parts * static_cast<double>(shape.batch) * Tiles(shape.m, tile.m) * Tiles(shape.n, tile.n);
  const double of_core =
      turns * std::ceil(std::ceil(tiles / turns) / CoresForClusters(target, tile.cluster_m * tile.cluster_n));
  const double cycles =
      CoreCycles(of_core, std::ceil(Tiles(shape.k, tile.k) / parts), multiply, load, store, tile.turns > 1, gpu);
  const auto [batch, all_m, all_n, all_k] = std::array{static_cast<double>(shape.batch), static_cast<double>(shape.m),
                                                       static_cast<double>(shape.n), static_cast<double>(shape.k)};
  const double rows = shape.row_elements > 0 ? static_cast<double>(shape.row_elements) : batch * all_m * all_k;
  const double moved = (rows + batch * all_n * all_k) * bytes + batch * all_m * all_n * shape.output_bytes;
  // Sums of parts are written and read again.
  const double added =
      tile.parts == 1 ? 0
                      : batch * all_m * all_n * kSumBytes * 2 * parts / (l2 * target.cores * target.clock_ghz * 1e9);
  const double launches = tile.parts == 1 ? 1 : 2;
  return std::max(cycles / (target.clock_ghz * 1e9), moved / (target.memory_gbs * 1e9)) + added +
         launches * gpu.launch_seconds;
}

}  // namespace tilewright
