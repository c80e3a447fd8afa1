// Sums of products: MatMul, Gemm, Einsum and their integer forms.
#include "ir/ops/product.h"

#include <algorithm>
#include <numeric>

#include "base/math.h"
#include "base/status_macros.h"
#include "graph/onnx/node.h"
#include "graph/onnx/operators.h"
#include "ir/ops/movement.h"
#include "ir/ops/scalar_math.h"

namespace tilewright::graph {
namespace {

namespace ops = tilewright::ops;

// Products of narrow floats are summed in f32.
DataType SumType(DataType type) { return type.is_float() && type.bits() < 32 ? DataType::Float(32) : type; }

Buffer Narrowed(ProgramParts& p, const Buffer& x, DataType type) {
  if (x->dtype == type) return x;
  return ops::Map(p.f, "narrow", {x}, [&](const Exprs& e) { return CastTo(type, e[0]); });
}

absl::Status ImportMatMul(OnnxNode& n) {
  TW_RETURN_IF_ERROR(n.RequireTensors(0, 2));
  TW_RETURN_IF_ERROR(n.RequireSameType(0, 2));
  if (n.In(0).dtype.is_bool()) return n.Error("its input is bool, not of numbers");
  TW_RETURN_IF_ERROR(n.RequireProduct(n.In(0).shape, n.In(1).shape));
  const DataType type = n.In(0).dtype;
  return n.Out(n.Program("matmul", n.in(), [&](ProgramParts& p) {
    return Buffers{Narrowed(p, ops::Product(p.f, p.in[0], p.in[1], SumType(type)), type)};
  }));
}

// alpha * op(a) * op(b) + beta * c
absl::Status ImportGemm(OnnxNode& n) {
  TW_RETURN_IF_ERROR(n.RequireTensors(0, 2));
  if (n.In(0).rank() != 2 || n.In(1).rank() != 2) return n.Error("its operands are not matrices");
  TW_RETURN_IF_ERROR(n.RequireSameType(0, 3));
  if (n.In(0).dtype.is_bool()) return n.Error("its input is bool, not of numbers");
  const bool trans_a = n.Int("transA", 0) != 0, trans_b = n.Int("transB", 0) != 0;
  const double alpha = n.Float("alpha", 1), beta = n.Float("beta", 1);
  const Expr rows = n.In(0).shape[trans_a ? 1 : 0], columns = n.In(1).shape[trans_b ? 0 : 1];
  const Expr &depth = n.In(0).shape[trans_a ? 0 : 1], &other = n.In(1).shape[trans_b ? 1 : 0];
  if (!n.RequireEqual(depth, other)) return n.Error("sums over ", *AsInt(depth), " and ", *AsInt(other), " elements");
  const bool has_c = n.Has(2) && beta != 0;
  if (has_c && n.In(2).rank() > 2) return n.Error("C does not broadcast");
  if (has_c) TW_RETURN_IF_ERROR(n.RequireBroadcast({{rows, columns}, n.In(2).shape}));
  const DataType type = n.In(0).dtype, sum = SumType(type);
  const auto scale = [&](const Expr& e, double by) {
    if (by == 1) return e;
    if (e.dtype().is_float()) return e * ConstFloat(e.dtype(), by);
    return ops::Convert(e.dtype(), CastTo(DataType::Float(64), e) * ConstFloat(DataType::Float(64), by));
  };
  Items inputs = {n.In(0), n.In(1)};
  if (has_c) inputs.push_back(n.In(2));
  return n.Out(n.Program("gemm", inputs, [&](ProgramParts& p) {
    const Buffer &a = p.in[0], &b = p.in[1];
    tilewright::ReduceAxis k("k", a->shape[trans_a ? 0 : 1]);
    const std::vector<Expr> shape = {a->shape[trans_a ? 1 : 0], b->shape[trans_b ? 0 : 1]};
    Buffer product = p.f.Compute("matmul", shape, [&](Symbol i, Symbol j) {
      const Expr left = trans_a ? a(k, i) : a(i, k), right = trans_b ? b(j, k) : b(k, j);
      return tilewright::Sum(CastTo(sum, left) * CastTo(sum, right), k);
    });
    if (!has_c && alpha == 1) return Buffers{Narrowed(p, product, type)};
    Buffers parts = {product};
    if (has_c) parts.push_back(p.in[2]);
    return Buffers{ops::MapTo(p.f, "gemm", shape, parts, [&](const Exprs& e) {
      const Expr value = scale(e[0], alpha);
      return CastTo(type, has_c ? value + scale(CastTo(sum, e[1]), beta) : value);
    })};
  }));
}

// com.microsoft: alpha * op(a) * op(b), transposing the last two dimensions, or moving the first one behind the batch.
absl::Status ImportFusedMatMul(OnnxNode& n) {
  TW_RETURN_IF_ERROR(n.RequireTensors(0, 2));
  const double alpha = n.Float("alpha", 1);
  Items operands = {n.In(0), n.In(1)};
  for (size_t i = 0; i < 2; ++i) {
    const size_t rank = operands[i].rank();
    if (rank < 2) continue;
    std::vector<int> permutation(rank);
    std::iota(permutation.begin(), permutation.end(), 0);
    // The batch stands behind the first dimension of the matrix.
    if (n.Int(i == 0 ? "transBatchA" : "transBatchB", 0) != 0) {
      std::rotate(permutation.begin(), permutation.begin() + 1, permutation.end() - 1);
    }
    if (n.Int(i == 0 ? "transA" : "transB", 0) != 0) std::swap(permutation[rank - 1], permutation[rank - 2]);
    if (std::is_sorted(permutation.begin(), permutation.end())) continue;
    TW_ASSIGN_OR_RETURN(Items transposed, n.Program("transpose", {operands[i]}, [&](ProgramParts& p) {
      return Buffers{ops::Transpose(p.f, p.in[0], permutation)};
    }));
    operands[i] = transposed[0];
  }
  TW_RETURN_IF_ERROR(n.RequireProduct(operands[0].shape, operands[1].shape));
  return n.Out(n.Program("fused_matmul", operands, [&](ProgramParts& p) {
    Buffer product = ops::Product(p.f, p.in[0], p.in[1], SumType(p.in[0]->dtype));
    return Buffers{ops::Map(p.f, "scaled", {product}, [&](const Exprs& e) {
      return CastTo(p.in[0]->dtype, e[0] * ConstFloat(e[0].dtype(), alpha));
    })};
  }));
}

absl::Status ImportEinsum(OnnxNode& n) {
  std::vector<int> ranks;
  std::vector<Exprs> shapes;
  for (size_t i = 0; i < n.in().size(); ++i) {
    TW_RETURN_IF_ERROR(n.RequireTensors(i, 1));
    if (n.In(i).dtype != n.In(0).dtype || n.In(0).dtype.is_bool())
      return n.Error("its inputs are not of one type of numbers");
    ranks.push_back(static_cast<int>(n.In(i).rank()));
    shapes.push_back(n.In(i).shape);
  }
  const std::string equation = n.String("equation", "");
  const auto labels = ops::ParseEinsum(equation, ranks);
  if (!labels) return n.Error("the equation \"", equation, "\" does not fit its inputs");
  const auto extents = ops::EinsumExtents(*labels, shapes);
  if (!extents) return n.Error("a label of \"", equation, "\" has two extents");
  for (size_t i = 0; i < shapes.size(); ++i) {
    for (size_t d = 0; d < shapes[i].size(); ++d) {
      const Expr& extent = (*extents)[static_cast<size_t>(labels->operands[i][d])];
      TW_RETURN_IF_ERROR(n.RequireBroadcast({{extent}, {shapes[i][d]}}));
    }
  }
  return n.Out(n.Program("einsum", n.in(), [&](ProgramParts& p) {
    std::vector<std::vector<Expr>> inner;
    for (const Buffer& buffer : p.in) inner.push_back(buffer->shape);
    return Buffers{ops::Einsum(p.f, *labels, *ops::EinsumExtents(*labels, inner), p.in)};
  }));
}

// A parameter of quantization at an element of extents `shape`: one number, one for each row or column (`dimension` 2
// or 1 from the end), or a tensor that broadcasts.
Expr ParameterAt(const Buffer& parameter, const std::vector<Expr>& shape, const ops::Indices& at, size_t dimension) {
  if (parameter->ndim() != 1) return parameter.Load(ops::BroadcastAt(parameter->shape, shape, at));
  const bool one = IsInt(parameter->shape[0], 1) || at.size() < dimension;
  return parameter(one ? Expr(0) : at[at.size() - dimension]);
}

// The difference of an element of `operand` and its zero point; null without zero points.
ops::Operand MinusZeroPoint(const Buffer& operand, const Buffer& zero, size_t dimension) {
  if (!zero) return {};
  return [=](const Expr& element, const ops::Indices& at) {
    const DataType i32 = DataType::Int(32);
    return CastTo(i32, element) - CastTo(i32, ParameterAt(zero, operand->shape, at, dimension));
  };
}

// A parameter of an operand's rows or columns has one element, one for each of them, or the operand's rank and an
// extent of one in the dimension that is summed over.
absl::Status CheckParameter(OnnxNode& n, size_t i, const Item& operand, size_t dimension) {
  if (!n.Has(i)) return absl::OkStatus();
  TW_RETURN_IF_ERROR(n.RequireTensors(i, 1));
  const Exprs& shape = n.In(i).shape;
  const bool one = std::all_of(shape.begin(), shape.end(), [](const Expr& extent) { return IsInt(extent, 1); });
  if (one && shape.size() <= operand.rank()) return absl::OkStatus();
  if (operand.rank() < dimension) return n.Error("input ", i, " has several elements for a vector");
  if (shape.size() == 1) return n.RequireShape(i, {operand.shape[operand.rank() - dimension]});
  Exprs wanted = operand.shape;
  wanted[wanted.size() - (3 - dimension)] = Extent(1);
  for (size_t d = 0; d < wanted.size() && d < shape.size(); ++d) {
    if (IsInt(shape[d], 1)) wanted[d] = Extent(1);
  }
  return n.RequireShape(i, wanted);
}

absl::Status ImportMatMulInteger(OnnxNode& n) {
  TW_RETURN_IF_ERROR(n.RequireTensors(0, 2));
  TW_RETURN_IF_ERROR(n.RequireProduct(n.In(0).shape, n.In(1).shape));
  const DataType i32 = DataType::Int(32);
  const bool has_a = n.Has(2), has_b = n.Has(3);
  TW_RETURN_IF_ERROR(CheckParameter(n, 2, n.In(0), 2));
  TW_RETURN_IF_ERROR(CheckParameter(n, 3, n.In(1), 1));
  return n.Out(n.Program("matmul_integer", n.in(), [&](ProgramParts& p) {
    const Buffer a_zero = has_a ? p.in[2] : Buffer(), b_zero = has_b ? p.in.back() : Buffer();
    return Buffers{ops::Product(p.f, p.in[0], p.in[1], i32, MinusZeroPoint(p.in[0], a_zero, 2),
                                MinusZeroPoint(p.in[1], b_zero, 1))};
  }));
}

// com.microsoft: (a - a_zero) (b - b_zero) a_scale b_scale + bias, as floats. Inputs are a, b, a_scale, b_scale,
// a_zero, b_zero, bias.
absl::Status ImportMatMulIntegerToFloat(OnnxNode& n) {
  TW_RETURN_IF_ERROR(n.RequireTensors(0, 4));
  TW_RETURN_IF_ERROR(n.RequireProduct(n.In(0).shape, n.In(1).shape));
  const DataType i32 = DataType::Int(32), f32 = n.In(2).dtype;
  for (size_t i : {2, 4}) TW_RETURN_IF_ERROR(CheckParameter(n, i, n.In(0), 2));
  for (size_t i : {3, 5, 6}) TW_RETURN_IF_ERROR(CheckParameter(n, i, n.In(1), 1));
  return n.Out(n.Program("matmul_integer_to_float", n.in(), [&](ProgramParts& p) {
    size_t next = 4;
    const auto take = [&](size_t i) { return n.Has(i) ? p.in[next++] : Buffer(); };
    const Buffer a_zero = take(4), b_zero = take(5), bias = take(6);
    Buffer sums = ops::Product(p.f, p.in[0], p.in[1], i32, MinusZeroPoint(p.in[0], a_zero, 2),
                               MinusZeroPoint(p.in[1], b_zero, 1));
    return Buffers{p.f.Compute("scaled", sums->shape, [&](const std::vector<Symbol>& v) {
      const ops::Indices at(v.begin(), v.end());
      const Expr scale = ParameterAt(p.in[2], sums->shape, at, 2) * ParameterAt(p.in[3], sums->shape, at, 1);
      const Expr value = CastTo(f32, sums.Load(at)) * scale;
      return bias ? value + bias(v.back()) : value;
    })};
  }));
}

absl::Status ImportQLinearMatMul(OnnxNode& n) {
  TW_RETURN_IF_ERROR(n.RequireTensors(0, 8));
  TW_RETURN_IF_ERROR(n.RequireProduct(n.In(0).shape, n.In(3).shape));
  const DataType i32 = DataType::Int(32), f32 = DataType::Float(32);
  for (size_t i : {1, 2}) TW_RETURN_IF_ERROR(CheckParameter(n, i, n.In(0), 2));
  for (size_t i : {4, 5, 6, 7}) TW_RETURN_IF_ERROR(CheckParameter(n, i, n.In(3), 1));
  return n.Out(n.Program("qlinear_matmul", n.in(), [&](ProgramParts& p) {
    Buffer sums = ops::Product(p.f, p.in[0], p.in[3], i32, MinusZeroPoint(p.in[0], p.in[2], 2),
                               MinusZeroPoint(p.in[3], p.in[5], 1));
    return Buffers{p.f.Compute("requantize", sums->shape, [&](const std::vector<Symbol>& v) {
      const ops::Indices at(v.begin(), v.end());
      const auto parameter = [&](size_t i, size_t dimension) {
        return CastTo(f32, ParameterAt(p.in[i], sums->shape, at, dimension));
      };
      const Expr scale = Div(parameter(1, 2) * parameter(4, 1), parameter(6, 1));
      const Expr scaled = CastTo(f32, sums.Load(at)) * scale;
      return ops::RoundAndSaturate(p.in[7]->dtype, ops::Unary("nearbyint", scaled) + parameter(7, 1));
    })};
  }));
}

}  // namespace

OnnxOperators ProductOperators() {
  return {
      {"Einsum", 12, ImportEinsum, {.elements = Elements::kNumbers, .required = "equation"}},
      {"FusedMatMul", 1, ImportFusedMatMul, {}, kMicrosoft},
      {"Gemm", 1, ImportGemm, {.elements = Elements::kNumbers}},
      {"MatMul", 1, ImportMatMul, {.elements = Elements::kNumbers}},
      {"MatMulInteger", 10, ImportMatMulInteger, {.elements = Elements::kIntegers}},
      {"MatMulIntegerToFloat", 1, ImportMatMulIntegerToFloat, {}, kMicrosoft},
      {"QLinearMatMul", 10, ImportQLinearMatMul},
  };
}

}  // namespace tilewright::graph
