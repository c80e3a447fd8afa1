// What schedules of chains have in common on a GPU: operands in shared memory, and where a block's own loops run.
#pragma once

#include <cstddef>
#include <cstdint>
#include <optional>
#include <vector>

#include "autoschedule/movement/auto_copy.h"
#include "autoschedule/movement/gpu/copy_together.h"
#include "autoschedule/sketch/chained/chained_steps.h"

namespace tilewright {

inline constexpr const char* kChainedShared = "shared.dyn";

class GpuChainedSteps : protected ChainedSteps {
 protected:
  static constexpr const char* kName = "chained_tiles";

  // `all_keys`: a block of rows keeps all its scores in shared memory. Else blocks of keys follow running values.
  GpuChainedSteps(Schedule& sch, const ChainedPlan& plan, const Target& target, Choices& choices, bool all_keys)
      : ChainedSteps(sch, plan, target, choices), gpu_(target.gpu_part()), all_keys_(all_keys) {}

  // ---- All steps, and those that a kind of tiles takes in its own way

  Outcome<Done> ScheduleChain();
  virtual Outcome<Done> ChooseTiles() = 0;
  // Scopes of what the chain computes.
  virtual Outcome<Done> PlaceBuffers() = 0;
  // Loops of the chain's blocks by threads.
  virtual Outcome<Done> BindBlocks() = 0;
  virtual Outcome<Done> StageOperands() = 0;

  // ---- Sizes

  // Whether operands of blocks of so many rows and keys fit into shared memory. `weights`: bytes there of a score.
  bool FitsShared(int64_t rows, int64_t keys, int64_t weights) const;

  // ---- The chain

  bool IsAllocated(const Buffer& buffer) const;
  // All blocks of the kernel but the products.
  Outcome<std::vector<BlockRv>> Blocks();
  bool IsProduct(BlockRv block) const;

  // A block's own loops: that over the rows of a tile, and the others.
  struct TileLoops {
    LoopRv rows;
    std::vector<LoopRv> others;
  };
  Outcome<TileLoops> LoopsOfTile(BlockRv block);
  // Whether the block gives an element for each row and key, or column: its loops besides that over rows are spatial.
  Outcome<bool> GivesMatrix(BlockRv block);
  // Whether the block's loops run along keys, of which a second product's do not count.
  bool HasKeys(BlockRv block) const;
  // The loops of a sum at `place` by what they do.
  struct SumLoops {
    std::vector<LoopRv> reduced, spatial;
  };
  Outcome<SumLoops> ComputeSumAt(BlockRv sum, LoopRv place);
  Outcome<SumLoops> LoopsOfSum(BlockRv sum, const std::vector<LoopRv>& loops) const;

  // ---- Operands

  // Makes rows begin in other banks than those before.
  Outcome<Done> Pad(BlockRv writer, DataType type);
  // Copies to shared memory what blocks below the loop read of the operand, as the reader does. The copy's last two
  // dimensions are those that the reader's iterators `last` index; none: as in the operand. Nothing where the reader
  // does not read it (any more).
  Outcome<std::optional<BlockRv>> Stage(BlockRv reader, const Buffer& operand, LoopRv loop, const ThreadAxes& threads,
                                        std::optional<std::pair<int, int>> last = std::nullopt);
  // What the sum reads of global memory.
  std::vector<Buffer> GlobalReads(BlockRv sum) const;
  // The iterators of the first product that keys and its depth run along; for a second one: keys and columns.
  std::pair<int, int> FirstIterators() const;
  std::pair<int, int> SecondIterators(const SecondProduct& second) const;

  // The copy by all threads, along y and x, so many elements of each at once where rows allow.
  Outcome<Done> CopyByThreads(const AutoCopy& copy, const ThreadAxes& threads, int64_t vector);
  // Lays what the block writes out in another order of dimensions.
  Outcome<Done> Permute(BlockRv writer, const std::vector<size_t>& order);

  const GpuTarget& gpu_;
  const bool all_keys_;
  Buffer keys_;                      // of the first product
  int64_t depth_ = 1, columns_ = 0;  // of the first product, and of all second ones
  int64_t row_block_ = 0;

 private:
  // The last reduce iterator.
  static int Reduced(const BlockNode& sum);
  // Looks at the products as the program has them.
  Outcome<Done> FindOperands();
  // Sums of second products that are results are kept by threads, and copied at last.
  Outcome<Done> KeepResults();
  // So is what is a result and what others in the chain read.
  Outcome<Done> KeepRead();
  // Copies of what the block gives come at `next` in the chain.
  Outcome<Done> KeepRead(BlockRv block, const std::vector<int>& along, size_t next);
  Outcome<Done> BindGrid();
  std::optional<size_t> RowLoop(BlockRv block, const std::vector<LoopRv>& own) const;
};

}  // namespace tilewright
