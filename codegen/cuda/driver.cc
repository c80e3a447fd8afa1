#include "codegen/cuda/driver.h"

#include <dlfcn.h>

#include <algorithm>
#include <mutex>
#include <type_traits>

namespace tilewright::cuda {
namespace {

constexpr int kOk = 0;
// CUdevice_attribute and CUfunction_attribute.
constexpr int kMajor = 75, kMinor = 76, kMostDynamicShared = 8;
constexpr uint32_t kSharedWithoutAsking = 48 << 10;

}  // namespace

bool Driver::Load(std::string* error) {
  void* library = dlopen("libcuda.so.1", RTLD_NOW | RTLD_LOCAL);
  if (library == nullptr) library = dlopen("libcuda.so", RTLD_NOW | RTLD_LOCAL);
  if (library == nullptr) {
    *error = "this machine has no NVIDIA driver (libcuda.so.1)";
    return false;
  }
  std::string missing;
  const auto find = [&](const char* name, auto& function) {
    function = reinterpret_cast<std::remove_reference_t<decltype(function)>>(dlsym(library, name));
    if (function == nullptr) missing = name;
  };
  find("cuInit", init_);
  find("cuDeviceGet", device_get_);
  find("cuDeviceGetName", device_name_get_);
  find("cuDeviceGetAttribute", device_attribute_);
  find("cuDevicePrimaryCtxRetain", context_retain_);
  find("cuCtxSetCurrent", set_current_);
  find("cuGetErrorString", error_string_);
  find("cuMemAlloc_v2", allocate_);
  find("cuMemFree_v2", free_);
  find("cuMemcpyHtoD_v2", to_device_);
  find("cuMemcpyDtoH_v2", to_host_);
  find("cuMemsetD8_v2", fill_);
  find("cuModuleLoadData", module_load_);
  find("cuModuleUnload", module_unload_);
  find("cuModuleGetFunction", function_get_);
  find("cuFuncSetAttribute", function_set_);
  find("cuFuncGetAttribute", function_attribute_);
  find("cuLaunchKernel", launch_);
  find("cuStreamCreate", stream_create_);
  find("cuStreamDestroy_v2", stream_destroy_);
  find("cuStreamSynchronize", stream_synchronize_);
  find("cuEventCreate", event_create_);
  find("cuEventDestroy_v2", event_destroy_);
  find("cuEventRecord", event_record_);
  find("cuEventSynchronize", event_synchronize_);
  find("cuEventElapsedTime", event_elapsed_);
  find("cuStreamBeginCapture_v2", capture_begin_);
  find("cuStreamEndCapture", capture_end_);
  find("cuGraphInstantiateWithFlags", graph_instantiate_);
  find("cuGraphLaunch", graph_launch_);
  find("cuGraphExecDestroy", graph_destroy_);
  find("cuTensorMapEncodeTiled", encode_tiled_);
  find("cuTensorMapEncodeIm2col", encode_im2col_);
  if (!missing.empty()) {
    *error = "the NVIDIA driver is too old: it has no " + missing;
    return false;
  }
  int code = init_(0);
  if (code == kOk) code = device_get_(&device_, 0);
  if (code == kOk) code = context_retain_(&context_, device_);
  if (code == kOk) code = set_current_(context_);
  if (code != kOk) {
    *error = "no GPU can be used: " + Text(code);
    return false;
  }
  char name[256] = "";
  device_name_get_(name, sizeof(name), device_);
  device_name_ = name;
  compute_capability_ = 10 * Attribute(kMajor) + Attribute(kMinor);
  return true;
}

Driver* Driver::Open(std::string* error) {
  static std::once_flag once;
  static Driver* driver = nullptr;
  static std::string* const failure = new std::string;
  std::call_once(once, [] {
    auto* opened = new Driver;
    if (opened->Load(failure)) driver = opened;
  });
  if (driver == nullptr) *error = *failure;
  return driver;
}

std::string Driver::Text(int code) const {
  const char* text = nullptr;
  if (error_string_ == nullptr || error_string_(code, &text) != kOk || text == nullptr) {
    return "CUDA error " + std::to_string(code);
  }
  return text;
}

int Driver::Attribute(int attribute) const {
  int value = 0;
  return device_attribute_(&value, attribute, device_) == kOk ? value : 0;
}

int Driver::Allocate(size_t bytes, void** memory) const {
  Address address = 0;
  const int code = allocate_(&address, bytes == 0 ? 1 : bytes);
  *memory = reinterpret_cast<void*>(address);
  return code;
}
int Driver::Free(void* memory) const { return free_(reinterpret_cast<Address>(memory)); }
int Driver::CopyToDevice(void* to, const void* from, size_t bytes) const {
  return bytes == 0 ? kOk : to_device_(reinterpret_cast<Address>(to), from, bytes);
}
int Driver::CopyToHost(void* to, const void* from, size_t bytes) const {
  return bytes == 0 ? kOk : to_host_(to, reinterpret_cast<Address>(from), bytes);
}
int Driver::Fill(void* memory, uint8_t byte, size_t bytes) const {
  return bytes == 0 ? kOk : fill_(reinterpret_cast<Address>(memory), byte, bytes);
}

int Driver::LoadModule(const void* image, void** module) const { return module_load_(module, image); }

int Driver::FindKernel(void* module, const char* name, uint32_t shared_bytes, void** kernel) const {
  const int code = function_get_(kernel, module, name);
  if (code != kOk || shared_bytes <= kSharedWithoutAsking) return code;
  return function_set_(*kernel, kMostDynamicShared, static_cast<int>(shared_bytes));
}

int Driver::KernelAttribute(void* kernel, int attribute) const {
  int value = -1;
  function_attribute_(&value, attribute, kernel);
  return value;
}

int Driver::ElapsedMilliseconds(float* time, void* begin, void* end) const {
  const int code = event_synchronize_(end);
  return code == kOk ? event_elapsed_(time, begin, end) : code;
}

int Driver::EndCapture(void* stream, void** graph) const {
  void* captured = nullptr;
  const int code = capture_end_(stream, &captured);
  return code == kOk ? graph_instantiate_(graph, captured, 0) : code;
}

int Driver::Encode(const TensorMapSpec& spec, EncodedTensorMap* map) const {
  constexpr int kInterleaveNone = 0, kPromotion128 = 2, kFillZeros = 0;
  const std::vector<uint32_t> ones(spec.extents.size(), 1);
  const uint32_t* const steps = spec.steps.empty() ? ones.data() : spec.steps.data();
  const auto rank = static_cast<unsigned>(spec.extents.size());
  if (!spec.im2col) {
    return encode_tiled_(map, spec.type, rank, spec.address, spec.extents.data(), spec.strides.data(), spec.box.data(),
                         steps, kInterleaveNone, spec.swizzle, kPromotion128, kFillZeros);
  }
  // The driver has a step of channels and one of images besides.
  std::vector<uint32_t> all = ones;
  std::ranges::copy(spec.steps, all.begin() + 1);
  return encode_im2col_(map, spec.type, rank, spec.address, spec.extents.data(), spec.strides.data(), spec.lower.data(),
                        spec.upper.data(), spec.channels, spec.pixels, all.data(), kInterleaveNone, spec.swizzle,
                        kPromotion128, kFillZeros);
}

}  // namespace tilewright::cuda
