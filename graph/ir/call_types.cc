#include "graph/ir/call_types.h"

#include "absl/strings/str_cat.h"
#include "base/status_macros.h"
#include "ir/structural.h"
#include "ir/substitute.h"

namespace tilewright::graph {
namespace {

Symbol NewSymbol(std::string name) { return Symbol(std::move(name), DataType::Int(64)); }

std::vector<Expr> SubstituteAll(const std::vector<Expr>& exprs, const VarMap& symbols) {
  return Substitute(exprs, symbols);
}

// Symbols without an entry get a new symbol.
Type SubstituteType(const Type& type, VarMap& symbols) {
  for (const Symbol& symbol : FreeSymbols(type)) {
    if (!symbols.contains(symbol)) symbols.emplace(symbol, NewSymbol(symbol.name()));
  }
  if (const auto* tensor = dyn_cast<TensorTypeNode>(type)) {
    if (!tensor->shape) return type;
    if (!tensor->values) return TensorType(tensor->dtype, SubstituteAll(*tensor->shape, symbols));
    return TensorType::WithValues(tensor->dtype, SubstituteAll(*tensor->shape, symbols),
                                  SubstituteAll(*tensor->values, symbols));
  }
  if (const auto* tuple = dyn_cast<TupleTypeNode>(type)) {
    std::vector<Type> fields;
    for (const Type& field : tuple->fields) fields.push_back(SubstituteType(field, symbols));
    return TupleType(std::move(fields));
  }
  return ShapeType(SubstituteAll(cast<ShapeTypeNode>(type)->values, symbols));
}

// Binds symbols that are whole extents of the parameter to the argument's extents.
absl::Status MatchParameter(const Type& param, const Type& arg, VarMap& symbols) {
  if (!param || !arg || param->kind() != arg->kind()) return absl::InvalidArgumentError("is of another kind");
  if (const auto* tensor = dyn_cast<TensorTypeNode>(param)) {
    const auto* given = cast<TensorTypeNode>(arg);
    if (tensor->dtype != given->dtype || (tensor->shape && given->shape && tensor->rank() != given->rank())) {
      return absl::InvalidArgumentError(absl::StrCat("is ", ToString(arg), ", expected ", ToString(param)));
    }
    if (!tensor->shape || !given->shape) return absl::OkStatus();
    for (size_t i = 0; i < tensor->shape->size(); ++i) {
      const auto* symbol = dyn_cast<SymbolNode>((*tensor->shape)[i]);
      if (symbol != nullptr) symbols.try_emplace(Symbol(symbol), (*given->shape)[i]);
    }
    return absl::OkStatus();
  }
  if (const auto* tuple = dyn_cast<TupleTypeNode>(param)) {
    const auto* given = cast<TupleTypeNode>(arg);
    if (tuple->fields.size() != given->fields.size()) return absl::InvalidArgumentError("has another number of fields");
    for (size_t i = 0; i < tuple->fields.size(); ++i) {
      TW_RETURN_IF_ERROR(MatchParameter(tuple->fields[i], given->fields[i], symbols));
    }
    return absl::OkStatus();
  }
  const auto& extents = cast<ShapeTypeNode>(param)->values;
  const auto& given = cast<ShapeTypeNode>(arg)->values;
  if (extents.size() != given.size()) return absl::InvalidArgumentError("has another number of extents");
  for (size_t i = 0; i < extents.size(); ++i) {
    const auto* symbol = dyn_cast<SymbolNode>(extents[i]);
    if (symbol != nullptr) symbols.try_emplace(Symbol(symbol), given[i]);
  }
  return absl::OkStatus();
}

absl::StatusOr<Type> JoinTensors(const TensorTypeNode& a, const TensorTypeNode& b) {
  if (a.dtype != b.dtype) {
    return absl::InvalidArgumentError(
        absl::StrCat("the branches give values of types ", a.dtype.ToString(), " and ", b.dtype.ToString()));
  }
  if (!a.shape || !b.shape || a.rank() != b.rank()) return TensorType::OfUnknownRank(a.dtype);
  std::vector<Expr> shape = *a.shape;
  for (size_t i = 0; i < shape.size(); ++i) {
    if (!tilewright::StructuralEqual(shape[i], (*b.shape)[i])) shape[i] = NewSymbol("d");
  }
  const bool same_values = a.values && b.values && tilewright::StructuralEqual(*a.values, *b.values);
  if (same_values) return TensorType::WithValues(a.dtype, std::move(shape), *a.values);
  return TensorType(a.dtype, std::move(shape));
}

absl::Status CheckBuffer(const Param& param, const TensorTypeNode& type, const std::string& what) {
  const Buffer& buffer = param.buffer;
  if (!buffer) return absl::InvalidArgumentError(absl::StrCat(what, " is a tensor, the parameter a scalar"));
  if (buffer->dtype != type.dtype || (type.shape && buffer->ndim() != type.shape->size())) {
    return absl::InvalidArgumentError(absl::StrCat(what, " is ", ToString(Type(&type)), ", the parameter ",
                                                   buffer->name, " has type ", buffer->dtype.ToString(), " and ",
                                                   buffer->ndim(), " dimensions"));
  }
  return absl::OkStatus();
}

}  // namespace

absl::Status CheckArity(const CallNode& call) {
  const OpNode& op = *call.op;
  if (call.args.size() > op.params.size() && !op.is_variadic()) {
    return absl::InvalidArgumentError(
        absl::StrCat(op.name, " takes ", op.params.size(), " arguments, got ", call.args.size()));
  }
  for (size_t i = 0; i < op.params.size(); ++i) {
    const bool absent = i >= call.args.size() || !call.args[i];
    const bool variadic = op.is_variadic() && i + 1 == op.params.size();
    if (absent && !op.is_optional(i) && !variadic) {
      return absl::InvalidArgumentError(absl::StrCat(op.name, ": argument ", op.params[i], " is missing"));
    }
  }
  return absl::OkStatus();
}

absl::Status CheckCallTir(const CallTirNode& call, const PrimFunc& program) {
  const std::vector<const TensorTypeNode*> outputs = TensorsOf(call.out);
  const size_t count = call.args.size() + outputs.size() + call.symbols.size();
  if (program->params.size() != count) {
    return absl::InvalidArgumentError(absl::StrCat("call of ", call.function, " with ", call.args.size(),
                                                   " arguments, ", outputs.size(), " results and ", call.symbols.size(),
                                                   " scalars, but it has ", program->params.size(), " parameters"));
  }
  size_t at = 0;
  for (size_t i = 0; i < call.args.size(); ++i) {
    const Type type = TypeOf(call.args[i]);
    const std::string what = absl::StrCat("argument ", i, " of ", call.function);
    const auto* tensor = dyn_cast<TensorTypeNode>(type);
    if (tensor == nullptr) return absl::InvalidArgumentError(absl::StrCat(what, " is not a tensor"));
    TW_RETURN_IF_ERROR(CheckBuffer(program->params[at++], *tensor, what));
  }
  for (size_t i = 0; i < outputs.size(); ++i) {
    const std::string what = absl::StrCat("result ", i, " of ", call.function);
    if (!outputs[i]->shape) return absl::InvalidArgumentError(absl::StrCat(what, " has an unknown rank"));
    TW_RETURN_IF_ERROR(CheckBuffer(program->params[at++], *outputs[i], what));
  }
  for (size_t i = 0; i < call.symbols.size(); ++i) {
    const Param& param = program->params[at++];
    if (param.buffer || !param.var.dtype().is_integer()) {
      return absl::InvalidArgumentError(
          absl::StrCat("scalar ", i, " of ", call.function, " meets a parameter that is not an integer"));
    }
  }
  return absl::OkStatus();
}

absl::StatusOr<Type> TypeOfCallFunction(const CallFunctionNode& call, const Function& callee) {
  if (call.args.size() != callee->params.size()) {
    return absl::InvalidArgumentError(absl::StrCat("call of ", call.function, " with ", call.args.size(),
                                                   " arguments, but it has ", callee->params.size(), " parameters"));
  }
  VarMap symbols;
  for (size_t i = 0; i < call.args.size(); ++i) {
    const absl::Status status = MatchParameter(callee->params[i]->type, TypeOf(call.args[i]), symbols);
    if (!status.ok()) {
      return absl::InvalidArgumentError(absl::StrCat("argument ", i, " of ", call.function, " ", status.message()));
    }
  }
  return SubstituteType(callee->result_type, symbols);
}

absl::StatusOr<Type> JoinTypes(const Type& a, const Type& b) {
  if (!a || !b || a->kind() != b->kind()) {
    return absl::InvalidArgumentError("the branches give values of different kinds");
  }
  if (const auto* x = dyn_cast<TensorTypeNode>(a)) return JoinTensors(*x, *cast<TensorTypeNode>(b));
  if (const auto* x = dyn_cast<TupleTypeNode>(a)) {
    const auto* y = cast<TupleTypeNode>(b);
    if (x->fields.size() != y->fields.size()) {
      return absl::InvalidArgumentError("the branches give tuples of different sizes");
    }
    std::vector<Type> fields;
    for (size_t i = 0; i < x->fields.size(); ++i) {
      TW_ASSIGN_OR_RETURN(Type field, JoinTypes(x->fields[i], y->fields[i]));
      fields.push_back(std::move(field));
    }
    return TupleType(std::move(fields));
  }
  const auto &x = cast<ShapeTypeNode>(a)->values, &y = cast<ShapeTypeNode>(b)->values;
  if (!tilewright::StructuralEqual(x, y)) return absl::InvalidArgumentError("the branches give different shapes");
  return a;
}

bool IsPure(const Value& value) {
  if (isa<IfNode>(value) || isa<SeqNode>(value)) return false;
  const auto* call = dyn_cast<CallNode>(value);
  return call == nullptr || call->op->pure;
}

std::vector<const TensorTypeNode*> TensorsOf(const Type& type) {
  std::vector<const TensorTypeNode*> tensors;
  if (const auto* tensor = dyn_cast<TensorTypeNode>(type)) {
    tensors.push_back(tensor);
  } else if (const auto* tuple = dyn_cast<TupleTypeNode>(type)) {
    for (const Type& field : tuple->fields) {
      for (const TensorTypeNode* inner : TensorsOf(field)) tensors.push_back(inner);
    }
  }
  return tensors;
}

}  // namespace tilewright::graph
