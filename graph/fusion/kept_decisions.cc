#include "graph/fusion/kept_decisions.h"

#include <set>

#include "absl/strings/numbers.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/str_join.h"
#include "absl/strings/str_split.h"
#include "absl/strings/string_view.h"
#include "absl/strings/strip.h"
#include "autoschedule/program/sizes.h"
#include "graph/ir/functor.h"
#include "graph/ir/structural.h"
#include "ir/structural.h"

namespace tilewright::graph {

namespace {

constexpr absl::string_view kApart = "apart ";

}  // namespace

// A line for each block: "0-2 2-5"; then one for each sentence.
std::string ToText(const FusionDecision& decision) {
  std::string text;
  for (const std::vector<JoinedGroups>& block : decision.blocks) {
    for (const JoinedGroups& joined : block) absl::StrAppend(&text, joined.producer, "-", joined.consumer, " ");
    absl::StrAppend(&text, "\n");
  }
  for (const std::string& why : decision.measured_apart) absl::StrAppend(&text, kApart, why, "\n");
  return text;
}

std::optional<FusionDecision> ParseDecision(const std::string& text) {
  std::vector<std::string> lines = absl::StrSplit(text, '\n');
  if (lines.back() != "") return std::nullopt;
  lines.pop_back();
  FusionDecision decision;
  for (const std::string& line : lines) {
    if (absl::string_view why = line; absl::ConsumePrefix(&why, kApart)) {
      decision.measured_apart.emplace_back(why);
      continue;
    }
    decision.blocks.emplace_back();
    for (const absl::string_view pair : absl::StrSplit(line, ' ', absl::SkipEmpty())) {
      const std::vector<std::string> groups = absl::StrSplit(pair, '-');
      JoinedGroups joined;
      if (groups.size() != 2 || !absl::SimpleAtoi(groups[0], &joined.producer) ||
          !absl::SimpleAtoi(groups[1], &joined.consumer)) {
        return std::nullopt;
      }
      decision.blocks.back().push_back(joined);
    }
  }
  return decision;
}

std::string FusionKey(const GraphModule& module, const Function& function) {
  class Programs : public Visitor {
   public:
    std::set<std::string> names;

   protected:
    void VisitCallTir(const CallTirNode* call) override {
      names.insert(call->function);
      Visitor::VisitCallTir(call);
    }
  };
  Programs programs;
  programs.VisitFunction(function);
  std::string key = absl::StrCat("joined kernels of ", absl::Hex(StructuralHash(function)));
  for (const std::string& name : programs.names) {
    const PrimFunc program = module.FindProgram(name);
    absl::StrAppend(&key, "\n", name, " ", absl::Hex(tilewright::StructuralHash(program)));
    const LikelySizes likely = LikelySizes::Of(program);
    for (const auto& [extent, sizes] : likely.named()) {
      absl::StrAppend(&key, " ", extent, "=", absl::StrJoin(sizes, ","));
    }
  }
  return key;
}

}  // namespace tilewright::graph
