// Declarative rewrites.
//
//   const Pattern a = Wildcard(), b = Wildcard(), c = Wildcard();
//   RewriteRule fma{.name = "MultiplyAddToFma",
//                   .pattern = IsOp("add", {IsOp("multiply", {a, b}), c}),
//                   .condition = [=](const Match& m) { ... },                    // optional
//                   .replacement = [=](RuleContext& r) -> absl::StatusOr<std::vector<Value>> {
//                     return {{r.builder().CallOp("ewise_fma", {r.Of(a), r.Of(b), r.Of(c)})}};
//                   },
//                   .example = [](std::mt19937_64& random, const OpTable& ops) { ... }};
//
// Each rule brings a generator of programs that it changes; `CheckRule` runs them before and after with the
// interpreter, so a rule without a proof by examples does not exist.
#pragma once

#include <functional>
#include <random>
#include <string>
#include <unordered_map>
#include <vector>

#include "absl/status/statusor.h"
#include "graph/ir/block_builder.h"
#include "graph/ir/graph_module.h"
#include "graph/rewrite/interpreter.h"
#include "graph/rewrite/match.h"

namespace tilewright::graph {

// What a replacement is made from.
class RuleContext {
 public:
  RuleContext(BlockBuilder* builder, const FunctionUses* uses, const Match& match,
              std::function<Value(const Value&)> replaced)
      : builder_(*builder), uses_(*uses), match_(match), replaced_(std::move(replaced)) {}

  BlockBuilder& builder() { return builder_; }
  const Match& match() const { return match_; }
  // The function as it was.
  const FunctionUses& uses() const { return uses_; }
  // An atom of it as one of the function that is being written.
  Value Replaced(const Value& atom) const { return replaced_(atom); }
  // What the pattern matched, as an atom of the function that is being written: inputs of the match only.
  Value Of(const Pattern& pattern) const { return replaced_(match_.Of(pattern)); }

 private:
  BlockBuilder& builder_;
  const FunctionUses& uses_;
  const Match& match_;
  const std::function<Value(const Value&)> replaced_;
};

// A module with a function "main" and arguments for it.
struct RuleExample {
  GraphModule module;
  std::vector<RuntimeValue> arguments;
};

struct RewriteRule {
  std::string name;
  PatternGraph pattern;
  std::function<bool(const Match&)> condition = nullptr;
  // One value for each root of the pattern, of the root's type.
  std::function<absl::StatusOr<std::vector<Value>>(RuleContext&)> replacement;
  std::function<absl::StatusOr<RuleExample>(std::mt19937_64&, const OpTable&)> example;
  // The largest error relative to max(1, |value|) that the rewrite may make: 0 for those that keep every bit.
  double tolerance = 0;
};

struct RewriteResult {
  GraphModule module;
  std::map<std::string, int> applied;  // how often each rule was used
};

// Applies the rules, the first that matches at each place, until none matches. Errors: a replacement that fails or
// whose type is not the root's; rules that do not come to an end after `max_rounds` sweeps.
absl::StatusOr<RewriteResult> ApplyRules(const std::vector<RewriteRule>& rules, const GraphModule& module,
                                         const OpTable& ops, int max_rounds = 100);

// Runs `count` examples before and after. An error that names the rule and the seed when it did not change the example,
// made it ill-formed, or changed its results.
absl::Status CheckRule(const RewriteRule& rule, const OpTable& ops, const LoweringTable& lowerings, uint64_t seed,
                       int count);

}  // namespace tilewright::graph
