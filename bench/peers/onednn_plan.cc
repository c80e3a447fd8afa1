#include "bench/peers/onednn_plan.h"

#include <optional>
#include <utility>
#include <variant>

#include "bench/operators/requantization.h"

namespace tilewright::bench {
namespace {

using dnnl::memory;
using Dims = memory::dims;
using runtime::Tensor;

memory::data_type LibraryType(TwDataType dtype) {
  if (dtype.code == kTwBfloat) return memory::data_type::bf16;
  if (dtype.code == kTwFloat) return memory::data_type::f32;
  if (dtype.bits == 32) return memory::data_type::s32;
  return dtype.code == kTwInt ? memory::data_type::s8 : memory::data_type::u8;
}

memory::desc AnyLayout(const memory::desc& plain) {
  return memory::desc(plain.dims(), plain.data_type(), memory::format_tag::any);
}

// Dims {N, C, spatial...} of a tensor that lies in memory as [N, spatial..., C].
memory::desc ChannelsLast(const Dims& dims, memory::data_type type) {
  Dims strides(dims.size());
  int64_t stride = strides[1] = 1;
  stride *= dims[1];
  for (size_t i = dims.size(); i-- > 2;) {
    strides[i] = stride;
    stride *= dims[i];
  }
  strides[0] = stride;
  return memory::desc(dims, type, strides);
}

// The library's types of the tensors of a workload.
struct LibraryTypes {
  explicit LibraryTypes(const Workload& workload)
      : source(LibraryType(ActivationType(workload.dtype))),
        weights(LibraryType(WeightType(workload.dtype))),
        destination(LibraryType(OutputType(workload))) {}

  memory::data_type source, weights, destination;
};

PlainDescriptors DescribeMatmul(const MatmulProblem& p, const LibraryTypes& types) {
  const auto [source, weights, destination] = types;
  if (!p.b_constant) {
    const int64_t images = p.batch / p.heads, row = p.heads * p.k;
    return {.source = {{images, p.heads, p.m, p.k}, source, Dims{p.m * row, p.k, row, 1}},
            .weights = {{images, p.heads, p.k, p.n}, weights, Dims{p.n * row, p.k, 1, row}},
            .destination = {{images, p.heads, p.m, p.n}, destination, memory::format_tag::abcd}};
  }
  const Dims weight_strides = p.b_transposed ? Dims{p.k * p.n, 1, p.k} : Dims{p.k * p.n, p.n, 1};
  // Two dimensions where they suffice: the library has faster code for them.
  if (p.batch == 1) {
    return {.source = {{p.m, p.k}, source, memory::format_tag::ab},
            .weights = {{p.k, p.n}, weights, Dims(weight_strides.begin() + 1, weight_strides.end())},
            .destination = {{p.m, p.n}, destination, memory::format_tag::ab}};
  }
  return {.source = {{p.batch, p.m, p.k}, source, memory::format_tag::abc},
          .weights = {{p.batch, p.k, p.n}, weights, weight_strides},
          .destination = {{p.batch, p.m, p.n}, destination, memory::format_tag::abc}};
}

PlainDescriptors DescribeConvolution(const ConvolutionProblem& p, const LibraryTypes& types) {
  const int64_t group_in = p.in_channels / p.groups, group_out = p.out_channels / p.groups;
  Dims source = {p.batch, p.in_channels}, destination = {p.batch, p.out_channels};
  Dims weights = {group_out, group_in}, weight_strides = {1, p.out_channels};
  for (size_t i = static_cast<size_t>(3 - p.spatial_rank); i < 3; ++i) {
    source.push_back(p.in[i]);
    destination.push_back(p.out[i]);
    weights.push_back(p.kernel[i]);
    int64_t stride = group_in * p.out_channels;
    for (size_t inner = i + 1; inner < 3; ++inner) stride *= p.kernel[inner];
    weight_strides.push_back(stride);
  }
  if (p.groups > 1) {
    weights.insert(weights.begin(), p.groups);
    weight_strides.insert(weight_strides.begin(), group_out);
  }
  Dims one_a_channel(source.size(), 1);
  one_a_channel[1] = p.out_channels;
  return {.source = ChannelsLast(source, types.source),
          .weights = {weights, types.weights, weight_strides},
          .destination = ChannelsLast(destination, types.destination),
          .bias = {{p.out_channels}, memory::data_type::f32, memory::format_tag::a},
          .scale = ChannelsLast(one_a_channel, memory::data_type::f32)};
}

PlainDescriptors DescribeRows(const RowProblem& p, const LibraryTypes& types) {
  const int64_t out_columns = p.function == RowFunction::kRowNorm ? 1 : p.columns;
  return {.source = {{p.rows, p.columns}, types.source, memory::format_tag::ab},
          .weights = {},
          .destination = {{p.rows, out_columns}, types.destination, memory::format_tag::ab}};
}

// Makes the plan, unless the library has no implementation of it.
template <typename Primitive>
std::optional<Plan> MakePlan(const char* variant, const typename Primitive::desc& description,
                             const dnnl::engine& engine, const dnnl::primitive_attr& attributes = {}) {
  const typename Primitive::primitive_desc primitive(description, attributes, engine, /*allow_empty=*/true);
  if (!primitive) return std::nullopt;
  // Through the base class, which has this method for primitives without weights too.
  const dnnl::primitive_desc_base& base = primitive;
  return Plan{.variant = variant,
              .primitive = Primitive(primitive),
              .source = primitive.src_desc(),
              .weights = base.weights_desc(0),
              .destination = primitive.dst_desc()};
}

// What happens to the sums of products, or to the elements of rows: requantization, and the scales and the ReLU of a
// normalized convolution.
dnnl::primitive_attr AfterSums(const Workload& workload, const PlainDescriptors& plain, const Tensor& parameters) {
  dnnl::primitive_attr attributes;
  const float step = IsRequantized(workload.dtype) ? RequantizationOf(workload).scale : 1;
  if (step != 1) attributes.set_output_scales(/*mask: one for all=*/0, {step});
  if (const auto* conv = std::get_if<ConvolutionProblem>(&workload.problem); conv != nullptr && conv->normalized) {
    dnnl::post_ops operations;
    if (IsInteger(workload.dtype)) {
      const float* scale = parameters.data<float>() + conv->out_channels;
      std::vector<float> scales(scale, scale + conv->out_channels);
      for (float& s : scales) s *= step;
      attributes.set_output_scales(/*mask: one for each of dimension 1=*/1 << 1, scales);
    } else if (workload.dtype != DType::kF32) {
      operations.append_binary(dnnl::algorithm::binary_mul, plain.scale);
    }
    operations.append_eltwise(/*scale=*/1, dnnl::algorithm::eltwise_relu, /*alpha=*/0, /*beta=*/0);
    attributes.set_post_ops(operations);
  }
  return attributes;
}

std::optional<Plan> PlanMatmul(const MatmulProblem& p, const PlainDescriptors& plain, bool any,
                               const dnnl::primitive_attr& attributes, const dnnl::engine& engine) {
  const memory::desc weights = p.b_constant ? AnyLayout(plain.weights) : plain.weights;
  if (any) {
    return MakePlan<dnnl::matmul>("any", {AnyLayout(plain.source), weights, AnyLayout(plain.destination)}, engine,
                                  attributes);
  }
  return MakePlan<dnnl::matmul>("plain", {plain.source, weights, plain.destination}, engine, attributes);
}

std::optional<Plan> PlanInnerProduct(const PlainDescriptors& plain, const dnnl::primitive_attr& attributes,
                                     const dnnl::engine& engine) {
  std::optional<Plan> plan = MakePlan<dnnl::inner_product_forward>(
      "inner_product",
      {dnnl::prop_kind::forward_inference, plain.source, AnyLayout(SwapDimensions(plain.weights)), plain.destination},
      engine, attributes);
  if (plan.has_value()) plan->swaps_weights = true;
  return plan;
}

// How the library is to compute a convolution; `any`: in layouts of its choice.
struct ConvolutionVariant {
  const char* name;
  bool any;
  dnnl::algorithm algorithm;
};
constexpr ConvolutionVariant kConvolutionVariants[] = {
    {"plain", false, dnnl::algorithm::convolution_direct},
    {"any", true, dnnl::algorithm::convolution_direct},
    {"winograd", true, dnnl::algorithm::convolution_winograd},
};

std::optional<Plan> PlanConvolution(const ConvolutionProblem& p, const PlainDescriptors& plain,
                                    const ConvolutionVariant& variant, const dnnl::primitive_attr& attributes,
                                    const dnnl::engine& engine) {
  const size_t rank = static_cast<size_t>(p.spatial_rank);
  const Dims strides(rank, p.stride), dilation(rank, p.dilation - 1), padding(p.padding.end() - rank, p.padding.end());
  // A stride may leave a rest at the far end of the input.
  Dims far_padding(rank);
  for (size_t i = 0; i < rank; ++i) {
    const size_t axis = 3 - rank + i;
    const int64_t reach = p.dilation * (p.kernel[axis] - 1) + 1;
    far_padding[i] =
        p.transposed ? p.padding[axis] : (p.out[axis] - 1) * p.stride + reach - p.in[axis] - p.padding[axis];
  }
  const memory::desc source = variant.any ? AnyLayout(plain.source) : plain.source;
  const memory::desc destination = variant.any ? AnyLayout(plain.destination) : plain.destination;
  const memory::desc weights = AnyLayout(plain.weights);
  if (p.transposed) {
    if (variant.algorithm != dnnl::algorithm::convolution_direct) return std::nullopt;
    return MakePlan<dnnl::deconvolution_forward>(
        variant.name,
        {dnnl::prop_kind::forward_inference, dnnl::algorithm::deconvolution_direct, source, weights, destination,
         strides, dilation, padding, far_padding},
        engine, attributes);
  }
  if (p.normalized) {
    return MakePlan<dnnl::convolution_forward>(variant.name,
                                               {dnnl::prop_kind::forward_inference, variant.algorithm, source, weights,
                                                plain.bias, destination, strides, dilation, padding, far_padding},
                                               engine, attributes);
  }
  return MakePlan<dnnl::convolution_forward>(variant.name,
                                             {dnnl::prop_kind::forward_inference, variant.algorithm, source, weights,
                                              destination, strides, dilation, padding, far_padding},
                                             engine, attributes);
}

std::optional<Plan> PlanRows(const RowProblem& p, const PlainDescriptors& plain, const dnnl::primitive_attr& attributes,
                             const dnnl::engine& engine) {
  constexpr auto kKind = dnnl::prop_kind::forward_inference;
  // The library refuses to describe norms and activations that it does not have.
  const bool norms =
      plain.source.data_type() == plain.destination.data_type() &&
      (plain.source.data_type() == memory::data_type::f32 || plain.source.data_type() == memory::data_type::bf16);
  if (p.function != RowFunction::kSoftmax && !norms) return std::nullopt;
  switch (p.function) {
    case RowFunction::kSoftmax:
      return MakePlan<dnnl::softmax_v2_forward>(
          "plain", {kKind, dnnl::algorithm::softmax_accurate, plain.source, plain.destination, /*axis=*/1}, engine,
          attributes);
    case RowFunction::kRowNorm:
      return MakePlan<dnnl::reduction>(
          "plain",
          {dnnl::algorithm::reduction_norm_lp_sum, plain.source, plain.destination, /*p=*/2.0f, /*epsilon=*/0.0f},
          engine);
    case RowFunction::kLayerNorm:
      return MakePlan<dnnl::layer_normalization_forward>(
          "plain",
          {kKind, plain.source, static_cast<float>(kLayerNormEpsilon), dnnl::normalization_flags::use_scale_shift},
          engine);
    case RowFunction::kGelu:
      return MakePlan<dnnl::eltwise_forward>(
          "plain", {kKind, dnnl::algorithm::eltwise_gelu_erf, plain.source, /*alpha=*/0.0f, /*beta=*/0.0f}, engine);
  }
  return std::nullopt;
}

}  // namespace

memory::desc SwapDimensions(const memory::desc& plain) { return plain.permute_axes({1, 0}); }

PlainDescriptors Describe(const Workload& workload) {
  const LibraryTypes types(workload);
  if (const auto* matmul = std::get_if<MatmulProblem>(&workload.problem)) {
    return DescribeMatmul(*matmul, types);
  }
  if (const auto* conv = std::get_if<ConvolutionProblem>(&workload.problem)) {
    return DescribeConvolution(*conv, types);
  }
  return DescribeRows(std::get<RowProblem>(workload.problem), types);
}

std::vector<Plan> MakePlans(const Workload& workload, const PlainDescriptors& plain, const Tensor& parameters,
                            const dnnl::engine& engine) {
  const dnnl::primitive_attr attributes = AfterSums(workload, plain, parameters);
  std::vector<std::optional<Plan>> candidates;
  if (const auto* matmul = std::get_if<MatmulProblem>(&workload.problem)) {
    for (bool any : {false, true}) candidates.push_back(PlanMatmul(*matmul, plain, any, attributes, engine));
    if (matmul->batch == 1 && matmul->b_constant) candidates.push_back(PlanInnerProduct(plain, attributes, engine));
  } else if (const auto* conv = std::get_if<ConvolutionProblem>(&workload.problem)) {
    for (const ConvolutionVariant& variant : kConvolutionVariants) {
      // Only f32, as ours, which takes no other type's sums apart either.
      if (variant.algorithm == dnnl::algorithm::convolution_winograd && workload.dtype != DType::kF32) continue;
      candidates.push_back(PlanConvolution(*conv, plain, variant, attributes, engine));
    }
  } else {
    candidates.push_back(PlanRows(std::get<RowProblem>(workload.problem), plain, attributes, engine));
  }
  std::vector<Plan> plans;
  for (std::optional<Plan>& candidate : candidates) {
    if (candidate.has_value()) plans.push_back(*std::move(candidate));
  }
  return plans;
}

}  // namespace tilewright::bench
