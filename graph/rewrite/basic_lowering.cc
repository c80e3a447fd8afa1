#include "graph/rewrite/basic_lowering.h"

#include <algorithm>
#include <limits>

#include "base/check.h"
#include "graph/ir/call_types.h"

namespace tilewright::graph {
namespace {

const Attrs::mapped_type& Attr(const CallNode& call, const std::string& name) { return call.attrs.at(name); }

Expr Zero(DataType dtype) { return Const(dtype, 0); }

// An operator that gives each element from the elements of its arguments at the same place.
template <class Element>
Lowering Elementwise(std::string name, Element element) {
  return [name, element](BlockBuilder& b, const CallNode& call, const Type& out) -> absl::StatusOr<Value> {
    ProgramWriter p(&b, name);
    std::vector<Buffer> inputs;
    for (const Value& arg : call.args) inputs.push_back(p.Input(arg));
    const std::vector<Expr>& shape = *cast<TensorTypeNode>(out)->shape;
    const Buffer result = p.Compute(name, out, [&](const std::vector<Expr>& at) -> ComputeBody {
      std::vector<Expr> values;
      for (const Buffer& input : inputs) values.push_back(LoadBroadcast(input, at, shape));
      return element(values, call);
    });
    return p.Call({result}, out);
  };
}

using Values = std::vector<Expr>;

Expr CallOfType(const char* function, const Expr& x) { return tilewright::Call(x.dtype(), function, {x}); }

// Matrix products: a[batch..., m, k] by b[batch..., k, n], where vectors lack m or n.
absl::StatusOr<Value> LowerMatmul(BlockBuilder& builder, const CallNode& call, const Type& out) {
  ProgramWriter p(&builder, "matmul");
  const Buffer a = p.Input(call.args[0]), b = p.Input(call.args[1]);
  const DataType dtype = cast<TensorTypeNode>(out)->dtype;
  const ReduceAxis k("k", a->shape.back());
  const Buffer c = p.Compute("matmul", out, [&](const std::vector<Expr>& at) {
    std::vector<Expr> left = at, right = at;
    Expr m, n;
    if (b->ndim() > 1) {
      n = at.back();
      left.pop_back();
      right.pop_back();
    }
    if (a->ndim() > 1) {
      m = left.back();
      left.pop_back();
      right.pop_back();
    }
    const auto load = [](const Buffer& x, std::vector<Expr> batch, std::vector<Expr> inner) {
      const size_t extra = x->ndim() - inner.size();
      batch.erase(batch.begin(), batch.end() - static_cast<std::ptrdiff_t>(extra));
      for (size_t i = 0; i < extra; ++i) {
        if (IsInt(x->shape[i], 1)) batch[i] = Extent(0);
      }
      batch.insert(batch.end(), inner.begin(), inner.end());
      return x.Load(std::move(batch));
    };
    const Expr x = load(a, left, m ? Values{m, k} : Values{k}), y = load(b, right, n ? Values{k, n} : Values{k});
    return Sum(CastTo(dtype, x) * CastTo(dtype, y), k);
  });
  return p.Call({c}, out);
}

// The identity of max (`sign` 1) or min (-1).
Expr Bound(DataType dtype, bool least) {
  if (dtype.code() == TypeCode::kFloat || dtype.code() == TypeCode::kBFloat) {
    const double infinity = std::numeric_limits<double>::infinity();
    return ConstFloat(dtype, least ? -infinity : infinity);
  }
  return least ? LeastValue(dtype) : GreatestValue(dtype);
}

// Which axes a reduction runs over.
std::vector<bool> ReducedAxes(const CallNode& call, size_t rank) {
  const auto axis = call.attrs.find("axis");
  std::vector<bool> reduced(rank, axis == call.attrs.end());
  if (axis == call.attrs.end()) return reduced;
  for (int64_t a : *axis->second.As<IntList>())
    reduced[static_cast<size_t>(a < 0 ? a + static_cast<int64_t>(rank) : a)] = true;
  return reduced;
}

absl::StatusOr<Value> LowerReduce(BlockBuilder& b, const CallNode& call, const Type& out) {
  const std::string& op = call.op->name;
  ProgramWriter p(&b, op);
  const Buffer x = p.Input(call.args[0]);
  const std::vector<bool> reduced = ReducedAxes(call, x->ndim());
  const bool keep = *Attr(call, "keepdims").As<bool>();
  std::vector<ReduceAxis> axes;
  Expr count = Extent(1);
  for (size_t i = 0; i < reduced.size(); ++i) {
    if (!reduced[i]) continue;
    axes.emplace_back("k" + std::to_string(axes.size()), x->shape[i]);
    count = count * x->shape[i];
  }
  const auto body = [&](const std::vector<Expr>& at) -> ComputeBody {
    std::vector<Expr> from;
    size_t next = 0, axis = 0;
    for (size_t i = 0; i < reduced.size(); ++i) {
      from.push_back(reduced[i] ? Expr(axes[axis++]) : at[next]);
      if (!reduced[i] || keep) ++next;
    }
    const Expr value = x.Load(from);
    if (axes.empty()) return value;
    if (op == "max")
      return ComputeBody(value, axes, Bound(value.dtype(), /*least=*/true), [](Expr a, Expr v) { return Max(a, v); });
    if (op == "min")
      return ComputeBody(value, axes, Bound(value.dtype(), /*least=*/false), [](Expr a, Expr v) { return Min(a, v); });
    return Sum(value, axes);
  };
  const Buffer result = p.Compute(op, out, body);
  if (op != "mean") return p.Call({result}, out);
  const Buffer mean = p.Compute("quotient", out, [&](const std::vector<Expr>& at) -> ComputeBody {
    return Div(result.Load(at), CastTo(x->dtype, count));
  });
  return p.Call({mean}, out);
}

absl::StatusOr<Value> LowerPermute(BlockBuilder& b, const CallNode& call, const Type& out) {
  ProgramWriter p(&b, "transpose");
  const Buffer x = p.Input(call.args[0]);
  const size_t rank = x->ndim();
  IntList axes;
  if (const auto it = call.attrs.find("axes"); it != call.attrs.end()) axes = *it->second.As<IntList>();
  if (axes.empty()) {
    for (size_t i = 0; i < rank; ++i) axes.push_back(static_cast<int64_t>(rank - 1 - i));
  }
  const Buffer y = p.Compute("T_transpose", out, [&](const std::vector<Expr>& at) -> ComputeBody {
    std::vector<Expr> from(rank);
    for (size_t i = 0; i < rank; ++i) {
      from[static_cast<size_t>(axes[i] < 0 ? axes[i] + static_cast<int64_t>(rank) : axes[i])] = at[i];
    }
    return x.Load(from);
  });
  return p.Call({y}, out);
}

// Elements in row-major order keep their places.
absl::StatusOr<Value> LowerReshape(BlockBuilder& b, const CallNode& call, const Type& out) {
  ProgramWriter p(&b, "reshape");
  const Buffer x = p.Input(call.args[0]);
  const std::vector<Expr>& shape = *cast<TensorTypeNode>(out)->shape;
  const Buffer y = p.Compute("T_reshape", out, [&](const std::vector<Expr>& at) -> ComputeBody {
    Expr position = Extent(0);
    for (size_t i = 0; i < at.size(); ++i) position = position * shape[i] + at[i];
    std::vector<Expr> from(x->ndim());
    for (size_t i = x->ndim(); i-- > 0;) {
      from[i] = i == 0 ? position : FloorMod(position, x->shape[i]);
      if (i != 0) position = FloorDiv(position, x->shape[i]);
    }
    return x.Load(from);
  });
  return p.Call({y}, out);
}

absl::StatusOr<Value> LowerConcat(BlockBuilder& b, const CallNode& call, const Type& out) {
  ProgramWriter p(&b, "concatenate");
  std::vector<Buffer> inputs;
  for (const Value& arg : call.args) inputs.push_back(p.Input(arg));
  const int64_t given = *Attr(call, "axis").As<int64_t>();
  const size_t axis = static_cast<size_t>(given < 0 ? given + static_cast<int64_t>(inputs[0]->ndim()) : given);
  const Buffer y = p.Compute("T_concat", out, [&](const std::vector<Expr>& at) -> ComputeBody {
    std::vector<Expr> begins = {Extent(0)};
    for (const Buffer& input : inputs) begins.push_back(begins.back() + input->shape[axis]);
    Expr value;
    for (size_t i = inputs.size(); i-- > 0;) {
      std::vector<Expr> from = at;
      from[axis] = at[axis] - begins[i];
      const Expr part = inputs[i].Load(from);
      value = value ? IfThenElse(at[axis] < begins[i + 1], part, value) : part;
    }
    return value;
  });
  return p.Call({y}, out);
}

absl::StatusOr<Value> LowerSplit(BlockBuilder& b, const CallNode& call, const Type& out) {
  ProgramWriter p(&b, "split");
  const Buffer x = p.Input(call.args[0]);
  const int64_t given = *Attr(call, "axis").As<int64_t>();
  const size_t axis = static_cast<size_t>(given < 0 ? given + static_cast<int64_t>(x->ndim()) : given);
  IntList begins = *Attr(call, "indices_or_sections").As<IntList>();
  begins.insert(begins.begin(), 0);
  std::vector<Buffer> parts;
  const std::vector<Type>& types = cast<TupleTypeNode>(out)->fields;
  for (size_t i = 0; i < begins.size(); ++i) {
    parts.push_back(
        p.Compute("T_split_" + std::to_string(i), types[i], [&](const std::vector<Expr>& at) -> ComputeBody {
          std::vector<Expr> from = at;
          from[axis] = at[axis] + Extent(begins[i]);
          return x.Load(from);
        }));
  }
  return p.Call(parts, out);
}

// The extents as elements: known when the program is called, so scalars of the program.
absl::StatusOr<Value> LowerShapeToTensor(BlockBuilder& b, const CallNode& call, const Type& out) {
  ProgramWriter p(&b, "shape_to_tensor");
  const Type type = TypeOf(call.args[0]);
  const std::vector<Expr>& values = cast<ShapeTypeNode>(type)->values;
  const Buffer y = p.Compute("T_shape", out, [&](const std::vector<Expr>& at) -> ComputeBody {
    Expr value = Extent(0);
    for (size_t i = values.size(); i-- > 0;) value = Select(at[0] == Extent(static_cast<int64_t>(i)), values[i], value);
    return value;
  });
  return p.Call({y}, out);
}

absl::StatusOr<Value> LowerBroadcastTo(BlockBuilder& b, const CallNode& call, const Type& out) {
  ProgramWriter p(&b, "broadcast_to");
  const Buffer x = p.Input(call.args[0]);
  const std::vector<Expr>& shape = *cast<TensorTypeNode>(out)->shape;
  const Buffer y = p.Compute("T_broadcast_to", out,
                             [&](const std::vector<Expr>& at) -> ComputeBody { return LoadBroadcast(x, at, shape); });
  return p.Call({y}, out);
}

}  // namespace

void AddBasicLowerings(LoweringTable* lowerings) {
  const auto add = [&](const char* op, const char* program, auto element) {
    lowerings->Add(op, Elementwise(program, [element](const Values& x, const CallNode&) { return element(x); }));
  };
  add("add", "add", [](const Values& x) { return x[0] + x[1]; });
  add("subtract", "subtract", [](const Values& x) { return x[0] - x[1]; });
  add("multiply", "multiply", [](const Values& x) { return x[0] * x[1]; });
  add("divide", "divide", [](const Values& x) { return Div(x[0], x[1]); });
  add("maximum", "maximum", [](const Values& x) { return Max(x[0], x[1]); });
  add("minimum", "minimum", [](const Values& x) { return Min(x[0], x[1]); });
  add("ewise_fma", "ewise_fma", [](const Values& x) { return x[0] * x[1] + x[2]; });
  add("negative", "negative", [](const Values& x) { return -x[0]; });
  add("abs", "abs", [](const Values& x) { return CallOfType("abs", x[0]); });
  add("nn.relu", "relu", [](const Values& x) { return Max(x[0], Zero(x[0].dtype())); });
  add("exp", "exp", [](const Values& x) { return CallOfType("exp", x[0]); });
  add("sqrt", "sqrt", [](const Values& x) { return CallOfType("sqrt", x[0]); });
  add("tanh", "tanh", [](const Values& x) { return CallOfType("tanh", x[0]); });
  add("sigmoid", "sigmoid", [](const Values& x) { return CallOfType("sigmoid", x[0]); });
  // Compute converts to the type of the result.
  add("astype", "cast", [](const Values& x) { return x[0]; });
  lowerings->Add("matmul", LowerMatmul);
  for (const char* op : {"sum", "max", "min", "mean"}) lowerings->Add(op, LowerReduce);
  lowerings->Add("permute_dims", LowerPermute);
  lowerings->Add("reshape", LowerReshape);
  lowerings->Add("concat", LowerConcat);
  lowerings->Add("split", LowerSplit);
  lowerings->Add("broadcast_to", LowerBroadcastTo);
  lowerings->Add("shape_to_tensor", LowerShapeToTensor);
}

}  // namespace tilewright::graph
