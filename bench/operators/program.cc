#include "bench/operators/program.h"

#include <cstring>
#include <numeric>
#include <utility>

#include "absl/status/status.h"
#include "base/status_macros.h"
#include "bench/operators/requantization.h"
#include "codegen/abi/abi_type.h"
#include "graph/fusion/program_form.h"
#include "ir/float_format.h"
#include "ir/ops/attention.h"
#include "ir/ops/conv.h"
#include "ir/ops/conv_bn_relu.h"
#include "ir/ops/conv_transpose.h"
#include "ir/ops/converted_output.h"
#include "ir/ops/depthwise.h"
#include "ir/ops/elementwise.h"
#include "ir/ops/matmul.h"
#include "ir/ops/normalization.h"
#include "ir/ops/requantize.h"
#include "schedule/layout/hoist_prepack.h"

namespace tilewright::bench {
namespace {

using runtime::Tensor;

// Before anything is requantized or rounded to the type of the output.
ops::OperandTypes TypesOf(DType dtype) {
  return {ProgramType(ActivationType(dtype)), ProgramType(WeightType(dtype)), ProgramType(SumType(dtype))};
}

Function MakeConvolution(const ConvolutionProblem& p, const ops::OperandTypes& types, ExtentExprs& extent) {
  const char* const names[] = {"D", "H", p.spatial_rank == 1 ? "L" : "W"};
  const auto in = [&](size_t d) { return extent(names[d], p.in[d]); };
  const Expr batch = extent("N", p.batch);
  const ops::Window window = {
      .kernel = p.kernel[2], .stride = p.stride, .padding = p.padding[2], .dilation = p.dilation};
  if (p.transposed) return ops::ConvTranspose(batch, in(1), in(2), p.in_channels, p.out_channels, window, types);
  const bool depthwise = p.groups == p.in_channels && p.out_channels == p.in_channels && p.groups > 1;
  if (depthwise && p.spatial_rank == 2) {
    return ops::Depthwise(batch, in(1), in(2), p.in_channels, window, 1, types);
  }
  ops::ConvShape shape{
      .batch = batch, .in_channels = p.in_channels, .out_channels = p.out_channels, .groups = p.groups};
  for (size_t d = 3 - static_cast<size_t>(p.spatial_rank); d < 3; ++d) {
    shape.spatial.push_back(in(d));
    shape.windows.push_back(window);
  }
  return p.normalized ? ops::ConvBnRelu(shape, types) : ops::Conv(shape, types);
}

Function MakeFunction(const Workload& workload, const Extents& extents) {
  ExtentExprs extent(extents);
  const ops::OperandTypes types = TypesOf(workload.dtype);
  if (const auto* p = std::get_if<MatmulProblem>(&workload.problem)) {
    if (!p->b_constant) {
      return ops::TransposeBatchMatmul(extent("B", p->batch / p->heads), extent("S", p->m), extent("heads", p->heads),
                                       extent("dim", p->k), types);
    }
    return ops::BatchMatmul(extent("B", p->batch), extent("M", p->m), extent("N", p->n), extent("K", p->k), types,
                            p->b_transposed);
  }
  if (const auto* p = std::get_if<ConvolutionProblem>(&workload.problem)) return MakeConvolution(*p, types, extent);
  if (const auto* p = std::get_if<AttentionProblem>(&workload.problem)) {
    const Expr heads = extent("heads", p->heads), keys = extent("S", p->keys);
    const bool grouped = p->key_heads != p->heads, decodes = p->queries != p->keys;
    // Sums of 16 bits would not hold a softmax.
    return ops::Attention({.batch = extent("B", p->batch),
                           .heads = heads,
                           .key_heads = grouped ? extent("key_heads", p->key_heads) : heads,
                           .queries = decodes ? extent("queries", p->queries) : keys,
                           .keys = keys,
                           .dim = extent("dim", p->dim),
                           .causal = p->causal,
                           .window = p->window},
                          {types.input, types.weight, DataType::Float(32)});
  }
  const auto& p = std::get<RowProblem>(workload.problem);
  const Expr height = extent("rows", p.rows), width = extent("cols", p.columns);
  ops::RowTypes rows = {.input = types.input};
  if (!IsRequantized(workload.dtype)) rows.output = ProgramType(OutputType(workload));
  switch (p.function) {
    case RowFunction::kSoftmax:
      return ops::Softmax(height, width, rows);
    case RowFunction::kRowNorm:
      return ops::RowNorm(height, width, rows);
    case RowFunction::kLayerNorm:
      return ops::LayerNorm(height, width, kLayerNormEpsilon, rows);
    case RowFunction::kGelu:
      return ops::Gelu({height, width}, rows);
  }
  return {};
}

size_t BytesOf(const Tensor& tensor) {
  return static_cast<size_t>(runtime::PackedBytes(tensor.dtype(), tensor.num_elements()).value_or(0));
}

absl::StatusOr<Tensor> MakeConstant(const Buffer& param) {
  std::optional<Tensor> tensor = Tensor::Allocate(AbiType(param->dtype), ConstantShape(param));
  if (!tensor) return absl::ResourceExhaustedError("not enough memory for the constants");
  return *std::move(tensor);
}

// Numbers in f32 as elements of a constant.
void Convert(const float* numbers, const Buffer& param, Tensor& constant) {
  const int64_t bytes = param->dtype.bytes();
  for (int64_t i = 0; i < constant.num_elements(); ++i) {
    const uint64_t bits = ToBits(param->dtype, RoundTo(param->dtype, numbers[i]));
    std::memcpy(constant.data<char>() + i * bytes, &bits, static_cast<size_t>(bytes));
  }
}

// The scale as the benchmark defines it for all implementations.
ops::Requantization HowToRequantize(const Workload& workload) {
  return {.scale = RequantizationOf(workload).scale, .to = ProgramType(OutputType(workload))};
}

}  // namespace

BenchProgram MakeProgram(const Workload& workload, const Extents& extents) {
  const auto* matmul = std::get_if<MatmulProblem>(&workload.problem);
  const bool attention = std::holds_alternative<AttentionProblem>(workload.problem);
  BenchProgram program{MakeFunction(workload, extents), attention || (matmul != nullptr && !matmul->b_constant)};
  if (IsRequantized(workload.dtype)) {
    program.function = ops::WithRequantization(program.function, HowToRequantize(workload));
  } else if (const DataType output = ProgramType(OutputType(workload));
             program.function->params.back().buffer->dtype != output) {
    program.function = ops::WithConvertedOutput(program.function, output);
  }
  if (extents.wide) program.function = graph::WithIndexType(program.function, DataType::Int(64));
  if (!program.weight_is_activation) {
    std::vector<int> constants(program.function->params.size() - 2);
    std::iota(constants.begin(), constants.end(), 1);
    program.function = MarkConstant(program.function, constants);
  }
  return program;
}

absl::StatusOr<std::vector<Tensor>> MakeConstants(const Workload& workload, const BenchProgram& program,
                                                  const Operands& operands) {
  std::vector<Tensor> constants;
  const auto& params = program.function->params;
  const bool has_weight = !ShapesOf(workload.problem).weight.empty();
  const float* next_parameter = operands.parameters.data<float>();
  for (size_t i = 1; i + 1 < params.size(); ++i) {
    const Buffer& param = params[i].buffer;
    TW_ASSIGN_OR_RETURN(Tensor constant, MakeConstant(param));
    if (i == 1 && has_weight) {
      std::memcpy(constant.data<char>(), operands.weight.data<char>(), BytesOf(constant));
    } else {
      Convert(next_parameter, param, constant);
      next_parameter += constant.num_elements();
    }
    constants.push_back(std::move(constant));
  }
  return constants;
}

Tensor ViewAs(const Buffer& param, Tensor& tensor) {
  return Tensor::Borrow(tensor.data<char>(), tensor.dtype(), ConstantShape(param));
}

std::vector<int64_t> ConstantShape(const Buffer& buffer) {
  std::vector<int64_t> shape;
  for (const Expr& extent : buffer->shape) shape.push_back(*AsInt(extent));
  return shape;
}

}  // namespace tilewright::bench
