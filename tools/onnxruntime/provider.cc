// The library that ONNX Runtime loads: libtilewright_onnxruntime.so exports CreateEpFactories and ReleaseEpFactory.
//
// A factory makes one provider for each session. The provider offers sets of nodes (offers.h), which ONNX Runtime
// replaces by a node each, and gives it a kernel for each of these. Nothing is thrown across the border: errors are
// statuses of ONNX Runtime.
#include <cstdio>
#include <exception>
#include <map>
#include <memory>
#include <string>
#include <utility>
#include <vector>

#include "absl/strings/str_cat.h"
#include "base/status_macros.h"
#include "graph/onnx/model_file.h"
#include "tilewright/version.h"
#include "tools/onnxruntime/graph_reader.h"
#include "tools/onnxruntime/offers.h"
#include "tools/onnxruntime/options.h"
#include "tools/onnxruntime/ort_abi.h"
#include "tools/onnxruntime/set_program.h"

namespace tilewright::onnxruntime {
namespace {

constexpr char kName[] = "Tilewright";
constexpr char kOptionPrefix[] = "ep.tilewright.";

// What `body` returns, an absl::Status, as ONNX Runtime's.
template <class Body>
OrtStatus* Guarded(const Ort& api, const Body& body) {
  try {
    return api.Give(body());
  } catch (const std::exception& error) {
    return api.Give(absl::InternalError(error.what()));
  }
}

// --- Kernels: one for each set.

struct Kernel : OrtNodeComputeInfo {
  Kernel(const Ort& ort, std::shared_ptr<SetProgram> of) : api(ort), program(std::move(of)) {
    create_state = [](OrtNodeComputeInfo* self, OrtNodeComputeContext*, void** state) -> OrtStatus* {
      *state = self;
      return nullptr;
    };
    compute = [](OrtNodeComputeInfo* self, void*, OrtKernelContext* context) -> OrtStatus* {
      const auto& kernel = *static_cast<const Kernel*>(self);
      return Guarded(kernel.api, [&] { return kernel.Compute(context); });
    };
    release_state = [](OrtNodeComputeInfo*, void*) {};
  }

  // Matches the program's inputs and outputs with those of ONNX Runtime's node.
  absl::Status Bind(const std::vector<std::string>& names, const std::vector<std::string>& wanted,
                    std::vector<size_t>* numbers) const {
    for (const std::string& name : wanted) {
      size_t number = 0;
      while (number < names.size() && names[number] != name) ++number;
      if (number == names.size()) return absl::InternalError(absl::StrCat("the fused node lacks \"", name, "\""));
      numbers->push_back(number);
    }
    return absl::OkStatus();
  }

  absl::StatusOr<NDArray> Input(const OrtKernelContext* context, size_t number) const {
    const OrtValue* value = nullptr;
    OrtTensorTypeAndShapeInfo* found = nullptr;
    TW_RETURN_IF_ERROR(api.Do(ort::kKernelContextGetInput, context, number, &value));
    if (value == nullptr) return absl::InvalidArgumentError(absl::StrCat("input ", number, " is missing"));
    TW_RETURN_IF_ERROR(api.Do(ort::kGetTensorTypeAndShape, value, &found));
    const std::unique_ptr<OrtTensorTypeAndShapeInfo, void (*)(OrtTensorTypeAndShapeInfo*)> type(
        found, api[ort::kReleaseTensorTypeAndShapeInfo]);
    int element = 0;
    size_t rank = 0;
    TW_RETURN_IF_ERROR(api.Do(ort::kGetTensorElementType, type.get(), &element));
    TW_RETURN_IF_ERROR(api.Do(ort::kGetDimensionsCount, type.get(), &rank));
    std::vector<int64_t> shape(rank);
    if (rank > 0) TW_RETURN_IF_ERROR(api.Do(ort::kGetDimensions, type.get(), shape.data(), rank));
    TW_ASSIGN_OR_RETURN(const DataType dtype, graph::ElementType(element));
    const void* data = nullptr;
    TW_RETURN_IF_ERROR(api.Do(ort::kGetTensorData, value, &data));
    // Programs do not write to their inputs.
    return ArrayOver(const_cast<void*>(data), dtype, std::move(shape));
  }

  absl::Status Compute(OrtKernelContext* context) const {
    graph::Arrays arrays;
    for (size_t number : inputs) {
      TW_ASSIGN_OR_RETURN(arrays.emplace_back(), Input(context, number));
    }
    return program->Run(arrays, [&](size_t output, const std::vector<int64_t>& shape) -> absl::StatusOr<void*> {
      OrtValue* value = nullptr;
      void* memory = nullptr;
      TW_RETURN_IF_ERROR(
          api.Do(ort::kKernelContextGetOutput, context, outputs[output], shape.data(), shape.size(), &value));
      TW_RETURN_IF_ERROR(api.Do(ort::kGetTensorMutableData, value, &memory));
      return memory;
    });
  }

  const Ort api;
  const std::shared_ptr<SetProgram> program;
  std::vector<size_t> inputs, outputs;  // of ONNX Runtime's node, by number, in the program's order
};

// --- The provider of a session.

struct Provider : OrtEp {
  Provider(const Ort& ort, const OrtLogger* to, const ProviderOptions& options)
      : api(ort), logger(to), machine(std::make_shared<Machine>(options)) {
    get_name = [](const OrtEp*) -> const char* { return kName; };
    get_capability = [](OrtEp* self, const OrtGraph* graph, OrtEpGraphSupportInfo* support) -> OrtStatus* {
      auto& provider = *static_cast<Provider*>(self);
      return Guarded(provider.api, [&] { return provider.OfferNodes(graph, support); });
    };
    compile = [](OrtEp* self, const OrtGraph** graphs, const OrtNode** fused, size_t count,
                 OrtNodeComputeInfo** kernels, OrtNode**) -> OrtStatus* {
      auto& provider = *static_cast<Provider*>(self);
      return Guarded(provider.api, [&]() -> absl::Status {
        for (size_t i = 0; i < count; ++i) {
          TW_ASSIGN_OR_RETURN(std::unique_ptr<Kernel> kernel, provider.KernelOf(graphs[i], fused[i]));
          kernels[i] = kernel.release();
        }
        return absl::OkStatus();
      });
    };
    release_node_compute_infos = [](OrtEp*, OrtNodeComputeInfo** kernels, size_t count) {
      for (size_t i = 0; i < count; ++i) delete static_cast<Kernel*>(kernels[i]);
    };
  }

  void Log(int severity, const std::string& message) const {
    (void)api.Do(ort::kLoggerLogMessage, logger, severity, message.c_str(), __FILE__, __LINE__, kName);
  }

  absl::Status OfferNodes(const OrtGraph* graph, OrtEpGraphSupportInfo* support) {
    const OrtNode* parent = nullptr;
    TW_RETURN_IF_ERROR(api.Do(ort::kGraphGetParentNode, graph, &parent));
    if (parent != nullptr) return absl::OkStatus();  // a body is taken with its node or not at all
    TW_ASSIGN_OR_RETURN(const GivenGraph given, ReadGraph(api, graph));
    const auto refused = [&](const onnx::NodeProto& node, const std::string& reason) {
      Log(kOrtInfo, absl::StrCat("left to ONNX Runtime: node \"", node.name(), "\" (", node.op_type(), "): ", reason));
    };
    programs.clear();
    for (const Offer& offer : OffersOf(given, machine, refused)) {
      std::vector<const OrtNode*> nodes;
      for (size_t i : offer.nodes) nodes.push_back(given.nodes[i].handle);
      for (size_t i : offer.nodes) {
        for (const std::string& output : given.nodes[i].node.output()) programs[output] = offer.program;
      }
      const OrtNodeFusionOptions options{.drop_constant_initializers = true};
      TW_RETURN_IF_ERROR(
          api.DoEp(ort_ep::kEpGraphSupportInfoAddNodesToFuse, support, nodes.data(), nodes.size(), &options));
      Log(kOrtInfo, absl::StrCat("takes ", nodes.size(), " of ", given.nodes.size(), " nodes"));
    }
    return absl::OkStatus();
  }

  absl::StatusOr<std::unique_ptr<Kernel>> KernelOf(const OrtGraph* graph, const OrtNode* fused) const {
    std::shared_ptr<SetProgram> program;
    TW_ASSIGN_OR_RETURN(const auto nodes, NodesOf(api, graph));
    for (const OrtNode* node : nodes) {
      TW_ASSIGN_OR_RETURN(const auto outputs, OutputsOf(api, node));
      TW_ASSIGN_OR_RETURN(const auto names, NamesOf(api, outputs));
      for (const std::string& name : names) {
        if (const auto known = programs.find(name); known != programs.end() && !name.empty()) program = known->second;
      }
    }
    if (program == nullptr) return absl::InternalError("ONNX Runtime asks for nodes that were not offered");
    auto kernel = std::make_unique<Kernel>(api, program);
    TW_ASSIGN_OR_RETURN(const auto inputs, InputsOf(api, fused));
    TW_ASSIGN_OR_RETURN(const auto outputs, OutputsOf(api, fused));
    TW_ASSIGN_OR_RETURN(const auto input_names, NamesOf(api, inputs));
    TW_ASSIGN_OR_RETURN(const auto output_names, NamesOf(api, outputs));
    TW_RETURN_IF_ERROR(kernel->Bind(input_names, program->inputs(), &kernel->inputs));
    TW_RETURN_IF_ERROR(kernel->Bind(output_names, program->outputs(), &kernel->outputs));
    return kernel;
  }

  const Ort api;
  const OrtLogger* const logger;
  const std::shared_ptr<Machine> machine;
  std::map<std::string, std::shared_ptr<SetProgram>> programs;  // by the values that they compute
};

// --- The factory.

absl::StatusOr<ProviderOptions> OptionsOf(const Ort& api, const OrtSessionOptions* session) {
  OrtKeyValuePairs* pairs = nullptr;
  TW_RETURN_IF_ERROR(api.Do(ort::kGetSessionOptionsConfigEntries, session, &pairs));
  const std::unique_ptr<OrtKeyValuePairs, void (*)(OrtKeyValuePairs*)> owner(pairs, api[ort::kReleaseKeyValuePairs]);
  const char* const* keys = nullptr;
  const char* const* values = nullptr;
  size_t count = 0;
  if (pairs != nullptr) api[ort::kGetKeyValuePairs](pairs, &keys, &values, &count);
  std::map<std::string, std::string> texts;
  for (size_t i = 0; i < count; ++i) {
    const std::string key = keys[i];
    if (key.starts_with(kOptionPrefix)) texts[key.substr(sizeof(kOptionPrefix) - 1)] = values[i];
  }
  return ReadOptions(texts);
}

struct Factory : OrtEpFactory {
  explicit Factory(const Ort& ort) : api(ort) {
    get_name = [](const OrtEpFactory*) -> const char* { return kName; };
    get_vendor = [](const OrtEpFactory*) -> const char* { return kName; };
    get_vendor_id = [](const OrtEpFactory*) -> uint32_t { return 0; };
    OrtEpFactory::get_version = [](const OrtEpFactory*) -> const char* { return TILEWRIGHT_VERSION; };
    get_supported_devices = [](OrtEpFactory* self, const OrtHardwareDevice* const* devices, size_t num_devices,
                               OrtEpDevice** results, size_t most, size_t* count) -> OrtStatus* {
      const Ort& ort_api = static_cast<Factory*>(self)->api;
      return Guarded(ort_api, [&]() -> absl::Status {
        *count = 0;
        for (size_t i = 0; i < num_devices && *count < most; ++i) {
          if (ort_api[ort::kHardwareDeviceType](devices[i]) != kOrtCpu) continue;
          TW_RETURN_IF_ERROR(
              ort_api.DoEp(ort_ep::kCreateEpDevice, self, devices[i], nullptr, nullptr, &results[*count]));
          ++*count;
        }
        return absl::OkStatus();
      });
    };
    create_ep = [](OrtEpFactory* self, const OrtHardwareDevice* const*, const OrtKeyValuePairs* const*, size_t,
                   const OrtSessionOptions* session, const OrtLogger* logger, OrtEp** result) -> OrtStatus* {
      const Ort& ort_api = static_cast<Factory*>(self)->api;
      return Guarded(ort_api, [&]() -> absl::Status {
        TW_ASSIGN_OR_RETURN(const ProviderOptions options, OptionsOf(ort_api, session));
        *result = new Provider(ort_api, logger, options);
        return absl::OkStatus();
      });
    };
    release_ep = [](OrtEpFactory*, OrtEp* provider) { delete static_cast<Provider*>(provider); };
    // Tensors lie in ONNX Runtime's own memory of the CPU; there are no streams and no compiled models.
    validate_compiled_model = [](OrtEpFactory*, const OrtHardwareDevice* const*, size_t, const char*,
                                 int* verdict) -> OrtStatus* {
      *verdict = 0;
      return nullptr;
    };
    create_allocator = [](OrtEpFactory*, const void*, const OrtKeyValuePairs*, void** result) -> OrtStatus* {
      *result = nullptr;
      return nullptr;
    };
    release_allocator = [](OrtEpFactory*, void*) {};
    create_data_transfer = [](OrtEpFactory*, void** result) -> OrtStatus* {
      *result = nullptr;
      return nullptr;
    };
    is_stream_aware = [](const OrtEpFactory*) { return false; };
    create_sync_stream = [](OrtEpFactory*, const void*, const OrtKeyValuePairs*, void** result) -> OrtStatus* {
      *result = nullptr;
      return nullptr;
    };
  }

  const Ort api;
};

// The N of ONNX Runtime 1.N, from its version as text.
unsigned MinorVersion(const char* text) {
  unsigned major = 0, minor = 0;
  if (std::sscanf(text, "%u.%u", &major, &minor) != 2) return 0;
  return major == 1 ? minor : kCalledVersion;
}

}  // namespace
}  // namespace tilewright::onnxruntime

namespace onnxruntime = tilewright::onnxruntime;

extern "C" {

__attribute__((visibility("default"))) onnxruntime::OrtStatus* CreateEpFactories(
    const char* /*registered_name*/, const onnxruntime::OrtApiBase* base, const void* /*logger*/,
    onnxruntime::OrtEpFactory** factories, size_t max_factories, size_t* num_factories) {
  // Older versions have the functions that make statuses at the same positions.
  const unsigned minor = onnxruntime::MinorVersion(base->get_version());
  const onnxruntime::Ort api(base->get_api(minor < onnxruntime::kCalledVersion ? 1 : onnxruntime::kCalledVersion));
  return onnxruntime::Guarded(api, [&]() -> absl::Status {
    *num_factories = 0;
    if (minor < onnxruntime::kCalledVersion) {
      return absl::UnimplementedError(absl::StrCat("ONNX Runtime ", base->get_version(), " is too old: 1.",
                                                   onnxruntime::kCalledVersion, " or later is needed"));
    }
    if (max_factories < 1) return absl::InvalidArgumentError("there is no room for a factory");
    factories[0] = new onnxruntime::Factory(api);
    *num_factories = 1;
    return absl::OkStatus();
  });
}

__attribute__((visibility("default"))) onnxruntime::OrtStatus* ReleaseEpFactory(onnxruntime::OrtEpFactory* factory) {
  delete static_cast<onnxruntime::Factory*>(factory);
  return nullptr;
}

}  // extern "C"
