// NVIDIA's driver, opened when it is first needed: nothing links it, and nothing of it is installed where programs are
// built. This file needs the C++ library alone, so that programs that are carried to a GPU stay small.
//
//   std::string error;
//   if (Driver* driver = Driver::Open(&error)) { DeviceMemory a = driver->Allocate(bytes); ... }
#pragma once

#include <array>
#include <cstddef>
#include <cstdint>
#include <string>
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

  int Allocate(size_t bytes, void** memory) const;
  int Free(void* memory) const;
  int CopyToDevice(void* to, const void* from, size_t bytes) const;
  int CopyToHost(void* to, const void* from, size_t bytes) const;
  int Fill(void* memory, uint8_t byte, size_t bytes) const;

  int LoadModule(const void* image, void** module) const;
  int UnloadModule(void* module) const { return module_unload_(module); }
  // A kernel that may use that much shared memory.
  int FindKernel(void* module, const char* name, uint32_t shared_bytes, void** kernel) const;
  int Launch(void* kernel, const std::array<uint32_t, 3>& grid, const std::array<uint32_t, 3>& block,
             uint32_t shared_bytes, void* stream, void** params) const {
    return launch_(kernel, grid[0], grid[1], grid[2], block[0], block[1], block[2], shared_bytes, stream, params,
                   nullptr);
  }
  // CUfunction_attribute: 0 most threads of a block, 1 static shared bytes, 3 local bytes, 4 registers.
  int KernelAttribute(void* kernel, int attribute) const;

  int CreateStream(void** stream) const { return stream_create_(stream, 1); }  // beside the default stream
  int DestroyStream(void* stream) const { return stream_destroy_(stream); }
  int Synchronize(void* stream) const { return stream_synchronize_(stream); }
  int CreateEvent(void** event) const { return event_create_(event, 0); }
  int DestroyEvent(void* event) const { return event_destroy_(event); }
  int Record(void* event, void* stream) const { return event_record_(event, stream); }
  int ElapsedMilliseconds(float* time, void* begin, void* end) const;

  // What is launched in between becomes a graph, which one call starts.
  int BeginCapture(void* stream) const { return capture_begin_(stream, 1); }
  int EndCapture(void* stream, void** graph) const;
  int LaunchGraph(void* graph, void* stream) const { return graph_launch_(graph, stream); }
  int DestroyGraph(void* graph) const { return graph_destroy_(graph); }

  int Encode(const TensorMapSpec& spec, EncodedTensorMap* map) const;

 private:
  bool Load(std::string* error);

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
  int (*error_string_)(int, const char**) = nullptr;
  int (*allocate_)(Address*, size_t) = nullptr;
  int (*free_)(Address) = nullptr;
  int (*to_device_)(Address, const void*, size_t) = nullptr;
  int (*to_host_)(void*, Address, size_t) = nullptr;
  int (*fill_)(Address, unsigned char, size_t) = nullptr;
  int (*module_load_)(void**, const void*) = nullptr;
  int (*module_unload_)(void*) = nullptr;
  int (*function_get_)(void**, void*, const char*) = nullptr;
  int (*function_set_)(void*, int, int) = nullptr;
  int (*function_attribute_)(int*, int, void*) = nullptr;
  int (*launch_)(void*, unsigned, unsigned, unsigned, unsigned, unsigned, unsigned, unsigned, void*, void**,
                 void**) = nullptr;
  int (*stream_create_)(void**, unsigned) = nullptr;
  int (*stream_destroy_)(void*) = nullptr;
  int (*stream_synchronize_)(void*) = nullptr;
  int (*event_create_)(void**, unsigned) = nullptr;
  int (*event_destroy_)(void*) = nullptr;
  int (*event_record_)(void*, void*) = nullptr;
  int (*event_synchronize_)(void*) = nullptr;
  int (*event_elapsed_)(float*, void*, void*) = nullptr;
  int (*capture_begin_)(void*, int) = nullptr;
  int (*capture_end_)(void*, void**) = nullptr;
  int (*graph_instantiate_)(void**, void*, unsigned long long) = nullptr;
  int (*graph_launch_)(void*, void*) = nullptr;
  int (*graph_destroy_)(void*) = nullptr;
  int (*encode_tiled_)(void*, int, unsigned, void*, const uint64_t*, const uint64_t*, const uint32_t*, const uint32_t*,
                       int, int, int, int) = nullptr;
  int (*encode_im2col_)(void*, int, unsigned, void*, const uint64_t*, const uint64_t*, const int*, const int*, unsigned,
                        unsigned, const uint32_t*, int, int, int, int) = nullptr;
};

}  // namespace tilewright::cuda
