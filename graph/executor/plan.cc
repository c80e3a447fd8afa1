#include "graph/executor/plan.h"

#include <algorithm>
#include <map>
#include <set>
#include <tuple>
#include <unordered_map>
#include <utility>

#include "absl/strings/str_cat.h"
#include "graph/executor/copy_parts.h"
#include "graph/executor/in_place.h"
#include "graph/executor/plan_loop.h"
#include "graph/executor/split_function.h"
#include "graph/executor/uses.h"
#include "graph/ir/call_types.h"

namespace tilewright::graph {
namespace {

class Planner {
 public:
  // `parts`: what only copies is not a step where that can be. `for_library`: as Plan's.
  Planner(const GraphModule& module, const Function& function, bool parts, bool for_library)
      : module_(module), function_(function), takes_parts_(parts), for_library_(for_library) {
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
    if (!AddBindings(*function_->body)) return false;
    plan_.tuple_result = isa<TupleTypeNode>(function_->result_type);
    const auto results = Tensors(function_->body->result);
    if (!results) return false;
    plan_.results = *results;
    PlaceOutputs();
    return true;
  }

  ExecutablePlan Take() { return std::move(plan_); }
  // What stands in the way of a plan; empty where that is not a binding.
  const std::string& obstacle() const { return obstacle_; }

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
    return AddTensor({.name = name,
                      .dtype = viewed.dtype,
                      .shape = std::move(shape),
                      .root = viewed.root,
                      .offset = viewed.offset,
                      .is_part = viewed.is_part});
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

  bool AddBindings(const SeqNode& seq) {
    for (const BindingBlock& block : seq.blocks) {
      for (const Binding& binding : block.bindings) {
        if (!IsNeeded(binding, uses_) || AddBinding(binding)) continue;
        if (obstacle_.empty()) obstacle_ = DescribeStep(binding);
        return false;
      }
    }
    return true;
  }

  bool AddBinding(const Binding& binding) {
    const std::string& name = binding.var->name;
    std::vector<int>& result = values_[binding.var.get()];
    result.clear();  // a body may be that of several loops
    if (const auto* tir = dyn_cast<CallTirNode>(binding.value)) return AddCall(name, *tir, &result);
    if (const auto* get = dyn_cast<TupleGetItemNode>(binding.value)) {
      const auto fields = Tensors(get->tuple);
      if (!fields || static_cast<size_t>(get->index) >= fields->size()) return false;
      result = {(*fields)[static_cast<size_t>(get->index)]};
      return true;
    }
    if (const auto* call = dyn_cast<CallNode>(binding.value)) {
      const auto* type = dyn_cast<TensorTypeNode>(binding.var->type);
      if (for_library_ && IsLoop(*call)) return AddLoop(name, *call, &result);
      if (for_library_ && call->op->name == "host.read_values") return AddReads(name, *call, *type, &result);
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
    }
    if (const auto* parts = PartsOf(call.function)) {
      if (AddSlices(name, call, step.tensors, *parts, result)) return true;
      if (AddConcatenation(name, call, step.tensors, *parts, result)) return true;
    }
    for (int tensor : step.tensors) Root(tensor).last = number;
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

  // Elements of an input.
  bool AddReads(const std::string& name, const CallNode& call, const TensorTypeNode& type, std::vector<int>* result) {
    const auto x = Tensor(call.args[0]);
    if (!x || Root(*x).home != Home::kInput || !type.values) return false;
    for (size_t i = 0; i < type.values->size(); ++i) {
      const auto* symbol = dyn_cast<SymbolNode>((*type.values)[i]);
      if (symbol == nullptr) return false;
      plan_.reads.push_back({Symbol(symbol), static_cast<size_t>(Root(*x).index), static_cast<int64_t>(i)});
    }
    *result = {AddView(name, *x, plan_.tensors[static_cast<size_t>(*x)].shape)};
    return true;
  }

  // The body's steps, and what moves between its iterations.
  bool AddLoop(const std::string& name, const CallNode& call, std::vector<int>* result) {
    const Function body = module_.FindFunction(call.attrs.at("body").As<FunctionName>()->name);
    std::vector<int> arguments;
    for (const Value& arg : call.args) {
      const auto tensor = arg ? Tensor(arg) : std::optional(-1);
      if (!tensor) return false;
      arguments.push_back(*tensor);
    }
    const size_t number = plan_.loops.size();
    plan_.loops.emplace_back();
    LoopPlanner planner(&plan_, name, call);
    if (!planner.Begin(*body, arguments)) return false;
    for (size_t i = 0; i < body->params.size(); ++i) values_[body->params[i].get()] = {planner.parameters()[i]};
    CountUses(*body->body, &uses_);
    plan_.guards.insert(plan_.guards.end(), body->body->guards.begin(), body->body->guards.end());
    if (!AddBindings(*body->body)) return false;
    const auto results = Tensors(body->body->result);
    if (!results) return false;
    *result = planner.End(*results);
    plan_.loops[number] = planner.Take();
    return true;
  }

  // What a program copies, where it does nothing else.
  const std::vector<CopyPart>* PartsOf(const std::string& program) {
    if (!takes_parts_) return nullptr;
    const auto [it, is_new] = parts_.try_emplace(program);
    if (is_new) it->second = CopyPartsOf(module_.FindProgram(program));
    return it->second ? &*it->second : nullptr;
  }

  static bool IsAligned(const PlanTensor& tensor, int64_t offset) {
    return offset * tensor.dtype.bytes() % kArenaAlignment == 0;
  }

  // Each result is a part of an argument that lies in the arena: a view of it.
  bool AddSlices(const std::string& name, const CallTirNode& call, const std::vector<int>& arguments,
                 const std::vector<CopyPart>& parts, std::vector<int>* result) {
    const std::vector<const TensorTypeNode*> types = TensorsOf(call.out);
    if (parts.size() != types.size()) return false;
    for (const CopyPart& part : parts) {
      const PlanTensor& from = plan_.tensors[static_cast<size_t>(arguments[static_cast<size_t>(part.from)])];
      const bool in_arena = plan_.tensors[static_cast<size_t>(from.root)].home == Home::kArena;
      if (part.target != 0 || !in_arena || !IsAligned(from, from.offset + part.source)) return false;
    }
    // One part for each result, in their order.
    for (size_t i = 0; i < parts.size(); ++i) {
      const int from = arguments[static_cast<size_t>(parts[i].from)];
      const int view = AddView(name, from, *types[i]->shape);
      plan_.tensors[static_cast<size_t>(view)].offset += parts[i].source;
      plan_.tensors[static_cast<size_t>(view)].is_part = true;
      result->push_back(view);
    }
    return true;
  }

  // All arguments are whole values of the arena: they are written where they are wanted.
  bool AddConcatenation(const std::string& name, const CallTirNode& call, const std::vector<int>& arguments,
                        const std::vector<CopyPart>& parts, std::vector<int>* result) {
    const std::vector<const TensorTypeNode*> types = TensorsOf(call.out);
    if (types.size() != 1) return false;
    std::set<int> roots;
    for (const CopyPart& part : parts) {
      const PlanTensor& from = plan_.tensors[static_cast<size_t>(arguments[static_cast<size_t>(part.from)])];
      const PlanTensor& root = plan_.tensors[static_cast<size_t>(from.root)];
      const auto shape = ConstantExtents(root.shape);
      if (from.is_part || root.home != Home::kArena || !shape || !IsAligned(from, part.target)) return false;
      int64_t size = 1;
      for (int64_t extent : *shape) size *= extent;
      if (part.source != 0 || part.count != size || !roots.insert(from.root).second) return false;
    }
    const int whole = AddRoot(name, *types[0], Home::kArena, 0);
    PlanTensor& out = plan_.tensors[static_cast<size_t>(whole)];
    out.first = static_cast<int>(plan_.steps.size());
    for (const CopyPart& part : parts) {
      const int old = plan_.tensors[static_cast<size_t>(arguments[static_cast<size_t>(part.from)])].root;
      out.first = std::min(out.first, plan_.tensors[static_cast<size_t>(old)].first);
      out.last = std::max(out.last, plan_.tensors[static_cast<size_t>(old)].last);
      for (PlanTensor& tensor : plan_.tensors) {
        if (tensor.root != old) continue;
        tensor.root = whole;
        tensor.offset += part.target;
        tensor.is_part = true;
      }
    }
    result->push_back(whole);
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

  // Each result whose memory a step of this plan writes first, and as a whole, becomes an output; the others get a
  // place in the arena.
  void PlaceOutputs() {
    std::set<int> in_parts;
    for (const PlanTensor& tensor : plan_.tensors) {
      if (tensor.is_part) in_parts.insert(tensor.root);
    }
    for (size_t i = 0; i < plan_.results.size(); ++i) {
      PlanTensor& root = Root(plan_.results[i]);
      root.last = static_cast<int>(plan_.steps.size());
      const bool has_parts = in_parts.contains(plan_.tensors[static_cast<size_t>(plan_.results[i])].root);
      if (root.home != Home::kArena || has_parts) continue;
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
  const bool takes_parts_, for_library_;
  Uses uses_;
  std::string obstacle_;
  ExecutablePlan plan_;
  std::unordered_map<const VarNode*, std::vector<int>> values_;
  std::unordered_map<const ConstantNode*, int> constants_;
  std::map<std::pair<std::string, std::vector<bool>>, int> programs_;
  std::map<std::string, std::optional<std::vector<CopyPart>>> parts_;
};

// Bytes of the arena that are in use at one time, as far as extents are numbers.
int64_t MostLiveBytes(const ExecutablePlan& plan) {
  std::vector<int64_t> changes(plan.steps.size() + 2);
  for (size_t i = 0; i < plan.tensors.size(); ++i) {
    const PlanTensor& tensor = plan.tensors[i];
    const auto shape = ConstantExtents(tensor.shape);
    if (tensor.root != static_cast<int>(i) || tensor.home != Home::kArena || !shape) continue;
    int64_t bytes = tensor.dtype.bytes();
    for (int64_t extent : *shape) {
      if (__builtin_mul_overflow(bytes, extent, &bytes)) bytes = 0;
    }
    changes[static_cast<size_t>(tensor.first)] += bytes;
    changes[static_cast<size_t>(tensor.last) + 1] -= bytes;
  }
  int64_t live = 0, most = 0;
  for (int64_t change : changes) most = std::max(most, live += change);
  return most;
}

}  // namespace

absl::StatusOr<std::optional<ExecutablePlan>> Plan(const GraphModule& module, const Function& function,
                                                   std::string* obstacle, bool for_library) {
  if (!function) return absl::FailedPreconditionError("the module has no main");
  Planner with(module, function, /*parts=*/true, for_library);
  if (!with.Run()) {
    if (obstacle != nullptr) *obstacle = with.obstacle();
    return std::nullopt;
  }
  ExecutablePlan plan = with.Take();
  if (std::none_of(plan.tensors.begin(), plan.tensors.end(), [](const PlanTensor& t) { return t.is_part; })) {
    return plan;
  }
  // A value of which a part is needed late, or that is written piece by piece, takes its memory longer.
  Planner without(module, function, /*parts=*/false, for_library);
  if (!without.Run()) return plan;
  ExecutablePlan copying = without.Take();
  return MostLiveBytes(plan) <= MostLiveBytes(copying) ? std::move(plan) : std::move(copying);
}

void AddInPlaceForms(ExecutablePlan* plan) {
  const auto root = [&](int tensor) -> const PlanTensor& {
    return plan->tensors[static_cast<size_t>(plan->tensors[static_cast<size_t>(tensor)].root)];
  };
  const auto is_whole = [&](int tensor, Home home) {
    return plan->tensors[static_cast<size_t>(tensor)].root == tensor && root(tensor).home == home;
  };
  // Programs by what they are forms of.
  std::map<std::tuple<int, size_t, size_t>, int> forms;
  const auto form_of = [&](const PlanStep& step, size_t read, size_t written) {
    const auto [it, is_new] = forms.try_emplace({step.program, read, written}, -1);
    if (!is_new) return it->second;
    const KernelSource source = plan->programs[static_cast<size_t>(step.program)];
    if (std::ranges::find(source.constant, true) != source.constant.end()) return -1;
    const std::optional<PrimFunc> form = InPlaceForm(source.program, read, written);
    if (!form) return -1;
    it->second = static_cast<int>(plan->programs.size());
    plan->programs.push_back({.program = *form, .constant = std::vector<bool>((*form)->params.size())});
    return it->second;
  };
  for (size_t s = 0; s < plan->steps.size(); ++s) {
    PlanStep& step = plan->steps[s];
    std::vector<PlanStep::InPlace> found;
    for (size_t written = step.num_inputs; written < step.tensors.size(); ++written) {
      if (!is_whole(step.tensors[written], Home::kOutput)) continue;
      for (size_t read = 0; read < step.num_inputs; ++read) {
        const int input = step.tensors[read];
        // What is read as a result is copied behind the last step.
        const bool read_later = root(input).last > static_cast<int>(s);
        if (!is_whole(input, Home::kInput) || read_later || std::ranges::count(step.tensors, input) != 1) continue;
        if (const int program = form_of(step, read, written); program >= 0) found.push_back({program, read, written});
      }
    }
    if (found.size() == 1) step.in_place = found[0];
  }
}

}  // namespace tilewright::graph
