#include "autoschedule/auto_schedule.h"

#include "autoschedule/contraction.h"
#include "autoschedule/contraction_rule.h"
#include "verify/block_scope.h"

namespace tilewright {

AutoScheduled AutoSchedule(const Module& module, const Target& target, IntrinRegistry* intrins) {
  Choices preferred = Choices::Preferred();
  return AutoSchedule(module, target, intrins, preferred);
}

AutoScheduled AutoSchedule(const Module& module, const Target& target, IntrinRegistry* intrins, Choices& choices) {
  AutoScheduled result{Schedule(module, {.intrins = intrins}), {}};
  for (const Function& function : module.functions()) {
    const auto* root = dyn_cast<BlockRealizeNode>(function->body);
    if (root == nullptr) continue;
    const BlockScope scope = BlockScope::Of(root->block.get());
    for (const ScopeChild& child : scope.children()) {
      if (!MatchContraction(*child.realize).ok()) continue;
      Schedule attempt = result.schedule;
      Outcome<BlockRv> block = attempt.GetBlock(child.realize->block->name, function->name);
      if (!block.ok()) {
        result.left_alone.push_back({block.refusal(), function});
        continue;
      }
      Outcome<std::monostate> done = ScheduleContraction(attempt, *block, target, choices);
      if (done.ok()) {
        result.schedule = std::move(attempt);
      } else {
        const Function& refused = attempt.refused_function();
        result.left_alone.push_back({done.refusal(), refused ? refused : function});
      }
    }
  }
  return result;
}

}  // namespace tilewright
