#include "graph/executor/run_bindings.h"

#include <cstddef>
#include <memory>
#include <optional>
#include <utility>

#include "absl/strings/str_cat.h"
#include "base/status_macros.h"
#include "graph/executor/placed_array.h"
#include "graph/executor/repeated_run.h"
#include "graph/host/array.h"

namespace tilewright::graph {
namespace {

// A tensor, here or on the device where it was computed, or a tuple of such.
struct RunValue {
  PlacedArray array;
  std::vector<RunValue> fields;
  bool is_tuple = false;
};

using Environment = std::unordered_map<const VarNode*, RunValue>;

// One run of one function.
class Run {
 public:
  Run(const ExecutorState& state, const RunOptions& options) : state_(state), options_(options) {}

  // `symbols` are those that the caller knows: bodies of loops may mention them.
  absl::StatusOr<RunValue> Call(const Function& function, const PlacedArrays& arguments, SymbolValues symbols,
                                int depth) {
    if (depth > 100) return absl::ResourceExhaustedError("functions are nested too deeply");
    if (const auto plan = state_.plans.find(function->name); plan != state_.plans.end()) {
      return RunPlan(*plan->second, arguments, symbols);
    }
    if (arguments.size() != function->params.size()) {
      return absl::InvalidArgumentError(
          absl::StrCat(function->name, " takes ", function->params.size(), " arguments, not ", arguments.size()));
    }
    Frame frame{.symbols = std::move(symbols), .uses = &state_.uses.at(function->name), .depth = depth};
    for (size_t i = 0; i < arguments.size(); ++i) {
      const Var& param = function->params[i];
      const auto* type = dyn_cast<TensorTypeNode>(param->type);
      if (type == nullptr) return absl::UnimplementedError("a parameter that is not a tensor");
      if (type->dtype != arguments[i].dtype()) {
        return absl::InvalidArgumentError(
            absl::StrCat(param->name, " is ", arguments[i].dtype().ToString(), ", expected ", type->dtype.ToString()));
      }
      TW_RETURN_IF_ERROR(frame.symbols.Match(*type, arguments[i].shape(), param->name));
      frame.values[param.get()] = {.array = arguments[i]};
    }
    return RunSeq(*function->body, frame);
  }

  // On a device the results stay where they are until somebody here reads them.
  absl::StatusOr<PlacedArrays> ResultsOf(const PlannedFunction& function, const PlacedArrays& arguments,
                                         const SymbolValues& symbols) {
    if (function.options().device != nullptr) return function.RunThere(arguments, symbols);
    TW_ASSIGN_OR_RETURN(const Arrays here, Here(arguments));
    TW_ASSIGN_OR_RETURN(const Arrays results, function.Run(here, symbols, options_));
    return PlacedArrays(results.begin(), results.end());
  }

  absl::StatusOr<RunValue> RunPlan(const PlannedFunction& function, const PlacedArrays& arguments,
                                   const SymbolValues& symbols) {
    TW_ASSIGN_OR_RETURN(PlacedArrays results, ResultsOf(function, arguments, symbols));
    if (!function.plan().tuple_result) return RunValue{.array = std::move(results[0])};
    RunValue value{.is_tuple = true};
    for (PlacedArray& result : results) value.fields.push_back({.array = std::move(result)});
    return value;
  }

 private:
  struct Frame {
    SymbolValues symbols;
    const Uses* uses = nullptr;
    int depth = 0;
    Environment values = {};
    Uses used = {};
    int branches = 0;  // inside of them nothing is freed: the other branch may use it
  };

  absl::StatusOr<RunValue> RunSeq(const SeqNode& seq, Frame& frame) {
    // Conditions on elements that are read later are checked when these are known.
    std::vector<Expr> guards = seq.guards;
    TW_RETURN_IF_ERROR(frame.symbols.CheckReadyGuards(&guards));
    for (const BindingBlock& block : seq.blocks) {
      for (const Binding& binding : block.bindings) {
        if (!IsNeeded(binding, *frame.uses)) continue;
        auto value = Evaluate(binding.value, binding.var->type, frame);
        if (!value.ok()) {
          return absl::Status(value.status().code(),
                              absl::StrCat("value ", binding.var->name, ": ", value.status().message()));
        }
        frame.values[binding.var.get()] = *std::move(value);
        if (!guards.empty()) TW_RETURN_IF_ERROR(frame.symbols.CheckReadyGuards(&guards));
        Release(binding.value, frame);
      }
    }
    return Atom(seq.result, frame);
  }

  // Frees arguments that were read for the last time.
  void Release(const Value& value, Frame& frame) {
    if (frame.branches > 0) return;
    Uses now;
    CountUses(value, &now);
    for (const auto& [var, count] : now) {
      int& used = frame.used[var];
      used += count;
      const auto total = frame.uses->find(var);
      if (total != frame.uses->end() && used == total->second) frame.values.erase(var);
    }
  }

  absl::StatusOr<RunValue> Atom(const Value& value, Frame& frame) {
    if (!value) return RunValue{};
    if (const auto* var = dyn_cast<VarNode>(value)) {
      auto it = frame.values.find(var);
      if (it == frame.values.end()) return absl::InternalError(absl::StrCat(var->name, " has no value"));
      return it->second;
    }
    if (const auto* constant = dyn_cast<ConstantNode>(value)) return RunValue{.array = state_.constants.at(constant)};
    if (const auto* tuple = dyn_cast<TupleNode>(value)) {
      RunValue result{.is_tuple = true};
      for (const Value& field : tuple->fields) {
        TW_ASSIGN_OR_RETURN(RunValue one, Atom(field, frame));
        result.fields.push_back(std::move(one));
      }
      return result;
    }
    return absl::UnimplementedError("a shape as a value");
  }

  absl::StatusOr<PlacedArrays> Arguments(const std::vector<Value>& args, Frame& frame) {
    PlacedArrays arrays;
    for (const Value& arg : args) {
      TW_ASSIGN_OR_RETURN(RunValue value, Atom(arg, frame));
      if (value.is_tuple) return absl::UnimplementedError("a tuple as an argument");
      arrays.push_back(std::move(value.array));
    }
    return arrays;
  }

  absl::StatusOr<RunValue> Evaluate(const Value& value, const Type& type, Frame& frame) {
    if (const auto* tir = dyn_cast<CallTirNode>(value)) return EvaluateTir(*tir, frame);
    if (const auto* call = dyn_cast<CallNode>(value)) return EvaluateCall(*call, type, frame);
    if (const auto* get = dyn_cast<TupleGetItemNode>(value)) {
      TW_ASSIGN_OR_RETURN(RunValue tuple, Atom(get->tuple, frame));
      return tuple.fields[static_cast<size_t>(get->index)];
    }
    if (const auto* match = dyn_cast<MatchCastNode>(value)) {
      TW_ASSIGN_OR_RETURN(RunValue inner, Atom(match->value, frame));
      TW_RETURN_IF_ERROR(MatchType(match->type, inner, frame));
      return inner;
    }
    if (const auto* call = dyn_cast<CallFunctionNode>(value)) {
      TW_ASSIGN_OR_RETURN(const PlacedArrays arguments, Arguments(call->args, frame));
      TW_ASSIGN_OR_RETURN(RunValue result,
                          Call(state_.module.FindFunction(call->function), arguments, frame.symbols, frame.depth + 1));
      TW_RETURN_IF_ERROR(MatchType(type, result, frame));
      return result;
    }
    if (const auto* branch = dyn_cast<IfNode>(value)) {
      TW_ASSIGN_OR_RETURN(const RunValue condition, Atom(branch->condition, frame));
      if (condition.array.size() != 1) return absl::InvalidArgumentError("the condition does not have one element");
      TW_ASSIGN_OR_RETURN(const NDArray holds, condition.array.Here());
      ++frame.branches;
      auto result = RunSeq(holds.GetInt(0) != 0 ? *branch->then_branch : *branch->else_branch, frame);
      --frame.branches;
      if (result.ok()) TW_RETURN_IF_ERROR(MatchType(type, *result, frame));
      return result;
    }
    return Atom(value, frame);
  }

  // Gives symbols of `type` that have no value yet theirs.
  absl::Status MatchType(const Type& type, const RunValue& value, Frame& frame) {
    if (const auto* tensor = dyn_cast<TensorTypeNode>(type)) {
      if (!tensor->shape) return absl::OkStatus();
      for (size_t i = 0; tensor->values && i < tensor->values->size(); ++i) {
        const auto* symbol = dyn_cast<SymbolNode>((*tensor->values)[i]);
        if (symbol == nullptr || frame.symbols.Has(Symbol(symbol))) continue;
        TW_ASSIGN_OR_RETURN(const NDArray elements, value.array.Here());
        frame.symbols.Set(Symbol(symbol), elements.GetInt(static_cast<int64_t>(i)));
      }
      return frame.symbols.Match(*tensor, value.array.shape(), "a result");
    }
    const auto* tuple = dyn_cast<TupleTypeNode>(type);
    for (size_t i = 0; tuple != nullptr && i < tuple->fields.size() && i < value.fields.size(); ++i) {
      TW_RETURN_IF_ERROR(MatchType(tuple->fields[i], value.fields[i], frame));
    }
    return absl::OkStatus();
  }

  absl::StatusOr<NDArray> Allocate(const TensorTypeNode& type, Frame& frame) {
    TW_ASSIGN_OR_RETURN(std::vector<int64_t> shape, frame.symbols.Evaluate(*type.shape));
    int64_t bytes = type.dtype.bytes();
    for (int64_t extent : shape) {
      if (extent < 0) return absl::InvalidArgumentError(absl::StrCat("an extent is ", extent));
      if (__builtin_mul_overflow(bytes, extent, &bytes) || bytes > state_.options.max_bytes) {
        return absl::ResourceExhaustedError(
            absl::StrCat("a tensor needs more than ", state_.options.max_bytes, " bytes"));
      }
    }
    return Unwritten(type.dtype, std::move(shape));
  }

  absl::StatusOr<RunValue> EvaluateTir(const CallTirNode& call, Frame& frame) {
    TW_ASSIGN_OR_RETURN(const PlacedArrays arguments, Arguments(call.args, frame));
    TW_ASSIGN_OR_RETURN(Arrays arrays, Here(arguments));
    RunValue result;
    bool empty = true;
    const auto add = [&](const Type& type) -> absl::Status {
      TW_ASSIGN_OR_RETURN(NDArray array, Allocate(*cast<TensorTypeNode>(type), frame));
      empty &= array.size() == 0;
      arrays.push_back(array);
      if (result.is_tuple) {
        result.fields.push_back({.array = std::move(array)});
      } else {
        result.array = std::move(array);
      }
      return absl::OkStatus();
    };
    if (const auto* tuple = dyn_cast<TupleTypeNode>(call.out)) {
      result.is_tuple = true;
      for (const Type& field : tuple->fields) TW_RETURN_IF_ERROR(add(field));
    } else {
      TW_RETURN_IF_ERROR(add(call.out));
    }
    if (empty) return result;
    TW_ASSIGN_OR_RETURN(const std::vector<int64_t> scalars, frame.symbols.Evaluate(call.symbols));
    TW_RETURN_IF_ERROR(state_.kernels->Run(call.function, arrays, scalars, options_.parallel));
    return result;
  }

  absl::StatusOr<RunValue> EvaluateCall(const CallNode& call, const Type& type, Frame& frame) {
    const std::string& name = call.op->name;
    if (name == "reshape") {
      TW_ASSIGN_OR_RETURN(const RunValue x, Atom(call.args[0], frame));
      TW_ASSIGN_OR_RETURN(std::vector<int64_t> shape, frame.symbols.Evaluate(*cast<TensorTypeNode>(type)->shape));
      int64_t size = 1;
      for (int64_t extent : shape) {
        if (extent < 0 || __builtin_mul_overflow(size, extent, &size)) size = -1;
        if (size < 0) break;
      }
      if (size != x.array.size()) {
        return absl::InvalidArgumentError(absl::StrCat(x.array.size(), " elements do not fit the shape"));
      }
      return RunValue{.array = x.array.WithShape(std::move(shape))};
    }
    TW_ASSIGN_OR_RETURN(const PlacedArrays arguments, Arguments(call.args, frame));
    absl::StatusOr<PlacedArrays> results;
    if (name == "host.loop") {
      results = RunLoop(call.attrs, arguments, frame);
    } else if (name == "host.scan") {
      results = RunScan(call.attrs, arguments, frame);
    } else {
      auto host = state_.host.find(&call);
      if (host == state_.host.end())
        return absl::UnimplementedError(absl::StrCat("operator ", name, " has no program"));
      TW_ASSIGN_OR_RETURN(const Arrays here, Here(arguments));
      TW_ASSIGN_OR_RETURN(const Arrays computed, host->second(call.attrs, here, options_.parallel));
      results = PlacedArrays(computed.begin(), computed.end());
    }
    if (!results.ok()) return results.status();
    RunValue value;
    if (!isa<TupleTypeNode>(type)) {
      value.array = std::move((*results)[0]);
    } else {
      value.is_tuple = true;
      for (PlacedArray& array : *results) value.fields.push_back({.array = std::move(array)});
    }
    TW_RETURN_IF_ERROR(MatchType(type, value, frame));
    return value;
  }

  static PlacedArrays Fields(RunValue value) {
    PlacedArrays arrays;
    for (RunValue& field : value.fields) arrays.push_back(std::move(field.array));
    return arrays;
  }

  // The body of a loop: as a plan where it has one that runs here.
  std::optional<RepeatedRun> PlanOf(const Function& body, const Frame& frame) const {
    const auto plan = state_.plans.find(body->name);
    if (plan == state_.plans.end() || !plan->second->plan().tuple_result) return std::nullopt;
    if (plan->second->options().device != nullptr || plan->second->options().worker) return std::nullopt;
    return RepeatedRun(*plan->second, frame.symbols, options_);
  }
  absl::StatusOr<PlacedArrays> RunBody(const Function& body, std::optional<RepeatedRun>& plan,
                                       const PlacedArrays& inputs, Frame& frame) {
    if (!plan) {
      TW_ASSIGN_OR_RETURN(RunValue result, Call(body, inputs, frame.symbols, frame.depth + 1));
      return Fields(std::move(result));
    }
    TW_ASSIGN_OR_RETURN(const Arrays here, Here(inputs));
    TW_ASSIGN_OR_RETURN(const Arrays results, plan->Run(here));
    return PlacedArrays(results.begin(), results.end());
  }
  static absl::Status AddParts(const PlacedArrays& outputs, size_t first, std::vector<Stacked>* scans) {
    for (size_t s = 0; s < scans->size(); ++s) {
      TW_ASSIGN_OR_RETURN(const NDArray part, outputs[first + s].Here());
      TW_RETURN_IF_ERROR((*scans)[s].Add(part));
    }
    return absl::OkStatus();
  }

  // Arguments: trip count and condition (either may be absent), `carried` values, what the body captures. The body
  // takes (iteration, condition, carried..., captured...) and gives (condition, carried..., scanned...).
  absl::StatusOr<PlacedArrays> RunLoop(const Attrs& attrs, const PlacedArrays& arguments, Frame& frame) {
    const Function body = state_.module.FindFunction(attrs.at("body").As<FunctionName>()->name);
    const auto carried = static_cast<size_t>(*attrs.at("carried").As<int64_t>());
    const auto scanned = static_cast<size_t>(*attrs.at("scanned").As<int64_t>());
    for (size_t i = 0; i < 2; ++i) {
      if (arguments[i].present() && arguments[i].size() != 1) {
        return absl::InvalidArgumentError("a trip count or condition does not have one element");
      }
    }
    TW_ASSIGN_OR_RETURN(const NDArray count, arguments[0].Here());
    TW_ASSIGN_OR_RETURN(const NDArray first, arguments[1].Here());
    const int64_t trips = count.data() != nullptr ? count.GetInt(0) : INT64_MAX;
    bool condition = first.data() == nullptr || first.GetInt(0) != 0;
    std::vector<Stacked> scans(scanned);
    std::optional<RepeatedRun> plan = PlanOf(body, frame);
    // The iteration, the condition, what is carried, what the body captures.
    PlacedArrays inputs = arguments;
    NDArray iteration, go;
    for (int64_t i = 0; i < trips && condition; ++i) {
      if (i >= state_.options.max_bytes / 64) return absl::ResourceExhaustedError("a loop does not end");
      // Results of a plan never share the memory of its arguments; others may.
      if (i == 0 || !plan) {
        iteration = NDArray(DataType::Int(64), {});
        go = NDArray(DataType::Bool(), {});
        inputs[0] = iteration;
        inputs[1] = go;
      }
      iteration.SetInt(0, i);
      go.SetInt(0, 1);
      TW_ASSIGN_OR_RETURN(PlacedArrays outputs, RunBody(body, plan, inputs, frame));
      if (outputs[0].size() != 1) return absl::InvalidArgumentError("the condition does not have one element");
      TW_ASSIGN_OR_RETURN(const NDArray go_on, outputs[0].Here());
      condition = go_on.GetInt(0) != 0;
      TW_RETURN_IF_ERROR(AddParts(outputs, 1 + carried, &scans));
      std::move(outputs.begin() + 1, outputs.begin() + 1 + static_cast<std::ptrdiff_t>(carried), inputs.begin() + 2);
    }
    PlacedArrays state(inputs.begin() + 2, inputs.begin() + 2 + static_cast<std::ptrdiff_t>(carried));
    return Collect(body, std::move(state), scans, frame);
  }

  // Carried values and stacked scans; a scan without iterations has extent 0 in every dimension that is not known.
  absl::StatusOr<PlacedArrays> Collect(const Function& body, PlacedArrays state, const std::vector<Stacked>& scans,
                                       Frame& frame) {
    const auto* results = cast<TupleTypeNode>(body->result_type);
    for (size_t s = 0; s < scans.size(); ++s) {
      const auto* type = cast<TensorTypeNode>(results->fields[results->fields.size() - scans.size() + s]);
      std::vector<int64_t> shape = {0};
      if (type->shape) {
        for (const Expr& extent : *type->shape) {
          const auto value = frame.symbols.Evaluate(extent);
          shape.push_back(value.ok() ? *value : 0);
        }
      }
      const std::optional<NDArray> stacked = scans[s].Take();
      state.emplace_back(stacked ? *stacked : NDArray(type->dtype, shape));
    }
    return state;
  }

  // Arguments: `carried` states, `inputs` sequences along their first dimension, what the body captures. The body takes
  // (states..., elements..., captured...) and gives (states..., scanned...).
  absl::StatusOr<PlacedArrays> RunScan(const Attrs& attrs, const PlacedArrays& arguments, Frame& frame) {
    const Function body = state_.module.FindFunction(attrs.at("body").As<FunctionName>()->name);
    const auto carried = static_cast<size_t>(*attrs.at("carried").As<int64_t>());
    const auto inputs = static_cast<size_t>(*attrs.at("inputs").As<int64_t>());
    const auto scanned = static_cast<size_t>(*attrs.at("scanned").As<int64_t>());
    const IntList &in_reversed = *attrs.at("reverse_inputs").As<IntList>(),
                  &out_reversed = *attrs.at("reverse_outputs").As<IntList>();
    const int64_t length = arguments[carried].shape()[0];
    std::vector<Stacked> scans;
    for (size_t s = 0; s < scanned; ++s) scans.emplace_back(length, s < out_reversed.size() && out_reversed[s] != 0);
    Arrays sequences, elements(inputs);
    for (size_t s = 0; s < inputs; ++s) {
      TW_ASSIGN_OR_RETURN(NDArray all, arguments[carried + s].Here());
      if (all.shape()[0] != length) return absl::InvalidArgumentError("sequences of different lengths");
      sequences.push_back(std::move(all));
    }
    std::optional<RepeatedRun> plan = PlanOf(body, frame);
    // States, elements of the sequences, what the body captures.
    PlacedArrays step = arguments;
    for (int64_t i = 0; i < length; ++i) {
      for (size_t s = 0; s < inputs; ++s) {
        const NDArray& all = sequences[s];
        if (i == 0 || !plan) {
          elements[s] = Unwritten(all.dtype(), {all.shape().begin() + 1, all.shape().end()});
          step[carried + s] = elements[s];
        }
        const int64_t at = s < in_reversed.size() && in_reversed[s] != 0 ? length - 1 - i : i,
                      bytes = elements[s].bytes();
        std::copy_n(static_cast<const std::byte*>(all.data()) + at * bytes, bytes,
                    static_cast<std::byte*>(elements[s].data()));
      }
      TW_ASSIGN_OR_RETURN(PlacedArrays outputs, RunBody(body, plan, step, frame));
      TW_RETURN_IF_ERROR(AddParts(outputs, carried, &scans));
      std::move(outputs.begin(), outputs.begin() + static_cast<std::ptrdiff_t>(carried), step.begin());
    }
    PlacedArrays state(step.begin(), step.begin() + static_cast<std::ptrdiff_t>(carried));
    return Collect(body, std::move(state), scans, frame);
  }

  const ExecutorState& state_;
  const RunOptions& options_;
};

}  // namespace

absl::StatusOr<Arrays> RunFunction(const ExecutorState& state, const Function& function, const Arrays& arguments,
                                   const RunOptions& options) {
  const auto plan = state.plans.find(function->name);
  if (plan != state.plans.end()) return plan->second->Run(arguments, {}, options);
  const PlacedArrays placed(arguments.begin(), arguments.end());
  TW_ASSIGN_OR_RETURN(RunValue result, Run(state, options).Call(function, placed, {}, 0));
  PlacedArrays arrays;
  if (!result.is_tuple) arrays.push_back(std::move(result.array));
  for (RunValue& field : result.fields) arrays.push_back(std::move(field.array));
  return Here(arrays);
}

}  // namespace tilewright::graph
