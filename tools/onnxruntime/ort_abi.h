// The part of ONNX Runtime's C interface that the provider uses, declared here: its headers are in no package.
//
//   const Ort api(base->get_api(kCalledVersion));
//   TW_RETURN_IF_ERROR(api.Do(ort::kGraphGetNumNodes, graph, &count));
//
// ONNX Runtime hands out tables of function pointers. A table only grows at its end, so the position of a function is
// the same in every version that has it. An `Entry` is a position with the documented signature; its constant has the
// function's documented name. Structures that the provider fills are read up to the members of the version that they
// name.
#pragma once

#include <cstddef>
#include <cstdint>
#include <string>

#include "absl/status/status.h"

namespace tilewright::onnxruntime {

// Objects of ONNX Runtime, known by pointers alone.
struct OrtEpDevice;
struct OrtEpGraphSupportInfo;
struct OrtGraph;
struct OrtHardwareDevice;
struct OrtKernelContext;
struct OrtKeyValuePairs;
struct OrtLogger;
struct OrtNode;
struct OrtNodeComputeContext;
struct OrtOpAttr;
struct OrtSessionOptions;
struct OrtStatus;  // null: success
struct OrtTypeInfo;
struct OrtTensorTypeAndShapeInfo;
struct OrtValue;
struct OrtValueInfo;

// The version of ONNX Runtime, 1.N, whose functions are called: the first that tells tensors of no known rank from
// scalars.
inline constexpr uint32_t kCalledVersion = 24;
// The version whose members the structures below have.
inline constexpr uint32_t kFilledVersion = 23;

// Codes of OrtStatus.
inline constexpr int kOrtFail = 1, kOrtInvalidArgument = 2, kOrtNotImplemented = 9;
// Severities of messages.
inline constexpr int kOrtInfo = 1, kOrtWarning = 2;
// Kinds of hardware.
inline constexpr int kOrtCpu = 0;

// Kinds of attributes.
enum OrtAttributeKind : int {
  kOrtInt = 1,
  kOrtInts,
  kOrtFloat,
  kOrtFloats,
  kOrtString,
  kOrtStrings,
  kOrtGraph,
  kOrtTensor,
};

template <class Signature>
struct Entry {
  size_t position;
};

struct OrtApiTable;
struct OrtEpApiTable;

// What a library is given: tables by version, and the version's text ("1.32.0").
struct OrtApiBase {
  const OrtApiTable* (*get_api)(uint32_t version);
  const char* (*get_version)();
};

namespace ort {

// A list is read in two calls: how many, then that many.
template <class Object, class Element>
using ReadList = OrtStatus*(const Object*, const Element**, size_t);
template <class Object>
using ReadCount = OrtStatus*(const Object*, size_t*);
template <class Object, class Result>
using Read = OrtStatus*(const Object*, Result*);

// --- Errors and messages.
inline constexpr Entry<OrtStatus*(int code, const char* message)> kCreateStatus{0};
inline constexpr Entry<const char*(const OrtStatus*)> kGetErrorMessage{2};
inline constexpr Entry<void(OrtStatus*)> kReleaseStatus{93};
inline constexpr Entry<OrtStatus*(const OrtLogger*, int severity, const char* message, const char* file, int line,
                                  const char* function)>
    kLoggerLogMessage{247};

// --- Tensors and their types.
inline constexpr Entry<Read<OrtTypeInfo, const OrtTensorTypeAndShapeInfo*>> kCastTypeInfoToTensorInfo{55};
inline constexpr Entry<Read<OrtTensorTypeAndShapeInfo, int>> kGetTensorElementType{60};
inline constexpr Entry<ReadCount<OrtTensorTypeAndShapeInfo>> kGetDimensionsCount{61};
inline constexpr Entry<OrtStatus*(const OrtTensorTypeAndShapeInfo*, int64_t*, size_t)> kGetDimensions{62};
inline constexpr Entry<ReadList<OrtTensorTypeAndShapeInfo, char>> kGetSymbolicDimensions{63};
inline constexpr Entry<Read<OrtValue, OrtTensorTypeAndShapeInfo*>> kGetTensorTypeAndShape{65};
inline constexpr Entry<void(OrtValue*)> kReleaseValue{96};
inline constexpr Entry<void(OrtTensorTypeAndShapeInfo*)> kReleaseTensorTypeAndShapeInfo{99};
inline constexpr Entry<OrtStatus*(OrtValue*, void**)> kGetTensorMutableData{51};
inline constexpr Entry<ReadCount<OrtValue>> kGetTensorSizeInBytes{318};
inline constexpr Entry<Read<OrtValue, const void*>> kGetTensorData{378};
inline constexpr Entry<bool(const OrtTensorTypeAndShapeInfo*)> kTensorTypeAndShapeHasShape{390};

// --- Runs of a kernel.
inline constexpr Entry<OrtStatus*(const OrtKernelContext*, size_t, const OrtValue**)> kKernelContextGetInput{90};
inline constexpr Entry<OrtStatus*(OrtKernelContext*, size_t, const int64_t* shape, size_t rank, OrtValue**)>
    kKernelContextGetOutput{91};

// --- Options and devices.
inline constexpr Entry<void(const OrtKeyValuePairs*, const char* const** keys, const char* const** values, size_t*)>
    kGetKeyValuePairs{298};
inline constexpr Entry<void(OrtKeyValuePairs*)> kReleaseKeyValuePairs{300};
inline constexpr Entry<int(const OrtHardwareDevice*)> kHardwareDeviceType{307};
inline constexpr Entry<const OrtEpApiTable*()> kGetEpApi{317};
inline constexpr Entry<Read<OrtSessionOptions, OrtKeyValuePairs*>> kGetSessionOptionsConfigEntries{379};

// --- Graphs.
inline constexpr Entry<Read<OrtValueInfo, const char*>> kGetValueInfoName{289};
inline constexpr Entry<Read<OrtValueInfo, const OrtTypeInfo*>> kGetValueInfoTypeInfo{290};
inline constexpr Entry<Read<OrtValueInfo, const OrtValue*>> kValueInfoGetInitializerValue{326};
inline constexpr Entry<Read<OrtValueInfo, bool>> kValueInfoIsConstantInitializer{331};
inline constexpr Entry<Read<OrtGraph, int64_t>> kGraphGetOnnxIRVersion{335};
inline constexpr Entry<ReadCount<OrtGraph>> kGraphGetNumOperatorSets{336};
inline constexpr Entry<OrtStatus*(const OrtGraph*, const char** domains, int64_t* versions, size_t)>
    kGraphGetOperatorSets{337};
inline constexpr Entry<ReadCount<OrtGraph>> kGraphGetNumInputs{338};
inline constexpr Entry<ReadList<OrtGraph, OrtValueInfo>> kGraphGetInputs{339};
inline constexpr Entry<ReadCount<OrtGraph>> kGraphGetNumOutputs{340};
inline constexpr Entry<ReadList<OrtGraph, OrtValueInfo>> kGraphGetOutputs{341};
inline constexpr Entry<ReadCount<OrtGraph>> kGraphGetNumInitializers{342};
inline constexpr Entry<ReadList<OrtGraph, OrtValueInfo>> kGraphGetInitializers{343};
inline constexpr Entry<ReadCount<OrtGraph>> kGraphGetNumNodes{344};
inline constexpr Entry<ReadList<OrtGraph, OrtNode>> kGraphGetNodes{345};
inline constexpr Entry<Read<OrtGraph, const OrtNode*>> kGraphGetParentNode{346};
inline constexpr Entry<Read<OrtNode, const char*>> kNodeGetName{349};
inline constexpr Entry<Read<OrtNode, const char*>> kNodeGetOperatorType{350};
inline constexpr Entry<Read<OrtNode, const char*>> kNodeGetDomain{351};
inline constexpr Entry<ReadCount<OrtNode>> kNodeGetNumInputs{353};
inline constexpr Entry<ReadList<OrtNode, OrtValueInfo>> kNodeGetInputs{354};
inline constexpr Entry<ReadCount<OrtNode>> kNodeGetNumOutputs{355};
inline constexpr Entry<ReadList<OrtNode, OrtValueInfo>> kNodeGetOutputs{356};
inline constexpr Entry<ReadCount<OrtNode>> kNodeGetNumImplicitInputs{357};
inline constexpr Entry<ReadList<OrtNode, OrtValueInfo>> kNodeGetImplicitInputs{358};
inline constexpr Entry<ReadCount<OrtNode>> kNodeGetNumAttributes{359};
inline constexpr Entry<ReadList<OrtNode, OrtOpAttr>> kNodeGetAttributes{360};
inline constexpr Entry<ReadCount<OrtNode>> kNodeGetNumSubgraphs{365};
inline constexpr Entry<OrtStatus*(const OrtNode*, const OrtGraph**, size_t, const char** attributes)> kNodeGetSubgraphs{
    366};

// --- Attributes. Reading one into too little memory is an error that says how much it takes.
inline constexpr Entry<OrtStatus*(const OrtOpAttr*, int kind, void* memory, size_t bytes, size_t* needed)> kReadOpAttr{
    272};
inline constexpr Entry<Read<OrtOpAttr, OrtValue*>> kOpAttrGetTensorAttributeAsOrtValue{362};
inline constexpr Entry<Read<OrtOpAttr, int>> kOpAttrGetType{363};
inline constexpr Entry<Read<OrtOpAttr, const char*>> kOpAttrGetName{364};

}  // namespace ort

// The structures that the provider fills. Members that are null are functions that it does not have.
struct OrtNodeFusionOptions {
  uint32_t version = kFilledVersion;
  bool drop_constant_initializers = false;
};

struct OrtNodeComputeInfo {
  uint32_t version = kFilledVersion;
  OrtStatus* (*create_state)(OrtNodeComputeInfo*, OrtNodeComputeContext*, void** state) = nullptr;
  OrtStatus* (*compute)(OrtNodeComputeInfo*, void* state, OrtKernelContext*) = nullptr;
  void (*release_state)(OrtNodeComputeInfo*, void* state) = nullptr;
};

struct OrtEp {
  uint32_t version = kFilledVersion;
  const char* (*get_name)(const OrtEp*) = nullptr;
  OrtStatus* (*get_capability)(OrtEp*, const OrtGraph*, OrtEpGraphSupportInfo*) = nullptr;
  OrtStatus* (*compile)(OrtEp*, const OrtGraph** graphs, const OrtNode** fused_nodes, size_t count,
                        OrtNodeComputeInfo** results, OrtNode** context_nodes) = nullptr;
  void (*release_node_compute_infos)(OrtEp*, OrtNodeComputeInfo**, size_t count) = nullptr;
  // Layouts, options while a session lives, starts and ends of runs, allocators, streams, compatibility.
  void (*unused[8])() = {};
};

struct OrtEpFactory {
  uint32_t version = kFilledVersion;
  const char* (*get_name)(const OrtEpFactory*) = nullptr;
  const char* (*get_vendor)(const OrtEpFactory*) = nullptr;
  OrtStatus* (*get_supported_devices)(OrtEpFactory*, const OrtHardwareDevice* const* devices, size_t num_devices,
                                      OrtEpDevice** ep_devices, size_t max_ep_devices,
                                      size_t* num_ep_devices) = nullptr;
  OrtStatus* (*create_ep)(OrtEpFactory*, const OrtHardwareDevice* const* devices,
                          const OrtKeyValuePairs* const* metadata, size_t num_devices, const OrtSessionOptions*,
                          const OrtLogger*, OrtEp**) = nullptr;
  void (*release_ep)(OrtEpFactory*, OrtEp*) = nullptr;
  uint32_t (*get_vendor_id)(const OrtEpFactory*) = nullptr;
  const char* (*get_version)(const OrtEpFactory*) = nullptr;
  OrtStatus* (*validate_compiled_model)(OrtEpFactory*, const OrtHardwareDevice* const*, size_t, const char*,
                                        int* verdict) = nullptr;
  OrtStatus* (*create_allocator)(OrtEpFactory*, const void* memory, const OrtKeyValuePairs*, void** result) = nullptr;
  void (*release_allocator)(OrtEpFactory*, void*) = nullptr;
  OrtStatus* (*create_data_transfer)(OrtEpFactory*, void** result) = nullptr;
  bool (*is_stream_aware)(const OrtEpFactory*) = nullptr;
  OrtStatus* (*create_sync_stream)(OrtEpFactory*, const void* device, const OrtKeyValuePairs*, void** result) = nullptr;
};

// The table of what providers call.
namespace ort_ep {

inline constexpr Entry<OrtStatus*(OrtEpFactory*, const OrtHardwareDevice*, const OrtKeyValuePairs* metadata,
                                  const OrtKeyValuePairs* options, OrtEpDevice**)>
    kCreateEpDevice{0};
inline constexpr Entry<OrtStatus*(OrtEpGraphSupportInfo*, const OrtNode* const* nodes, size_t num_nodes,
                                  const OrtNodeFusionOptions*)>
    kEpGraphSupportInfoAddNodesToFuse{2};

}  // namespace ort_ep

// Functions of one ONNX Runtime.
class Ort {
 public:
  explicit Ort(const OrtApiTable* table) : functions_(reinterpret_cast<void* const*>(table)) {}

  template <class R, class... A>
  auto operator[](Entry<R(A...)> entry) const {
    return reinterpret_cast<R (*)(A...)>(functions_[entry.position]);
  }
  // Calls a function that may fail.
  template <class... A, class... Given>
  absl::Status Do(Entry<OrtStatus*(A...)> entry, Given... given) const {
    return Take((*this)[entry](given...));
  }
  template <class... A, class... Given>
  absl::Status DoEp(Entry<OrtStatus*(A...)> entry, Given... given) const {
    const auto* functions = reinterpret_cast<void* const*>((*this)[ort::kGetEpApi]());
    return Take(reinterpret_cast<OrtStatus* (*)(A...)>(functions[entry.position])(given...));
  }
  absl::Status Take(OrtStatus* status) const {
    if (status == nullptr) return absl::OkStatus();
    const std::string message = (*this)[ort::kGetErrorMessage](status);
    (*this)[ort::kReleaseStatus](status);
    return absl::InternalError("ONNX Runtime: " + message);
  }
  OrtStatus* Give(const absl::Status& status) const {
    if (status.ok()) return nullptr;
    const int code = absl::IsInvalidArgument(status) ? kOrtInvalidArgument
                     : absl::IsUnimplemented(status) ? kOrtNotImplemented
                                                     : kOrtFail;
    return (*this)[ort::kCreateStatus](code, ("Tilewright: " + std::string(status.message())).c_str());
  }

 private:
  void* const* functions_;
};

}  // namespace tilewright::onnxruntime
