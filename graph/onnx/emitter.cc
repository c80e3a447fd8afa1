#include "graph/onnx/emitter.h"

#include <algorithm>
#include <numeric>
#include <unordered_set>

#include "absl/strings/str_cat.h"
#include "base/status_macros.h"
#include "graph/onnx/known_values.h"
#include "ir/functor.h"
#include "ir/interp/interp.h"
#include "ir/ops/broadcast.h"
#include "ir/ops/movement.h"

namespace tilewright::graph {
namespace {

// Constants are folded while they are imported up to this many elements; shapes are computed from such.
constexpr int64_t kMaxFolded = 1024, kMaxFoldedInput = 1 << 16;

int64_t CountOrMax(const std::vector<Expr>& shape) {
  int64_t count = 1;
  for (const Expr& extent : shape) {
    const auto value = AsInt(extent);
    if (!value || __builtin_mul_overflow(count, *value, &count)) return INT64_MAX;
  }
  return count;
}

// Variables that are whole extents of a parameter: the caller's arrays give them their values.
std::unordered_set<const SymbolNode*> Determined(const PrimFunc& program) {
  std::unordered_set<const SymbolNode*> result;
  for (const Param& param : program->params) {
    if (!param.buffer) continue;
    for (const Expr& extent : param.buffer->shape) {
      if (const auto* symbol = dyn_cast<SymbolNode>(extent)) result.insert(symbol);
    }
  }
  return result;
}

// Variables that the program mentions anywhere.
std::unordered_set<const SymbolNode*> Mentioned(const PrimFunc& program) {
  std::unordered_set<const SymbolNode*> result;
  const auto visit = [&](const Expr& e) {
    if (const auto* symbol = dyn_cast<SymbolNode>(e)) result.insert(symbol);
    return true;
  };
  PreOrderExprs(program->body, visit);
  const auto shape = [&](const Buffer& buffer) {
    for (const Expr& extent : buffer->shape) PreOrder(extent, visit);
  };
  for (const Param& param : program->params) {
    if (param.buffer) shape(param.buffer);
  }
  PreOrder(program->body, [&](const Stmt& stmt) {
    if (const auto* realize = dyn_cast<BlockRealizeNode>(stmt)) {
      for (const Buffer& buffer : realize->block->alloc_buffers) shape(buffer);
    }
    return true;
  });
  return result;
}

// Whether a program makes floats of as many integers of 8 bits, which products may multiply as they are. Few are known.
bool WidensBytes(const Items& inputs, const Items& types) {
  return std::any_of(types.begin(), types.end(), [&](const Item& type) {
    const int64_t count = CountOrMax(type.shape);
    return type.dtype.is_float() && count > kMaxKnownValues &&
           std::any_of(inputs.begin(), inputs.end(), [&](const Item& input) {
             return input.dtype.is_integer() && input.dtype.bits() == 8 && CountOrMax(input.shape) == count;
           });
  });
}

// The results of a program of constants.
std::optional<std::vector<NDArray>> RunOnConstants(const PrimFunc& program, const Items& inputs, const Items& types) {
  if (WidensBytes(inputs, types)) return std::nullopt;
  std::vector<interp::Argument> arguments;
  for (const Item& input : inputs) {
    auto array = ArrayOf(input);
    if (!array || array->size() > kMaxFoldedInput) return std::nullopt;
    arguments.emplace_back(*std::move(array));
  }
  std::vector<NDArray> results;
  for (const Item& type : types) {
    auto shape = ConstantExtents(type.shape);
    if (!shape || CountOrMax(type.shape) > kMaxFolded) return std::nullopt;
    results.emplace_back(type.dtype, *std::move(shape));
    arguments.emplace_back(results.back());
  }
  auto compiled = interp::Compile(program, {.wrap_signed = true});
  if (!compiled.ok()) return std::nullopt;
  if (!compiled->Run(arguments, {.max_steps = 1 << 20}).ok()) return std::nullopt;
  return results;
}

}  // namespace

Expr Locals::operator()(const Expr& outer) {
  if (const auto value = AsInt(outer)) return Expr(*value);
  for (const auto& [known, symbol] : all_) {
    if (tilewright::ops::SameExtent(known, outer)) return symbol;
  }
  const auto* named = dyn_cast<SymbolNode>(outer);
  Symbol symbol(named != nullptr ? named->name : absl::StrCat("d", all_.size()), DataType::Int(64));
  all_.emplace_back(outer, symbol);
  outer_[symbol] = outer;
  return symbol;
}

std::vector<Expr> Locals::operator()(const std::vector<Expr>& outer) {
  std::vector<Expr> result;
  for (const Expr& e : outer) result.push_back((*this)(e));
  return result;
}

absl::StatusOr<Items> Emitter::Program(const std::string& name, const Items& inputs, const ProgramBody& body) {
  tilewright::FunctionBuilder f(name);
  Locals local;
  ProgramParts parts{.f = f, .in = {}, .local = local};
  Items present;
  for (const Item& input : inputs) {
    if (!input.present()) continue;
    parts.in.push_back(f.Input(absl::StrCat("x", present.size()), local(input.shape), input.dtype));
    present.push_back(input);
  }
  const Buffers outputs = body(parts);
  Items types;
  for (const Buffer& output : outputs) {
    std::vector<Expr> shape;
    for (const Expr& extent : output->shape) {
      shape.push_back(Simplify(local.Outer(extent)));
      const auto number = AsInt(shape.back());
      if (number && *number < 0) {
        return absl::InvalidArgumentError(absl::StrCat("extent ", shape.size() - 1, " of its result is ", *number));
      }
    }
    types.push_back(Item::Tensor({}, output->dtype, std::move(shape)));
  }
  PrimFunc program = f.Build(outputs);
  const auto determined = Determined(program), mentioned = Mentioned(program);
  tilewright::FunctionNode::Fields fields = program->fields();
  std::vector<Expr> symbols;
  for (const auto& [outer, symbol] : local.all()) {
    if (determined.contains(symbol.get()) || !mentioned.contains(symbol.get())) continue;
    fields.params.push_back({symbol, Buffer()});
    symbols.push_back(outer);
  }
  if (!symbols.empty()) program = PrimFunc(std::move(fields));
  // Elements that are known.
  if (std::all_of(present.begin(), present.end(), [](const Item& x) { return x.constant() != nullptr; }) &&
      symbols.empty()) {
    if (auto arrays = RunOnConstants(program, present, types)) {
      Items results;
      for (const NDArray& array : *arrays) results.push_back(FromArray(array));
      return results;
    }
  }
  std::vector<std::vector<Expr>> known;
  bool all_known = true, all_small = true;
  for (const Item& input : present) {
    all_known &= input.values.has_value();
    if (all_known) known.push_back(*input.values);
  }
  for (const Item& type : types) all_small &= CountOrMax(type.shape) <= kMaxKnownValues && !type.dtype.is_float();
  if (all_known && all_small) {
    if (auto values = RunOnExpressions(program, known, local.outer())) {
      for (size_t i = 0; i < types.size(); ++i) {
        for (Expr& value : (*values)[i]) value = Simplify(value);
        types[i].values = std::move((*values)[i]);
      }
    }
  }
  return Emit(name, present, program, types, std::move(symbols));
}

absl::StatusOr<Items> Emitter::Emit(const std::string& name, const Items& inputs, const PrimFunc& program,
                                    const Items& types, std::vector<Expr> symbols) {
  // Results that are known take no call.
  Items results = types;
  bool all_known = true;
  for (Item& result : results) {
    if (CountOrMax(result.shape) == 0) {
      result = FromArray(NDArray(result.dtype, *ConstantExtents(result.shape)));
    } else if (result.values) {
      TW_ASSIGN_OR_RETURN(result, FromValues(result.dtype, result.shape, *result.values));
    } else {
      all_known = false;
    }
  }
  if (all_known) return results;
  TW_ASSIGN_OR_RETURN(Items called, EmitCall(name, inputs, program, types, std::move(symbols)));
  for (size_t i = 0; i < results.size(); ++i) {
    if (!results[i].value) results[i] = called[i];
  }
  return results;
}

absl::StatusOr<Items> Emitter::EmitCall(const std::string& name, const Items& inputs, const PrimFunc& program,
                                        const Items& types, std::vector<Expr> symbols) {
  std::vector<Value> args;
  for (const Item& input : inputs) args.push_back(input.value);
  std::vector<Type> fields;
  for (const Item& type : types) fields.emplace_back(type.type());
  const Type out = fields.size() == 1 ? fields[0] : Type(TupleType(fields));
  const std::string function = builder_->AddProgram(program, name);
  const std::string& value_name = value_name_.empty() ? name : value_name_;
  TW_ASSIGN_OR_RETURN(Var var, builder_->Emit(CallTir(function, std::move(args), out, std::move(symbols)), value_name));
  Items results = types;
  for (size_t i = 0; i < results.size(); ++i) {
    if (results.size() == 1) {
      results[i].value = var;
      continue;
    }
    TW_ASSIGN_OR_RETURN(Var field, builder_->Emit(TupleGetItem(var, static_cast<int>(i)), value_name));
    results[i].value = field;
  }
  return results;
}

Item Emitter::FromConstant(const Constant& constant) {
  Item item = Item::Tensor(constant, constant->dtype, Extents(constant->shape));
  item.values = constant->type->values;
  return item;
}

Item Emitter::FromArray(const NDArray& array) { return FromConstant(Constant(array)); }

absl::StatusOr<Item> Emitter::FromValues(DataType dtype, std::vector<Expr> shape, std::vector<Expr> values) {
  if (const auto numbers = ConstantExtents(values)) {
    NDArray array(dtype, *ConstantExtents(shape));
    for (size_t i = 0; i < numbers->size(); ++i) array.SetInt(static_cast<int64_t>(i), (*numbers)[i]);
    return FromArray(array);
  }
  tilewright::FunctionBuilder f("extents");
  Locals local;
  std::vector<Expr> inner_shape = local(shape);
  std::vector<Expr> elements = local(values);
  Buffer y = f.Alloc("y", inner_shape, dtype);
  int64_t position = 0;
  for (const Expr& element : elements) {
    tilewright::ops::Indices at(shape.size());
    int64_t rest = position++;
    for (size_t i = shape.size(); i-- > 0;) {
      at[i] = Expr(rest % *AsInt(shape[i]));
      rest /= *AsInt(shape[i]);
    }
    f.Block("element", [&](tilewright::BlockBuilder&) { f.Store(y, CastTo(dtype, element), at); });
  }
  PrimFunc program = f.Build({y});
  tilewright::FunctionNode::Fields fields = program->fields();
  std::vector<Expr> symbols;
  for (const auto& [outer, symbol] : local.all()) {
    fields.params.push_back({symbol, Buffer()});
    symbols.push_back(outer);
  }
  Item type = Item::Tensor({}, dtype, std::move(shape));
  type.values = std::move(values);
  TW_ASSIGN_OR_RETURN(Items result, EmitCall("extents", {}, PrimFunc(std::move(fields)), {type}, std::move(symbols)));
  return result[0];
}

absl::StatusOr<Item> Emitter::View(const Item& x, std::vector<Expr> shape) {
  for (Expr& extent : shape) extent = Simplify(extent);
  bool same = shape.size() == x.shape.size();
  for (size_t i = 0; same && i < shape.size(); ++i) same = tilewright::ops::SameExtent(shape[i], x.shape[i]);
  if (same) return x;
  Item result = x;
  result.shape = shape;
  const ConstantNode* constant = x.constant();
  if (const auto numbers = ConstantExtents(shape); constant != nullptr && numbers) {
    // As real numbers: extents of a damaged file may be of any size.
    const auto elements = [](const std::vector<int64_t>& extents) {
      return std::accumulate(extents.begin(), extents.end(), 1.0,
                             [](double n, int64_t extent) { return n * static_cast<double>(extent); });
    };
    if (elements(*numbers) != elements(constant->shape)) {
      return absl::InvalidArgumentError(
          absl::StrCat(elements(constant->shape), " elements in the place of ", elements(*numbers)));
    }
    result.value = Constant(constant->dtype, *numbers, constant->bytes);
    return result;
  }
  TW_ASSIGN_OR_RETURN(Var var, builder_->Emit(builder_->CallOp("reshape", {x.value, ShapeExpr(shape)}), "view"));
  result.value = var;
  return result;
}

absl::StatusOr<Item> Emitter::MoveAxis(const Item& x, int from, int to) {
  if (from == to) return x;
  std::vector<int> permutation(x.rank());
  std::iota(permutation.begin(), permutation.end(), 0);
  permutation.erase(permutation.begin() + from);
  permutation.insert(permutation.begin() + to, from);
  TW_ASSIGN_OR_RETURN(Items moved, Program("transpose", {x}, [&](ProgramParts& p) {
                        return Buffers{tilewright::ops::Transpose(p.f, p.in[0], permutation)};
                      }));
  return moved[0];
}

absl::StatusOr<Items> Emitter::Operator(const std::string& name, std::vector<Value> args, Attrs attrs) {
  TW_ASSIGN_OR_RETURN(Var var, builder_->Emit(builder_->CallOp(name, std::move(args), std::move(attrs)), name));
  const auto item = [](const Value& value, const Type& type) -> absl::StatusOr<Item> {
    const auto* tensor = dyn_cast<TensorTypeNode>(type);
    if (tensor == nullptr || !tensor->shape) return absl::UnimplementedError("a result has an unknown rank");
    Item result = Item::Tensor(value, tensor->dtype, *tensor->shape);
    result.values = tensor->values;
    return result;
  };
  Items results;
  if (const auto* tuple = dyn_cast<TupleTypeNode>(var->type)) {
    for (size_t i = 0; i < tuple->fields.size(); ++i) {
      TW_ASSIGN_OR_RETURN(Var field, builder_->Emit(TupleGetItem(var, static_cast<int>(i)), name));
      TW_ASSIGN_OR_RETURN(Item result, item(field, field->type));
      results.push_back(std::move(result));
    }
    return results;
  }
  TW_ASSIGN_OR_RETURN(Item result, item(var, var->type));
  return Items{std::move(result)};
}

std::optional<NDArray> ArrayOf(const Item& item) {
  const ConstantNode* constant = item.constant();
  if (constant == nullptr) return std::nullopt;
  return constant->ToNDArray();
}

}  // namespace tilewright::graph
