// How the results of a product by warpgroups or warps go from registers to memory, for instructions whose sums lie
// there.
//
//   lanes     each lane stores the results that it holds, two neighbours at once
//   vectors   through shared memory, from where all threads store 16 bytes each
//   bulk      through swizzled shared memory, from where the engine (TMA) stores boxes, clipped at the array's edges
//
// A lane's two neighbours of 16 bits are 4 bytes, and those of a row that lanes hold together half a sector. Results of
// 16 bits go to shared memory by stmatrix where tiles divide the product. Where the engine has no map of the array
// (codegen/lower/gpu/bulk_stores.h), threads store vectors.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <variant>
#include <vector>

#include "autoschedule/program/choices.h"
#include "autoschedule/sketch/gpu/product_tiles.h"
#include "schedule/recorder/schedule.h"
#include "target/target.h"

namespace tilewright {

enum class ResultStores : uint8_t { kLanes, kVectors, kBulk };

// What the product's consumers make of its sums and store.
struct ProductResult {
  DataType type;
  int64_t vector = 1;  // neighbours along N that lie side by side and may be stored at once
};
ProductResult ResultOf(const Schedule& sch, BlockRv stored, const GpuTarget& gpu);

// Whether results are better stored through shared memory: lanes that hold neighbours fill a sector with 32 bits each
// and no less, and vectors can be stored.
bool PrefersStaging(const ProductResult& result, const Target& target);

// What is stored: a tile of so many rows and columns at most by so many warpgroups, one below the other.
struct ResultTile {
  int64_t rows = 0, columns = 0;
  int64_t warpgroups = 1;
  bool divides = false;  // no tile is in part outside of the product
};

// By lanes, or the last of the other ways that there are, as PrefersStaging says. Tiles that are wider or taller than
// the product and so no multiple of what threads copy at once are stored by lanes.
// Choice: NAME.store, "lanes", "vectors" or "bulk".
Outcome<ResultStores> ChooseStores(Schedule& sch, const std::string& name, const ProductResult& result,
                                   const ResultTile& tile, const Target& target, Choices& choices);

// Who holds sums together: a memory scope, and how many warps there are, 16 rows each.
struct SumHolder {
  const char* scope = "wgmma.accumulator";
  int64_t warps = 4;
};
inline constexpr SumHolder kWarpgroup = {}, kWarp = {"wmma.accumulator", 1};

// A loop over an index of sums, in parts: those that say which lane holds a sum, and those that say in which register.
struct LaneLoops {
  LoopRv rest;
  std::vector<LoopRv> owners, registers;
};
// Splits a loop over rows (index 0) or columns (1) by the digits that lanes hold sums by. `factors`: those before, of
// which the first one is the rest and all others are owners.
Outcome<LaneLoops> SplitByLanes(Schedule& sch, LoopRv loop, size_t index, std::vector<Value> factors);

// Sums in registers of the loop over warpgroups or warps go to where `stored`, which copies them with what consumers
// make of them, or the product itself writes. `pairs`: lanes store two columns at once.
Outcome<std::monostate> StoreResults(Schedule& sch, BlockRv product, std::optional<BlockRv> stored, LoopRv holders,
                                     bool pairs, const SumHolder& holder = kWarpgroup);
// The same through shared memory; `tiles`: the loop over tiles around that over warpgroups.
Outcome<std::monostate> StageResults(Schedule& sch, BlockRv product, BlockRv stored, LoopRv tiles, LoopRv warpgroup,
                                     const ResultTile& tile, ResultStores stores, const Target& target);

}  // namespace tilewright
