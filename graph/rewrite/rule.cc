#include "graph/rewrite/rule.h"

#include <algorithm>
#include <cmath>

#include "absl/strings/str_cat.h"
#include "absl/strings/str_join.h"
#include "base/status_macros.h"
#include "graph/ir/functor.h"
#include "graph/ir/well_formed.h"

namespace tilewright::graph {
namespace {

struct Planned {
  const RewriteRule* rule;
  Match match;
  bool done = false;
};

// Replaces matches that were found beforehand. Bindings are written in order, but what a replacement reads is written
// before it: in a dataflow block the order is free.
class RuleRewriter : public Mutator {
 public:
  RuleRewriter(BlockBuilder* builder, const FunctionUses* uses, std::vector<Planned>* plan)
      : Mutator(builder), uses_(*uses) {
    for (Planned& planned : *plan) {
      for (const VarNode* root : planned.match.roots) at_root_[root] = &planned;
      gone_.insert(planned.match.inner.begin(), planned.match.inner.end());
    }
  }

 protected:
  absl::Status MutateBinding(const Binding& binding) override {
    if (gone_.contains(binding.var.get()) || !written_.insert(binding.var.get()).second) return absl::OkStatus();
    const auto planned = at_root_.find(binding.var.get());
    if (planned != at_root_.end()) return Apply(*planned->second);
    TW_RETURN_IF_ERROR(WriteUsed(binding.value, uses_.BlockOf(binding.var.get())));
    return Mutator::MutateBinding(binding);
  }

 private:
  // Writes what the value reads and the block binds.
  absl::Status WriteUsed(const Value& value, int block) {
    class Uses : public Visitor {
     public:
      std::vector<const VarNode*> vars;

     protected:
      void VisitVar(const VarNode* var) override { vars.push_back(var); }
    };
    Uses uses;
    uses.Visit(value);
    for (const VarNode* var : uses.vars) {
      if (uses_.BlockOf(var) != block) continue;
      TW_RETURN_IF_ERROR(MutateBinding({Var(var), uses_.BoundTo(var)}));
    }
    return absl::OkStatus();
  }

  absl::Status Apply(Planned& planned) {
    if (planned.done) return absl::OkStatus();
    planned.done = true;
    const Match& match = planned.match;
    const int block = uses_.BlockOf(match.roots[0]);
    for (const VarNode* root : match.roots) written_.insert(root);
    for (const VarNode* input : match.inputs) {
      if (uses_.BlockOf(input) == block) TW_RETURN_IF_ERROR(MutateBinding({Var(input), uses_.BoundTo(input)}));
    }
    RuleContext context(&builder(), &uses_, match, [this](const Value& atom) { return Replaced(atom); });
    TW_ASSIGN_OR_RETURN(const std::vector<Value> values, planned.rule->replacement(context));
    if (values.size() != match.roots.size()) {
      return absl::InternalError(
          absl::StrCat(planned.rule->name, " gives ", values.size(), " values for ", match.roots.size(), " roots"));
    }
    for (size_t i = 0; i < values.size(); ++i) {
      const VarNode* root = match.roots[i];
      TW_ASSIGN_OR_RETURN(const Var var, builder().Emit(values[i], root->name));
      TW_RETURN_IF_ERROR(CheckType(*planned.rule, root->type, var->type));
      Replace(Var(root), var);
    }
    return absl::OkStatus();
  }

  absl::Status CheckType(const RewriteRule& rule, const Type& before, const Type& after) {
    if (SameType(before, after, /*compare_values=*/false)) return absl::OkStatus();
    const auto *a = dyn_cast<TensorTypeNode>(before), *b = dyn_cast<TensorTypeNode>(after);
    bool equal = a != nullptr && b != nullptr && a->dtype == b->dtype && a->shape && b->shape && a->rank() == b->rank();
    for (int i = 0; equal && i < a->rank(); ++i) {
      equal =
          builder().analyzer().CanProveEqual((*a->shape)[static_cast<size_t>(i)], (*b->shape)[static_cast<size_t>(i)]);
    }
    if (equal) return absl::OkStatus();
    return absl::InternalError(
        absl::StrCat(rule.name, " changes a type from ", ToString(before), " to ", ToString(after)));
  }

  const FunctionUses& uses_;
  std::unordered_map<const VarNode*, Planned*> at_root_;
  std::unordered_set<const VarNode*> gone_, written_;
};

// Matches that do not overlap: the last binding first, so that a match is as large as its pattern allows.
std::vector<Planned> FindMatches(const std::vector<RewriteRule>& rules, const FunctionUses& uses) {
  std::vector<Planned> plan;
  std::unordered_set<const VarNode*> taken;
  for (int block = uses.num_blocks() - 1; block >= 0; --block) {
    const std::vector<Binding>& bindings = uses.BindingsOf(block);
    for (auto binding = bindings.rbegin(); binding != bindings.rend(); ++binding) {
      for (const RewriteRule& rule : rules) {
        if (rule.pattern.roots.size() > 1 && !uses.IsDataflow(block)) continue;
        std::optional<Match> match = FindMatch(rule.pattern, uses, *binding, taken);
        if (!match || (rule.condition != nullptr && !rule.condition(*match))) continue;
        // Inputs of several roots may depend on other matches of this sweep; those wait for the next one.
        taken.insert(match->roots.begin(), match->roots.end());
        taken.insert(match->inner.begin(), match->inner.end());
        plan.push_back({&rule, *std::move(match)});
        if (rule.pattern.roots.size() > 1) return plan;
        break;
      }
    }
  }
  return plan;
}

absl::Status CompareResults(const RuntimeValue& before, const RuntimeValue& after, double tolerance) {
  const std::vector<NDArray> a = TensorsOf(before), b = TensorsOf(after);
  if (a.size() != b.size()) return absl::InternalError("another number of results");
  for (size_t i = 0; i < a.size(); ++i) {
    if (a[i].shape() != b[i].shape() || a[i].dtype() != b[i].dtype())
      return absl::InternalError("a result of another type");
    if (BitEqual(a[i], b[i])) continue;
    for (int64_t at = 0; at < a[i].size(); ++at) {
      const double x = a[i].Get(at), y = b[i].Get(at);
      const bool same = x == y || (std::isnan(x) && std::isnan(y));
      if (!same && !(std::abs(x - y) <= tolerance * std::max(1.0, std::abs(x)))) {
        return absl::InternalError(absl::StrCat("element ", at, " of result ", i, " was ", x, " and is ", y));
      }
    }
  }
  return absl::OkStatus();
}

absl::Status CheckExample(const RewriteRule& rule, const OpTable& ops, const LoweringTable& lowerings,
                          std::mt19937_64& random) {
  TW_ASSIGN_OR_RETURN(const RuleExample example, rule.example(random, ops));
  TW_ASSIGN_OR_RETURN(const RewriteResult result, ApplyRules({rule}, example.module, ops));
  if (result.applied.empty()) return absl::InternalError("does not change its example");
  const std::vector<std::string> violations = FindViolations(result.module);
  if (!violations.empty()) return absl::InternalError(absl::StrJoin(violations, "; "));
  TW_ASSIGN_OR_RETURN(const RuntimeValue before,
                      LegalizeAndRun(example.module, ops, lowerings, "main", example.arguments));
  TW_ASSIGN_OR_RETURN(const RuntimeValue after,
                      LegalizeAndRun(result.module, ops, lowerings, "main", example.arguments));
  return CompareResults(before, after, rule.tolerance);
}

}  // namespace

absl::StatusOr<RewriteResult> ApplyRules(const std::vector<RewriteRule>& rules, const GraphModule& module,
                                         const OpTable& ops, int max_rounds) {
  BlockBuilder builder(&ops, module);
  std::map<std::string, int> applied;
  std::vector<std::string> functions;
  for (const ModuleEntry& entry : module.entries()) {
    if (entry.function) functions.push_back(entry.name());
  }
  for (const std::string& name : functions) {
    for (int round = 0;; ++round) {
      const Function function = builder.module().FindFunction(name);
      const FunctionUses uses(function);
      std::vector<Planned> plan = FindMatches(rules, uses);
      if (plan.empty()) break;
      if (round >= max_rounds) {
        return absl::ResourceExhaustedError(
            absl::StrCat(plan[0].rule->name, " still matches in ", name, " after ", max_rounds, " rounds"));
      }
      RuleRewriter rewriter(&builder, &uses, &plan);
      const absl::StatusOr<Function> rewritten = rewriter.MutateFunction(function);
      if (!rewritten.ok()) {
        return absl::Status(rewritten.status().code(), absl::StrCat(name, ": ", rewritten.status().message()));
      }
      for (const Planned& planned : plan) ++applied[planned.rule->name];
    }
  }
  return RewriteResult{builder.module(), std::move(applied)};
}

absl::Status CheckRule(const RewriteRule& rule, const OpTable& ops, const LoweringTable& lowerings, uint64_t seed,
                       int count) {
  for (int i = 0; i < count; ++i) {
    std::mt19937_64 random(seed + static_cast<uint64_t>(i));
    const absl::Status status = CheckExample(rule, ops, lowerings, random);
    if (!status.ok()) {
      return absl::Status(status.code(), absl::StrCat(rule.name, ", example ", seed + static_cast<uint64_t>(i), ": ",
                                                      status.message()));
    }
  }
  return absl::OkStatus();
}

}  // namespace tilewright::graph
