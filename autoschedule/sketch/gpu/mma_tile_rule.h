// Contractions by warps that multiply fragments in registers (mma.sync), which they load from swizzled shared memory
// (ldmatrix).
//
//   for tiles in blocks, parts of a tile in warps:
//       sums = 0
//       for k0, in stages, copies ahead of products, asynchronously:
//           A_shared, B_shared: tiles of the operands, by all threads, zero outside of them
//           for k1: fragments of A and B; sums += A * B
//       C[...] = sums                                with elementwise consumers, by lanes from registers
//
// The instruction is that of the table for the operands' types (intrin/instructions.h). Sums stay in registers until
// lanes store what consumers make of them, two neighbours at once. Rows of tiles lie swizzled, so that what ldmatrix
// reads at once lies in different banks.
//
// The steps: operand_way.h brings operands into reach, mma_tiling.h chooses tiles, the rule applies them, depth_parts.h
// divides the depth of products of few tiles, and result_way.h stores results. Choices are theirs.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <variant>

#include "autoschedule/movement/auto_copy.h"
#include "autoschedule/sketch/gpu/operand_way.h"
#include "autoschedule/sketch/gpu/product_tiles.h"
#include "intrin/registry.h"

namespace tilewright {

// Intrinsics that multiply tiles of the instruction's types and move them from swizzled shared memory, by name.
struct MmaNames {
  std::string load_rows, load_columns, fill, product;
};
// `by_depth`: the column operand's tiles are [n, k].
MmaNames MmaNamesOf(const MachineInstruction& row, bool by_depth);

// Expands a copy by an intrinsic that loads fragments of so many rows and columns.
Outcome<std::monostate> LoadFragments(Schedule& sch, const AutoCopy& copy, const std::string& intrin, int64_t rows,
                                      int64_t columns);

// The widest swizzle, in bytes, that rows of so many bytes consist of.
int64_t SwizzleOfRows(int64_t bytes, const GpuTarget& gpu);

// Nothing when the target has no instructions for these types, or the registry does not have their intrinsics.
std::optional<WarpgroupTile> FindMmaTile(const BlockNode& block, const Contraction& contraction, const Target& target,
                                         IntrinRegistry* intrins);

// On a refusal the steps before it stay applied.
Outcome<std::monostate> ScheduleMmaTiles(Schedule& sch, BlockRv block, const ProductPlan& plan,
                                         const WarpgroupTile& tile, const Target& target, Choices& choices);

}  // namespace tilewright
