#include "bench/operators/program.h"

#include <cstring>
#include <numeric>
#include <utility>

#include "absl/status/status.h"
#include "bench/operators/requantization.h"
#include "ir/ops/conv.h"
#include "ir/ops/conv_bn_relu.h"
#include "ir/ops/conv_transpose.h"
#include "ir/ops/depthwise.h"
#include "ir/ops/matmul.h"
#include "ir/ops/normalization.h"
#include "ir/ops/requantize.h"
#include "schedule/layout/hoist_prepack.h"

namespace tilewright::bench {
namespace {

using runtime::Tensor;

// Before anything is requantized.
ops::OperandTypes TypesOf(DType dtype) {
  return {ProgramType(ActivationType(dtype)), ProgramType(WeightType(dtype)),
          IsInteger(dtype) ? DataType::Int(32) : DataType::Float(32)};
}

Function MakeConvolution(const ConvolutionProblem& p, const ops::OperandTypes& types) {
  const ops::Window window = {
      .kernel = p.kernel[2], .stride = p.stride, .padding = p.padding[2], .dilation = p.dilation};
  if (p.transposed) return ops::ConvTranspose(p.batch, p.in[1], p.in[2], p.in_channels, p.out_channels, window, types);
  const bool depthwise = p.groups == p.in_channels && p.out_channels == p.in_channels && p.groups > 1;
  if (depthwise && p.spatial_rank == 2) {
    return ops::Depthwise(p.batch, p.in[1], p.in[2], p.in_channels, window, 1, types);
  }
  ops::ConvShape shape{
      .batch = p.batch, .in_channels = p.in_channels, .out_channels = p.out_channels, .groups = p.groups};
  for (size_t d = 3 - static_cast<size_t>(p.spatial_rank); d < 3; ++d) {
    shape.spatial.push_back(p.in[d]);
    shape.windows.push_back(window);
  }
  return p.normalized ? ops::ConvBnRelu(shape, types) : ops::Conv(shape, types);
}

Function MakeFunction(const Workload& workload) {
  const ops::OperandTypes types = TypesOf(workload.dtype);
  if (const auto* p = std::get_if<MatmulProblem>(&workload.problem)) {
    if (!p->b_constant) return ops::TransposeBatchMatmul(p->batch / p->heads, p->m, p->heads, p->k, types);
    return ops::BatchMatmul(p->batch, p->m, p->n, p->k, types, p->b_transposed);
  }
  if (const auto* p = std::get_if<ConvolutionProblem>(&workload.problem)) return MakeConvolution(*p, types);
  const auto& p = std::get<RowProblem>(workload.problem);
  ops::RowTypes rows = {.input = types.input};
  if (!IsRequantized(workload.dtype)) rows.output = ProgramType(OutputType(workload));
  switch (p.function) {
    case RowFunction::kSoftmax:
      return ops::Softmax(p.rows, p.columns, rows);
    case RowFunction::kRowNorm:
      return ops::RowNorm(p.rows, p.columns, rows);
    case RowFunction::kLayerNorm:
      return ops::LayerNorm(p.rows, p.columns, kLayerNormEpsilon, rows);
  }
  return {};
}

size_t BytesOf(const Tensor& tensor) {
  return static_cast<size_t>(runtime::PackedBytes(tensor.dtype(), tensor.num_elements()).value_or(0));
}

absl::StatusOr<Tensor> CopyOf(const char* elements, TwDataType dtype, const Buffer& param) {
  std::optional<Tensor> tensor = Tensor::Allocate(dtype, ConstantShape(param));
  if (!tensor) return absl::ResourceExhaustedError("not enough memory for the constants");
  std::memcpy(tensor->data<char>(), elements, BytesOf(*tensor));
  return *std::move(tensor);
}

// The scale as the benchmark defines it for all implementations.
ops::Requantization HowToRequantize(const Workload& workload) {
  return {.scale = RequantizationOf(workload).scale, .to = ProgramType(OutputType(workload))};
}

}  // namespace

BenchProgram MakeProgram(const Workload& workload) {
  const auto* matmul = std::get_if<MatmulProblem>(&workload.problem);
  BenchProgram program{MakeFunction(workload), matmul != nullptr && !matmul->b_constant};
  if (IsRequantized(workload.dtype)) {
    program.function = ops::WithRequantization(program.function, HowToRequantize(workload));
  }
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
  const char* next_parameter = operands.parameters.data<char>();
  for (size_t i = 1; i + 1 < params.size(); ++i) {
    const Buffer& param = params[i].buffer;
    const bool weight = i == 1 && has_weight;
    const Tensor& source = weight ? operands.weight : operands.parameters;
    absl::StatusOr<Tensor> copy = CopyOf(weight ? source.data<char>() : next_parameter, source.dtype(), param);
    if (!copy.ok()) return copy.status();
    if (!weight) next_parameter += BytesOf(*copy);
    constants.push_back(*std::move(copy));
  }
  return constants;
}

Tensor ViewAs(const Buffer& param, Tensor& tensor) {
  return Tensor::Borrow(tensor.data<char>(), tensor.dtype(), ConstantShape(param));
}

DataType ProgramType(TwDataType dtype) {
  if (dtype.code == kTwBfloat) return DataType::BFloat16();
  if (dtype.code == kTwFloat) return DataType::Float(dtype.bits);
  return dtype.code == kTwInt ? DataType::Int(dtype.bits) : DataType::UInt(dtype.bits);
}

std::vector<int64_t> ConstantShape(const Buffer& buffer) {
  std::vector<int64_t> shape;
  for (const Expr& extent : buffer->shape) shape.push_back(*AsInt(extent));
  return shape;
}

}  // namespace tilewright::bench
