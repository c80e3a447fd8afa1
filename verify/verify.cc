#include "verify/verify.h"

#include <algorithm>
#include <optional>
#include <string_view>
#include <vector>

#include "base/phases.h"
#include "ir/script/printer.h"
#include "ir/shared_memory.h"
#include "ir/well_formed.h"
#include "verify/memory/access_bounds.h"
#include "verify/memory/memory_limits.h"
#include "verify/memory/value_errors.h"
#include "verify/memory/vector_access.h"
#include "verify/regions/declared_regions.h"
#include "verify/regions/final_values.h"
#include "verify/regions/init_order.h"
#include "verify/regions/initialization.h"
#include "verify/regions/overwritten_values.h"
#include "verify/regions/region_cover.h"
#include "verify/rewrite/inline_names.h"
#include "verify/rewrite/inline_tables.h"
#include "verify/rewrite/without_views.h"
#include "verify/structure/bindings.h"
#include "verify/structure/constant_params.h"
#include "verify/structure/exact_run.h"
#include "verify/structure/loop_kinds.h"
#include "verify/structure/spatial_iterators.h"
#include "verify/threads/execution_scope.h"
#include "verify/threads/races.h"
#include "verify/threads/thread_launch.h"
#include "verify/threads/thread_reductions.h"

namespace tilewright {
namespace {

Diagnostics CheckWellFormed(const Function& function) {
  Diagnostics diagnostics;
  for (WellFormedViolation& violation : FindViolations(function)) {
    diagnostics.push_back({Verdict::kRefuted, "well-formedness", violation.object, std::move(violation.reason)});
  }
  return diagnostics;
}

using Check = Diagnostics (*)(const Function&);
constexpr Check kChecks[] = {CheckLoopKinds,      CheckInitOrder,   CheckFinalValues,      CheckOverwrittenValues,
                             CheckConstantParams, CheckRegionCover, CheckThreadReductions, CheckInitialization};
using TargetCheck = Diagnostics (*)(const Function&, const Target*);
constexpr TargetCheck kTargetChecks[] = {CheckThreadLaunch, CheckExecutionScope, CheckMemoryLimits, CheckVectorAccess};

void Append(Diagnostics more, Diagnostics* all) {
  for (Diagnostic& diagnostic : more) all->push_back(std::move(diagnostic));
}

// What is asked of each block alone, whatever its bindings are, and of each nest (verify/structure/proven_parts.h).
Diagnostics CheckBlocks(const Function& function, bool* repeats_writes) {
  Diagnostics diagnostics = CheckDeclaredRegions(function);
  Append(CheckSpatialIterators(function, repeats_writes), &diagnostics);
  Append(CheckAccessBounds(function), &diagnostics);
  Append(CheckValueErrors(function), &diagnostics);
  return diagnostics;
}

bool AreProven(const std::vector<Block>& blocks, const Function& function, ProvenParts* proven) {
  return std::ranges::all_of(blocks, [&](const Block& block) {
    if (proven->Contains(block)) return true;
    bool repeats_writes = false;
    if (!CheckBlocks(ProvenParts::Alone(function, block), &repeats_writes).empty() || repeats_writes) return false;
    proven->Add(block);
    return true;
  });
}

Diagnostics CheckNest(const Function& function, const Stmt& nest, ProvenParts* proven, RaceFacts* facts) {
  const Function alone = ProvenParts::Alone(function, nest);
  Diagnostics diagnostics = CheckBindings(alone, &facts->repeating);
  const std::optional<std::vector<Block>> blocks = ProvenParts::BlocksOf(nest);
  if (!blocks || !AreProven(*blocks, function, proven)) {
    Append(CheckBlocks(alone, &facts->repeats_writes), &diagnostics);
  }
  return diagnostics;
}

Diagnostics CheckNests(const Function& function, ProvenParts* proven, RaceFacts* facts) {
  const std::vector<Stmt> nests = proven == nullptr ? std::vector<Stmt>() : ProvenParts::NestsOf(function);
  if (nests.empty()) {
    Diagnostics diagnostics = CheckBindings(function, &facts->repeating);
    Append(CheckBlocks(function, &facts->repeats_writes), &diagnostics);
    return diagnostics;
  }
  Diagnostics diagnostics;
  for (const Stmt& nest : nests) {
    if (const std::vector<const BlockNode*>* repeating = proven->Find(nest)) {
      facts->repeating.insert(repeating->begin(), repeating->end());
      continue;
    }
    RaceFacts own;
    Diagnostics found = CheckNest(function, nest, proven, &own);
    if (found.empty() && !own.repeats_writes) proven->Add(nest, {own.repeating.begin(), own.repeating.end()});
    facts->repeating.merge(own.repeating);
    facts->repeats_writes |= own.repeats_writes;
    Append(std::move(found), &diagnostics);
  }
  return diagnostics;
}

// Without what is refuted about accesses when running the program shows that all is well.
Diagnostics Confirmed(Diagnostics diagnostics, const Function& function, LazyExactRun* exact) {
  std::erase_if(diagnostics, [&](const Diagnostic& d) {
    return d.check == std::string_view(kSpatialIterators) && SpatialInstancesWriteApart(function, d.object);
  });
  const auto doubtful = [](const Diagnostic& diagnostic) {
    return diagnostic.enumerable && diagnostic.verdict == Verdict::kRefuted;
  };
  const auto assumes_written = [](const Diagnostic& d) {
    return d.enumerable && d.verdict == Verdict::kAssumed && d.buffer;
  };
  const auto assumes_place = [&](const Diagnostic& d) {
    return d.verdict == Verdict::kAssumed && d.check == std::string_view("access bounds") && exact->IsAsWritten();
  };
  const auto is_open = [&](const Diagnostic& d) { return doubtful(d) || assumes_written(d) || assumes_place(d); };
  if (std::none_of(diagnostics.begin(), diagnostics.end(), is_open)) return diagnostics;
  const ExactRun& run = exact->Get();
  std::erase_if(diagnostics, [&](const Diagnostic& d) { return is_open(d) && run.Shows(d); });
  if (run.outcome != ExactOutcome::kFault || Worst(diagnostics) == Verdict::kRefuted) return diagnostics;
  // Nothing else was found, and what is assumed does not hold.
  for (Diagnostic& d : diagnostics) {
    if (!assumes_written(d) && !(run.as_written && assumes_place(d))) continue;
    d.verdict = Verdict::kRefuted;
    d.reason += ": " + run.reason;
  }
  return diagnostics;
}

// The checks of a program whose memory has one name each.
Diagnostics CheckPlain(const Function& given, const Target* target, ProvenParts* proven) {
  LazyExactRun exact(given);
  const Function function = InlineNames(given);
  RaceFacts facts;
  Diagnostics all = CheckNests(InlineTables(function), proven, &facts);
  for (Check check : kChecks) Append(check(function), &all);
  all = Confirmed(std::move(all), given, &exact);
  for (TargetCheck check : kTargetChecks) Append(check(function, target), &all);
  Append(CheckRaces(function, &exact, facts), &all);
  return all;
}

// What is said of a memory's owner may be about another name of it.
void NameViews(const Function& given, Diagnostics* diagnostics) {
  const SharedMemory memory(given);
  for (const Buffer& view : memory.Views()) {
    const std::string& owner = memory.NamesOf(view)[0]->name;
    for (Diagnostic& diagnostic : *diagnostics) {
      if (diagnostic.reason.find(owner + "[") != std::string::npos)
        diagnostic.reason += " (" + view->name + " is another name of " + owner + ")";
    }
  }
}

// Another name may have written what one name does not, unless running the program shows that none did.
void AssumeWritten(const Function& given, Diagnostics* diagnostics) {
  const SharedMemory memory(given);
  LazyExactRun exact(given);
  for (Diagnostic& diagnostic : *diagnostics) {
    if (diagnostic.verdict != Verdict::kRefuted || !diagnostic.buffer || !memory.IsShared(diagnostic.buffer)) continue;
    if (exact.Get().outcome != ExactOutcome::kFault) diagnostic.verdict = Verdict::kAssumed;
  }
}

// Blocks declare what they touch of each name, and each name has bounds of its own; all else is about memory.
Diagnostics CheckWithViews(const Function& given, const Function& plain, const Target* target) {
  const Function function = InlineNames(given);
  LazyExactRun exact(given);
  Diagnostics all = CheckDeclaredRegions(function);
  Append(CheckAccessBounds(InlineTables(function)), &all);
  all = Confirmed(std::move(all), given, &exact);
  Diagnostics of_memory = CheckPlain(plain, target, nullptr);
  NameViews(given, &of_memory);
  Append(std::move(of_memory), &all);
  return all;
}

}  // namespace

VerifyResult VerifyProgram(const Function& given, const Target* target, ProvenParts* proven) {
  const Phase phase("verify");
  VerifyResult result;
  // The other checks rely on this one.
  result.diagnostics = CheckWellFormed(given);
  if (!result.diagnostics.empty()) return result;
  const std::optional<Function> plain = WithoutViews(given);
  if (plain && !plain->same_as(given)) {
    result.diagnostics = CheckWithViews(given, *plain, target);
    return result;
  }
  result.diagnostics = CheckPlain(given, target, proven);
  if (!plain) {
    AssumeWritten(given, &result.diagnostics);
    result.diagnostics.push_back({Verdict::kAssumed, "views", 0,
                                  "several names of one memory are taken to touch nothing of each other's: accesses by "
                                  "one of them cannot be followed"});
  }
  return result;
}

std::string Render(const VerifyResult& result, const Function& function) {
  std::string text;
  PrintOptions options;
  for (const Diagnostic& diagnostic : result.diagnostics) {
    text += std::string(diagnostic.verdict == Verdict::kAssumed ? "assumed" : "error") + ": " + diagnostic.check +
            ": " + diagnostic.reason + "\n";
    const Path path = FindPath(function, diagnostic.object);
    if (!path.empty()) options.marked.push_back(path.back().get());
  }
  if (!text.empty()) text += Print(function, options);
  return text;
}

}  // namespace tilewright
