// NVIDIA's driver as a library of tests: its memory is that of the process, and its kernels run in the emulator. A
// library for a GPU that holds kernels of the emulator in place of a cubin (CompileOptions::emulate) runs with it as it
// stands.
//
// TILEWRIGHT_EMULATED_CAPABILITY in the environment is the device's compute capability (90), TILEWRIGHT_EMULATED_BYTES
// what its memory holds; with TILEWRIGHT_EMULATED_GRAPHS=0 it refuses to capture streams. `tw_driver_counts` tells what
// has been asked of it.
#include <dlfcn.h>
#include <elf.h>
#include <sys/mman.h>
#include <unistd.h>

#include <cstdint>
#include <cstdlib>
#include <cstring>
#include <map>
#include <memory>
#include <string>
#include <utility>
#include <vector>

#include "codegen/cuda/emulator/launch.h"
#include "codegen/cuda/emulator/tensor_map.h"
#include "codegen/cuda/host/testing/driver_counts.h"

namespace tilewright {
namespace {

using Address = unsigned long long;
using KernelCall = void (*)(void* const* params);

// CUresult.
enum Code {
  kOk = 0,
  kInvalidValue = 1,
  kNoMemory = 2,
  kNoBinary = 209,
  kNotFound = 500,
  kLaunchFailed = 719,
  kNotSupported = 801
};

constexpr size_t kStackBytes = 192 << 10, kAlignment = 512;

struct EmulatedKernel {
  std::string name;
  KernelCall call = nullptr;
  const unsigned *cluster = nullptr, *params = nullptr;  // sizes in bytes, of parameters up to a 0
};

struct Dims {
  unsigned x, y, z;
};
// CUlaunchConfig and CUlaunchAttribute.
constexpr int kProgrammaticStreamSerialization = 6;
struct LaunchAttribute {
  int id, padding, value[16];
};
struct LaunchConfig {
  Dims grid, block;
  unsigned shared_bytes;
  void* stream;
  const LaunchAttribute* attributes;
  unsigned num_attributes;
};
// Work of a stream that is captured: a kernel with copies of its arguments, or a copy.
struct Captured {
  const EmulatedKernel* kernel = nullptr;
  Dims grid = {}, block = {};
  unsigned shared_bytes = 0;
  bool dependent = false;
  std::vector<std::shared_ptr<void>> params = {};
  Address to = 0, from = 0;
  size_t bytes = 0;
};
using Graph = std::vector<Captured>;

// Tests call from one thread.
struct Device {
  std::map<Address, size_t> memory;  // by its first byte
  size_t bytes = 0;
  std::map<std::string, EmulatedKernel> kernels;
  std::map<void*, Graph> captures;  // by stream
  emulator::GridChain chain;        // of all streams
  std::string last_error;
  TwDriverCounts counts = {};
};
Device& TheDevice() {
  static Device* const device = new Device;
  return *device;
}

int64_t FromEnvironment(const char* name, int64_t otherwise) {
  const char* const text = std::getenv(name);
  return text != nullptr ? std::atoll(text) : otherwise;
}

bool Holds(Address first, size_t bytes) {
  const auto& memory = TheDevice().memory;
  auto after = memory.upper_bound(first);
  if (after == memory.begin()) return false;
  --after;
  return first + bytes <= after->first + after->second;
}

template <class T>
T* At(Address address) {
  return reinterpret_cast<T*>(address);
}

// The bytes of an ELF file that ends with its table of sections.
size_t BytesOf(const void* image) {
  const auto* header = static_cast<const Elf64_Ehdr*>(image);
  return header->e_shoff + size_t{header->e_shentsize} * header->e_shnum;
}

int Refused(const absl::Status& status) {
  TheDevice().last_error = std::string(status.message());
  return kInvalidValue;
}

template <class Map>
int Encoded(const Map& map, void* to) {
  if (!map.ok()) return Refused(map.status());
  std::memcpy(to, &*map, sizeof(*map));
  return kOk;
}

constexpr int kSpans[] = {0, 32, 64, 128};
// Parameters are aligned as the widest is, a tensor map.
constexpr size_t kParamAlignment = 64;

std::vector<std::shared_ptr<void>> CopiesOf(const EmulatedKernel& kernel, void** params) {
  std::vector<std::shared_ptr<void>> copies;
  for (size_t i = 0; kernel.params[i] != 0; ++i) {
    const size_t bytes = (kernel.params[i] + kParamAlignment - 1) / kParamAlignment * kParamAlignment;
    copies.emplace_back(std::aligned_alloc(kParamAlignment, bytes), std::free);
    std::memcpy(copies.back().get(), params[i], kernel.params[i]);
  }
  return copies;
}

int RunKernel(const EmulatedKernel& kernel, const Dims& grid, const Dims& block, unsigned shared_bytes, bool dependent,
              void* const* params) {
  Device& device = TheDevice();
  emulator::GlobalMemory memory;
  for (const auto& [first, bytes] : device.memory) {
    memory.Add("memory of the driver", At<void>(first), bytes, emulator::GlobalMemory::kInOut);
  }
  ++device.counts.launches;
  device.counts.dependent_launches += dependent ? 1 : 0;
  const emulator::LaunchResult result =
      emulator::Launch({.kernel = kernel.name,
                        .grid = {grid.x, grid.y, grid.z},
                        .block = {block.x, block.y, block.z},
                        .cluster = {kernel.cluster[0], kernel.cluster[1], kernel.cluster[2]},
                        .shared_bytes = shared_bytes,
                        .stack_bytes = kStackBytes,
                        .chain = &device.chain,
                        .dependent = dependent},
                       memory, [&] { kernel.call(params); });
  if (result.ok()) return kOk;
  device.last_error = result.faults.empty() ? "the kernel does not end" : ToString(result.faults[0]);
  return kLaunchFailed;
}

int RunCopy(Address to, Address from, size_t bytes) {
  if (!Holds(to, bytes) || !Holds(from, bytes)) return kInvalidValue;
  TheDevice().chain = {};
  std::memcpy(At<void>(to), At<void>(from), bytes);
  return kOk;
}

int Run(const Captured& work) {
  if (work.kernel == nullptr) return RunCopy(work.to, work.from, work.bytes);
  std::vector<void*> params;
  for (const std::shared_ptr<void>& param : work.params) params.push_back(param.get());
  return RunKernel(*work.kernel, work.grid, work.block, work.shared_bytes, work.dependent, params.data());
}

}  // namespace
}  // namespace tilewright

using namespace tilewright;  // NOLINT

extern "C" {

const TwDriverCounts* tw_driver_counts() { return &TheDevice().counts; }

int cuInit(unsigned) {
  // The kernels' libraries look for the emulator among what is global.
  return dlopen("libcuda.so.1", RTLD_NOW | RTLD_NOLOAD | RTLD_GLOBAL) != nullptr ? kOk : kNotFound;
}
int cuDeviceGet(int* device, int) {
  *device = 0;
  return kOk;
}
int cuDeviceGetName(char* name, int bytes, int) {
  std::strncpy(name, "emulated GPU", static_cast<size_t>(bytes));
  return kOk;
}
int cuDeviceGetAttribute(int* value, int attribute, int) {
  const auto capability = static_cast<int>(FromEnvironment("TILEWRIGHT_EMULATED_CAPABILITY", 90));
  *value = attribute == 75 ? capability / 10 : attribute == 76 ? capability % 10 : 0;
  return kOk;
}
int cuDevicePrimaryCtxRetain(void** context, int) {
  *context = &TheDevice();
  return kOk;
}
int cuCtxSetCurrent(void*) { return kOk; }
int cuCtxPushCurrent_v2(void*) { return kOk; }
int cuCtxPopCurrent_v2(void**) { return kOk; }
int cuGetErrorString(int code, const char** text) {
  const std::string& last = TheDevice().last_error;
  *text = code == kNoMemory ? "out of memory" : last.empty() ? "an error" : last.c_str();
  return kOk;
}

int cuMemAlloc_v2(Address* memory, size_t bytes) {
  Device& device = TheDevice();
  const auto most = static_cast<size_t>(FromEnvironment("TILEWRIGHT_EMULATED_BYTES", int64_t{1} << 40));
  if (device.bytes + bytes > most) return kNoMemory;
  void* const first = std::aligned_alloc(kAlignment, (bytes + kAlignment - 1) / kAlignment * kAlignment);
  if (first == nullptr) return kNoMemory;
  // What was never written should be seen.
  std::memset(first, 0xff, bytes);
  *memory = reinterpret_cast<Address>(first);
  device.memory[*memory] = bytes;
  device.bytes += bytes;
  ++device.counts.allocations;
  return kOk;
}
int cuMemFree_v2(Address memory) {
  Device& device = TheDevice();
  const auto found = device.memory.find(memory);
  if (found == device.memory.end()) return kInvalidValue;
  device.bytes -= found->second;
  device.memory.erase(found);
  std::free(At<void>(memory));
  return kOk;
}
int cuMemcpyHtoD_v2(Address to, const void* from, size_t bytes) {
  if (!Holds(to, bytes)) return kInvalidValue;
  ++TheDevice().counts.copies_in;
  TheDevice().chain = {};
  std::memcpy(At<void>(to), from, bytes);
  return kOk;
}
int cuMemcpyDtoH_v2(void* to, Address from, size_t bytes) {
  if (!Holds(from, bytes)) return kInvalidValue;
  ++TheDevice().counts.copies_out;
  std::memcpy(to, At<void>(from), bytes);
  return kOk;
}
int cuMemcpyDtoDAsync_v2(Address to, Address from, size_t bytes, void* stream) {
  const auto capture = TheDevice().captures.find(stream);
  if (capture == TheDevice().captures.end()) return RunCopy(to, from, bytes);
  capture->second.push_back({.to = to, .from = from, .bytes = bytes});
  return kOk;
}
int cuMemsetD8_v2(Address memory, unsigned char byte, size_t bytes) {
  if (!Holds(memory, bytes)) return kInvalidValue;
  std::memset(At<void>(memory), byte, bytes);
  return kOk;
}

int cuModuleLoadData(void** module, const void* image) {
  const auto* header = static_cast<const Elf64_Ehdr*>(image);
  if (std::memcmp(header->e_ident, ELFMAG, SELFMAG) != 0 || header->e_type != ET_DYN) return kNoBinary;
  const size_t bytes = BytesOf(image);
  const int file = memfd_create("kernels", 0);
  if (file < 0 || write(file, image, bytes) != static_cast<ssize_t>(bytes)) return kNoMemory;
  *module = dlopen(("/proc/self/fd/" + std::to_string(file)).c_str(), RTLD_NOW | RTLD_LOCAL);
  if (*module == nullptr) TheDevice().last_error = dlerror();
  close(file);
  return *module != nullptr ? kOk : kNoBinary;
}
int cuModuleUnload(void* module) { return dlclose(module) == 0 ? kOk : kInvalidValue; }
int cuModuleGetFunction(void** function, void* module, const char* name) {
  EmulatedKernel kernel{.name = name};
  kernel.call = reinterpret_cast<KernelCall>(dlsym(module, (kernel.name + "_call").c_str()));
  kernel.cluster = static_cast<const unsigned*>(dlsym(module, (kernel.name + "_cluster").c_str()));
  kernel.params = static_cast<const unsigned*>(dlsym(module, (kernel.name + "_params").c_str()));
  if (kernel.call == nullptr || kernel.cluster == nullptr || kernel.params == nullptr) return kNotFound;
  EmulatedKernel& kept = TheDevice().kernels[name];
  kept = kernel;
  *function = &kept;
  return kOk;
}
int cuFuncSetAttribute(void*, int, int) { return kOk; }
int cuFuncGetAttribute(int* value, int, void*) {
  *value = 0;
  return kOk;
}
int cuLaunchKernelEx(const LaunchConfig* config, void* function, void** params, void**) {
  const EmulatedKernel& kernel = *static_cast<const EmulatedKernel*>(function);
  bool dependent = false;
  for (unsigned i = 0; i < config->num_attributes; ++i) {
    if (config->attributes[i].id != kProgrammaticStreamSerialization) return kInvalidValue;
    dependent = config->attributes[i].value[0] != 0;
  }
  const auto capture = TheDevice().captures.find(config->stream);
  if (capture == TheDevice().captures.end()) {
    return RunKernel(kernel, config->grid, config->block, config->shared_bytes, dependent, params);
  }
  capture->second.push_back({.kernel = &kernel,
                             .grid = config->grid,
                             .block = config->block,
                             .shared_bytes = config->shared_bytes,
                             .dependent = dependent,
                             .params = CopiesOf(kernel, params)});
  return kOk;
}

int cuStreamCreate(void** stream, unsigned) {
  *stream = new char;
  return kOk;
}
int cuStreamDestroy_v2(void* stream) {
  delete static_cast<char*>(stream);
  return kOk;
}
int cuStreamSynchronize(void*) {
  TheDevice().chain = {};
  return kOk;
}
int cuStreamWaitEvent(void*, void*, unsigned) { return kOk; }
int cuEventCreate(void** event, unsigned) {
  *event = new char;
  return kOk;
}
int cuEventDestroy_v2(void* event) {
  delete static_cast<char*>(event);
  return kOk;
}
int cuEventRecord(void*, void*) { return kOk; }
int cuEventSynchronize(void*) { return kOk; }
int cuEventElapsedTime(float* milliseconds, void*, void*) {
  *milliseconds = 0;
  return kOk;
}
int cuStreamBeginCapture_v2(void* stream, int) {
  if (stream == nullptr || FromEnvironment("TILEWRIGHT_EMULATED_GRAPHS", 1) == 0) return kNotSupported;
  return TheDevice().captures.try_emplace(stream).second ? kOk : kInvalidValue;
}
int cuStreamIsCapturing(void* stream, int* state) {
  *state = TheDevice().captures.contains(stream) ? 1 : 0;
  return kOk;
}
int cuStreamEndCapture(void* stream, void** captured) {
  auto capture = TheDevice().captures.extract(stream);
  if (capture.empty()) return kInvalidValue;
  *captured = new Graph(std::move(capture.mapped()));
  return kOk;
}
int cuGraphInstantiateWithFlags(void** graph, void* captured, unsigned long long) {
  *graph = new Graph(*static_cast<const Graph*>(captured));
  ++TheDevice().counts.graphs;
  return kOk;
}
int cuGraphDestroy(void* captured) {
  delete static_cast<Graph*>(captured);
  return kOk;
}
int cuGraphLaunch(void* graph, void* stream) {
  if (TheDevice().captures.contains(stream)) return kNotSupported;
  ++TheDevice().counts.graph_launches;
  for (const Captured& work : *static_cast<const Graph*>(graph)) {
    if (const int code = Run(work); code != kOk) return code;
  }
  return kOk;
}
int cuGraphExecDestroy(void* graph) {
  delete static_cast<Graph*>(graph);
  return kOk;
}

int cuTensorMapEncodeTiled(void* map, int type, unsigned rank, void* address, const uint64_t* extents,
                           const uint64_t* strides, const uint32_t* box, const uint32_t* steps, int, int swizzle, int,
                           int) {
  return Encoded(emulator::EncodeTiled({.type = static_cast<emulator::MapType>(type),
                                        .address = address,
                                        .extents = {extents, extents + rank},
                                        .strides = {strides, strides + rank - 1},
                                        .box = {box, box + rank},
                                        .steps = {steps, steps + rank},
                                        .swizzle_bytes = kSpans[swizzle]}),
                 map);
}
int cuTensorMapEncodeIm2col(void* map, int type, unsigned rank, void* address, const uint64_t* extents,
                            const uint64_t* strides, const int* lower, const int* upper, unsigned channels,
                            unsigned pixels, const uint32_t* steps, int, int swizzle, int, int) {
  return Encoded(emulator::EncodeIm2col({.type = static_cast<emulator::MapType>(type),
                                         .address = address,
                                         .extents = {extents, extents + rank},
                                         .strides = {strides, strides + rank - 1},
                                         .lower = {lower, lower + rank - 2},
                                         .upper = {upper, upper + rank - 2},
                                         .channels = channels,
                                         .pixels = pixels,
                                         // Those of channels and of images are not of the emulator's map.
                                         .steps = {steps + 1, steps + rank - 1},
                                         .swizzle_bytes = kSpans[swizzle]}),
                 map);
}

}  // extern "C"
