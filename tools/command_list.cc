#include <algorithm>
#include <map>
#include <ostream>
#include <string>
#include <string_view>
#include <vector>

#include "absl/strings/str_cat.h"
#include "absl/strings/str_format.h"
#include "absl/strings/str_join.h"
#include "base/nearest_names.h"
#include "codegen/lower/pipeline.h"
#include "graph/ir/basic_ops.h"
#include "graph/pipeline.h"
#include "intrin/registry.h"
#include "schedule/core/primitive.h"
#include "schedule/program/storage_scope.h"
#include "target/target.h"
#include "tools/commands.h"

namespace tilewright {
namespace {

void Row(std::ostream& out, const std::string& name, const std::string& text) {
  out << (text.empty() ? name : absl::StrFormat("%-28s %s", name, text)) << "\n";
}

void ListPrimitives(const Target&, std::ostream& out) {
  for (const Primitive& primitive : AllPrimitives()) {
    std::vector<std::string> arguments;
    for (const ArgSpec& argument : primitive.args) arguments.emplace_back(argument.name);
    Row(out, absl::StrCat(primitive.name, "(", absl::StrJoin(arguments, ", "), ")"), "");
    out << "    " << primitive.summary << "\n";
  }
}

// "needs avx2" or, of another target, "needs neon, which the target does not have".
std::string Needs(const TensorIntrin& intrin, const Target& target) {
  if (intrin.features.empty()) return "";
  const bool missing = std::ranges::any_of(intrin.features, [&](const auto& f) { return !target.has(f); });
  return absl::StrCat("needs ", absl::StrJoin(intrin.features, ", "),
                      missing ? absl::StrCat(", which ", target.name, " does not have") : "");
}

void ListIntrinsics(const Target& target, std::ostream& out) {
  IntrinRegistry intrins = IntrinRegistry::Builtin();
  for (const std::string& name : intrins.names()) Row(out, name, Needs(*intrins.Find(name), target));
  out << "families:\n";
  for (const IntrinFamily& family : intrins.families()) {
    Row(out, "  " + family.prefix + "...", family.description);
    for (const std::string& example : family.examples) {
      Row(out, "    " + example, Needs(*intrins.Find(example), target));
    }
  }
}

void ListScopes(const Target&, std::ostream& out) {
  for (const std::string& scope : KnownScopes()) Row(out, scope, "");
}

void ListPasses(const Target& target, std::ostream& out) {
  out << "lowering, as --print-after takes them, for " << target.name << ":\n";
  for (const std::string_view pass : LoweringPassNames(target)) Row(out, "  " + std::string(pass), "");
  out << "graphs, as --disable takes them, with the least --opt-level:\n";
  graph::OpTable ops;
  std::map<std::string, int> levels;
  for (const graph::Pass& pass : graph::GraphPasses({.ops = &ops})) {
    const int known = levels.emplace(pass.name, pass.opt_level).first->second;
    levels[pass.name] = std::min(known, pass.opt_level);
  }
  for (const auto& [pass, level] : levels) Row(out, "  " + pass, absl::StrCat(level));
}

void ListTargets(const Target&, std::ostream& out) {
  for (const std::string& name : TargetNames()) Row(out, name, "");
}

struct List {
  std::string_view name;
  void (*print)(const Target& target, std::ostream& out);
};
constexpr List kLists[] = {{"primitives", ListPrimitives},
                           {"intrinsics", ListIntrinsics},
                           {"scopes", ListScopes},
                           {"passes", ListPasses},
                           {"targets", ListTargets}};

int PrintList(const CommandArguments& args) {
  const std::string& wanted = args.operands()[0];
  const auto list = std::ranges::find(kLists, wanted, &List::name);
  if (list == std::end(kLists)) {
    std::vector<std::string> names;
    for (const List& known : kLists) names.emplace_back(known.name);
    return UsageError(args, "list",
                      absl::StrCat(wanted, " is none of ", absl::StrJoin(names, ", "), DidYouMean(wanted, names)));
  }
  const auto target = NamedTarget(args.Get("--target").value_or("host"));
  if (!target.ok()) {
    args.err() << std::string(target.status().message()) << "\n";
    return kRefused;
  }
  list->print(*target, args.out());
  return kDone;
}

}  // namespace

Command ListCommand() {
  return {.name = "list",
          .operands = "WHAT",
          .summary = "lists the names that schedules and flags take",
          .details = "WHAT is primitives, intrinsics, scopes, passes or targets.",
          .run = PrintList};
}

}  // namespace tilewright
