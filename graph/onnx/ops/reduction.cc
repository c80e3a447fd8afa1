// Reductions and what is built on them.
#include "ir/ops/reduction.h"

#include <numeric>

#include "base/status_macros.h"
#include "graph/onnx/node.h"
#include "graph/onnx/operators.h"
#include "ir/ops/row_ops.h"
#include "ir/ops/scalar_math.h"

namespace tilewright::graph {
namespace {

namespace ops = tilewright::ops;
using ops::Reduction;
using ops::Unary;

struct ReduceForm {
  const char* name;
  Reduction reduction;
  int64_t axes_input_since;               // the opset that made `axes` an input
  Expr (*before)(const Expr&) = nullptr;  // of each element
  Expr (*after)(const Expr&) = nullptr;   // of each result
};

Expr Absolute(const Expr& x) { return x.dtype().is_uint() ? x : tilewright::Call(x.dtype(), "abs", {x}); }
Expr Square(const Expr& x) { return x * x; }
Expr Root(const Expr& x) {
  return x.dtype().is_float() ? Unary("sqrt", x)
                              : ops::Convert(x.dtype(), Unary("sqrt", CastTo(DataType::Float(64), x)));
}
Expr Logarithm(const Expr& x) {
  return x.dtype().is_float() ? Unary("log", x) : ops::Convert(x.dtype(), Unary("log", CastTo(DataType::Float(64), x)));
}

// The axes of a reduction, and whether there is none to do.
absl::StatusOr<std::vector<int>> AxesOf(OnnxNode& n, int64_t since) {
  TW_RETURN_IF_ERROR(n.RequireTensors(0, 1));
  TW_ASSIGN_OR_RETURN(const auto given, n.IntsOrInput("axes", 1, since));
  if (given && !given->empty()) return n.Axes(*given, n.In(0).rank());
  std::vector<int> axes;
  if (n.opset() >= since && n.Int("noop_with_empty_axes", 0) != 0) return axes;
  axes.resize(n.In(0).rank());
  std::iota(axes.begin(), axes.end(), 0);
  return axes;
}

absl::Status ReduceWith(OnnxNode& n, const ReduceForm& form) {
  TW_ASSIGN_OR_RETURN(const std::vector<int> axes, AxesOf(n, form.axes_input_since));
  const bool keep = n.Int("keepdims", 1) != 0;
  // Narrow floats are summed in f32.
  const DataType type = n.In(0).dtype;
  const bool extreme = form.reduction == Reduction::kMax || form.reduction == Reduction::kMin;
  if (type.is_bool() && !extreme) return n.Error("its input is bool, not of numbers");
  const DataType wide = type.is_float() && type.bits() < 32 && !extreme ? DataType::Float(32) : type;
  return n.Out(n.Program(form.name, {n.In(0)}, [&](ProgramParts& p) {
    const Buffer& x = p.in[0];
    Buffer y = ops::ReduceElements(p.f, form.name, form.reduction, x->shape, axes, keep, [&](const ops::Indices& at) {
      const Expr element = CastTo(wide, x.Load(at));
      return form.before != nullptr ? form.before(element) : element;
    });
    if (form.after == nullptr && wide == type) return Buffers{y};
    return Buffers{ops::Map(p.f, std::string(form.name) + "_result", {y}, [&](const Exprs& e) {
      return CastTo(type, form.after != nullptr ? form.after(e[0]) : e[0]);
    })};
  }));
}

absl::Status ImportReduceSum(OnnxNode& n) { return ReduceWith(n, {"reduce_sum", Reduction::kSum, 13}); }
absl::Status ImportReduceProd(OnnxNode& n) { return ReduceWith(n, {"reduce_prod", Reduction::kProduct, 18}); }
absl::Status ImportReduceMax(OnnxNode& n) { return ReduceWith(n, {"reduce_max", Reduction::kMax, 18}); }
absl::Status ImportReduceMin(OnnxNode& n) { return ReduceWith(n, {"reduce_min", Reduction::kMin, 18}); }
absl::Status ImportReduceL1(OnnxNode& n) { return ReduceWith(n, {"reduce_l1", Reduction::kSum, 18, Absolute}); }
absl::Status ImportReduceL2(OnnxNode& n) { return ReduceWith(n, {"reduce_l2", Reduction::kSum, 18, Square, Root}); }
absl::Status ImportReduceSumSquare(OnnxNode& n) {
  return ReduceWith(n, {"reduce_sum_square", Reduction::kSum, 18, Square});
}
absl::Status ImportReduceLogSum(OnnxNode& n) {
  return ReduceWith(n, {"reduce_log_sum", Reduction::kSum, 18, nullptr, Logarithm});
}

absl::Status ImportReduceMean(OnnxNode& n) {
  TW_ASSIGN_OR_RETURN(const std::vector<int> axes, AxesOf(n, 18));
  const bool keep = n.Int("keepdims", 1) != 0;
  const DataType type = n.In(0).dtype;
  const DataType wide = type.is_float() && type.bits() < 32 ? DataType::Float(32) : type;
  return n.Out(n.Program("reduce_mean", {n.In(0)}, [&](ProgramParts& p) {
    const Buffer& x = p.in[0];
    Buffer sum = ops::ReduceElements(p.f, "mean_sum", Reduction::kSum, x->shape, axes, keep,
                                     [&](const ops::Indices& at) { return CastTo(wide, x.Load(at)); });
    const Expr count = ops::CountOf(x->shape, axes, wide);
    return Buffers{ops::Map(p.f, "mean", {sum}, [&](const Exprs& e) {
      return CastTo(type, wide.is_float() ? Div(e[0], count) : ops::IntegerQuotient(e[0], count));
    })};
  }));
}

// log(sum(exp(x))), of differences from the largest element, so that nothing overflows.
absl::Status ImportReduceLogSumExp(OnnxNode& n) {
  TW_ASSIGN_OR_RETURN(const std::vector<int> axes, AxesOf(n, 18));
  const bool keep = n.Int("keepdims", 1) != 0;
  const DataType type = n.In(0).dtype;
  const DataType wide = type.is_float() && type.bits() == 64 ? type : DataType::Float(type.is_float() ? 32 : 64);
  return n.Out(n.Program("reduce_log_sum_exp", {n.In(0)}, [&](ProgramParts& p) {
    const Buffer& x = p.in[0];
    const auto element = [&](const ops::Indices& at) { return CastTo(wide, x.Load(at)); };
    const Expr low = ops::Lowest(wide), high = ops::Highest(wide);
    Buffer raw = ops::ReduceElements(p.f, "largest", Reduction::kMax, x->shape, axes, false, element);
    // Infinite rows are not shifted.
    Buffer largest = ops::Map(p.f, "shift", {raw}, [&](const Exprs& e) {
      return Select(Or(e[0] == low, e[0] == high), Const(wide, 0), e[0]);
    });
    Buffer sum = ops::ReduceElements(
        p.f, "exp_sum", Reduction::kSum, x->shape, axes, false,
        [&](const ops::Indices& at) { return Unary("exp", element(at) - largest.Load(ops::RowOf(at, axes))); });
    Buffer result = ops::Map(p.f, "log_sum_exp", {sum, largest},
                             [&](const Exprs& e) { return ops::Convert(type, Unary("log", e[0]) + e[1]); });
    return Buffers{keep ? ops::KeepAxes(p.f, "kept", result, x->shape, axes, type) : result};
  }));
}

absl::Status ImportArg(OnnxNode& n, bool largest) {
  TW_RETURN_IF_ERROR(n.RequireTensors(0, 1));
  TW_ASSIGN_OR_RETURN(const int axis, n.Axis(n.Int("axis", 0), n.In(0).rank()));
  const bool keep = n.Int("keepdims", 1) != 0, last = n.Int("select_last_index", 0) != 0;
  return n.Out(n.Program(largest ? "argmax" : "argmin", {n.In(0)}, [&](ProgramParts& p) {
    return Buffers{ops::ArgExtreme(p.f, p.in[0], axis, keep, largest, last)};
  }));
}
absl::Status ImportArgMax(OnnxNode& n) { return ImportArg(n, true); }
absl::Status ImportArgMin(OnnxNode& n) { return ImportArg(n, false); }

// Before opset 13 the dimensions from `axis` (default 1) on are one row; since then `axis` (default -1) is reduced.
absl::StatusOr<std::vector<int>> RowAxes(OnnxNode& n) {
  TW_RETURN_IF_ERROR(n.RequireFloat());
  const size_t rank = n.In(0).rank();
  if (n.opset() >= 13) return n.Axes({n.Int("axis", -1)}, rank);
  // The default axis of a tensor of rank 1 is its end: each element would be a row; runtimes take the only row.
  TW_ASSIGN_OR_RETURN(const int axis, n.Axis(n.Int("axis", rank == 1 ? 0 : 1), rank));
  std::vector<int> axes(rank - static_cast<size_t>(axis));
  std::iota(axes.begin(), axes.end(), axis);
  return axes;
}
absl::Status ImportSoftmax(OnnxNode& n) {
  TW_ASSIGN_OR_RETURN(const std::vector<int> axes, RowAxes(n));
  return n.Out(
      n.Program("softmax", n.in(), [&](ProgramParts& p) { return Buffers{ops::SoftmaxOver(p.f, p.in[0], axes)}; }));
}
absl::Status ImportLogSoftmax(OnnxNode& n) {
  TW_ASSIGN_OR_RETURN(const std::vector<int> axes, RowAxes(n));
  return n.Out(n.Program("log_softmax", n.in(),
                         [&](ProgramParts& p) { return Buffers{ops::SoftmaxOver(p.f, p.in[0], axes, true)}; }));
}
// One at the first largest element of each row, else zero.
absl::Status ImportHardmax(OnnxNode& n) {
  TW_ASSIGN_OR_RETURN(const std::vector<int> axes, RowAxes(n));
  const DataType i64 = DataType::Int(64);
  return n.Out(n.Program("hardmax", n.in(), [&](ProgramParts& p) {
    const Buffer& x = p.in[0];
    const auto position = [&](const ops::Indices& at) {
      Expr k = Const(i64, 0);
      for (int axis : axes) {
        const size_t a = static_cast<size_t>(axis);
        k = k * CastTo(i64, x->shape[a]) + CastTo(i64, at[a]);
      }
      return k;
    };
    Buffer largest = ops::Reduce(p.f, "largest", Reduction::kMax, x, axes, true);
    Buffer first =
        ops::ReduceElements(p.f, "first", Reduction::kMin, x->shape, axes, true, [&](const ops::Indices& at) {
          return Select(x.Load(at) == ops::LoadBroadcast(largest, x->shape, at), position(at), GreatestValue(i64));
        });
    return Buffers{p.f.Compute("hardmax", x->shape, [&](const std::vector<Symbol>& v) {
      const ops::Indices at(v.begin(), v.end());
      return Select(position(at) == ops::LoadBroadcast(first, x->shape, at), Const(x->dtype, 1), Const(x->dtype, 0));
    })};
  }));
}

}  // namespace

OnnxOperators ReductionOperators() {
  return {
      {"ArgMax", 1, ImportArgMax, {.elements = Elements::kNumbers}},
      {"ArgMin", 1, ImportArgMin, {.elements = Elements::kNumbers}},
      {"Hardmax", 1, ImportHardmax, {.elements = Elements::kFloats}},
      {"LogSoftmax", 1, ImportLogSoftmax, {.elements = Elements::kFloats}},
      {"ReduceL1", 1, ImportReduceL1, {.elements = Elements::kNumbers, .integers = Inputs({1})}},
      {"ReduceL2", 1, ImportReduceL2, {.elements = Elements::kNumbers, .integers = Inputs({1})}},
      {"ReduceLogSum", 1, ImportReduceLogSum, {.elements = Elements::kNumbers, .integers = Inputs({1})}},
      {"ReduceLogSumExp", 1, ImportReduceLogSumExp, {.elements = Elements::kNumbers, .integers = Inputs({1})}},
      {"ReduceMax", 1, ImportReduceMax, {.integers = Inputs({1})}},
      {"ReduceMean", 1, ImportReduceMean, {.elements = Elements::kNumbers, .integers = Inputs({1})}},
      {"ReduceMin", 1, ImportReduceMin, {.integers = Inputs({1})}},
      {"ReduceProd", 1, ImportReduceProd, {.elements = Elements::kNumbers, .integers = Inputs({1})}},
      {"ReduceSum", 1, ImportReduceSum, {.elements = Elements::kNumbers, .integers = Inputs({1})}},
      {"ReduceSumSquare", 1, ImportReduceSumSquare, {.elements = Elements::kNumbers, .integers = Inputs({1})}},
      {"Softmax", 1, ImportSoftmax, {.elements = Elements::kFloats}},
  };
}

}  // namespace tilewright::graph
