#include "graph/executor/split_function.h"

#include <algorithm>
#include <unordered_set>
#include <utility>

#include "absl/strings/str_cat.h"
#include "graph/executor/uses.h"

namespace tilewright::graph {
namespace {

using Variables = std::unordered_set<const VarNode*>;

bool IsPlannable(const Value& atom) {
  if (isa<ConstantNode>(atom)) return true;
  const auto* var = dyn_cast<VarNode>(atom);
  const auto* type = var != nullptr ? dyn_cast<TensorTypeNode>(var->type) : nullptr;
  return type != nullptr && type->shape.has_value();
}

class Splitter {
 public:
  explicit Splitter(const Function& function) : name_(function->name) { CountUses(*function->body, &uses_); }

  Seq Split(const SeqNode& seq) {
    std::vector<Binding> done, group;
    Variables in_group;
    const auto flush = [&] {
      Flush(std::move(group), in_group, &done);
      group.clear();
      in_group.clear();
    };
    for (const BindingBlock& block : seq.blocks) {
      for (const Binding& binding : block.bindings) {
        if (!IsNeeded(binding, uses_)) continue;
        if (BelongsToPart(binding.value, in_group)) {
          group.push_back(binding);
          in_group.insert(binding.var.get());
          continue;
        }
        Uses read;
        CountUses(binding.value, &read);
        if (std::ranges::any_of(read, [&](const auto& use) { return in_group.contains(use.first); })) flush();
        done.push_back({binding.var, Inside(binding.value)});
      }
    }
    flush();
    return Seq({BindingBlock{.bindings = std::move(done)}}, seq.result, seq.guards);
  }

  std::vector<Function> TakeParts() { return std::move(parts_); }

 private:
  static bool BelongsToPart(const Value& value, const Variables& in_group) {
    if (const auto* tir = dyn_cast<CallTirNode>(value)) return std::ranges::all_of(tir->args, IsPlannable);
    if (const auto* get = dyn_cast<TupleGetItemNode>(value)) {
      const auto* var = dyn_cast<VarNode>(get->tuple);
      return var != nullptr && in_group.contains(var);
    }
    const auto* call = dyn_cast<CallNode>(value);
    return call != nullptr && call->op->name == "reshape" && IsPlannable(call->args[0]);
  }

  Value Inside(const Value& value) {
    const auto* branch = dyn_cast<IfNode>(value);
    if (branch == nullptr) return value;
    return If(branch->condition, Split(*branch->then_branch), Split(*branch->else_branch));
  }

  // Appends a call of a part, or the bindings themselves where none of them calls a program.
  void Flush(std::vector<Binding> group, const Variables& in_group, std::vector<Binding>* done) {
    const bool has_calls =
        std::ranges::any_of(group, [](const Binding& binding) { return isa<CallTirNode>(binding.value); });
    if (!has_calls) {
      done->insert(done->end(), group.begin(), group.end());
      return;
    }
    Uses inside;
    for (const Binding& binding : group) CountUses(binding.value, &inside);
    std::vector<Var> params;
    std::vector<Value> arguments;
    Variables seen;
    std::vector<Var> results;
    std::vector<Binding> after;  // what gives the results their names again
    const size_t count = group.size();
    for (size_t i = 0; i < count; ++i) {
      AddParams(group[i].value, in_group, &seen, &params, &arguments);
      const Var var = group[i].var;
      const auto read = inside.find(var.get());
      if (uses_.at(var.get()) == (read == inside.end() ? 0 : read->second)) continue;
      AddResult(var, &group, &results, &after);
    }
    const std::string name = absl::StrCat(name_, ".part", parts_.size());
    std::vector<Type> types;
    std::vector<Value> fields;
    for (const Var& result : results) {
      types.push_back(result->type);
      fields.push_back(result);
    }
    const Type type = TupleType(types);
    parts_.emplace_back(FunctionNode::Fields{.name = name,
                                             .params = params,
                                             .body = Seq({BindingBlock{.bindings = std::move(group)}}, Tuple(fields)),
                                             .result_type = type,
                                             .is_private = true});
    const Var all(name, type);
    done->push_back({all, CallFunction(name, std::move(arguments))});
    for (size_t i = 0; i < results.size(); ++i) {
      done->push_back({results[i], TupleGetItem(all, static_cast<int>(i))});
    }
    done->insert(done->end(), after.begin(), after.end());
  }

  // Variables of outside that a binding reads, in order.
  static void AddParams(const Value& value, const Variables& in_group, Variables* seen, std::vector<Var>* params,
                        std::vector<Value>* arguments) {
    const auto add = [&](const Value& atom) {
      const auto* var = dyn_cast<VarNode>(atom);
      if (var == nullptr || in_group.contains(var) || !seen->insert(var).second) return;
      params->emplace_back(var);
      arguments->push_back(atom);
    };
    if (const auto* tir = dyn_cast<CallTirNode>(value)) std::ranges::for_each(tir->args, add);
    if (const auto* call = dyn_cast<CallNode>(value)) std::ranges::for_each(call->args, add);
  }

  // A part gives tensors; tuples are put together again behind it.
  static void AddResult(const Var& var, std::vector<Binding>* group, std::vector<Var>* results,
                        std::vector<Binding>* after) {
    const auto* tuple = dyn_cast<TupleTypeNode>(var->type);
    if (tuple == nullptr) {
      results->push_back(var);
      return;
    }
    std::vector<Value> fields;
    for (size_t i = 0; i < tuple->fields.size(); ++i) {
      const Var field(absl::StrCat(var->name, ".", i), tuple->fields[i]);
      group->push_back({field, TupleGetItem(var, static_cast<int>(i))});
      results->push_back(field);
      fields.push_back(field);
    }
    after->push_back({var, Tuple(std::move(fields))});
  }

  const std::string name_;
  Uses uses_;
  std::vector<Function> parts_;
};

}  // namespace

SplitFunction SplitAtObstacles(const Function& function) {
  Splitter splitter(function);
  FunctionNode::Fields fields = function->fields();
  fields.body = splitter.Split(*function->body);
  return {Function(std::move(fields)), splitter.TakeParts()};
}

std::string DescribeStep(const Binding& binding) {
  const auto* call = dyn_cast<CallNode>(binding.value);
  const auto* function = dyn_cast<CallFunctionNode>(binding.value);
  return absl::StrCat("value ", binding.var->name,
                      call != nullptr              ? absl::StrCat(" of operator ", call->op->name)
                      : function != nullptr        ? absl::StrCat(" of function ", function->function)
                      : isa<IfNode>(binding.value) ? " of a branch"
                                                   : "");
}

}  // namespace tilewright::graph
