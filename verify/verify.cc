#include "verify/verify.h"

#include "ir/script/printer.h"
#include "ir/well_formed.h"
#include "verify/bindings.h"
#include "verify/declared_regions.h"
#include "verify/loop_kinds.h"
#include "verify/region_cover.h"
#include "verify/spatial_iterators.h"

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
constexpr Check kChecks[] = {CheckBindings, CheckDeclaredRegions, CheckSpatialIterators, CheckLoopKinds,
                             CheckRegionCover};

}  // namespace

VerifyResult VerifyProgram(const Function& function) {
  VerifyResult result;
  // The other checks rely on this one.
  result.diagnostics = CheckWellFormed(function);
  if (!result.diagnostics.empty()) return result;
  for (Check check : kChecks) {
    for (Diagnostic& diagnostic : check(function)) result.diagnostics.push_back(std::move(diagnostic));
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
