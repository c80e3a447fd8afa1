// What the rules of contractions on GPUs share: a product of matrices in tiles of blocks of threads.
//
//   for batch, m / tile, n / tile in blocks:          blockIdx.z, x, y
//       for k / tile:
//           copies of both operands' tiles into shared memory, by all threads together
//           ... the part of one thread or warp ...
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "autoschedule/movement/gpu/copy_together.h"
#include "autoschedule/normalize/matrix_form.h"
#include "autoschedule/program/choices.h"
#include "autoschedule/program/contraction.h"
#include "schedule/recorder/schedule.h"
#include "target/costs.h"
#include "target/target.h"

namespace tilewright {

// Elements of a side of a fragment that warps multiply: the square shape of sums (intrin/cuda/wmma.h).
inline constexpr int64_t kFragmentSide = 16;
// Stages of a pipeline of threads that copy, at most: one more than hide the latency of memory.
inline int64_t MostStagesOfThreads(const Target& target) { return GpuCostsOf(target).hiding_stages + 1; }

struct ProductTile {
  int64_t m = 0, n = 0, k = 0;
};

// A contraction of constant extents that a grid of the target can hold.
struct ProductPlan {
  Contraction contraction;
  MatrixSizes sizes;
  std::string name;                // the block's
  const GpuTarget* gpu = nullptr;  // part of the target, which outlives the plan
};
std::optional<ProductPlan> PlanProduct(const BlockRealizeNode& realize, const Target& target);

// The part of the products in whole tiles of side `side` that are not padding.
double UsefulPart(const MatrixSizes& sizes, int64_t side);

// Choices: NAME.tile_m, NAME.tile_n out of `sides` and NAME.tile_k out of `depths`; preferred are the largest that
// leave a block for each core and do little besides, and the depth in the middle.
Outcome<ProductTile> TakeProductTile(Schedule& sch, const ProductPlan& plan, const std::vector<int64_t>& sides,
                                     const std::vector<int64_t>& depths, const Target& target, Choices& choices);

// One of `candidates`: `preferred`, or the largest below it that is there.
Outcome<Choices::Pick> TakeUpTo(Schedule& sch, const std::string& name, const std::vector<int64_t>& candidates,
                                int64_t preferred, Choices& choices);

// Takes choices after the name of a product's block.
struct Picker {
  Schedule& sch;
  const std::string& name;
  Choices& choices;

  // One of the candidates, by TakeUpTo.
  Outcome<int64_t> Take(const char* what, std::vector<int64_t> candidates, int64_t preferred);
};

// Choice: NAME.group, rows of tiles that run at the same time, a multiple of `multiple`, with as many columns of tiles
// as cores are left: preferred is a group that is about as high as it is wide, which reads the least.
Outcome<int64_t> TakeGroup(Picker& picker, const ProductPlan& plan, const ProductTile& tile, const Target& target,
                           int64_t multiple = 1);

// The product in matrix form, with what feeds it computed in the copies and its epilogue in the output's.
struct ProductBlocks {
  MatrixForm form;
  // Elements that a thread may copy at once, and store before consumers were fused.
  int64_t row_vector = 1, column_vector = 1, output_vector = 1;
};
// `by_depth`: the column operand's tiles are [n, k].
Outcome<ProductBlocks> MakeProductBlocks(Schedule& sch, BlockRv block, const ProductPlan& plan, const ProductTile& tile,
                                         bool by_depth);

// Whether neighbours along the depth lie side by side in the column operand.
bool ColumnsRunAlongDepth(const BlockNode& block, const Contraction& contraction);

// Loops of the product: batch where there is one, m, n, k.
struct ProductLoops {
  std::optional<LoopRv> batch;
  LoopRv m, n, k;
};
Outcome<ProductLoops> LoopsOfProduct(Schedule& sch, const ProductBlocks& blocks);

// Binds the loops over tiles to blocks.
Outcome<std::monostate> BindTiles(Schedule& sch, const ProductLoops& loops, LoopRv m, LoopRv n);

// Both operands of `product` at `loop` in memory of `scope`, copied by all threads: `blocks` has these copies then.
Outcome<std::monostate> CopyOperands(Schedule& sch, ProductBlocks& blocks, BlockRv product, const std::string& scope,
                                     LoopRv loop, const ThreadAxes& threads);

// The copies of the loop over K run ahead of the products by all stages but one. Expects two copies and the products in
// it.
Outcome<std::monostate> PipelineCopies(Schedule& sch, LoopRv loop, int64_t stages);

}  // namespace tilewright
