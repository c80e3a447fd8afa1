#include "autoschedule/auto_schedule.h"

#include "autoschedule/contraction.h"
#include "autoschedule/contraction_rule.h"
#include "verify/block_scope.h"

namespace tilewright {

Outcome<Schedule> AutoSchedule(const Module& module, const Target& target, IntrinRegistry* intrins) {
  Schedule sch(module, {.intrins = intrins});
  for (const Function& function : module.functions()) {
    const auto* root = dyn_cast<BlockRealizeNode>(function->body);
    if (root == nullptr) continue;
    const BlockScope scope = BlockScope::Of(root->block.get());
    for (const ScopeChild& child : scope.children()) {
      if (!MatchContraction(*child.realize).ok()) continue;
      Outcome<BlockRv> block = sch.GetBlock(child.realize->block->name, function->name);
      if (!block.ok()) return block.refusal();
      Schedule attempt = sch;
      Outcome<std::monostate> done = ScheduleContraction(attempt, *block, target);
      if (!done.ok()) return done.refusal();
      sch = std::move(attempt);
    }
  }
  return sch;
}

}  // namespace tilewright
