#include "verify/verify.h"

#include <algorithm>
#include <string_view>

#include "ir/script/printer.h"
#include "ir/well_formed.h"
#include "verify/access_bounds.h"
#include "verify/bindings.h"
#include "verify/declared_regions.h"
#include "verify/exact_run.h"
#include "verify/execution_scope.h"
#include "verify/final_values.h"
#include "verify/init_order.h"
#include "verify/loop_kinds.h"
#include "verify/memory_limits.h"
#include "verify/overwritten_values.h"
#include "verify/races.h"
#include "verify/region_cover.h"
#include "verify/spatial_iterators.h"
#include "verify/thread_launch.h"
#include "verify/vector_access.h"

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
constexpr Check kChecks[] = {CheckLoopKinds,         CheckInitOrder,    CheckFinalValues,
                             CheckOverwrittenValues, CheckAccessBounds, CheckRegionCover};
using TargetCheck = Diagnostics (*)(const Function&, const Target*);
constexpr TargetCheck kTargetChecks[] = {CheckThreadLaunch, CheckExecutionScope, CheckMemoryLimits, CheckVectorAccess};

void Append(Diagnostics more, Diagnostics* all) {
  for (Diagnostic& diagnostic : more) all->push_back(std::move(diagnostic));
}

// Without what is refuted about accesses when running the program shows that all is well.
Diagnostics Confirmed(Diagnostics diagnostics, LazyExactRun* exact) {
  const auto doubtful = [](const Diagnostic& diagnostic) {
    return diagnostic.enumerable && diagnostic.verdict == Verdict::kRefuted;
  };
  if (std::none_of(diagnostics.begin(), diagnostics.end(), doubtful)) return diagnostics;
  const ExactRun& run = exact->Get();
  if (run.outcome != ExactOutcome::kClean) return diagnostics;
  std::erase_if(diagnostics, [&](const Diagnostic& diagnostic) {
    // A run of what blocks declare says nothing about whether they declare enough.
    const bool about_declarations = std::string_view(diagnostic.check) == "declared regions";
    return doubtful(diagnostic) && (run.as_written || !about_declarations);
  });
  return diagnostics;
}

}  // namespace

VerifyResult VerifyProgram(const Function& function, const Target* target) {
  VerifyResult result;
  // The other checks rely on this one.
  result.diagnostics = CheckWellFormed(function);
  if (!result.diagnostics.empty()) return result;
  LazyExactRun exact(function);
  Diagnostics& all = result.diagnostics;
  RaceFacts facts;
  Append(CheckBindings(function, &facts.repeating), &all);
  Append(CheckDeclaredRegions(function), &all);
  Append(CheckSpatialIterators(function, &facts.repeats_writes), &all);
  for (Check check : kChecks) Append(check(function), &all);
  all = Confirmed(std::move(all), &exact);
  for (TargetCheck check : kTargetChecks) Append(check(function, target), &all);
  Append(CheckRaces(function, &exact, facts), &all);
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
