// Arm Compute Library for AArch64, on one thread.
#include <arm_compute/core/utils/quantization/AsymmHelpers.h>
#include <arm_compute/runtime/NEON/NEFunctions.h>
#include <arm_compute/runtime/NEON/NEScheduler.h>
#include <arm_compute/runtime/Tensor.h>

#include <cstring>
#include <string>
#include <utility>
#include <variant>
#include <vector>

#include "absl/strings/str_cat.h"
#include "base/status_macros.h"
#include "bench/operators/requantization.h"
#include "bench/peers/arm/library.h"
#include "bench/peers/fold_normalization.h"

namespace tilewright::bench {
namespace {

namespace acl = arm_compute;

constexpr int kWeightZeroPoint = 128;

// One function of the library on tensors of its own. The library asks for padding of tensors when a function is
// configured, so they are allocated and filled after that.
struct Step {
  acl::Tensor activation, weight, bias, output;
  std::unique_ptr<acl::IFunction> function;
  // In elements from the start of the activation and of the output.
  int64_t input_offset = 0, output_offset = 0;
};

absl::Status StatusOf(const acl::Status& status) {
  if (static_cast<bool>(status)) return absl::OkStatus();
  return absl::UnimplementedError(absl::StrCat("Arm Compute Library refuses it: ", status.error_description()));
}

int64_t BytesOfElement(const acl::Tensor& tensor) { return static_cast<int64_t>(tensor.info()->element_size()); }

// Calls `copy(place in the tensor, place in compact memory, bytes)` for each row of the tensor.
template <typename Copy>
void ForEachRow(acl::Tensor& tensor, char* compact, const Copy& copy) {
  acl::Window rows;
  rows.use_tensor_dimensions(tensor.info()->tensor_shape());
  rows.set(acl::Window::DimX, acl::Window::Dimension(0, 1, 1));
  const auto bytes = tensor.info()->dimension(0) * tensor.info()->element_size();
  acl::execute_window_loop(rows, [&](const acl::Coordinates& row) {
    copy(reinterpret_cast<char*>(tensor.ptr_to_element(row)), compact, bytes);
    compact += bytes;
  });
}

void Fill(acl::Tensor& tensor, const char* compact) {
  tensor.allocator()->allocate();
  ForEachRow(tensor, const_cast<char*>(compact),
             [](char* row, const char* from, size_t bytes) { std::memcpy(row, from, bytes); });
}

// Elements of `size` bytes, `rows` x `columns`, transposed.
std::vector<char> Transpose(const char* elements, int64_t rows, int64_t columns, int64_t size) {
  std::vector<char> transposed(static_cast<size_t>(rows * columns * size));
  for (int64_t r = 0; r < rows; ++r) {
    for (int64_t c = 0; c < columns; ++c) {
      std::memcpy(&transposed[static_cast<size_t>((c * rows + r) * size)], &elements[(r * columns + c) * size],
                  static_cast<size_t>(size));
    }
  }
  return transposed;
}

// How the tensors of a data type are described. The library multiplies unsigned integers by unsigned ones: a signed
// weight is one with a zero point.
class Types {
 public:
  explicit Types(const Workload& workload) : workload_(workload) {}

  bool flips_weights() const { return workload_.dtype == DType::kInt8 || workload_.dtype == DType::kInt8Q; }
  acl::DataType type() const {
    if (workload_.dtype == DType::kF32) return acl::DataType::F32;
    return flips_weights() ? acl::DataType::QASYMM8 : acl::DataType::QASYMM8_SIGNED;
  }
  acl::DataType output_type() const {
    return IsInteger(workload_.dtype) && !IsRequantized(workload_.dtype) ? acl::DataType::S32 : type();
  }
  acl::TensorInfo Activation(const acl::TensorShape& shape) const { return Info(shape, type(), 1, 0); }
  // Layers subtract the zero point, products of matrices add the number that stands in its place.
  acl::TensorInfo Weight(const acl::TensorShape& shape, int sign = 1) const {
    return Info(shape, type(), 1, flips_weights() ? sign * kWeightZeroPoint : 0);
  }
  acl::TensorInfo Output(const acl::TensorShape& shape) const {
    const float scale = IsRequantized(workload_.dtype) ? 1 / RequantizationOf(workload_).scale : 1;
    return Info(shape, output_type(), scale, 0);
  }
  // The weights as the library has them.
  std::vector<char> Weights(const char* elements, int64_t count) const {
    std::vector<char> weights(elements, elements + count * WeightType(workload_.dtype).bits / 8);
    if (flips_weights()) {
      for (char& weight : weights) weight = static_cast<char>(static_cast<uint8_t>(weight) ^ kWeightZeroPoint);
    }
    return weights;
  }

 private:
  acl::TensorInfo Info(const acl::TensorShape& shape, acl::DataType type, float scale, int offset) const {
    acl::TensorInfo info(shape, 1, type, acl::DataLayout::NHWC);
    if (IsInteger(workload_.dtype)) info.set_quantization_info(acl::QuantizationInfo(scale, offset));
    return info;
  }

  const Workload& workload_;
};

class AclPeer : public LibraryPeer {
 public:
  explicit AclPeer(std::vector<std::unique_ptr<Step>> steps) : steps_(std::move(steps)) {}

  absl::Status Run() override {
    for (const auto& step : steps_) step->function->run();
    return absl::OkStatus();
  }
  void SpoilOutput() override {
    for (const auto& step : steps_) {
      ForEachRow(step->output, nullptr, [](char* row, const char*, size_t bytes) { std::memset(row, 0xFF, bytes); });
    }
  }
  void CopyOutput(runtime::Tensor& output) override {
    for (const auto& step : steps_) {
      ForEachRow(step->output, output.data<char>() + step->output_offset * BytesOfElement(step->output),
                 [](const char* row, char* to, size_t bytes) { std::memcpy(to, row, bytes); });
    }
  }

 private:
  std::vector<std::unique_ptr<Step>> steps_;
};

acl::TensorShape ShapeOf(std::initializer_list<int64_t> extents) {
  acl::TensorShape shape;
  size_t i = 0;
  for (const int64_t extent : extents) shape.set(i++, static_cast<size_t>(extent), /*apply_dim_correction=*/false);
  return shape;
}

// From the sums to 8-bit integers, by an integer multiplier and a shift as the library does it.
absl::StatusOr<acl::GEMMLowpOutputStageInfo> OutputStage(const Workload& workload, acl::DataType type) {
  const Requantization q = RequantizationOf(workload);
  acl::GEMMLowpOutputStageInfo stage;
  stage.type = acl::GEMMLowpOutputStageType::QUANTIZE_DOWN_FIXEDPOINT;
  stage.gemmlowp_min_bound = q.least;
  stage.gemmlowp_max_bound = q.greatest;
  stage.output_data_type = type;
  TW_RETURN_IF_ERROR(StatusOf(
      acl::quantization::calculate_quantized_multiplier(q.scale, &stage.gemmlowp_multiplier, &stage.gemmlowp_shift)));
  return stage;
}

absl::StatusOr<std::vector<std::unique_ptr<Step>>> MakeMatmul(const MatmulProblem& p, const Workload& workload,
                                                              const Operands& operands) {
  if (!p.b_constant) return absl::UnimplementedError("products of two activations are not measured here");
  const Types types(workload);
  const int64_t weight_bytes = WeightType(workload.dtype).bits / 8;
  std::vector<std::unique_ptr<Step>> steps;
  for (int64_t i = 0; i < p.batch; ++i) {
    Step& step = *steps.emplace_back(std::make_unique<Step>());
    step.input_offset = i * p.m * p.k;
    step.output_offset = i * p.m * p.n;
    step.activation.allocator()->init(types.Activation(ShapeOf({p.k, p.m})));
    step.weight.allocator()->init(types.Weight(ShapeOf({p.n, p.k}), -1));
    step.output.allocator()->init(types.Output(ShapeOf({p.n, p.m})));
    const acl::ITensorInfo *a = step.activation.info(), *b = step.weight.info(), *c = step.output.info();
    acl::GEMMInfo info(/*is_a_reshaped=*/false, /*is_b_reshaped=*/false, /*reshape_b_only_on_first_run=*/true);
    if (workload.dtype == DType::kF32) {
      TW_RETURN_IF_ERROR(StatusOf(acl::NEGEMM::validate(a, b, nullptr, c, 1, 0, info)));
      auto function = std::make_unique<acl::NEGEMM>();
      function->configure(&step.activation, &step.weight, nullptr, &step.output, 1, 0, info);
      step.function = std::move(function);
    } else {
      if (IsRequantized(workload.dtype)) {
        TW_ASSIGN_OR_RETURN(auto stage, OutputStage(workload, types.type()));
        info.set_gemmlowp_output_stage(stage);
      }
      TW_RETURN_IF_ERROR(StatusOf(acl::NEGEMMLowpMatrixMultiplyCore::validate(a, b, nullptr, c, info)));
      auto function = std::make_unique<acl::NEGEMMLowpMatrixMultiplyCore>();
      function->configure(&step.activation, &step.weight, nullptr, &step.output, info);
      step.function = std::move(function);
    }
    std::vector<char> weights = types.Weights(operands.weight.data<char>() + i * p.k * p.n * weight_bytes, p.k * p.n);
    if (p.b_transposed) weights = Transpose(weights.data(), p.n, p.k, weight_bytes);
    Fill(step.weight, weights.data());
  }
  return steps;
}

// Configures one of the library's layers, which take the same arguments.
template <typename Layer, typename... Arguments>
absl::Status Configure(Step& step, const acl::Tensor* bias, const Arguments&... arguments) {
  const acl::ITensorInfo* bias_info = bias != nullptr ? bias->info() : nullptr;
  TW_RETURN_IF_ERROR(StatusOf(
      Layer::validate(step.activation.info(), step.weight.info(), bias_info, step.output.info(), arguments...)));
  auto layer = std::make_unique<Layer>();
  layer->configure(&step.activation, &step.weight, bias, &step.output, arguments...);
  step.function = std::move(layer);
  return absl::OkStatus();
}

absl::StatusOr<std::vector<std::unique_ptr<Step>>> MakeConvolution(const ConvolutionProblem& p,
                                                                   const Workload& workload, const Operands& operands) {
  if (p.spatial_rank > 2) return absl::UnimplementedError("Arm Compute Library 20.08 convolves in two dimensions only");
  if (IsInteger(workload.dtype) && !IsRequantized(workload.dtype)) {
    return absl::UnimplementedError("Arm Compute Library's convolutions of integers are requantized");
  }
  const bool depthwise = p.groups > 1 && p.groups == p.in_channels && p.out_channels == p.in_channels;
  const auto u32 = [](int64_t value) { return static_cast<unsigned int>(value); };
  const Types types(workload);
  std::vector<std::unique_ptr<Step>> steps;
  Step& step = *steps.emplace_back(std::make_unique<Step>());
  step.activation.allocator()->init(types.Activation(ShapeOf({p.in_channels, p.in[2], p.in[1], p.batch})));
  step.output.allocator()->init(types.Output(ShapeOf({p.out_channels, p.out[2], p.out[1], p.batch})));
  const int64_t window = p.kernel[1] * p.kernel[2], depth = window * p.in_channels / p.groups;
  std::vector<char> weights = types.Weights(operands.weight.data<char>(), depth * p.out_channels);
  if (depthwise) {
    step.weight.allocator()->init(types.Weight(ShapeOf({p.in_channels, p.kernel[2], p.kernel[1]})));
  } else {
    step.weight.allocator()->init(
        types.Weight(ShapeOf({p.in_channels / p.groups, p.kernel[2], p.kernel[1], p.out_channels})));
    weights = Transpose(weights.data(), depth, p.out_channels, WeightType(workload.dtype).bits / 8);
  }
  const acl::PadStrideInfo strides(u32(p.stride), u32(p.stride), u32(p.padding[2]), u32(p.padding[1]));
  const acl::Size2D dilation(u32(p.dilation), u32(p.dilation));
  acl::ActivationLayerInfo after;
  const acl::Tensor* bias = nullptr;
  if (p.normalized) {
    after = acl::ActivationLayerInfo(acl::ActivationLayerInfo::ActivationFunction::RELU);
    step.bias.allocator()->init(acl::TensorInfo(ShapeOf({p.out_channels}), 1, acl::DataType::F32));
    bias = &step.bias;
  }
  absl::Status status;
  if (p.transposed) {
    status = Configure<acl::NEDeconvolutionLayer>(step, bias, strides);
  } else if (depthwise) {
    const acl::ITensorInfo* bias_info = bias != nullptr ? bias->info() : nullptr;
    status = StatusOf(acl::NEDepthwiseConvolutionLayer::validate(step.activation.info(), step.weight.info(), bias_info,
                                                                 step.output.info(), strides, 1, after, dilation));
    if (status.ok()) {
      auto layer = std::make_unique<acl::NEDepthwiseConvolutionLayer>();
      layer->configure(&step.activation, &step.weight, bias, &step.output, strides, 1, after, dilation);
      step.function = std::move(layer);
    }
  } else {
    status = Configure<acl::NEConvolutionLayer>(step, bias, strides, acl::WeightsInfo(), dilation, after,
                                                /*enable_fast_math=*/false, u32(p.groups));
  }
  if (!status.ok()) return status;
  Fill(step.weight, weights.data());
  if (bias != nullptr) Fill(step.bias, operands.parameters.data<char>());
  return steps;
}

absl::StatusOr<std::vector<std::unique_ptr<Step>>> MakeRows(const RowProblem& p, const Workload& workload) {
  if (p.function != RowFunction::kSoftmax || workload.dtype != DType::kF32) {
    return absl::UnimplementedError("of the row operators only softmax in f32 is measured here");
  }
  const Types types(workload);
  std::vector<std::unique_ptr<Step>> steps;
  Step& step = *steps.emplace_back(std::make_unique<Step>());
  step.activation.allocator()->init(types.Activation(ShapeOf({p.columns, p.rows})));
  step.output.allocator()->init(types.Output(ShapeOf({p.columns, p.rows})));
  TW_RETURN_IF_ERROR(StatusOf(acl::NESoftmaxLayer::validate(step.activation.info(), step.output.info())));
  auto layer = std::make_unique<acl::NESoftmaxLayer>();
  layer->configure(&step.activation, &step.output);
  step.function = std::move(layer);
  return steps;
}

absl::StatusOr<std::vector<std::unique_ptr<Step>>> MakeSteps(const Workload& workload, const Operands& operands) {
  if (const auto* matmul = std::get_if<MatmulProblem>(&workload.problem)) {
    return MakeMatmul(*matmul, workload, operands);
  }
  if (const auto* rows = std::get_if<RowProblem>(&workload.problem)) return MakeRows(*rows, workload);
  if (std::holds_alternative<AttentionProblem>(workload.problem)) {
    return absl::UnimplementedError("Arm Compute Library has no attention");
  }
  const auto& conv = std::get<ConvolutionProblem>(workload.problem);
  if (!conv.normalized) return MakeConvolution(conv, workload, operands);
  if (workload.dtype != DType::kF32) {
    return absl::UnimplementedError("scales of either sign of integer sums are not measured here");
  }
  TW_ASSIGN_OR_RETURN(const Operands folded, FoldNormalization(workload, operands));
  return MakeConvolution(conv, workload, folded);
}

}  // namespace

absl::StatusOr<std::unique_ptr<LibraryPeer>> MakeLibraryPeer(const Workload& workload, const Operands& operands) {
  if (workload.dtype != DType::kF32 && !IsInteger(workload.dtype)) {
    return absl::UnimplementedError(absl::StrCat("Arm Compute Library is measured in f32 and 8-bit integers, not in ",
                                                 std::string(Name(workload.dtype))));
  }
  acl::NEScheduler::get().set_num_threads(1);
  TW_ASSIGN_OR_RETURN(auto steps, MakeSteps(workload, operands));
  for (const auto& step : steps) {
    Fill(step->activation, operands.activation.data<char>() + step->input_offset * BytesOfElement(step->activation));
    step->output.allocator()->allocate();
  }
  return std::make_unique<AclPeer>(std::move(steps));
}

}  // namespace tilewright::bench
