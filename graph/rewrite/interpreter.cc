#include "graph/rewrite/interpreter.h"

#include <algorithm>

#include "absl/strings/str_cat.h"
#include "base/status_macros.h"
#include "graph/ir/call_types.h"
#include "graph/rewrite/legalize.h"

namespace tilewright::graph {
namespace {

constexpr int kMaxDepth = 200;

void Flatten(const RuntimeValue& value, std::vector<NDArray>& out) {
  if (value.kind == RuntimeValue::Kind::kTensor) out.push_back(value.tensor);
  for (const RuntimeValue& field : value.fields) Flatten(field, out);
}

absl::Status Prefixed(const absl::Status& status, std::string_view what) {
  return absl::Status(status.code(), absl::StrCat(std::string(what), ": ", status.message()));
}

}  // namespace

RuntimeValue RuntimeValue::Tuple(std::vector<RuntimeValue> fields) {
  RuntimeValue value;
  value.kind = Kind::kTuple;
  value.fields = std::move(fields);
  return value;
}

RuntimeValue RuntimeValue::Shape(std::vector<int64_t> extents) {
  RuntimeValue value;
  value.kind = Kind::kShape;
  value.shape = std::move(extents);
  return value;
}

std::vector<NDArray> TensorsOf(const RuntimeValue& value) {
  std::vector<NDArray> tensors;
  Flatten(value, tensors);
  return tensors;
}

absl::StatusOr<RuntimeValue> Interpreter::Run(std::string_view name, const std::vector<RuntimeValue>& args) {
  const Function function = module_.FindFunction(name);
  if (!function) return absl::NotFoundError(absl::StrCat("there is no function ", std::string(name)));
  if (args.size() != function->params.size()) {
    return absl::InvalidArgumentError(
        absl::StrCat(function->name, " takes ", function->params.size(), " arguments, got ", args.size()));
  }
  if (depth_ >= kMaxDepth) return absl::ResourceExhaustedError("functions call each other too many levels deep");
  ++depth_;
  Frame frame;
  absl::Status status;
  for (size_t i = 0; i < args.size() && status.ok(); ++i) status = Bind(frame, function->params[i], args[i]);
  absl::StatusOr<RuntimeValue> result = status.ok() ? RunSeq(frame, *function->body) : status;
  --depth_;
  return result;
}

absl::Status Interpreter::MatchType(Frame& frame, const Type& type, const RuntimeValue& value,
                                    const std::string& what) {
  const auto wrong = [&](const char* expected) {
    return absl::InvalidArgumentError(absl::StrCat(what, " is not ", expected));
  };
  if (const auto* tensor = dyn_cast<TensorTypeNode>(type)) {
    if (value.kind != RuntimeValue::Kind::kTensor) return wrong("a tensor");
    if (value.tensor.dtype() != tensor->dtype) {
      return absl::InvalidArgumentError(
          absl::StrCat(what, " has type ", value.tensor.dtype().ToString(), ", expected ", tensor->dtype.ToString()));
    }
    return frame.symbols.Match(*tensor, value.tensor.shape(), what);
  }
  if (const auto* tuple = dyn_cast<TupleTypeNode>(type)) {
    const bool fits = value.kind == RuntimeValue::Kind::kTuple && value.fields.size() == tuple->fields.size();
    if (!fits) return wrong("a tuple of as many fields");
    for (size_t i = 0; i < tuple->fields.size(); ++i) {
      TW_RETURN_IF_ERROR(MatchType(frame, tuple->fields[i], value.fields[i], absl::StrCat(what, "[", i, "]")));
    }
    return absl::OkStatus();
  }
  const auto* shape = dyn_cast<ShapeTypeNode>(type);
  if (shape == nullptr) return absl::OkStatus();
  if (value.kind != RuntimeValue::Kind::kShape) return wrong("a shape");
  return frame.symbols.Match(*TensorType(DataType::Int(64), shape->values), value.shape, what);
}

absl::Status Interpreter::Bind(Frame& frame, const Var& var, RuntimeValue value) {
  TW_RETURN_IF_ERROR(MatchType(frame, var->type, value, var->name));
  frame.values[var.get()] = std::move(value);
  return frame.symbols.CheckReadyGuards(&frame.pending_guards);
}

absl::StatusOr<RuntimeValue> Interpreter::RunSeq(Frame& frame, const SeqNode& seq) {
  frame.pending_guards.insert(frame.pending_guards.end(), seq.guards.begin(), seq.guards.end());
  TW_RETURN_IF_ERROR(frame.symbols.CheckReadyGuards(&frame.pending_guards));
  for (const BindingBlock& block : seq.blocks) {
    for (const Binding& binding : block.bindings) {
      absl::StatusOr<RuntimeValue> value = Evaluate(frame, binding.value);
      if (!value.ok()) return Prefixed(value.status(), binding.var->name);
      TW_RETURN_IF_ERROR(Bind(frame, binding.var, *std::move(value)));
    }
  }
  return Evaluate(frame, seq.result);
}

absl::StatusOr<std::vector<RuntimeValue>> Interpreter::EvaluateAll(Frame& frame, const std::vector<Value>& values) {
  std::vector<RuntimeValue> results;
  for (const Value& value : values) {
    TW_ASSIGN_OR_RETURN(RuntimeValue result, Evaluate(frame, value));
    results.push_back(std::move(result));
  }
  return results;
}

absl::StatusOr<RuntimeValue> Interpreter::Evaluate(Frame& frame, const Value& value) {
  if (!value) return RuntimeValue();
  if (const auto* var = dyn_cast<VarNode>(value)) {
    const auto it = frame.values.find(var);
    if (it == frame.values.end()) return absl::InternalError(absl::StrCat("variable ", var->name, " has no value"));
    return it->second;
  }
  if (const auto* constant = dyn_cast<ConstantNode>(value)) {
    const auto [it, added] = constants_.try_emplace(constant);
    if (added) it->second = constant->ToNDArray();
    return RuntimeValue(it->second);
  }
  if (const auto* shape = dyn_cast<ShapeExprNode>(value)) {
    TW_ASSIGN_OR_RETURN(std::vector<int64_t> extents, frame.symbols.Evaluate(shape->values));
    return RuntimeValue::Shape(std::move(extents));
  }
  if (const auto* tuple = dyn_cast<TupleNode>(value)) {
    TW_ASSIGN_OR_RETURN(std::vector<RuntimeValue> fields, EvaluateAll(frame, tuple->fields));
    return RuntimeValue::Tuple(std::move(fields));
  }
  if (const auto* item = dyn_cast<TupleGetItemNode>(value)) {
    TW_ASSIGN_OR_RETURN(const RuntimeValue tuple, Evaluate(frame, item->tuple));
    return tuple.fields[static_cast<size_t>(item->index)];
  }
  if (const auto* call = dyn_cast<CallNode>(value)) {
    if (host_ == nullptr) return absl::UnimplementedError(absl::StrCat(call->op->name, " does not have a program"));
    TW_ASSIGN_OR_RETURN(const std::vector<RuntimeValue> args, EvaluateAll(frame, call->args));
    return host_(*call, args);
  }
  if (const auto* call = dyn_cast<CallTirNode>(value)) return RunProgram(frame, *call);
  if (const auto* call = dyn_cast<CallFunctionNode>(value)) {
    TW_ASSIGN_OR_RETURN(const std::vector<RuntimeValue> args, EvaluateAll(frame, call->args));
    return Run(call->function, args);
  }
  if (const auto* match = dyn_cast<MatchCastNode>(value)) {
    TW_ASSIGN_OR_RETURN(RuntimeValue inner, Evaluate(frame, match->value));
    TW_RETURN_IF_ERROR(MatchType(frame, match->type, inner, "the value of match_cast"));
    return inner;
  }
  const auto* branch = dyn_cast<IfNode>(value);
  return branch != nullptr ? RunBranch(frame, *branch)
                           : absl::StatusOr<RuntimeValue>(absl::InternalError("a sequence"));
}

absl::StatusOr<RuntimeValue> Interpreter::RunBranch(Frame& frame, const IfNode& branch) {
  TW_ASSIGN_OR_RETURN(const RuntimeValue condition, Evaluate(frame, branch.condition));
  if (condition.tensor.size() != 1) return absl::InvalidArgumentError("the condition of a branch needs one element");
  return RunSeq(frame, condition.tensor.GetInt(0) != 0 ? *branch.then_branch : *branch.else_branch);
}

absl::StatusOr<const interp::Program*> Interpreter::Compiled(const std::string& name) {
  const auto it = programs_.find(name);
  if (it != programs_.end()) return &it->second;
  const PrimFunc program = module_.FindProgram(name);
  if (!program) return absl::NotFoundError(absl::StrCat("there is no program ", name));
  TW_ASSIGN_OR_RETURN(interp::Program compiled, interp::Compile(program, {.check_bounds = true, .wrap_signed = true}));
  return &programs_.emplace(name, std::move(compiled)).first->second;
}

absl::StatusOr<RuntimeValue> Interpreter::RunProgram(Frame& frame, const CallTirNode& call) {
  TW_ASSIGN_OR_RETURN(const interp::Program* const program, Compiled(call.function));
  TW_ASSIGN_OR_RETURN(const std::vector<RuntimeValue> args, EvaluateAll(frame, call.args));
  std::vector<interp::Argument> arguments;
  for (const RuntimeValue& arg : args) arguments.emplace_back(arg.tensor);
  std::vector<RuntimeValue> results;
  for (const TensorTypeNode* type : TensorsOf(call.out)) {
    TW_ASSIGN_OR_RETURN(std::vector<int64_t> shape, frame.symbols.Evaluate(*type->shape));
    if (std::any_of(shape.begin(), shape.end(), [](int64_t extent) { return extent < 0; })) {
      return absl::InvalidArgumentError(absl::StrCat("an extent of a result of ", call.function, " is negative"));
    }
    results.emplace_back(NDArray(type->dtype, std::move(shape)));
    arguments.emplace_back(results.back().tensor);
  }
  TW_ASSIGN_OR_RETURN(const std::vector<int64_t> symbols, frame.symbols.Evaluate(call.symbols));
  for (int64_t symbol : symbols) arguments.emplace_back(symbol);
  TW_RETURN_IF_ERROR(program->Run(arguments, {.max_steps = max_steps_}));
  return isa<TupleTypeNode>(call.out) ? RuntimeValue::Tuple(std::move(results)) : std::move(results[0]);
}

absl::StatusOr<RuntimeValue> LegalizeAndRun(const GraphModule& module, const OpTable& ops,
                                            const LoweringTable& lowerings, std::string_view function,
                                            const std::vector<RuntimeValue>& args, const HostOperator& host) {
  TW_ASSIGN_OR_RETURN(const GraphModule legal, LegalizeOps(module, ops, lowerings));
  return Interpreter(&legal, host).Run(function, args);
}

}  // namespace tilewright::graph
