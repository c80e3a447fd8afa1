#include "autoschedule/sketch/auto_schedule.h"

#include <algorithm>

#include "autoschedule/normalize/join_groups.h"
#include "autoschedule/normalize/normal_form.h"
#include "autoschedule/program/block_loops.h"
#include "autoschedule/program/contraction.h"
#include "autoschedule/sketch/contraction_rule.h"
#include "autoschedule/sketch/plain_rule.h"
#include "autoschedule/sketch/row_rule.h"
#include "autoschedule/sketch/tensor_rule.h"
#include "autoschedule/sketch/winograd_rule.h"
#include "autoschedule/tensorize/tensor_mapping.h"
#include "verify/structure/block_scope.h"

namespace tilewright {
namespace {

Refusal NoRules(const Target& target) {
  return {"auto_schedule", "there are no scheduling rules for {text0}", {}, {}, {target.name}};
}

// The rules of one function, on the blocks directly in its root block.
class FunctionRules {
 public:
  FunctionRules(AutoScheduled& result, std::string function, const Target& target, IntrinRegistry* intrins,
                Choices& choices)
      : result_(result),
        sch_(result.schedule),
        function_(std::move(function)),
        target_(target),
        intrins_(intrins),
        choices_(choices) {}

  void Run() {
    BringIntoNormalForm(sch_, function_, target_);
    const Outcome<BlockRv> root = sch_.GetBlock(Root().name, function_);
    if (!root.ok()) return LeaveAlone({root.refusal(), Current()});
    const Outcome<std::vector<BlockRv>> blocks = sch_.GetChildBlocks(*root);
    if (!blocks.ok()) return LeaveAlone({blocks.refusal(), Current()});
    blocks_ = *blocks;
    for (const BlockRv& block : *blocks) {
      if (const std::optional<BlockRv> part = SplitAmongCores(sch_, block, target_)) blocks_.push_back(*part);
    }
    // There is nothing to gain where nothing is computed.
    std::erase_if(blocks_, [&](const BlockRv& block) {
      return std::ranges::any_of(RealizeOf(sch_, block).block->iter_vars,
                                 [](const IterVar& iter) { return ExtentOf(iter) == 0; });
    });
    for (const BlockRv& block : blocks_) ApplyRowRule(block, false);
    // Reductions take elementwise blocks along.
    for (bool reductions : {true, false}) {
      for (const BlockRv& block : blocks_) {
        const BlockScope scope = BlockScope::Of(&Root());
        const ScopeChild* child = scope.Find(sch_.Get(block).As<BlockRef>()->id);
        if (child == nullptr || (reductions && !child->realize->block->init)) continue;
        if (IsSerial(*child)) Apply(scope, *child, block);
      }
    }
  }

 private:
  Function Current() const { return sch_.module().Find(function_); }
  const BlockNode& Root() const { return *cast<BlockRealizeNode>(Current()->body)->block; }

  // Schedules the chain of row reductions that the block begins. `contractions`: it may be a contraction, such as a
  // matrix by a vector.
  bool ApplyRowRule(BlockRv block, bool contractions) {
    const BlockScope scope = BlockScope::Of(&Root());
    const uint32_t id = sch_.Get(block).As<BlockRef>()->id;
    const ScopeChild* child = scope.Find(id);
    if (child == nullptr || (!contractions && MatchContraction(*child->realize).ok())) return false;
    std::vector<BlockRv> chain;
    for (uint32_t member : RowChain(scope, id)) {
      for (const BlockRv& candidate : blocks_) {
        if (sch_.Get(candidate).As<BlockRef>()->id == member) chain.push_back(candidate);
      }
    }
    return !chain.empty() &&
           TryRule(false, [&](Schedule& sch, Choices& choices) { return ScheduleRows(sch, chain, target_, choices); });
  }

  void Apply(const BlockScope& scope, const ScopeChild& child, BlockRv block) {
    const size_t refused = result_.refused.size();
    std::vector<TensorMapping> mappings;
    if (intrins_ != nullptr) mappings = SingleIntrinMappings(*child.realize->block);
    if (!mappings.empty() && TryRule(true, [&](Schedule& sch, Choices& choices) {
          return ScheduleTensorized(sch, block, mappings, target_, choices);
        })) {
      return;
    }
    const bool contraction = MatchContraction(*child.realize).ok();
    if (contraction && TryRule(false, [&](Schedule& sch, Choices& choices) -> Outcome<std::monostate> {
          const Outcome<std::monostate> joined = JoinGroups(sch, block, target_);
          return joined.ok() ? SchedulePlain(sch, block, target_, choices) : joined;
        })) {
      return;
    }
    if (contraction && TryRule(false, [&](Schedule& sch, Choices& choices) {
          return ScheduleWinograd(sch, block, target_, choices);
        })) {
      return;
    }
    if (contraction && TryRule(true, [&](Schedule& sch, Choices& choices) {
          return ScheduleContraction(sch, block, target_, choices);
        })) {
      return;
    }
    if (contraction && ApplyRowRule(block, true)) return;
    const bool shares_loops =
        std::any_of(scope.children().begin(), scope.children().end(), [&](const ScopeChild& other) {
          return &other != &child && !other.loops.empty() && !child.loops.empty() && other.loops[0] == child.loops[0];
        });
    if (!shares_loops &&
        TryRule(false, [&](Schedule& sch, Choices& choices) { return SchedulePlain(sch, block, target_, choices); })) {
      return;
    }
    KeepLoops(sch_, block);
    if (result_.refused.size() > refused) LeaveAlone(result_.refused.back());
  }

  // With the intrinsics that the registry names one by one, a user's for example. Families have rules of their own.
  std::vector<TensorMapping> SingleIntrinMappings(const BlockNode& block) const {
    std::vector<TensorMapping> all;
    for (const std::string& name : intrins_->names()) {
      const TensorIntrin& intrin = *intrins_->Find(name);
      if (!std::ranges::all_of(intrin.features, [&](const std::string& f) { return target_.has(f); })) continue;
      TensorMappings mappings = FindTensorMappings(block, intrin);
      all.insert(all.end(), mappings.found.begin(), mappings.found.end());
    }
    std::ranges::sort(all, LessWaste);
    return all;
  }

  // A refusal undoes the rule's steps.
  template <class Rule>
  bool TryRule(bool report, const Rule& rule) {
    Schedule attempt = sch_;
    Choices choices = choices_;
    const Outcome<std::monostate> done = rule(attempt, choices);
    if (done.ok()) {
      sch_ = std::move(attempt);
      choices_ = std::move(choices);
    } else if (report) {
      result_.refused.push_back({done.refusal(), attempt.refused_function() ? attempt.refused_function() : Current()});
    }
    return done.ok();
  }

  void LeaveAlone(RuleRefusal why) { result_.left_alone.push_back(std::move(why)); }

  AutoScheduled& result_;
  Schedule& sch_;
  const std::string function_;
  const Target& target_;
  IntrinRegistry* const intrins_;
  Choices& choices_;
  std::vector<BlockRv> blocks_;  // directly in the root block, before any rule but inlining
};

}  // namespace

AutoScheduled AutoSchedule(const Module& module, const Target& target, IntrinRegistry* intrins) {
  Choices preferred = Choices::Preferred();
  return AutoSchedule(module, target, intrins, preferred);
}

AutoScheduled AutoSchedule(const Module& module, const Target& target, IntrinRegistry* intrins, Choices& choices,
                           SharedSteps* shared) {
  AutoScheduled result{Schedule(module, {.intrins = intrins, .shared = shared}), {}, {}};
  for (const Function& function : module.functions()) {
    if (!isa<BlockRealizeNode>(function->body)) continue;
    if (target.is_gpu()) {
      result.left_alone.push_back({NoRules(target), function});
    } else {
      FunctionRules(result, function->name, target, intrins, choices).Run();
    }
  }
  result.schedule.EndSharing();
  if (shared == nullptr) result.schedule.RemoveUnusedQueries();
  return result;
}

}  // namespace tilewright
