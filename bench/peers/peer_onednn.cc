#include "bench/peers/peer_onednn.h"

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
#include "base/status_macros.h"
#include "bench/peers/fold_normalization.h"
#include "bench/peers/onednn_plan.h"

namespace tilewright::bench {
namespace {

using dnnl::memory;
using runtime::Tensor;

// Arguments of a primitive by the library's numbers for them.
using Arguments = std::unordered_map<int, memory>;

class OneDnnRunner : public Runner {
 public:
  OneDnnRunner(const dnnl::engine& engine, Plan plan, PlainDescriptors plain, const Operands& operands,
               const Arguments& constants, int num_sets)
      : engine_(engine), stream_(engine), plan_(std::move(plan)), plain_(std::move(plain)) {
    Arguments arguments = constants;
    if (!plain_.weights.dims().empty()) {
      const memory weights(plan_.weights, engine_);
      Reorder(plan_.swaps_weights ? SwapDimensions(plain_.weights) : plain_.weights, operands.weight.data<char>(),
              weights);
      arguments[DNNL_ARG_WEIGHTS] = weights;
    }
    for (int i = 0; i < num_sets; ++i) {
      const memory source(plan_.source, engine_), destination(plan_.destination, engine_);
      Reorder(plain_.source, operands.activation.data<char>(), source);
      std::memset(destination.get_data_handle(), 0, plan_.destination.get_size());
      arguments[DNNL_ARG_SRC] = source;
      arguments[DNNL_ARG_DST] = destination;
      arguments_.push_back(arguments);
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
  void Reorder(const memory::desc& from, const char* elements, memory to) {
    memory source(from, engine_, const_cast<char*>(elements));
    dnnl::reorder(source, to).execute(stream_, source, to);
    stream_.wait();
  }

  const dnnl::engine engine_;
  dnnl::stream stream_;
  const Plan plan_;
  const PlainDescriptors plain_;
  std::vector<Arguments> arguments_;
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
    const TwDataType type = ActivationType(workload.dtype);
    if (type.code == kTwFloat8E4M3 || (type.code == kTwFloat && type.bits == 16)) return Missing(workload);
    if (std::holds_alternative<AttentionProblem>(workload.problem)) return Missing(workload);
    const PlainDescriptors plain = Describe(workload);
    Arguments constants;
    std::optional<Operands> folded;
    if (const auto* conv = std::get_if<ConvolutionProblem>(&workload.problem); conv && conv->normalized) {
      if (workload.dtype == DType::kF32) {
        TW_ASSIGN_OR_RETURN(Operands made, FoldNormalization(workload, operands));
        folded = std::move(made);
        constants[DNNL_ARG_BIAS] = MakeMemory(plain.bias, folded->parameters.data<float>());
      } else {
        TW_ASSIGN_OR_RETURN(const Tensor parameters, FoldOffset(operands.parameters));
        constants[DNNL_ARG_BIAS] = MakeMemory(plain.bias, parameters.data<float>());
        constants[DNNL_ARG_ATTR_MULTIPLE_POST_OP(0) | DNNL_ARG_SRC_1] =
            MakeMemory(plain.scale, parameters.data<float>() + conv->out_channels);
      }
    }
    if (const auto* rows = std::get_if<RowProblem>(&workload.problem);
        rows && rows->function == RowFunction::kLayerNorm) {
      constants[DNNL_ARG_SCALE_SHIFT] = MakeMemory({{2, rows->columns}, memory::data_type::f32, memory::format_tag::ab},
                                                   operands.parameters.data<float>());
    }
    std::vector<std::unique_ptr<Runner>> runners;
    for (Plan& plan : MakePlans(workload, plain, operands.parameters, engine_)) {
      runners.push_back(std::make_unique<OneDnnRunner>(engine_, std::move(plan), plain, folded ? *folded : operands,
                                                       constants, settings.num_sets));
    }
    if (runners.empty()) return Missing(workload);
    return runners;
  }

  static absl::Status Missing(const Workload& workload) {
    return absl::UnimplementedError(absl::StrCat("oneDNN has no ", std::string(Name(workload.shape.op)), " in ",
                                                 std::string(Name(workload.dtype)), " on this CPU"));
  }

  // A memory of the library's own with the first elements from there on.
  memory MakeMemory(const memory::desc& descriptor, const float* elements) {
    const memory copy(descriptor, engine_);
    std::memcpy(copy.get_data_handle(), elements, descriptor.get_size());
    return copy;
  }

  const dnnl::engine engine_ = dnnl::engine(dnnl::engine::kind::cpu, 0);
};

}  // namespace

std::unique_ptr<Implementation> MakeOneDnn() { return std::make_unique<OneDnn>(); }

}  // namespace tilewright::bench
