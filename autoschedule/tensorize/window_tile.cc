#include "autoschedule/tensorize/window_tile.h"

#include <algorithm>
#include <tuple>

#include "autoschedule/program/choices.h"
#include "target/costs.h"

namespace tilewright {
namespace {

constexpr int64_t kLongestSide = 8;

int64_t ExtentOf(const WindowReduction& reduction, int iterator) {
  return iterator < 0 ? 1 : reduction.extents[static_cast<size_t>(iterator)];
}

}  // namespace

std::vector<WindowTile> ChooseWindowTiles(const Target& target, const WindowReduction& reduction) {
  const int64_t rows = ExtentOf(reduction, reduction.row), columns = ExtentOf(reduction, reduction.column);
  const int64_t length = ExtentOf(reduction, reduction.vector);
  double steps = 1;
  for (int iterator : reduction.reduce) steps *= static_cast<double>(ExtentOf(reduction, iterator));
  const auto most = static_cast<int64_t>(TileCostsOf(target).window_sums * target.cpu_part().vector_registers);
  const WindowTileTime time(reduction, target);
  std::vector<WindowTile> tiles;
  for (int64_t r = 1; r <= std::min(rows, kLongestSide); ++r) {
    for (int64_t c = 1; c <= std::min(columns, kLongestSide); ++c) {
      if (reduction.whole_columns && c < columns) continue;
      for (int64_t v = 1; v == 1 || (v <= kLongestSide && (v - 1) * reduction.lanes < length); ++v) {
        if (r * c * v > most) break;
        const double statements = static_cast<double>(r * c * v) * steps;
        if (r > 1 && reduction.most_statements > 0 && statements > static_cast<double>(reduction.most_statements)) {
          break;
        }
        WindowTile tile{r, c, v};
        const double picked = time.PickedRegisters(tile);
        if (r * c * v > 1 && picked > 0 &&
            picked + static_cast<double>(r * c * v) >
                TileCostsOf(target).window_picked * target.cpu_part().vector_registers) {
          break;
        }
        tile.cost = time.Cycles(tile);
        tiles.push_back(tile);
      }
    }
  }
  std::sort(tiles.begin(), tiles.end(), [](const WindowTile& a, const WindowTile& b) {
    return std::tie(a.cost, a.vectors, a.rows, a.columns) < std::tie(b.cost, b.vectors, b.rows, b.columns);
  });
  if (std::ssize(tiles) > kMostCandidates) tiles.resize(kMostCandidates);
  return tiles;
}

}  // namespace tilewright
