#include "graph/executor/plan.h"

#include <map>
#include <unordered_map>
#include <utility>

#include "absl/strings/str_cat.h"
#include "graph/executor/uses.h"
#include "graph/ir/call_types.h"
#include "graph/ir/status_macros.h"

namespace tilewright::graph {
namespace {

class Planner {
 public:
  Planner(const GraphModule& module, const Function& function) : module_(module), function_(function) {
    CountUses(*function->body, &uses_);
  }

  // False: the function has no plan.
  bool Run() {
    plan_.name = function_->name;
    plan_.params = function_->params;
    plan_.guards = function_->body->guards;
    for (size_t i = 0; i < function_->params.size(); ++i) {
      const Var& param = function_->params[i];
      const auto* type = dyn_cast<TensorTypeNode>(param->type);
      if (type == nullptr || !type->shape) return false;
      values_[param.get()] = {AddRoot(param->name, *type, Home::kInput, static_cast<int>(i))};
    }
    for (const BindingBlock& block : function_->body->blocks) {
      for (const Binding& binding : block.bindings) {
        if (IsNeeded(binding, uses_) && !AddBinding(binding)) return false;
      }
    }
    plan_.tuple_result = isa<TupleTypeNode>(function_->result_type);
    const auto results = Tensors(function_->body->result);
    if (!results) return false;
    plan_.results = *results;
    PlaceOutputs();
    return true;
  }

  ExecutablePlan Take() { return std::move(plan_); }

 private:
  int AddTensor(PlanTensor tensor) {
    plan_.tensors.push_back(std::move(tensor));
    return static_cast<int>(plan_.tensors.size()) - 1;
  }
  int AddRoot(const std::string& name, const TensorTypeNode& type, Home home, int index) {
    const int id = static_cast<int>(plan_.tensors.size());
    return AddTensor(
        {.name = name, .dtype = type.dtype, .shape = *type.shape, .root = id, .home = home, .index = index});
  }
  int AddView(const std::string& name, int of, std::vector<Expr> shape) {
    const PlanTensor& viewed = plan_.tensors[static_cast<size_t>(of)];
    return AddTensor({.name = name, .dtype = viewed.dtype, .shape = std::move(shape), .root = viewed.root});
  }
  int AddConstant(const ConstantNode* constant) {
    const auto [it, is_new] = constants_.try_emplace(constant, static_cast<int>(plan_.tensors.size()));
    if (is_new) {
      AddRoot("constant", *constant->type, Home::kConstant, static_cast<int>(plan_.constants.size()));
      plan_.constants.emplace_back(constant);
    }
    return it->second;
  }

  // The tensors of an atom, tuples flattened.
  std::optional<std::vector<int>> Tensors(const Value& atom) {
    if (const auto* var = dyn_cast<VarNode>(atom)) {
      const auto it = values_.find(var);
      if (it == values_.end()) return std::nullopt;
      return it->second;
    }
    if (const auto* constant = dyn_cast<ConstantNode>(atom)) return std::vector<int>{AddConstant(constant)};
    const auto* tuple = dyn_cast<TupleNode>(atom);
    if (tuple == nullptr) return std::nullopt;
    std::vector<int> all;
    for (const Value& field : tuple->fields) {
      if (isa<TupleTypeNode>(TypeOf(field))) return std::nullopt;
      const auto one = Tensors(field);
      if (!one) return std::nullopt;
      all.insert(all.end(), one->begin(), one->end());
    }
    return all;
  }
  std::optional<int> Tensor(const Value& atom) {
    const auto tensors = Tensors(atom);
    return tensors && tensors->size() == 1 ? std::optional<int>((*tensors)[0]) : std::nullopt;
  }

  bool AddBinding(const Binding& binding) {
    const std::string& name = binding.var->name;
    std::vector<int>& result = values_[binding.var.get()];
    if (const auto* tir = dyn_cast<CallTirNode>(binding.value)) return AddCall(name, *tir, &result);
    if (const auto* get = dyn_cast<TupleGetItemNode>(binding.value)) {
      const auto fields = Tensors(get->tuple);
      if (!fields || static_cast<size_t>(get->index) >= fields->size()) return false;
      result = {(*fields)[static_cast<size_t>(get->index)]};
      return true;
    }
    if (const auto* call = dyn_cast<CallNode>(binding.value)) {
      const auto* type = dyn_cast<TensorTypeNode>(binding.var->type);
      if (call->op->name != "reshape" || type == nullptr || !type->shape) return false;
      const auto x = Tensor(call->args[0]);
      if (x) result = {AddView(name, *x, *type->shape)};
      return x.has_value();
    }
    if (const auto* match = dyn_cast<MatchCastNode>(binding.value)) {
      const auto* type = dyn_cast<TensorTypeNode>(match->type);
      const auto x = Tensor(match->value);
      if (!x || type == nullptr || type->values) return false;
      const int view = AddView(name, *x, plan_.tensors[static_cast<size_t>(*x)].shape);
      if (type->shape) plan_.tensors[static_cast<size_t>(view)].cast = TensorType(type);
      result = {view};
      return true;
    }
    if (!IsAtom(binding.value)) return false;
    const auto tensors = Tensors(binding.value);
    if (tensors) result = *tensors;
    return tensors.has_value();
  }

  bool AddCall(const std::string& name, const CallTirNode& call, std::vector<int>* result) {
    const int number = static_cast<int>(plan_.steps.size());
    PlanStep step{.name = name, .num_inputs = call.args.size(), .scalars = call.symbols};
    for (const Value& arg : call.args) {
      const auto tensor = Tensor(arg);
      if (!tensor) return false;
      step.tensors.push_back(*tensor);
      Root(*tensor).last = number;
    }
    for (const TensorTypeNode* type : TensorsOf(call.out)) {
      const int tensor = AddRoot(name, *type, Home::kArena, 0);
      Root(tensor).first = Root(tensor).last = number;
      step.tensors.push_back(tensor);
      result->push_back(tensor);
    }
    step.program = ProgramOf(call, step);
    plan_.steps.push_back(std::move(step));
    return true;
  }

  // The same program with other parameters constant is another one: what is packed differs.
  int ProgramOf(const CallTirNode& call, const PlanStep& step) {
    std::vector<bool> constant(step.tensors.size() + step.scalars.size(), false);
    for (size_t i = 0; i < step.num_inputs; ++i) {
      constant[i] = Root(step.tensors[i]).home == Home::kConstant;
    }
    const auto [it, is_new] = programs_.try_emplace({call.function, constant}, static_cast<int>(plan_.programs.size()));
    if (is_new) plan_.programs.push_back({module_.FindProgram(call.function), constant});
    return it->second;
  }

  PlanTensor& Root(int tensor) {
    return plan_.tensors[static_cast<size_t>(plan_.tensors[static_cast<size_t>(tensor)].root)];
  }

  // Each result whose memory a step of this plan writes first becomes an output; the others get a place in the arena.
  void PlaceOutputs() {
    for (size_t i = 0; i < plan_.results.size(); ++i) {
      PlanTensor& root = Root(plan_.results[i]);
      root.last = static_cast<int>(plan_.steps.size());
      if (root.home != Home::kArena) continue;
      root.home = Home::kOutput;
      root.index = static_cast<int>(i);
    }
    int tenants = 0;
    for (size_t i = 0; i < plan_.tensors.size(); ++i) {
      PlanTensor& tensor = plan_.tensors[i];
      if (tensor.root == static_cast<int>(i) && tensor.home == Home::kArena) tensor.index = tenants++;
    }
  }

  const GraphModule& module_;
  const Function& function_;
  Uses uses_;
  ExecutablePlan plan_;
  std::unordered_map<const VarNode*, std::vector<int>> values_;
  std::unordered_map<const ConstantNode*, int> constants_;
  std::map<std::pair<std::string, std::vector<bool>>, int> programs_;
};

}  // namespace

absl::StatusOr<std::optional<ExecutablePlan>> Plan(const GraphModule& module, const Function& function) {
  if (!function) return absl::FailedPreconditionError("the module has no main");
  Planner planner(module, function);
  if (!planner.Run()) return std::nullopt;
  return planner.Take();
}

}  // namespace tilewright::graph
