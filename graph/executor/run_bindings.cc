#include "graph/executor/run_bindings.h"

#include <utility>

#include "absl/strings/str_cat.h"
#include "base/status_macros.h"

namespace tilewright::graph {
namespace {

// A tensor or a tuple of such.
struct RunValue {
  NDArray array;
  std::vector<RunValue> fields;
  bool is_tuple = false;
};

using Environment = std::unordered_map<const VarNode*, RunValue>;

// One run of one function.
class Run {
 public:
  Run(const ExecutorState& state, const RunOptions& options) : state_(state), options_(options) {}

  // `symbols` are those that the caller knows: bodies of loops may mention them.
  absl::StatusOr<RunValue> Call(const Function& function, const Arrays& arguments, SymbolValues symbols, int depth) {
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

  absl::StatusOr<RunValue> RunPlan(const PlannedFunction& function, const Arrays& arguments,
                                   const SymbolValues& symbols) {
    TW_ASSIGN_OR_RETURN(Arrays results, function.Run(arguments, symbols, options_));
    if (!function.plan().tuple_result) return RunValue{.array = std::move(results[0])};
    RunValue value{.is_tuple = true};
    for (NDArray& result : results) value.fields.push_back({.array = std::move(result)});
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

  absl::StatusOr<Arrays> Arguments(const std::vector<Value>& args, Frame& frame) {
    Arrays arrays;
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
      TW_ASSIGN_OR_RETURN(const Arrays arguments, Arguments(call->args, frame));
      TW_ASSIGN_OR_RETURN(RunValue result,
                          Call(state_.module.FindFunction(call->function), arguments, frame.symbols, frame.depth + 1));
      TW_RETURN_IF_ERROR(MatchType(type, result, frame));
      return result;
    }
    if (const auto* branch = dyn_cast<IfNode>(value)) {
      TW_ASSIGN_OR_RETURN(const RunValue condition, Atom(branch->condition, frame));
      if (condition.array.size() != 1) return absl::InvalidArgumentError("the condition does not have one element");
      ++frame.branches;
      auto result = RunSeq(condition.array.GetInt(0) != 0 ? *branch->then_branch : *branch->else_branch, frame);
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
        frame.symbols.Set(Symbol(symbol), value.array.GetInt(static_cast<int64_t>(i)));
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
    return NDArray(type.dtype, std::move(shape));
  }

  absl::StatusOr<RunValue> EvaluateTir(const CallTirNode& call, Frame& frame) {
    TW_ASSIGN_OR_RETURN(Arrays arrays, Arguments(call.args, frame));
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
    TW_ASSIGN_OR_RETURN(const Arrays arguments, Arguments(call.args, frame));
    absl::StatusOr<Arrays> results;
    if (name == "host.loop") {
      results = RunLoop(call.attrs, arguments, frame);
    } else if (name == "host.scan") {
      results = RunScan(call.attrs, arguments, frame);
    } else {
      auto host = state_.host.find(name);
      if (host == state_.host.end())
        return absl::UnimplementedError(absl::StrCat("operator ", name, " has no program"));
      results = host->second(call.attrs, arguments);
    }
    if (!results.ok()) return results.status();
    RunValue value;
    if (!isa<TupleTypeNode>(type)) {
      value.array = std::move((*results)[0]);
    } else {
      value.is_tuple = true;
      for (NDArray& array : *results) value.fields.push_back({.array = std::move(array)});
    }
    TW_RETURN_IF_ERROR(MatchType(type, value, frame));
    return value;
  }

  static absl::StatusOr<Arrays> Fields(RunValue value) {
    Arrays arrays;
    for (RunValue& field : value.fields) arrays.push_back(std::move(field.array));
    return arrays;
  }

  // Equal arrays one after the other along a new first dimension.
  static absl::StatusOr<NDArray> Stack(const Arrays& parts, const NDArray& empty, bool reverse) {
    if (parts.empty()) return empty;
    std::vector<int64_t> shape = parts[0].shape();
    shape.insert(shape.begin(), static_cast<int64_t>(parts.size()));
    NDArray result(parts[0].dtype(), shape);
    auto* to = static_cast<std::byte*>(result.data());
    for (size_t i = 0; i < parts.size(); ++i) {
      const NDArray& part = parts[reverse ? parts.size() - 1 - i : i];
      if (part.shape() != parts[0].shape()) {
        return absl::InvalidArgumentError("results of the body's iterations have different shapes");
      }
      std::copy_n(static_cast<const std::byte*>(part.data()), part.bytes(), to);
      to += part.bytes();
    }
    return result;
  }

  // Arguments: trip count and condition (either may be absent), `carried` values, what the body captures. The body
  // takes (iteration, condition, carried..., captured...) and gives (condition, carried..., scanned...).
  absl::StatusOr<Arrays> RunLoop(const Attrs& attrs, const Arrays& arguments, Frame& frame) {
    const Function body = state_.module.FindFunction(attrs.at("body").As<FunctionName>()->name);
    const auto carried = static_cast<size_t>(*attrs.at("carried").As<int64_t>());
    const auto scanned = static_cast<size_t>(*attrs.at("scanned").As<int64_t>());
    for (size_t i = 0; i < 2; ++i) {
      if (arguments[i].data() != nullptr && arguments[i].size() != 1) {
        return absl::InvalidArgumentError("a trip count or condition does not have one element");
      }
    }
    const int64_t trips = arguments[0].data() != nullptr ? arguments[0].GetInt(0) : INT64_MAX;
    bool condition = arguments[1].data() == nullptr || arguments[1].GetInt(0) != 0;
    Arrays state(arguments.begin() + 2, arguments.begin() + 2 + static_cast<std::ptrdiff_t>(carried));
    std::vector<Arrays> scans(scanned);
    for (int64_t i = 0; i < trips && condition; ++i) {
      if (i >= state_.options.max_bytes / 64) return absl::ResourceExhaustedError("a loop does not end");
      NDArray iteration(DataType::Int(64), {}), go(DataType::Bool(), {});
      iteration.SetInt(0, i);
      go.SetInt(0, 1);
      Arrays inputs = {iteration, go};
      inputs.insert(inputs.end(), state.begin(), state.end());
      inputs.insert(inputs.end(), arguments.begin() + 2 + static_cast<std::ptrdiff_t>(carried), arguments.end());
      TW_ASSIGN_OR_RETURN(RunValue result, Call(body, inputs, frame.symbols, frame.depth + 1));
      TW_ASSIGN_OR_RETURN(const Arrays outputs, Fields(std::move(result)));
      if (outputs[0].size() != 1) return absl::InvalidArgumentError("the condition does not have one element");
      condition = outputs[0].GetInt(0) != 0;
      state.assign(outputs.begin() + 1, outputs.begin() + 1 + static_cast<std::ptrdiff_t>(carried));
      for (size_t s = 0; s < scanned; ++s) scans[s].push_back(outputs[1 + carried + s]);
    }
    return Collect(body, std::move(state), scans, {}, frame);
  }

  // Carried values and stacked scans; a scan without iterations has extent 0 in every dimension that is not known.
  absl::StatusOr<Arrays> Collect(const Function& body, Arrays state, const std::vector<Arrays>& scans,
                                 const IntList& reversed, Frame& frame) {
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
      const bool reverse = s < reversed.size() && reversed[s] != 0;
      TW_ASSIGN_OR_RETURN(NDArray stacked, Stack(scans[s], NDArray(type->dtype, shape), reverse));
      state.push_back(std::move(stacked));
    }
    return state;
  }

  // Arguments: `carried` states, `inputs` sequences along their first dimension, what the body captures. The body takes
  // (states..., elements..., captured...) and gives (states..., scanned...).
  absl::StatusOr<Arrays> RunScan(const Attrs& attrs, const Arrays& arguments, Frame& frame) {
    const Function body = state_.module.FindFunction(attrs.at("body").As<FunctionName>()->name);
    const auto carried = static_cast<size_t>(*attrs.at("carried").As<int64_t>());
    const auto inputs = static_cast<size_t>(*attrs.at("inputs").As<int64_t>());
    const auto scanned = static_cast<size_t>(*attrs.at("scanned").As<int64_t>());
    const IntList &in_reversed = *attrs.at("reverse_inputs").As<IntList>(),
                  &out_reversed = *attrs.at("reverse_outputs").As<IntList>();
    Arrays state(arguments.begin(), arguments.begin() + static_cast<std::ptrdiff_t>(carried));
    const int64_t length = arguments[carried].shape()[0];
    std::vector<Arrays> scans(scanned);
    for (int64_t i = 0; i < length; ++i) {
      Arrays step = state;
      for (size_t s = 0; s < inputs; ++s) {
        const NDArray& all = arguments[carried + s];
        if (all.shape()[0] != length) return absl::InvalidArgumentError("sequences of different lengths");
        NDArray element(all.dtype(), {all.shape().begin() + 1, all.shape().end()});
        const int64_t at = s < in_reversed.size() && in_reversed[s] != 0 ? length - 1 - i : i;
        std::copy_n(static_cast<const std::byte*>(all.data()) + at * element.bytes(), element.bytes(),
                    static_cast<std::byte*>(element.data()));
        step.push_back(std::move(element));
      }
      step.insert(step.end(), arguments.begin() + static_cast<std::ptrdiff_t>(carried + inputs), arguments.end());
      TW_ASSIGN_OR_RETURN(RunValue result, Call(body, step, frame.symbols, frame.depth + 1));
      TW_ASSIGN_OR_RETURN(const Arrays outputs, Fields(std::move(result)));
      state.assign(outputs.begin(), outputs.begin() + static_cast<std::ptrdiff_t>(carried));
      for (size_t s = 0; s < scanned; ++s) scans[s].push_back(outputs[carried + s]);
    }
    return Collect(body, std::move(state), scans, out_reversed, frame);
  }

  const ExecutorState& state_;
  const RunOptions& options_;
};

}  // namespace

absl::StatusOr<Arrays> RunFunction(const ExecutorState& state, const Function& function, const Arrays& arguments,
                                   const RunOptions& options) {
  TW_ASSIGN_OR_RETURN(RunValue result, Run(state, options).Call(function, arguments, {}, 0));
  Arrays arrays;
  if (!result.is_tuple) arrays.push_back(std::move(result.array));
  for (RunValue& field : result.fields) arrays.push_back(std::move(field.array));
  return arrays;
}

}  // namespace tilewright::graph
