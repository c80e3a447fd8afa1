#include "bench/peers/xnnpack_plan.h"

#include <cmath>
#include <string>
#include <utility>
#include <variant>

#include "absl/status/status.h"
#include "absl/strings/str_cat.h"
#include "base/status_macros.h"
#include "bench/operators/requantization.h"
#include "bench/peers/fold_normalization.h"

namespace tilewright::bench {
namespace {

constexpr uint8_t kWeightZeroPoint = 128;

// What all create functions of one kind of operator have in common beside its geometry.
struct Creation {
  const Workload& workload;
  const void* weight;
  const float* bias = nullptr;
  float least = -INFINITY;
  uint32_t flags = 0;
};

// Calls the create function of the workload's data type.
template <typename F32, typename Qs8, typename Qu8, typename... Geometry>
xnn_status Create(F32 f32, Qs8 qs8, Qu8 qu8, const Creation& c, xnn_operator_t* op, Geometry... geometry) {
  if (c.workload.dtype == DType::kF32) {
    return f32(geometry..., static_cast<const float*>(c.weight), c.bias, c.least, INFINITY, c.flags, op);
  }
  const Requantization q = RequantizationOf(c.workload);
  // The scale of the sums is the product of those of the activation and of the weight over that of the output.
  if (c.workload.dtype == DType::kS8S8Q) {
    return qs8(geometry..., int8_t{0}, 1.0f, q.scale, static_cast<const int8_t*>(c.weight), nullptr, int8_t{0}, 1.0f,
               static_cast<int8_t>(q.least), static_cast<int8_t>(q.greatest), c.flags, op);
  }
  return qu8(geometry..., uint8_t{0}, 1.0f, kWeightZeroPoint, q.scale, static_cast<const uint8_t*>(c.weight), nullptr,
             uint8_t{0}, 1.0f, static_cast<uint8_t>(q.least), static_cast<uint8_t>(q.greatest), c.flags, op);
}

// Calls the setup function of a data type with the extents between operator and tensors.
template <typename F32, typename Qs8, typename Qu8, typename... Extents>
auto SetupOf(DType dtype, F32 f32, Qs8 qs8, Qu8 qu8, Extents... extents) {
  return [=](xnn_operator_t op, const void* input, void* output, pthreadpool_t pool) {
    switch (dtype) {
      case DType::kF32:
        return f32(op, extents..., static_cast<const float*>(input), static_cast<float*>(output), pool);
      case DType::kS8S8Q:
        return qs8(op, extents..., static_cast<const int8_t*>(input), static_cast<int8_t*>(output), pool);
      default:
        return qu8(op, extents..., static_cast<const uint8_t*>(input), static_cast<uint8_t*>(output), pool);
    }
  };
}

absl::Status StatusOf(xnn_status status) {
  if (status == xnn_status_success) return absl::OkStatus();
  return absl::UnimplementedError(absl::StrCat("XNNPACK refuses it with status ", static_cast<int>(status)));
}

// Elements of `size` bytes, `rows` x `columns`, transposed.
std::vector<char> Transpose(const char* elements, int64_t rows, int64_t columns, int64_t size) {
  std::vector<char> transposed(static_cast<size_t>(rows * columns * size));
  for (int64_t r = 0; r < rows; ++r) {
    for (int64_t c = 0; c < columns; ++c) {
      for (int64_t byte = 0; byte < size; ++byte) {
        transposed[static_cast<size_t>((c * rows + r) * size + byte)] = elements[(r * columns + c) * size + byte];
      }
    }
  }
  return transposed;
}

// The signed weights as unsigned ones with the zero point 128.
void MakeUnsigned(std::vector<char>& weights) {
  for (char& weight : weights) weight = static_cast<char>(static_cast<uint8_t>(weight) ^ kWeightZeroPoint);
}

absl::StatusOr<std::vector<XnnStep>> MakeMatmul(const MatmulProblem& p, const Workload& workload,
                                                const Operands& operands) {
  if (!p.b_constant) return absl::UnimplementedError("XNNPACK multiplies by constant matrices only");
  const auto k = static_cast<size_t>(p.k), n = static_cast<size_t>(p.n);
  const int64_t input_size = ActivationType(workload.dtype).bits / 8, weight_size = WeightType(workload.dtype).bits / 8;
  const int64_t output_size = OutputType(workload).bits / 8;
  std::vector<XnnStep> steps;
  for (int64_t i = 0; i < p.batch; ++i) {
    const char* matrix = operands.weight.data<char>() + i * p.k * p.n * weight_size;
    // The library wants [n, k].
    std::vector<char> weights(matrix, matrix + p.k * p.n * weight_size);
    if (!p.b_transposed) weights = Transpose(matrix, p.k, p.n, weight_size);
    if (workload.dtype == DType::kInt8Q) MakeUnsigned(weights);
    xnn_operator_t op = nullptr;
    const xnn_status status = Create(xnn_create_fully_connected_nc_f32, xnn_create_fully_connected_nc_qs8,
                                     xnn_create_fully_connected_nc_qu8, {workload, weights.data()}, &op, k, n, k, n);
    TW_RETURN_IF_ERROR(StatusOf(status));
    XnnStep& step = steps.emplace_back();
    step.op.reset(op);
    step.input_offset = i * p.m * p.k * input_size;
    step.output_offset = i * p.m * p.n * output_size;
    step.setup = SetupOf(workload.dtype, xnn_setup_fully_connected_nc_f32, xnn_setup_fully_connected_nc_qs8,
                         xnn_setup_fully_connected_nc_qu8, static_cast<size_t>(p.m));
  }
  return steps;
}

absl::StatusOr<std::vector<XnnStep>> MakeConvolution(const ConvolutionProblem& p, const Workload& workload,
                                                     const Operands& operands) {
  if (p.spatial_rank > 2) return absl::UnimplementedError("XNNPACK convolves in one and two dimensions only");
  const auto u32 = [](int64_t value) { return static_cast<uint32_t>(value); };
  const auto size = [](int64_t value) { return static_cast<size_t>(value); };
  const bool depthwise = p.groups > 1 && p.groups == p.in_channels && p.out_channels == p.in_channels;
  const int64_t weight_size = WeightType(workload.dtype).bits / 8;
  const int64_t depth = p.kernel[1] * p.kernel[2] * p.in_channels / p.groups;
  std::vector<char> weights(operands.weight.data<char>(),
                            operands.weight.data<char>() + depth * p.out_channels * weight_size);
  // The library wants the output channels outermost, except here.
  const bool as_it_is = depthwise && !p.transposed;
  if (!as_it_is) weights = Transpose(weights.data(), depth, p.out_channels, weight_size);
  if (workload.dtype == DType::kInt8Q) MakeUnsigned(weights);

  Creation creation = {workload, weights.data()};
  if (as_it_is) creation.flags = XNN_FLAG_DEPTHWISE_CONVOLUTION;
  if (p.normalized) {
    creation.bias = operands.parameters.data<float>();
    creation.least = 0;
  }
  const auto create = [&](auto f32, auto qs8, auto qu8, xnn_operator_t* op) {
    return Create(f32, qs8, qu8, creation, op, u32(p.padding[1]), u32(p.padding[2]), u32(p.padding[1]),
                  u32(p.padding[2]), u32(p.kernel[1]), u32(p.kernel[2]), u32(p.stride), u32(p.stride), u32(p.dilation),
                  u32(p.dilation), u32(p.groups), size(p.in_channels / p.groups), size(p.out_channels / p.groups),
                  size(p.in_channels), size(p.out_channels));
  };
  const size_t batch = size(p.batch), height = size(p.in[1]), width = size(p.in[2]);
  xnn_operator_t op = nullptr;
  xnn_status status;
  XnnStep step;
  if (p.transposed) {
    status = create(xnn_create_deconvolution2d_nhwc_f32, xnn_create_deconvolution2d_nhwc_qs8,
                    xnn_create_deconvolution2d_nhwc_qu8, &op);
    step.setup =
        SetupOf(workload.dtype, xnn_setup_deconvolution2d_nhwc_f32, xnn_setup_deconvolution2d_nhwc_qs8,
                xnn_setup_deconvolution2d_nhwc_qu8, batch, height, width, /*adjustment_height=*/0u, /*..._width=*/0u);
  } else {
    status = create(xnn_create_convolution2d_nhwc_f32, xnn_create_convolution2d_nhwc_qs8,
                    xnn_create_convolution2d_nhwc_qu8, &op);
    step.setup = SetupOf(workload.dtype, xnn_setup_convolution2d_nhwc_f32, xnn_setup_convolution2d_nhwc_qs8,
                         xnn_setup_convolution2d_nhwc_qu8, batch, height, width);
  }
  TW_RETURN_IF_ERROR(StatusOf(status));
  step.op.reset(op);
  std::vector<XnnStep> steps;
  steps.push_back(std::move(step));
  return steps;
}

absl::StatusOr<std::vector<XnnStep>> MakeRows(const RowProblem& p, DType dtype) {
  if (p.function != RowFunction::kSoftmax) {
    return absl::UnimplementedError("XNNPACK has no norms of rows and no GELU");
  }
  if (dtype != DType::kF32) return absl::UnimplementedError("XNNPACK's softmax of integers has steps of 1/256 only");
  const auto columns = static_cast<size_t>(p.columns), rows = static_cast<size_t>(p.rows);
  xnn_operator_t op = nullptr;
  const xnn_status status = xnn_create_softmax_nc_f32(columns, columns, columns, /*flags=*/0, &op);
  TW_RETURN_IF_ERROR(StatusOf(status));
  std::vector<XnnStep> steps(1);
  steps[0].op.reset(op);
  steps[0].setup = [rows](xnn_operator_t softmax, const void* input, void* output, pthreadpool_t pool) {
    return xnn_setup_softmax_nc_f32(softmax, rows, static_cast<const float*>(input), static_cast<float*>(output), pool);
  };
  return steps;
}

}  // namespace

absl::StatusOr<std::vector<XnnStep>> MakeXnnSteps(const Workload& workload, const Operands& operands) {
  if (workload.dtype != DType::kF32 && !IsRequantized(workload.dtype)) {
    return absl::UnimplementedError(absl::StrCat("XNNPACK has no ", std::string(Name(workload.dtype)),
                                                 ": only f32 and requantized 8-bit integers"));
  }
  if (const auto* matmul = std::get_if<MatmulProblem>(&workload.problem)) {
    return MakeMatmul(*matmul, workload, operands);
  }
  if (const auto* rows = std::get_if<RowProblem>(&workload.problem)) return MakeRows(*rows, workload.dtype);
  if (std::holds_alternative<AttentionProblem>(workload.problem)) {
    return absl::UnimplementedError("XNNPACK has no attention");
  }
  const auto& conv = std::get<ConvolutionProblem>(workload.problem);
  if (!conv.normalized) return MakeConvolution(conv, workload, operands);
  if (workload.dtype != DType::kF32) {
    return absl::UnimplementedError("XNNPACK has no scales of either sign for the channels of integer sums");
  }
  TW_ASSIGN_OR_RETURN(const Operands folded, FoldNormalization(workload, operands));
  return MakeConvolution(conv, workload, folded);
}

}  // namespace tilewright::bench
