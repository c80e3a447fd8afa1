// How the operands of a product come into shared memory, for instructions of warpgroups, which read both from there,
// and of warps, which load fragments from there.
//
//   bulk      the engine (TMA) copies boxes of both arrays
//   pixels    it copies pixels of an image for the rows; a step of K is then of a single window element
//   threads   all threads copy asynchronously, several neighbours each
//
// Operands that cannot be copied in vectors, such as bytes of B[k, n] and images of three channels, are packed before:
// an image of few channels gets a copy with more of them, others a matrix, by a separate kernel (pack_operand.h).
#pragma once

#include <cstdint>
#include <string>
#include <variant>

#include "autoschedule/program/choices.h"
#include "autoschedule/sketch/gpu/product_tiles.h"
#include "autoschedule/sketch/gpu/result_way.h"
#include "intrin/instructions.h"
#include "schedule/recorder/schedule.h"
#include "target/target.h"

namespace tilewright {

enum class OperandCopies : uint8_t { kBulk, kPixels, kThreads };

struct OperandWay {
  OperandCopies copies = OperandCopies::kThreads;
  bool packed = false;    // operands are matrices that were made for this
  bool by_depth = false;  // tiles of the column operand are [n, k]
  int64_t depth = 0;      // elements of K of a stage at most

  bool bulk() const { return copies != OperandCopies::kThreads; }
  bool operator==(const OperandWay&) const = default;
};
// "pixels, [k, n], depth 64".
std::string ToString(const OperandWay& way);

// The instruction, and how the column operand's tiles lie where both ways are possible.
struct WarpgroupTile {
  const MachineInstruction* instruction = nullptr;
  bool by_depth = false;      // [n, k]
  bool engine_copies = true;  // where the engine can; else threads copy

  int64_t Bytes() const { return instruction->a.type.bytes(); }  // of an element
  int64_t Rows() const { return instruction->m; }                // of a warpgroup's or warp's tile
};

// A product whose operands can be copied.
struct WarpgroupProduct {
  ProductPlan plan;
  WarpgroupTile tile;
  OperandWay way;
  ProductResult result = {};
  // Neighbours that lie side by side in the arrays behind packed operands, which hide it.
  int64_t row_vector = 0, column_vector = 0, output_vector = 0;
};

// The way for the block as it is. Refused: operands can be copied by single elements alone.
Outcome<OperandWay> FindWay(const Schedule& sch, BlockRv block, const WarpgroupProduct& product);

// Finds a way, and makes one where there is none. Choices: NAME.copies of pixels, by the engine ("bulk") or by threads
// ("threads"), and those of kernels that pack. On a refusal the steps before it stay applied.
Outcome<WarpgroupProduct> PrepareOperands(Schedule& sch, BlockRv block, const ProductPlan& plan,
                                          const WarpgroupTile& tile, const Target& target, Choices& choices);

// MakeProductBlocks by the product's way, with no more neighbours than it says.
Outcome<ProductBlocks> MakeWarpgroupBlocks(Schedule& sch, BlockRv block, const WarpgroupProduct& product,
                                           const ProductTile& tile, bool by_depth);

}  // namespace tilewright
