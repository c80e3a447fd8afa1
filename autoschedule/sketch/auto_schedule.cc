#include "autoschedule/sketch/auto_schedule.h"

#include <algorithm>
#include <optional>
#include <tuple>
#include <utility>
#include <variant>
#include <vector>

#include "autoschedule/cost/projected.h"
#include "autoschedule/normalize/normal_form.h"
#include "autoschedule/program/block_loops.h"
#include "autoschedule/sketch/join_nests.h"
#include "autoschedule/sketch/sketches.h"
#include "autoschedule/sketch/threads_by_size.h"
#include "base/phases.h"
#include "base/status_macros.h"
#include "ir/iterations.h"
#include "ir/mentions.h"
#include "verify/structure/block_scope.h"
#include "verify/verify.h"

namespace tilewright {
namespace {

// How often structures of each fit are drawn.
constexpr double kWeights[] = {16, 8, 1, 1};

// The rules of one function, on the blocks directly in its root block and in blocks that hold others.
class FunctionRules {
 public:
  FunctionRules(AutoScheduled& result, std::string function, const Target& target, IntrinRegistry* intrins,
                Choices& choices, bool verified = false)
      : result_(result),
        sch_(result.schedule),
        function_(std::move(function)),
        target_(target),
        list_(SketchesFor(target)),
        verified_(verified || list_.verified),
        intrins_(intrins),
        choices_(choices) {}

  void Run() {
    BringIntoNormalForm(sch_, function_, target_, choices_);
    const Outcome<BlockRv> root = sch_.GetBlock(Root().name, function_);
    if (!root.ok()) return LeaveAlone({root.refusal(), Current()});
    const Outcome<std::vector<BlockRv>> blocks = sch_.GetChildBlocks(*root);
    if (!blocks.ok()) return LeaveAlone({blocks.refusal(), Current()});
    blocks_ = *blocks;
    for (const BlockRv& block : *blocks) {
      if (list_.divide == nullptr) break;
      if (const std::optional<BlockRv> part = list_.divide(sch_, block, target_)) blocks_.push_back(*part);
    }
    if (verified_) FindGiven();
    // There is nothing to gain where nothing is computed.
    std::erase_if(blocks_, [&](const BlockRv& block) {
      return std::ranges::any_of(RealizeOf(sch_, block).block->iter_vars,
                                 [](const IterVar& iter) { return ExtentOf(iter) == 0; });
    });
    ScheduleBlocks();
    const auto is_verified = [&](const Function& function) { return Verified(function).ok(); };
    if (target_.is_gpu()) return JoinNests(sch_, function_, target_, choices_, is_verified);
    ScheduleInside(*blocks);
    KeepIfVerified([&] { JoinNests(sch_, function_, target_, choices_); });
    KeepIfVerified([&] { ChooseThreadsBySize(sch_, function_, target_, choices_); });
  }

 private:
  enum class Turn : uint8_t { kChains, kReductions, kOthers };
  struct Candidate {
    const Sketch* sketch;
    Structure structure;
  };

  Function Current() const { return sch_.module().Find(function_); }
  const BlockNode& Root() const { return *cast<BlockRealizeNode>(Current()->body)->block; }
  // The block whose children are scheduled.
  const BlockNode& Opened() const { return opened_ ? *RealizeOf(sch_, *opened_).block : Root(); }

  void ScheduleBlocks() {
    // Chains take reductions along, and reductions elementwise blocks.
    for (const Turn turn : {Turn::kChains, Turn::kReductions, Turn::kOthers}) {
      for (const BlockRv& block : blocks_) ScheduleBlock(block, turn);
    }
  }

  // Whether the function's projected time is shorter where the blocks inside of `holder` run on all cores.
  bool ThreadsInsidePay(BlockRv holder, const std::vector<BlockRv>& inside, const Target& one_core) const {
    const auto seconds_with = [&](const Target& target) {
      AutoScheduled result = result_;
      Choices choices = Choices::Preferred();
      FunctionRules rules(result, function_, target, intrins_, choices);
      rules.opened_ = holder;
      rules.blocks_ = inside;
      rules.ScheduleBlocks();
      return Project(rules.Current(), target_).seconds;
    };
    return target_.cores > 1 && seconds_with(target_) < seconds_with(one_core);
  }

  // Schedules the blocks inside of blocks that hold others, as the steps of a recurrent net do. What holds them runs
  // them again and again, in its order: most are too short for a fork of threads each time.
  void ScheduleInside(const std::vector<BlockRv>& holders) {
    Target one_core = target_;
    one_core.cores = 1;
    for (const BlockRv& holder : holders) {
      const BlockScope scope = BlockScope::Of(&Opened());
      const ScopeChild* child = scope.Find(sch_.Get(holder).As<BlockRef>()->id);
      if (child == nullptr || !IsSerial(*child)) continue;
      if (BlockScope::Of(child->realize->block.get()).children().empty()) continue;
      const Outcome<std::vector<BlockRv>> inside = sch_.GetChildBlocks(holder);
      if (!inside.ok() || inside->empty()) continue;
      const Target& target = ThreadsInsidePay(holder, *inside, one_core) ? target_ : one_core;
      FunctionRules rules(result_, function_, target, intrins_, choices_, verified_);
      rules.opened_ = holder;
      rules.blocks_ = *inside;
      rules.program_ = program_;
      rules.given_ = given_;
      rules.ScheduleBlocks();
      rules.ScheduleInside(*inside);
    }
  }

  bool IsTurnOf(const BlockNode& block, Turn turn, BlockRv rv, const SketchContext& context) const {
    if (turn != Turn::kChains) return turn == Turn::kOthers || block.init;
    Schedule asked = sch_;
    return std::ranges::any_of(list_.sketches, [&](const Sketch& sketch) {
      if (!sketch.takes_chains) return false;
      const std::optional<Structure> met = sketch.meet(asked, rv, context);
      return met && (!IsJudged(sketch, *met) || JudgedPays());
    });
  }

  static bool IsJudged(const Sketch& sketch, const Structure& structure) { return sketch.judged || structure.judged; }
  static bool IsJudged(const Candidate& candidate) { return IsJudged(*candidate.sketch, candidate.structure); }

  // Whether the function's projected time is shorter where structures that are judged are preferred.
  bool JudgedPays() const {
    if (!judged_pays_) judged_pays_ = SecondsWithJudged(true) < SecondsWithJudged(false);
    return *judged_pays_;
  }
  double SecondsWithJudged(bool preferred) const {
    AutoScheduled result = result_;
    Choices choices = Choices::Preferred();
    FunctionRules rules(result, function_, target_, intrins_, choices, verified_);
    rules.opened_ = opened_;
    rules.blocks_ = blocks_;
    rules.program_ = program_;
    rules.given_ = given_;
    rules.judged_pays_ = preferred;
    rules.ScheduleBlocks();
    return Project(rules.Current(), target_).seconds;
  }

  // The structures for a block, the best fit first; one that is judged before all others, or behind those that are made
  // for such blocks.
  std::vector<Candidate> CandidatesFor(BlockRv block, const SketchContext& context) const {
    Schedule asked = sch_;
    std::vector<Candidate> candidates;
    for (const Sketch& sketch : list_.sketches) {
      std::optional<Structure> structure = sketch.meet(asked, block, context);
      if (structure) candidates.push_back({&sketch, *std::move(structure)});
    }
    const bool any_judged = std::ranges::any_of(candidates, [](const Candidate& c) { return IsJudged(c); });
    const bool first = any_judged && JudgedPays();
    const auto turn = [&](const Candidate& c) {
      return c.structure.fit == Fit::kOtherwise ? 2 : IsJudged(c) == first ? 0 : 1;
    };
    std::ranges::sort(candidates, {},
                      [&](const Candidate& c) { return std::tuple(turn(c), c.structure.fit, c.sketch); });
    return candidates;
  }

  // Schedules a block that nothing has scheduled yet, when it is its turn.
  void ScheduleBlock(BlockRv block, Turn turn) {
    const BlockScope scope = BlockScope::Of(&Opened());
    const ScopeChild* child = scope.Find(sch_.Get(block).As<BlockRef>()->id);
    if (child == nullptr || !IsSerial(*child)) return;
    const SketchContext context{target_, intrins_, scope, *child, blocks_};
    if (!IsTurnOf(*child->realize->block, turn, block, context)) return;
    std::vector<Candidate> open = CandidatesFor(block, context);
    const size_t refused = result_.refused.size();
    const std::string name = child->realize->block->name + ".sketch";
    // One that refuses the block is not a candidate: another one is chosen.
    while (!open.empty()) {
      const std::optional<size_t> refusing = Try(name, open);
      if (!refusing) break;
      open.erase(open.begin() + static_cast<std::ptrdiff_t>(*refusing));
    }
    const bool scheduled = !open.empty() && open.front().structure.fit != Fit::kOtherwise;
    if (!scheduled && result_.refused.size() > refused) LeaveAlone(result_.refused.back());
  }

  // Applies the structure that is chosen; a refusal undoes its steps, and gives its place.
  std::optional<size_t> Try(const std::string& name, const std::vector<Candidate>& open) {
    std::vector<int64_t> places;
    std::vector<Choice::Meaning> meanings;
    for (const Candidate& candidate : open) {
      const Fit fit = candidate.structure.fit;
      if (fit == Fit::kOtherwise && !places.empty()) break;
      places.push_back(candidate.sketch - list_.sketches.data());
      meanings.push_back({candidate.sketch->name, kWeights[static_cast<size_t>(fit)]});
    }
    Schedule attempt = sch_;
    Choices choices = choices_;
    const Outcome<Choices::Pick> pick = choices.Take(attempt, name, places, 0, std::move(meanings));
    if (!pick.ok()) return 0;
    const auto chosen = static_cast<size_t>(std::ranges::find(places, pick->value) - places.begin());
    const Structure& structure = open[chosen].structure;
    const Schedule begun = attempt;
    const Choices taken = choices;
    Outcome<std::monostate> done = structure.apply(attempt, choices);
    if (!done.ok() && structure.otherwise) {
      result_.reduced.push_back({done.refusal(), attempt.refused_function() ? attempt.refused_function() : Current()});
      attempt = begun;
      choices = taken;
      done = structure.otherwise(attempt, choices);
    }
    if (done.ok() && verified_) done = Verified(attempt.module().Find(function_));
    if (done.ok()) {
      sch_ = std::move(attempt);
      choices_ = std::move(choices);
      return std::nullopt;
    }
    if (open[chosen].sketch->reports) {
      result_.refused.push_back({done.refusal(), attempt.refused_function() ? attempt.refused_function() : Current()});
    }
    return chosen;
  }

  struct Fault {
    std::string check;
    uint32_t object;
    std::string reason;
    bool operator==(const Fault& other) const { return check == other.check && object == other.object; }
  };

  std::vector<Fault> FaultsOf(const Function& function) const {
    std::vector<Fault> faults;
    for (const Diagnostic& diagnostic : VerifyProgram(function, &target_).diagnostics) {
      if (diagnostic.verdict == Verdict::kRefuted)
        faults.push_back({diagnostic.check, diagnostic.object, diagnostic.reason});
    }
    return faults;
  }
  // What the program says for itself, parallel loops for instance, stays: it is named, and no reason to leave the rest.
  void FindGiven() {
    const BlockScope scope = BlockScope::Of(&Root());
    for (const ScopeChild& child : scope.children()) {
      const auto given = std::ranges::find_if(child.loops, [](const ForNode* loop) {
        return loop->kind != ForKind::kSerial && loop->kind != ForKind::kThreadBound;
      });
      if (given == child.loops.end()) continue;
      LeaveAlone({Refusal{"auto_schedule",
                          "{loop0} around {block1} is not serial: both stay as the program has them, on one thread",
                          {(*given)->id, child.id()}},
                  Current()});
    }
    if (scope.has_other_statements()) {
      LeaveAlone({Refusal{"auto_schedule", "statements outside of blocks stay as they are, on one thread"}, Current()});
    }
    program_ = Current();
  }
  Outcome<std::monostate> Verified(const Function& function) {
    for (const Fault& fault : FaultsOf(function)) {
      if (!given_) given_ = FaultsOf(program_);
      if (std::ranges::find(*given_, fault) != given_->end()) continue;
      return Refusal{"verify", "{text0}: {text1}", {fault.object}, {}, {fault.check, fault.reason}};
    }
    return std::monostate();
  }

  // Undoes a step over several blocks, where steps are verified and this one is refuted.
  template <class Step>
  void KeepIfVerified(const Step& step) {
    if (!verified_) return step();
    const Schedule begun = sch_;
    const Choices taken = choices_;
    step();
    if (Verified(Current()).ok()) return;
    sch_ = begun;
    choices_ = taken;
  }

  void LeaveAlone(RuleRefusal why) { result_.left_alone.push_back(std::move(why)); }

  AutoScheduled& result_;
  Schedule& sch_;
  const std::string function_;
  const Target& target_;
  const SketchList list_;
  const bool verified_;  // each step, and undone where it is refuted
  IntrinRegistry* const intrins_;
  Choices& choices_;
  std::optional<BlockRv> opened_;            // the root block where there is none
  std::vector<BlockRv> blocks_;              // directly in the opened block, before any rule but inlining
  Function program_;                         // before the rules, where what they make is verified
  std::optional<std::vector<Fault>> given_;  // of that, when somebody asked
  mutable std::optional<bool> judged_pays_;  // when somebody asked
};

AutoScheduled ByRules(const Module& module, const Target& target, IntrinRegistry* intrins, Choices& choices,
                      SharedSteps* shared, bool verified) {
  Phase phase("rules");
  AutoScheduled result{Schedule(module, {.intrins = intrins, .shared = shared}), {}, {}, {}};
  for (const Function& function : module.functions()) {
    if (!isa<BlockRealizeNode>(function->body)) continue;
    // A step of a schedule costs what it changes.
    const KeepBlockScopes scopes;
    const KeepMentions mentions;
    FunctionRules(result, function->name, target, intrins, choices, verified).Run();
  }
  result.schedule.EndSharing();
  if (shared == nullptr) result.schedule.RemoveUnusedQueries();
  phase.End();
  if (phase.reported()) phase.Nodes(CountNodes(module), CountNodes(result.schedule.module()));
  return result;
}

}  // namespace

AutoScheduled AutoSchedule(const Module& module, const Target& target, IntrinRegistry* intrins) {
  Choices preferred = Choices::Preferred();
  return AutoSchedule(module, target, intrins, preferred);
}

AutoScheduled AutoSchedule(const Module& module, const Target& target, IntrinRegistry* intrins, Choices& choices,
                           SharedSteps* shared) {
  return ByRules(module, target, intrins, choices, shared, /*verified=*/false);
}

AutoScheduled AutoScheduleVerified(const Module& module, const Target& target, IntrinRegistry* intrins) {
  Choices preferred = Choices::Preferred();
  return ByRules(module, target, intrins, preferred, nullptr, /*verified=*/true);
}

}  // namespace tilewright
