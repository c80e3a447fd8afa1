// NVIDIA's driver, opened when it is first needed: nothing links it, and nothing of it is installed where programs are
// built. This file needs the C++ library alone: libraries for a GPU carry it as text (codegen/cuda/host).
//
//   std::string error;
//   if (Driver* driver = Driver::Open(&error)) { DeviceMemory a = driver->Allocate(bytes); ... }
#pragma once

#include <dlfcn.h>

#include <algorithm>
#include <array>
#include <cstddef>
#include <cstdint>
#include <mutex>
#include <string>
#include <type_traits>
#include <vector>

namespace tilewright::cuda {

// A tensor map of a bulk copy, as cuTensorMapEncodeTiled and cuTensorMapEncodeIm2col take it; innermost first.
struct TensorMapSpec {
  int type = 6;  // CUtensorMapDataType: 0 uint8, 3 int32, 6 float16, 7 float32, 9 bfloat16
  void* address = nullptr;
  std::vector<uint64_t> extents, strides;  // strides in bytes, of dimensions 1 and up
  std::vector<uint32_t> box, steps;        // steps empty: 1
  int swizzle = 0;                         // 0 none, 1 32 bytes, 2 64 bytes, 3 128 bytes
  // The column of pixels of an im2col map; `box` is then not used, and corners and steps are those of pixels alone.
  bool im2col = false;
  std::vector<int> lower, upper;
  uint32_t channels = 0, pixels = 0;
};
struct alignas(64) EncodedTensorMap {
  uint64_t opaque[16];
};

// The first device, with its primary context. Functions return CUDA's code, 0 for success; `Text` names it.
class Driver {
 public:
  // The same object for all; null with the reason where there is no driver or no device.
  static Driver* Open(std::string* error);

  std::string Text(int code) const;
  const std::string& device_name() const { return device_name_; }
  int compute_capability() const { return compute_capability_; }  // 90
  int Attribute(int attribute) const;
  // The context for the calling thread.
  int MakeCurrent() const { return set_current_(context_); }
  // The same until Leave, after which the thread has the context that it had.
  int Enter() const { return context_push_(context_); }
  int Leave() const {
    void* left = nullptr;
    return context_pop_(&left);
  }

  int Allocate(size_t bytes, void** memory) const;
  int Free(void* memory) const;
  int CopyToDevice(void* to, const void* from, size_t bytes) const;
  int CopyToHost(void* to, const void* from, size_t bytes) const;
  // Within the device's memory, in the order of the stream.
  int Copy(void* to, const void* from, size_t bytes, void* stream) const;
  int Fill(void* memory, uint8_t byte, size_t bytes) const;

  int LoadModule(const void* image, void** module) const;
  int UnloadModule(void* module) const { return module_unload_(module); }
  // A kernel that may use that much shared memory.
  int FindKernel(void* module, const char* name, uint32_t shared_bytes, void** kernel) const;
  // A dependent kernel may begin before the one in front of it in the stream has ended: it waits itself
  // (griddepcontrol.wait). Captures keep that as an edge of the graph.
  int Launch(void* kernel, const std::array<uint32_t, 3>& grid, const std::array<uint32_t, 3>& block,
             uint32_t shared_bytes, void* stream, void** params, bool dependent = false) const {
    LaunchAttribute begins_early{.id = kProgrammaticStreamSerialization, .value = {1}};
    const LaunchConfig config = {grid[0],  grid[1],      grid[2], block[0],      block[1],
                                 block[2], shared_bytes, stream,  &begins_early, dependent ? 1u : 0u};
    return launch_(&config, kernel, params, nullptr);
  }
  // CUfunction_attribute: 0 most threads of a block, 1 static shared bytes, 3 local bytes, 4 registers.
  int KernelAttribute(void* kernel, int attribute) const;

  int CreateStream(void** stream) const { return stream_create_(stream, 1); }  // beside the default stream
  int DestroyStream(void* stream) const { return stream_destroy_(stream); }
  int Synchronize(void* stream) const { return stream_synchronize_(stream); }
  int CreateEvent(void** event) const { return event_create_(event, 0); }
  int DestroyEvent(void* event) const { return event_destroy_(event); }
  int Record(void* event, void* stream) const { return event_record_(event, stream); }
  // What the stream gets from now on waits for what was recorded.
  int Wait(void* stream, void* event) const { return stream_wait_(stream, event, 0); }
  int ElapsedMilliseconds(float* time, void* begin, void* end) const;

  // What is launched in between becomes a graph, which one call starts.
  int BeginCapture(void* stream) const { return capture_begin_(stream, 1); }
  int EndCapture(void* stream, void** graph) const;
  // Whether somebody captures what the stream gets, or may not be asked now.
  bool IsCapturing(void* stream) const;
  int LaunchGraph(void* graph, void* stream) const { return graph_launch_(graph, stream); }
  int DestroyGraph(void* graph) const { return graph_destroy_(graph); }

  int Encode(const TensorMapSpec& spec, EncodedTensorMap* map) const;

 private:
  static constexpr int kOk = 0;
  // CUdevice_attribute and CUfunction_attribute.
  static constexpr int kMajor = 75, kMinor = 76, kMostDynamicShared = 8;
  static constexpr uint32_t kSharedWithoutAsking = 48 << 10;

  // CUlaunchAttribute and CUlaunchConfig.
  static constexpr int kProgrammaticStreamSerialization = 6;
  struct LaunchAttribute {
    int id;
    int padding = 0;
    int value[16];
  };
  struct LaunchConfig {
    unsigned grid_x, grid_y, grid_z, block_x, block_y, block_z, shared_bytes;
    void* stream;
    LaunchAttribute* attributes;
    unsigned num_attributes;
  };

  bool Load(std::string* error);
  // The name of a function that the driver lacks, or null.
  const char* FindFunctions(void* library);

  std::string device_name_;
  int compute_capability_ = 0, device_ = 0;
  void* context_ = nullptr;

  using Address = unsigned long long;
  int (*init_)(unsigned) = nullptr;
  int (*device_get_)(int*, int) = nullptr;
  int (*device_name_get_)(char*, int, int) = nullptr;
  int (*device_attribute_)(int*, int, int) = nullptr;
  int (*context_retain_)(void**, int) = nullptr;
  int (*set_current_)(void*) = nullptr;
  int (*context_push_)(void*) = nullptr;
  int (*context_pop_)(void**) = nullptr;
  int (*error_string_)(int, const char**) = nullptr;
  int (*allocate_)(Address*, size_t) = nullptr;
  int (*free_)(Address) = nullptr;
  int (*to_device_)(Address, const void*, size_t) = nullptr;
  int (*to_host_)(void*, Address, size_t) = nullptr;
  int (*copy_)(Address, Address, size_t, void*) = nullptr;
  int (*fill_)(Address, unsigned char, size_t) = nullptr;
  int (*module_load_)(void**, const void*) = nullptr;
  int (*module_unload_)(void*) = nullptr;
  int (*function_get_)(void**, void*, const char*) = nullptr;
  int (*function_set_)(void*, int, int) = nullptr;
  int (*function_attribute_)(int*, int, void*) = nullptr;
  int (*launch_)(const LaunchConfig*, void*, void**, void**) = nullptr;
  int (*stream_create_)(void**, unsigned) = nullptr;
  int (*stream_destroy_)(void*) = nullptr;
  int (*stream_synchronize_)(void*) = nullptr;
  int (*stream_wait_)(void*, void*, unsigned) = nullptr;
  int (*event_create_)(void**, unsigned) = nullptr;
  int (*event_destroy_)(void*) = nullptr;
  int (*event_record_)(void*, void*) = nullptr;
  int (*event_synchronize_)(void*) = nullptr;
  int (*event_elapsed_)(float*, void*, void*) = nullptr;
  int (*capture_begin_)(void*, int) = nullptr;
  int (*capture_end_)(void*, void**) = nullptr;
  int (*is_capturing_)(void*, int*) = nullptr;
  int (*graph_instantiate_)(void**, void*, unsigned long long) = nullptr;
  int (*captured_destroy_)(void*) = nullptr;
  int (*graph_launch_)(void*, void*) = nullptr;
  int (*graph_destroy_)(void*) = nullptr;
  int (*encode_tiled_)(void*, int, unsigned, void*, const uint64_t*, const uint64_t*, const uint32_t*, const uint32_t*,
                       int, int, int, int) = nullptr;
  int (*encode_im2col_)(void*, int, unsigned, void*, const uint64_t*, const uint64_t*, const int*, const int*, unsigned,
                        unsigned, const uint32_t*, int, int, int, int) = nullptr;
};

inline const char* Driver::FindFunctions(void* library) {
  const char* missing = nullptr;
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
  find("cuCtxPushCurrent_v2", context_push_);
  find("cuCtxPopCurrent_v2", context_pop_);
  find("cuGetErrorString", error_string_);
  find("cuMemAlloc_v2", allocate_);
  find("cuMemFree_v2", free_);
  find("cuMemcpyHtoD_v2", to_device_);
  find("cuMemcpyDtoH_v2", to_host_);
  find("cuMemcpyDtoDAsync_v2", copy_);
  find("cuMemsetD8_v2", fill_);
  find("cuModuleLoadData", module_load_);
  find("cuModuleUnload", module_unload_);
  find("cuModuleGetFunction", function_get_);
  find("cuFuncSetAttribute", function_set_);
  find("cuFuncGetAttribute", function_attribute_);
  find("cuLaunchKernelEx", launch_);
  find("cuStreamCreate", stream_create_);
  find("cuStreamDestroy_v2", stream_destroy_);
  find("cuStreamSynchronize", stream_synchronize_);
  find("cuStreamWaitEvent", stream_wait_);
  find("cuEventCreate", event_create_);
  find("cuEventDestroy_v2", event_destroy_);
  find("cuEventRecord", event_record_);
  find("cuEventSynchronize", event_synchronize_);
  find("cuEventElapsedTime", event_elapsed_);
  find("cuStreamBeginCapture_v2", capture_begin_);
  find("cuStreamEndCapture", capture_end_);
  find("cuStreamIsCapturing", is_capturing_);
  find("cuGraphInstantiateWithFlags", graph_instantiate_);
  find("cuGraphDestroy", captured_destroy_);
  find("cuGraphLaunch", graph_launch_);
  find("cuGraphExecDestroy", graph_destroy_);
  find("cuTensorMapEncodeTiled", encode_tiled_);
  find("cuTensorMapEncodeIm2col", encode_im2col_);
  return missing;
}

inline bool Driver::Load(std::string* error) {
  void* library = dlopen("libcuda.so.1", RTLD_NOW | RTLD_LOCAL);
  if (library == nullptr) library = dlopen("libcuda.so", RTLD_NOW | RTLD_LOCAL);
  if (library == nullptr) {
    *error = "this machine has no NVIDIA driver (libcuda.so.1)";
    return false;
  }
  if (const char* const missing = FindFunctions(library)) {
    *error = std::string("the NVIDIA driver is too old: it has no ") + missing;
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

inline Driver* Driver::Open(std::string* error) {
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

inline std::string Driver::Text(int code) const {
  const char* text = nullptr;
  if (error_string_ == nullptr || error_string_(code, &text) != kOk || text == nullptr) {
    return "CUDA error " + std::to_string(code);
  }
  return text;
}

inline int Driver::Attribute(int attribute) const {
  int value = 0;
  return device_attribute_(&value, attribute, device_) == kOk ? value : 0;
}

inline int Driver::Allocate(size_t bytes, void** memory) const {
  Address address = 0;
  const int code = allocate_(&address, bytes == 0 ? 1 : bytes);
  *memory = reinterpret_cast<void*>(address);
  return code;
}
inline int Driver::Free(void* memory) const { return free_(reinterpret_cast<Address>(memory)); }
inline int Driver::CopyToDevice(void* to, const void* from, size_t bytes) const {
  return bytes == 0 ? kOk : to_device_(reinterpret_cast<Address>(to), from, bytes);
}
inline int Driver::CopyToHost(void* to, const void* from, size_t bytes) const {
  return bytes == 0 ? kOk : to_host_(to, reinterpret_cast<Address>(from), bytes);
}
inline int Driver::Copy(void* to, const void* from, size_t bytes, void* stream) const {
  return bytes == 0 ? kOk : copy_(reinterpret_cast<Address>(to), reinterpret_cast<Address>(from), bytes, stream);
}
inline int Driver::Fill(void* memory, uint8_t byte, size_t bytes) const {
  return bytes == 0 ? kOk : fill_(reinterpret_cast<Address>(memory), byte, bytes);
}

inline int Driver::LoadModule(const void* image, void** module) const { return module_load_(module, image); }

inline int Driver::FindKernel(void* module, const char* name, uint32_t shared_bytes, void** kernel) const {
  const int code = function_get_(kernel, module, name);
  if (code != kOk || shared_bytes <= kSharedWithoutAsking) return code;
  return function_set_(*kernel, kMostDynamicShared, static_cast<int>(shared_bytes));
}

inline int Driver::KernelAttribute(void* kernel, int attribute) const {
  int value = -1;
  function_attribute_(&value, attribute, kernel);
  return value;
}

inline int Driver::ElapsedMilliseconds(float* time, void* begin, void* end) const {
  const int code = event_synchronize_(end);
  return code == kOk ? event_elapsed_(time, begin, end) : code;
}

inline int Driver::EndCapture(void* stream, void** graph) const {
  void* captured = nullptr;
  int code = capture_end_(stream, &captured);
  if (code != kOk) return code;
  code = graph_instantiate_(graph, captured, 0);
  captured_destroy_(captured);
  return code;
}

inline bool Driver::IsCapturing(void* stream) const {
  int state = 0;
  return is_capturing_(stream, &state) != kOk || state != 0;
}

inline int Driver::Encode(const TensorMapSpec& spec, EncodedTensorMap* map) const {
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
  std::copy(spec.steps.begin(), spec.steps.end(), all.begin() + 1);
  return encode_im2col_(map, spec.type, rank, spec.address, spec.extents.data(), spec.strides.data(), spec.lower.data(),
                        spec.upper.data(), spec.channels, spec.pixels, all.data(), kInterleaveNone, spec.swizzle,
                        kPromotion128, kFillZeros);
}

}  // namespace tilewright::cuda
