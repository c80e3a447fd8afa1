#include "autoschedule/tensorize/window_tile.h"

#include <algorithm>
#include <cstdlib>
#include <tuple>

namespace tilewright {
namespace {

constexpr int64_t kLongestSide = 8;
// Registers that are left to weights, loaded elements and addresses.
constexpr double kAccumulators = 0.6;
// The same where lanes are picked: of all registers for accumulators, loaded vectors, and what was picked of them.
constexpr double kPicked = 0.65;
// Cycles between dependent operations, and of a tile's beginning and end.
constexpr double kLatency = 4, kTileOverhead = 10;
// What a stream that shares nothing with the others adds to a tile's time, as a part of it.
constexpr double kStream = 0.02;
// What the beginning of a run of elements takes, where prefetchers have to find out that there is one: as a part of the
// time of a line from where the data is.
constexpr double kRun = 0.4;
// What tiles take longer that are cut at the edges.
constexpr double kEdges = 1.15;
constexpr size_t kMostTiles = 12;

int64_t CeilDiv(int64_t a, int64_t b) { return (a + b - 1) / b; }

bool Moves(const Access& access, int row, int column) {
  return std::ranges::any_of(std::initializer_list<int>{row, column}, [&](int iterator) {
    return iterator >= 0 && access.strides[static_cast<size_t>(iterator)] != 0;
  });
}

// What one tile accesses, each element counted once: vectors that it loads, and runs of elements that follow each other
// in memory, which it loads or stores.
struct Touched {
  double vectors = 0, runs = 0;
};

// What one access touches, by the iterators `reduce` of the reduction.
Touched TouchedBy(const WindowReduction& reduction, const WindowTile& tile, const Access& access,
                  const std::vector<int>& reduce) {
  double places = 1, runs = 1;  // those along the last dimension are one
  for (const std::vector<int64_t>& steps : access.steps) {
    runs = places;
    int64_t reach = 1, instances = 1;
    auto add = [&](int iterator, int64_t extent) {
      if (iterator < 0 || steps[static_cast<size_t>(iterator)] == 0) return;
      reach += std::abs(steps[static_cast<size_t>(iterator)]) * (extent - 1);
      instances *= extent;
    };
    add(reduction.row, tile.rows);
    add(reduction.column, tile.columns);
    for (int iterator : reduce) add(iterator, reduction.extents[static_cast<size_t>(iterator)]);
    places *= static_cast<double>(std::min(reach, instances));
  }
  const int64_t stride = reduction.vector < 0 ? 0 : access.strides[static_cast<size_t>(reduction.vector)].value_or(0);
  Touched result;
  if (stride > 0 && Moves(access, reduction.row, reduction.column)) result.runs = runs;
  // Vectors whose elements lie apart are picked from as many as lie between their ends.
  if (!access.store) result.vectors = places * static_cast<double>(stride > 0 ? tile.vectors * (2 * stride - 1) : 1);
  return result;
}

Touched TouchedBy(const WindowReduction& reduction, const WindowTile& tile) {
  Touched result;
  for (const Access& access : reduction.accesses) {
    const Touched touched = TouchedBy(reduction, tile, access, reduction.reduce);
    result.vectors += touched.vectors;
    result.runs += touched.runs;
  }
  // Picking takes as long as loading.
  for (size_t position : reduction.picked) {
    result.vectors += TouchedBy(reduction, tile, reduction.accesses[position], reduction.reduce).vectors;
  }
  return result;
}

// Registers for vectors from which lanes are picked, and for these lanes: of the windows along the columns.
double PickedRegisters(const WindowReduction& reduction, const WindowTile& tile) {
  double registers = 0;
  for (size_t position : reduction.picked) {
    const Access& access = reduction.accesses[position];
    std::vector<int> along;
    for (int iterator : reduction.reduce) {
      const auto both = [&](const std::vector<int64_t>& steps) {
        return steps[static_cast<size_t>(iterator)] != 0 && steps[static_cast<size_t>(reduction.column)] != 0;
      };
      if (reduction.column >= 0 && std::ranges::any_of(access.steps, both)) along.push_back(iterator);
    }
    registers += 2 * TouchedBy(reduction, tile, access, along).vectors;
  }
  return registers;
}

int64_t ExtentOf(const WindowReduction& reduction, int iterator) {
  return iterator < 0 ? 1 : reduction.extents[static_cast<size_t>(iterator)];
}

// Whether the data comes from beyond the second cache level, of which each core has one.
bool ExceedsNearCache(const Target& target, const WindowReduction& reduction) {
  std::vector<const BufferNode*> counted;
  double bytes = 0;
  for (const Access& access : reduction.accesses) {
    if (std::ranges::find(counted, access.buffer.get()) != counted.end()) continue;
    counted.push_back(access.buffer.get());
    bytes += static_cast<double>(BytesOf(access.buffer));
  }
  return bytes / target.cores > static_cast<double>(target.Near().bytes) / 2;
}

}  // namespace

std::vector<WindowTile> ChooseWindowTiles(const Target& target, const WindowReduction& reduction) {
  const int64_t rows = ExtentOf(reduction, reduction.row), columns = ExtentOf(reduction, reduction.column);
  const int64_t length = ExtentOf(reduction, reduction.vector);
  double steps = 1;
  for (int iterator : reduction.reduce) steps *= static_cast<double>(ExtentOf(reduction, iterator));
  const double per_cycle = std::max(1, target.FmaPerCycle());
  const auto most = static_cast<int64_t>(kAccumulators * target.cpu_part().vector_registers);
  const MemoryLevel& level = ExceedsNearCache(target, reduction) ? target.Farthest() : target.Near();
  const double run_cycles = level.bytes_per_cycle == 0 ? 0 : kRun * level.line_bytes / level.bytes_per_cycle;
  const double vectors_alone = TouchedBy(reduction, WindowTile()).vectors;
  std::vector<WindowTile> tiles;
  for (int64_t r = 1; r <= std::min(rows, kLongestSide); ++r) {
    for (int64_t c = 1; c <= std::min(columns, kLongestSide); ++c) {
      for (int64_t v = 1; v == 1 || (v <= 8 && (v - 1) * reduction.lanes < length); ++v) {
        if (r * c * v > most) break;
        const double statements = static_cast<double>(r * c * v) * steps;
        if (r > 1 && reduction.most_statements > 0 && statements > static_cast<double>(reduction.most_statements)) {
          break;
        }
        WindowTile tile{r, c, v};
        const double picked = PickedRegisters(reduction, tile);
        if (r * c * v > 1 && picked > 0 &&
            picked + static_cast<double>(r * c * v) > kPicked * target.cpu_part().vector_registers) {
          break;
        }
        const double operations = static_cast<double>(r * c * v) * steps / per_cycle;
        const Touched touched = TouchedBy(reduction, tile);
        const double tile_cycles = std::max(operations, steps * kLatency) + touched.vectors / per_cycle +
                                   touched.runs * run_cycles + kTileOverhead;
        const double count =
            static_cast<double>(CeilDiv(rows, r) * CeilDiv(columns, c) * CeilDiv(length, v * reduction.lanes));
        const double vectors = static_cast<double>(rows * columns) * static_cast<double>(length) / reduction.lanes;
        // Neighbours that share nothing are streams of their own to the prefetcher.
        const bool shares = touched.vectors < r * c * v * vectors_alone;
        tile.cost = tile_cycles * count / vectors * (shares ? 1 : 1 + kStream * static_cast<double>(r * c - 1));
        if (rows % r != 0 || columns % c != 0) tile.cost *= kEdges;
        tiles.push_back(tile);
      }
    }
  }
  std::sort(tiles.begin(), tiles.end(), [](const WindowTile& a, const WindowTile& b) {
    return std::tie(a.cost, a.vectors, a.rows, a.columns) < std::tie(b.cost, b.vectors, b.rows, b.columns);
  });
  if (tiles.size() > kMostTiles) tiles.resize(kMostTiles);
  return tiles;
}

}  // namespace tilewright
