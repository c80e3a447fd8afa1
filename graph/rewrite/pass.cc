#include "graph/rewrite/pass.h"

#include <algorithm>
#include <chrono>
#include <ostream>

#include "absl/strings/str_cat.h"
#include "absl/strings/str_format.h"
#include "absl/strings/str_join.h"
#include "base/phases.h"
#include "base/status_macros.h"
#include "graph/ir/printer.h"
#include "graph/ir/structural.h"
#include "graph/ir/well_formed.h"
#include "ir/iterations.h"
#include "ir/script/printer.h"
#include "ir/structural.h"

namespace tilewright::graph {
namespace {

std::string NamesOf(const std::vector<Pass>& passes) {
  return absl::StrJoin(passes, ", ", [](std::string* out, const Pass& pass) { *out += pass.name; });
}

// Nodes of the programs that functions may call.
int64_t CountNodes(const GraphModule& module) {
  int64_t nodes = 0;
  for (const ModuleEntry& entry : module.entries()) {
    if (entry.program) nodes += tilewright::CountNodes(entry.program);
  }
  return nodes;
}

}  // namespace

absl::StatusOr<std::vector<Pass>> SelectPasses(const std::vector<Pass>& passes, const PassContext& context) {
  for (const std::string& name : context.disabled) {
    const bool known = std::any_of(passes.begin(), passes.end(), [&](const Pass& pass) { return pass.name == name; });
    if (!known) {
      return absl::InvalidArgumentError(
          absl::StrCat("there is no pass ", name, " to disable; the passes are ", NamesOf(passes)));
    }
  }
  // From the last to the first: whether a later pass needs this one is known then.
  std::set<std::string> needed;
  std::vector<Pass> selected;
  for (auto pass = passes.rbegin(); pass != passes.rend(); ++pass) {
    const bool disabled = context.disabled.contains(pass->name);
    const bool required = needed.erase(pass->name) != 0;
    if (disabled && required) {
      return absl::InvalidArgumentError(absl::StrCat("pass ", pass->name, " is disabled, but another one requires it"));
    }
    if (disabled || (!required && pass->opt_level > context.opt_level)) continue;
    needed.insert(pass->required.begin(), pass->required.end());
    selected.push_back(*pass);
  }
  if (!needed.empty()) {
    return absl::InvalidArgumentError(
        absl::StrCat("a pass requires ", *needed.begin(), ", which does not run before it"));
  }
  std::reverse(selected.begin(), selected.end());
  return selected;
}

absl::StatusOr<GraphModule> RunPasses(const std::vector<Pass>& passes, GraphModule module, const PassContext& context) {
  TW_ASSIGN_OR_RETURN(const std::vector<Pass> selected, SelectPasses(passes, context));
  for (const Pass& pass : selected) {
    for (PassInstrument* instrument : context.instruments) instrument->Before(pass, module);
    const auto begin = std::chrono::steady_clock::now();
    Phase phase(pass.name);
    absl::StatusOr<GraphModule> result = pass.run(module);
    phase.End();
    const double seconds = std::chrono::duration<double>(std::chrono::steady_clock::now() - begin).count();
    if (!result.ok()) {
      return absl::Status(result.status().code(), absl::StrCat(pass.name, ": ", result.status().message()));
    }
    if (context.check) {
      const std::vector<std::string> violations = FindViolations(*result);
      if (!violations.empty()) {
        return absl::InternalError(absl::StrCat(pass.name, " breaks the module: ", absl::StrJoin(violations, "; ")));
      }
    }
    if (phase.reported()) phase.Nodes(CountNodes(module), CountNodes(*result));
    for (PassInstrument* instrument : context.instruments) instrument->After(pass, module, *result, seconds);
    module = *std::move(result);
  }
  return module;
}

void PassTiming::After(const Pass& pass, const GraphModule&, const GraphModule&, double seconds) {
  entries_.push_back({pass.name, seconds});
}

std::string PassTiming::ToString() const {
  std::string text;
  for (const Entry& entry : entries_) absl::StrAppendFormat(&text, "%9.3f ms  %s\n", entry.seconds * 1e3, entry.name);
  return text;
}

void PassPrinting::After(const Pass& pass, const GraphModule& before, const GraphModule& after, double) {
  if (!names_.empty() && !names_.contains(pass.name)) return;
  out_ << "# after " << pass.name << "\n";
  for (const ModuleEntry& entry : after.entries()) {
    if (entry.program) {
      const PrimFunc old = before.FindProgram(entry.name());
      if (!old || !tilewright::StructuralEqual(old, entry.program)) out_ << tilewright::Print(entry.program) << "\n";
    } else {
      const Function old = before.FindFunction(entry.name());
      if (!old || !StructuralEqual(old, entry.function)) out_ << Print(entry.function).text << "\n";
    }
  }
  for (const ModuleEntry& entry : before.entries()) {
    if (!after.Contains(entry.name())) out_ << "# " << entry.name() << " is gone\n";
  }
}

}  // namespace tilewright::graph
