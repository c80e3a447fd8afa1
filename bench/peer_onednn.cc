#include "bench/peer_onednn.h"

#include <cstring>
#include <dnnl.hpp>
#include <optional>
#include <string>
#include <unordered_map>
#include <utility>
#include <variant>
#include <vector>

#include "absl/status/status.h"
#include "absl/strings/str_cat.h"

namespace tilewright::bench {
namespace {

using dnnl::memory;
using runtime::Tensor;
using Dims = memory::dims;

// The library's view of the operands in the layouts of the workload.
struct PlainDescriptors {
  memory::desc source, weights, destination;
};

// A primitive and the layouts that it wants.
struct Plan {
  std::string variant;
  dnnl::primitive primitive;
  memory::desc source, weights, destination;
  // The primitive calls the first dimension of the weights the second; see SwapDimensions().
  bool swaps_weights = false;
};

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

PlainDescriptors DescribeMatmul(const MatmulProblem& p, DType dtype) {
  const memory::data_type source = LibraryType(ActivationType(dtype)), weights = LibraryType(WeightType(dtype));
  const memory::data_type destination = LibraryType(OutputType(dtype));
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

PlainDescriptors DescribeConvolution(const ConvolutionProblem& p, DType dtype) {
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
  return {.source = ChannelsLast(source, LibraryType(ActivationType(dtype))),
          .weights = {weights, LibraryType(WeightType(dtype)), weight_strides},
          .destination = ChannelsLast(destination, LibraryType(OutputType(dtype)))};
}

// Makes the plan, unless the library has no implementation of it.
template <typename Primitive>
std::optional<Plan> MakePlan(const char* variant, const typename Primitive::desc& description,
                             const dnnl::engine& engine) {
  const typename Primitive::primitive_desc primitive(description, engine, /*allow_empty=*/true);
  if (!primitive) return std::nullopt;
  return Plan{.variant = variant,
              .primitive = Primitive(primitive),
              .source = primitive.src_desc(),
              .weights = primitive.weights_desc(),
              .destination = primitive.dst_desc()};
}

std::optional<Plan> PlanMatmul(const MatmulProblem& p, const PlainDescriptors& plain, bool any,
                               const dnnl::engine& engine) {
  const memory::desc weights = p.b_constant ? AnyLayout(plain.weights) : plain.weights;
  if (any) {
    return MakePlan<dnnl::matmul>("any", {AnyLayout(plain.source), weights, AnyLayout(plain.destination)}, engine);
  }
  return MakePlan<dnnl::matmul>("plain", {plain.source, weights, plain.destination}, engine);
}

// The weights of an inner product are [n, k]; only the names of the dimensions change, not the memory.
memory::desc SwapDimensions(const memory::desc& plain) { return plain.permute_axes({1, 0}); }

std::optional<Plan> PlanInnerProduct(const PlainDescriptors& plain, const dnnl::engine& engine) {
  std::optional<Plan> plan = MakePlan<dnnl::inner_product_forward>(
      "inner_product",
      {dnnl::prop_kind::forward_inference, plain.source, AnyLayout(SwapDimensions(plain.weights)), plain.destination},
      engine);
  if (plan.has_value()) plan->swaps_weights = true;
  return plan;
}

std::optional<Plan> PlanConvolution(const ConvolutionProblem& p, const PlainDescriptors& plain, bool any,
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
  const memory::desc source = any ? AnyLayout(plain.source) : plain.source;
  const memory::desc destination = any ? AnyLayout(plain.destination) : plain.destination;
  const memory::desc weights = AnyLayout(plain.weights);
  const char* variant = any ? "any" : "plain";
  if (p.transposed) {
    return MakePlan<dnnl::deconvolution_forward>(
        variant,
        {dnnl::prop_kind::forward_inference, dnnl::algorithm::deconvolution_direct, source, weights, destination,
         strides, dilation, padding, far_padding},
        engine);
  }
  return MakePlan<dnnl::convolution_forward>(variant,
                                             {dnnl::prop_kind::forward_inference, dnnl::algorithm::convolution_direct,
                                              source, weights, destination, strides, dilation, padding, far_padding},
                                             engine);
}

class OneDnnRunner : public Runner {
 public:
  OneDnnRunner(const dnnl::engine& engine, Plan plan, PlainDescriptors plain, const Operands& operands, int num_sets)
      : engine_(engine), stream_(engine), plan_(std::move(plan)), plain_(std::move(plain)) {
    weights_ = memory(plan_.weights, engine_);
    Reorder(plan_.swaps_weights ? SwapDimensions(plain_.weights) : plain_.weights, operands.weight.data<char>(),
            weights_);
    for (int i = 0; i < num_sets; ++i) {
      memory source(plan_.source, engine_), destination(plan_.destination, engine_);
      Reorder(plain_.source, operands.activation.data<char>(), source);
      std::memset(destination.get_data_handle(), 0, plan_.destination.get_size());
      arguments_.push_back({{DNNL_ARG_SRC, source}, {DNNL_ARG_WEIGHTS, weights_}, {DNNL_ARG_DST, destination}});
    }
  }

  std::string variant() const override { return plan_.variant; }

  void Run(int set) override {
    plan_.primitive.execute(stream_, arguments_[static_cast<size_t>(set)]);
    stream_.wait();
  }

  void SpoilOutput(int set) override {
    std::memset(Destination(set).get_data_handle(), 0xFF, plan_.destination.get_size());
  }

  absl::Status CopyOutput(int set, Tensor& output) override {
    memory plain(plain_.destination, engine_, output.data<char>());
    memory destination = Destination(set);
    dnnl::reorder(destination, plain).execute(stream_, destination, plain);
    stream_.wait();
    return absl::OkStatus();
  }

 private:
  memory Destination(int set) { return arguments_[static_cast<size_t>(set)].at(DNNL_ARG_DST); }

  // The library reads through pointers that are not const.
  void Reorder(const memory::desc& from, const char* elements, memory& to) {
    memory source(from, engine_, const_cast<char*>(elements));
    dnnl::reorder(source, to).execute(stream_, source, to);
    stream_.wait();
  }

  const dnnl::engine engine_;
  dnnl::stream stream_;
  const Plan plan_;
  const PlainDescriptors plain_;
  memory weights_;
  std::vector<std::unordered_map<int, memory>> arguments_;
};

class OneDnn : public Implementation {
 public:
  std::string name() const override { return "onednn"; }

  std::string version() const override {
    const dnnl_version_t* version = dnnl_version();
    return absl::StrCat(version->major, ".", version->minor, ".", version->patch);
  }

  absl::StatusOr<std::vector<std::unique_ptr<Runner>>> Prepare(const Workload& workload, const Operands& operands,
                                                               const RunSettings& settings) override {
    // The library reports by exceptions; none may leave this file.
    try {
      return PrepareOrThrow(workload, operands, settings);
    } catch (const dnnl::error& error) {
      return absl::InternalError(absl::StrCat("oneDNN: ", error.what()));
    }
  }

 private:
  absl::StatusOr<std::vector<std::unique_ptr<Runner>>> PrepareOrThrow(const Workload& workload,
                                                                      const Operands& operands,
                                                                      const RunSettings& settings) {
    std::vector<std::optional<Plan>> plans;
    PlainDescriptors plain;
    if (const auto* matmul = std::get_if<MatmulProblem>(&workload.problem)) {
      plain = DescribeMatmul(*matmul, workload.dtype);
      plans = {PlanMatmul(*matmul, plain, /*any=*/false, engine_), PlanMatmul(*matmul, plain, /*any=*/true, engine_)};
      if (matmul->batch == 1 && matmul->b_constant) plans.push_back(PlanInnerProduct(plain, engine_));
    } else if (const auto* conv = std::get_if<ConvolutionProblem>(&workload.problem); conv && !conv->normalized) {
      plain = DescribeConvolution(*conv, workload.dtype);
      plans = {PlanConvolution(*conv, plain, /*any=*/false, engine_),
               PlanConvolution(*conv, plain, /*any=*/true, engine_)};
    } else {
      return absl::UnimplementedError(
          absl::StrCat(std::string(Name(workload.shape.op)), " is not connected to oneDNN yet"));
    }
    std::vector<std::unique_ptr<Runner>> runners;
    for (std::optional<Plan>& plan : plans) {
      if (!plan.has_value()) continue;
      runners.push_back(std::make_unique<OneDnnRunner>(engine_, *std::move(plan), plain, operands, settings.num_sets));
    }
    if (runners.empty()) {
      return absl::UnimplementedError(absl::StrCat("oneDNN has no ", std::string(Name(workload.shape.op)), " in ",
                                                   std::string(Name(workload.dtype)), " on this CPU"));
    }
    return runners;
  }

  const dnnl::engine engine_ = dnnl::engine(dnnl::engine::kind::cpu, 0);
};

}  // namespace

std::unique_ptr<Implementation> MakeOneDnn() { return std::make_unique<OneDnn>(); }

}  // namespace tilewright::bench
