// What schedules of chains have in common on a CPU: sums in registers, tiles of vectors, loops that cores share.
#pragma once

#include <cstdint>
#include <string>

#include "autoschedule/sketch/chained/chained_steps.h"

namespace tilewright {

class CpuChainedSteps : protected ChainedSteps {
 protected:
  CpuChainedSteps(Schedule& sch, const ChainedPlan& plan, const Target& target, Choices& choices)
      : ChainedSteps(sch, plan, target, choices), lanes_(target.lanes(plan.type.bits())) {}

  Outcome<BlockRv> KeepSums(BlockRv product) override;
  // Chooses elements that a tile broadcasts, `most` at most.
  Outcome<int64_t> TileOf(const std::string& name, int64_t extent, int64_t most);
  // What registers hold beside the vectors that are loaded.
  int64_t MostBroadcast(int64_t vectors) const;
  Outcome<Done> RunInParallel();

  const int64_t lanes_;
  std::string sum_scope_ = "register";  // where sums of tiles are kept
};

}  // namespace tilewright
