#include "autoschedule/cost/cpu/window_tile_time.h"

#include <algorithm>
#include <cstdlib>

#include "base/math.h"
#include "target/costs.h"

namespace tilewright {
namespace {

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

WindowTileTime::WindowTileTime(const WindowReduction& reduction, const Target& target)
    : reduction_(reduction), costs_(TileCostsOf(target)), latency_(target.FmaLatency()) {
  for (int iterator : reduction.reduce) steps_ *= static_cast<double>(ExtentOf(reduction, iterator));
  per_cycle_ = std::max(1, target.FmaPerCycle());
  const MemoryLevel& level = ExceedsNearCache(target, reduction) ? target.Farthest() : target.Near();
  run_cycles_ =
      level.bytes_per_cycle == 0 ? 0 : CpuCostsOf(target).run_start_lines * level.line_bytes / level.bytes_per_cycle;
  vectors_alone_ = TouchedBy(reduction, WindowTile()).vectors;
}

double WindowTileTime::PickedRegisters(const WindowTile& tile) const {
  double registers = 0;
  for (size_t position : reduction_.picked) {
    const Access& access = reduction_.accesses[position];
    std::vector<int> along;
    for (int iterator : reduction_.reduce) {
      const auto both = [&](const std::vector<int64_t>& steps) {
        return steps[static_cast<size_t>(iterator)] != 0 && steps[static_cast<size_t>(reduction_.column)] != 0;
      };
      if (reduction_.column >= 0 && std::ranges::any_of(access.steps, both)) along.push_back(iterator);
    }
    registers += 2 * TouchedBy(reduction_, tile, access, along).vectors;
  }
  return registers;
}

double WindowTileTime::Cycles(const WindowTile& tile) const {
  const int64_t rows = ExtentOf(reduction_, reduction_.row), columns = ExtentOf(reduction_, reduction_.column);
  const int64_t length = ExtentOf(reduction_, reduction_.vector);
  const auto size = static_cast<double>(tile.rows * tile.columns * tile.vectors);
  const Touched touched = TouchedBy(reduction_, tile);
  const double tile_cycles = std::max(size * steps_ / per_cycle_, steps_ * latency_) + touched.vectors / per_cycle_ +
                             touched.runs * run_cycles_ + costs_.window_cycles;
  const auto count = static_cast<double>(CeilDiv(rows, tile.rows) * CeilDiv(columns, tile.columns) *
                                         CeilDiv(length, tile.vectors * reduction_.lanes));
  const double vectors = static_cast<double>(rows * columns) * static_cast<double>(length) / reduction_.lanes;
  // Neighbours that share nothing are streams of their own to the prefetcher.
  const bool shares = touched.vectors < size * vectors_alone_;
  const double streams = shares ? 1 : 1 + costs_.stream_part * static_cast<double>(tile.rows * tile.columns - 1);
  const double cycles = tile_cycles * count / vectors * streams;
  return rows % tile.rows != 0 || columns % tile.columns != 0 ? cycles * costs_.cut_tile : cycles;
}

}  // namespace tilewright
