// What calls of amx_zero and amx_dot_add (intrin/amx_tile.h) do with tile registers, as far as the program says it.
#pragma once

#include <cstddef>
#include <cstdint>
#include <string_view>
#include <vector>

#include "ir/stmt.h"

namespace tilewright::codegen {

// amx_dot_add's, as ir/interp/amx.h names them. amx_zero has the first three and, from kZeroTiles on, those from kTiles
// to kColumns.
enum Arg : size_t {
  kC,
  kTileStrideC,
  kStrideC,
  kA,
  kTileStrideA,
  kStrideA,
  kB,
  kStrideB,
  kTiles,
  kRows,
  kColumns,
  kDepth
};
inline constexpr size_t kZeroTiles = 3;

// Products of tiles between two stores, at most: half of what was measured.
inline constexpr int64_t kMostProducts = 64;

// What the pointer of an access_ptr call points to; void for other expressions.
DataType PointedType(const Expr& pointer);

// Whether amx_zero sets the C of amx_dot_add to zero. The extent and the mode of pointers do not matter.
bool ZeroesSums(const CallNode* zero, const CallNode* dot);

// The call that a statement consists of, or null.
const CallNode* CallOf(const Stmt& s, std::string_view name);

// A call that makes the sums that stay where they are while a statement runs, or null when there are none, or several.
const CallNode* SumsThatStay(const Stmt& s);

// How many products of tiles a statement computes; kMostProducts + 1 stands for all larger numbers.
int64_t ProductsOfTiles(const Stmt& s);

// The calls of a statement that use the registers, without those in parallel loops, and whether something else may.
struct TileUses {
  std::vector<const CallNode*> calls;
  bool others = false;
};
TileUses TileUsesOf(const Stmt& s, bool inside_parallel);

}  // namespace tilewright::codegen
