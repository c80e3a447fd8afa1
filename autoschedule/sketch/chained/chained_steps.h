// What schedules of chains (autoschedule/sketch/chained/chained_plan.h) have in common: divisions behind second
// products, and all blocks in one loop over blocks of rows, of keys too perhaps.
#pragma once

#include <cstddef>
#include <cstdint>
#include <optional>
#include <string>
#include <variant>
#include <vector>

#include "autoschedule/program/attempt.h"
#include "autoschedule/program/choices.h"
#include "autoschedule/sketch/chained/chained_plan.h"
#include "schedule/recorder/schedule.h"
#include "target/target.h"

namespace tilewright {

class ChainedSteps {
 protected:
  using Done = std::monostate;
  static constexpr const char* kName = "chained_rule";

  ChainedSteps(Schedule& sch, const ChainedPlan& plan, const Target& target, Choices& choices);
  virtual ~ChainedSteps() = default;

  // Keeps the sums of a product in a buffer of the scope that the kind of machine has for sums. The block that is
  // returned copies them to the product's own buffer.
  virtual Outcome<BlockRv> KeepSums(BlockRv product) = 0;

  const BlockNode& Node(BlockRv block) const;

  // ---- Sizes

  // The sizes that divide the extent.
  static std::vector<int64_t> Dividing(int64_t extent, std::vector<int64_t> sizes);

  // ---- The chain before any loop is shared

  // A second product.
  struct SecondProduct {
    BlockRv block;
    std::vector<int> along;         // of its iterators
    std::vector<BlockRv> scaled;    // what divides late, in the order in which it does
    std::optional<BlockRv> result;  // copies, or combines, its sums
    std::optional<BlockRv> part;    // sums up a block of keys
    const BlockRv& sum() const { return part ? *part : block; }
  };
  // The one that a block of the chain is; null: none.
  SecondProduct* SecondOf(BlockRv block);
  // Quotients by sums of rows become quotients of second products' results.
  void DivideLate();
  // What second products round, or compute otherwise of the scores, becomes a block before each of them.
  Outcome<std::vector<BlockRv>> StageWeights();
  // Sums of the product are kept in registers; `scores_` copies them.
  Outcome<Done> StageProduct();
  // Iterators of the block that copies the product's result are those of its output, in its order.
  std::vector<int> AlongScores() const;

  // ---- Shared loops

  // Moves all blocks into the loop over blocks of rows.
  Outcome<Done> KeepAllKeys();
  // Moves all blocks into the loop over blocks of keys, `key_block_` each.
  // `skip_leading`: the loop leaves out masked blocks of keys before the first one that has a term.
  Outcome<Done> FollowRunningValues(bool skip_leading);
  // Moves all blocks into the loop over parts of the keys, `key_block_` each, which may run at once. The blocks that
  // combine the parts follow it in their order, each in loops of its own, those over rows and over parts outermost.
  struct Combination {
    std::vector<BlockRv> blocks;
    size_t outer = 0;  // loops over rows and parts
  };
  Outcome<Combination> ReduceParts();
  // The loops of a block inside of the shared ones.
  Outcome<std::vector<LoopRv>> OwnLoops(BlockRv block);
  // Whether the shared loop itself carries the block's reduction.
  bool IsCombining(BlockRv block) const;
  // Whether the block computes, copies or combines sums of a second product.
  bool IsTile(BlockRv block) const;
  // The iterator of a second product's sum along `along`, and that of its columns.
  Var SecondVar(const SecondProduct& second, int along) const;
  Var SecondColumn(const SecondProduct& second) const { return SecondVar(second, kAlongOther); }
  // The same iterator in the block that copies or combines these sums. Its spatial iterators come last, in that order.
  size_t ResultIterator(const SecondProduct& second, int along) const;

  // A row iterator, and how many of its elements a tile has.
  struct TileRow {
    int iterator = 0;
    int64_t elements = 1;
  };

  Schedule& sch_;
  const ChainedPlan& plan_;
  const Target& target_;
  Choices& choices_;
  std::string name_;
  std::vector<ChainedBlock> chain_;
  std::vector<SecondProduct> seconds_;  // of them
  std::vector<TileRow> tile_rows_;
  int64_t key_block_ = 0;
  std::optional<BlockRv> scores_;  // copies sums of the product
  bool has_parts_ = false;         // ReduceParts: second products are those of a part
  std::vector<LoopRv> outer_;      // loops over rows and their blocks
  LoopRv shared_;                  // the innermost loop that all blocks share

 private:
  using Hoisted = std::vector<BlockRv>;  // of each second product
  bool HoistAll(Schedule& sch, Hoisted* hoisted) const;
  void HoistIfAll(const std::optional<BlockRv>& inlined);
  // Puts the blocks of parts in the place of the chain's reductions, and returns those and the blocks that come late.
  std::vector<BlockRv> ReplaceByParts(const std::vector<BlockRv>& parts);
  void ForgetInlined();
  int64_t TileElements(int iterator) const;
  // The loops of a block in the order: rows but those of a tile, blocks of keys; the rest.
  struct SplitLoops {
    std::vector<LoopRv> outer, rest;  // outer: shared by all blocks
  };
  Outcome<SplitLoops> Divide(BlockRv block, const std::vector<int>& along, bool keys);
  // The last iterator of the product along `along`.
  static int SecondIterator(const SecondProduct& second, int along);
};

// The schedule with blocks of keys as they are chosen or, where that is refused, of all keys. `ChainSchedule` takes
// what ChainedSteps takes, and whether a block has all keys.
template <class ChainSchedule>
Outcome<std::monostate> ScheduleByKeys(Schedule& sch, const ChainedPlan& plan, const Target& target, Choices& choices) {
  const auto by_blocks = [&](Schedule& attempt, Choices& taken) {
    return ChainSchedule(attempt, plan, target, taken, false).Apply();
  };
  if (Attempt(sch, choices, by_blocks)) return std::monostate();
  return ChainSchedule(sch, plan, target, choices, true).Apply();
}

}  // namespace tilewright
