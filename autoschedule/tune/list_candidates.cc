#include "autoschedule/tune/list_candidates.h"

#include <algorithm>
#include <unordered_set>
#include <utility>
#include <vector>

#include "absl/strings/str_cat.h"
#include "absl/strings/str_format.h"
#include "absl/strings/str_join.h"
#include "autoschedule/cost/projected.h"
#include "autoschedule/normalize/normal_form.h"
#include "autoschedule/program/choices.h"
#include "autoschedule/sketch/auto_schedule.h"
#include "autoschedule/sketch/space.h"
#include "autoschedule/tensorize/tensor_mapping.h"
#include "schedule/recorder/schedule.h"
#include "verify/structure/block_scope.h"

namespace tilewright {
namespace {

// Empty when the target has all that the intrinsic needs.
std::string MissingFeature(const TensorIntrin& intrin, const Target& target) {
  for (const std::string& feature : intrin.features) {
    if (!target.has(feature)) return feature;
  }
  return "";
}

// "float32 float32 float32": the types of the buffers that the intrinsic works on.
std::string OperandTypes(const TensorIntrin& intrin) {
  std::vector<std::string> types;
  for (const Param& param : intrin.description->params) {
    types.push_back(param.buffer ? param.buffer->dtype.ToString() : param.var.dtype().ToString());
  }
  return absl::StrJoin(types, " ");
}

// One intrinsic of each family for each choice of types: the first example that the target can run, else the first one.
std::vector<const TensorIntrin*> Representatives(IntrinRegistry* intrins, const Target& target) {
  std::vector<const TensorIntrin*> result;
  for (const std::string& name : intrins->names()) result.push_back(intrins->Find(name));
  for (const IntrinFamily& family : intrins->families()) {
    std::vector<const TensorIntrin*> chosen;
    for (const std::string& example : family.examples) {
      const TensorIntrin* member = intrins->Find(example);
      const auto same = std::ranges::find(chosen, OperandTypes(*member),
                                          [](const TensorIntrin* other) { return OperandTypes(*other); });
      if (same == chosen.end()) {
        chosen.push_back(member);
      } else if (!MissingFeature(**same, target).empty() && MissingFeature(*member, target).empty()) {
        *same = member;
      }
    }
    result.insert(result.end(), chosen.begin(), chosen.end());
  }
  return result;
}

// What the rules make of the module before they choose a schedule.
Module NormalForm(const Module& module, const Target& target, IntrinRegistry* intrins) {
  Schedule sch(module, {.intrins = intrins});
  Choices choices = Choices::Preferred();
  for (const Function& function : module.functions()) {
    if (isa<BlockRealizeNode>(function->body)) BringIntoNormalForm(sch, function->name, target, choices);
  }
  return sch.module();
}

// The blocks directly in the root blocks of the functions.
std::vector<Block> BlocksOf(const Module& module) {
  std::vector<Block> blocks;
  for (const Function& function : module.functions()) {
    const auto* root = dyn_cast<BlockRealizeNode>(function->body);
    if (root == nullptr) continue;
    const BlockScope scope = BlockScope::Of(root->block.get());
    for (const ScopeChild& child : scope.children()) blocks.push_back(child.realize->block);
  }
  return blocks;
}

std::string Heading(const BlockNode& block) {
  std::vector<std::string> spatial, reduce;
  for (const IterVar& iter : block.iter_vars) {
    (iter.kind == IterKind::kReduce ? reduce : spatial).push_back(iter.var.name());
  }
  std::string text = absl::StrCat("block ", block.name, " over ", absl::StrJoin(spatial, ", "));
  if (!reduce.empty()) absl::StrAppend(&text, "; summed over ", absl::StrJoin(reduce, ", "));
  return text + "\n";
}

// What the rules choose for each block with the preferred choices.
std::vector<Choice> PreferredChoices(const Module& module, const Target& target, IntrinRegistry* intrins) {
  Choices choices = Choices::Preferred();
  AutoSchedule(module, target, intrins, choices);
  return choices.made().ToVector();
}

// "sketches: contraction (preferred), plain"; nothing for a block that another one takes along.
std::string Sketches(const BlockNode& block, const std::vector<Choice>& choices) {
  const auto choice = std::ranges::find(choices, block.name + ".sketch", &Choice::name);
  if (choice == choices.end()) return "";
  std::vector<std::string> names;
  for (const Choice::Meaning& meaning : choice->meanings) names.push_back(meaning.label);
  names[0] += " (preferred)";
  return absl::StrCat("  sketches: ", absl::StrJoin(names, ", "), "\n");
}

// Candidates that are drawn, and those of all that are shown.
constexpr uint64_t kDrawnCandidates = 24;
constexpr size_t kShownCandidates = 20;

std::string TextOf(const std::vector<Choice>& choices) {
  std::vector<std::string> parts;
  for (const Choice& choice : choices) {
    const std::string label(choice.label());
    parts.push_back(absl::StrCat(choice.name, "=", label.empty() ? absl::StrCat(choice.value) : label));
  }
  return absl::StrJoin(parts, " ");
}

// Choices of the preferred schedule, of each other sketch, and drawn ones.
std::vector<Choices> SomeChoices(const std::vector<Choice>& preferred) {
  std::vector<Choices> some = {Choices::Preferred()};
  for (const Choice& choice : preferred) {
    if (!choice.name.ends_with(".sketch")) continue;
    for (const Choice::Meaning& meaning : choice.meanings) {
      some.push_back(Choices::GivenOrPreferred({Choice::Of(choice.name, meaning.label)}));
    }
  }
  for (uint64_t seed = 0; seed < kDrawnCandidates; ++seed) some.push_back(Choices::Drawn(seed));
  return some;
}

// "candidates by projected time ...": a line for each.
std::string Ranked(const Module& module, const Target& target, IntrinRegistry* intrins,
                   const std::vector<Choice>& preferred) {
  const Function main = module.Main();
  if (!main) return "";
  const Space space(module, target, intrins);
  std::vector<std::pair<double, std::string>> lines;
  std::unordered_set<uint64_t> seen;
  for (const Choices& choices : SomeChoices(preferred)) {
    const Outcome<Candidate> candidate = space.Make(choices);
    if (!candidate.ok() || !seen.insert(candidate->hash).second) continue;
    const Function scheduled = candidate->schedule.module().Find(main->name);
    lines.emplace_back(Project(scheduled, target).seconds,
                       absl::StrCat(TextOf(candidate->choices), lines.empty() ? " (preferred)" : ""));
  }
  std::ranges::sort(lines);
  std::string text = "candidates by projected time, nothing was measured:\n";
  for (size_t i = 0; i < std::min(lines.size(), kShownCandidates); ++i) {
    absl::StrAppendFormat(&text, "  %10.2f us  %s\n", 1e6 * lines[i].first, lines[i].second);
  }
  return text;
}

// Names of intrinsics by the reason why they are not taken, in the order of the first.
class Reasons {
 public:
  void Add(const std::string& reason, const std::string& name) {
    const auto same = std::ranges::find(groups_, reason, &Group::first);
    if (same != groups_.end()) {
      same->second.push_back(name);
    } else {
      groups_.push_back({reason, {name}});
    }
  }
  // A line for each, "  no: REASON: NAMES".
  std::string Lines() const {
    std::string text;
    for (const auto& [reason, names] : groups_) {
      absl::StrAppend(&text, "  no: ", reason, ": ", absl::StrJoin(names, ", "), "\n");
    }
    return text;
  }
  bool empty() const { return groups_.empty(); }

 private:
  using Group = std::pair<std::string, std::vector<std::string>>;
  std::vector<Group> groups_;
};

// The mappings of one block to the target's intrinsics, and why the others do not compute it.
std::string Mappings(const Block& block, const std::vector<const TensorIntrin*>& usable) {
  std::string text;
  Reasons refused;
  for (const TensorIntrin* intrin : usable) {
    const TensorMappings mappings = FindTensorMappings(*block, *intrin);
    if (mappings.found.empty()) refused.Add(mappings.refusal, intrin->name);
    for (const TensorMapping& mapping : mappings.found) {
      absl::StrAppendFormat(&text, "  %-28s %-40s padding %5.1f%%\n", intrin->name, ToString(mapping, *block),
                            100 * mapping.padding_waste);
    }
  }
  if (text.empty()) text = "  no intrinsic of the target computes it: it gets loops over vectors\n";
  return text + refused.Lines();
}

}  // namespace

std::string ListCandidates(const Module& module, const Target& target, IntrinRegistry* intrins) {
  std::vector<const TensorIntrin*> usable;
  Reasons missing;
  for (const TensorIntrin* intrin : Representatives(intrins, target)) {
    if (const std::string feature = MissingFeature(*intrin, target); !feature.empty()) {
      missing.Add("the target has no " + feature, intrin->name);
    } else {
      usable.push_back(intrin);
    }
  }
  std::string text;
  const std::vector<Choice> choices = PreferredChoices(module, target, intrins);
  for (const Block& block : BlocksOf(NormalForm(module, target, intrins))) {
    text += Heading(*block) + Sketches(*block, choices) + Mappings(block, usable);
  }
  if (!missing.empty()) text += "whatever the block:\n" + missing.Lines();
  return text + Ranked(module, target, intrins, choices);
}

std::vector<std::string> BlocksWithoutIntrinsic(const Module& module, const Target& target, IntrinRegistry* intrins) {
  std::vector<std::string> names;
  const std::vector<const TensorIntrin*> representatives = Representatives(intrins, target);
  for (const Block& block : BlocksOf(NormalForm(module, target, intrins))) {
    const bool found = std::ranges::any_of(representatives, [&](const TensorIntrin* intrin) {
      return MissingFeature(*intrin, target).empty() && !FindTensorMappings(*block, *intrin).found.empty();
    });
    if (!found) names.push_back(block->name);
  }
  return names;
}

}  // namespace tilewright
