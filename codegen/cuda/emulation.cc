#include "codegen/cuda/emulation.h"

#include <dlfcn.h>

#include <cstdlib>
#include <cstring>
#include <map>
#include <mutex>
#include <thread>
#include <utility>
#include <vector>

#include "absl/strings/str_cat.h"
#include "absl/strings/str_join.h"
#include "base/files.h"
#include "base/status_macros.h"
#include "base/temporary_folder.h"
#include "codegen/cuda/cxx_compiler.h"
#include "codegen/cuda/device_text.h"
#include "codegen/cuda/emulator/launch.h"
#include "codegen/cuda/emulator/tensor_map.h"
#include "codegen/cuda/type_text.h"

namespace tilewright::cuda {
namespace {

// Frames of threads, with their local arrays.
constexpr size_t kStackBytes = 192 << 10;
constexpr size_t kReportedFaults = 3;

// Flags for the arithmetic of the interpreter: no fused operations that the program does not name; integers wrap.
constexpr const char* kFlags[] = {"-std=c++20",
                                  "-O1",
                                  "-w",
                                  "-fPIC",
                                  "-shared",
                                  "-fwrapv",
                                  "-nostdlib",
                                  "-ffp-contract=off",
                                  "-fno-strict-aliasing",
                                  "-fno-exceptions",
                                  "-fno-rtti",
                                  "-fno-math-errno"};

using KernelCall = void (*)(void* const* params);

class Emulated : public Device {
 public:
  struct EmulatedKernel {
    std::string name;
    KernelCall call = nullptr;
  };
  Emulated(void* library, std::vector<EmulatedKernel> kernels, const GpuTarget& gpu, bool has_dependent)
      : library_(library),
        kernels_(std::move(kernels)),
        limits_{.threads = static_cast<uint32_t>(gpu.max_threads_per_block),
                .shared_bytes = static_cast<uint32_t>(gpu.max_shared_bytes_per_block),
                .registers = gpu.registers_per_core,
                .thread_registers = gpu.max_registers_per_thread},
        has_dependent_(has_dependent) {}
  ~Emulated() override { dlclose(library_); }

  TwDeviceType type() const override { return kTwCpu; }

  absl::Status Launch(const LaunchArguments& arguments) override {
    const EmulatedKernel& kernel = kernels_[arguments.kernel];
    emulator::GlobalMemory memory;
    for (const ArrayArgument& array : arguments.arrays) {
      if (array.bytes == 0) continue;
      memory.Add(*array.name, array.data, static_cast<size_t>(array.bytes),
                 array.written ? emulator::GlobalMemory::kInOut : emulator::GlobalMemory::kInput);
    }
    emulator::GridChain* const chain = ChainOf(arguments);
    if (arguments.dependent && chain->last.empty()) BeginChain(arguments, *chain);
    const auto dim = [](const std::array<uint32_t, 3>& extents) {
      return emulator::Dim{extents[0], extents[1], extents[2]};
    };
    const emulator::LaunchResult result = emulator::Launch({.kernel = kernel.name,
                                                            .grid = dim(arguments.grid),
                                                            .block = dim(arguments.block),
                                                            .cluster = dim(arguments.cluster),
                                                            .shared_bytes = arguments.shared_bytes,
                                                            .device = limits_,
                                                            .stack_bytes = kStackBytes,
                                                            .chain = chain,
                                                            .dependent = arguments.dependent},
                                                           memory, [&] { kernel.call(arguments.params); });
    if (result.ok()) return absl::OkStatus();
    if (chain != nullptr) *chain = {};
    std::vector<std::string> faults;
    for (const emulator::Fault& fault : result.faults) {
      if (faults.size() < kReportedFaults) faults.push_back(ToString(fault));
    }
    return absl::AbortedError(absl::StrCat("emulation of ", kernel.name, " found ", result.faults.size(),
                                           " faults: ", absl::StrJoin(faults, "; ")));
  }

  absl::Status Finish() override {
    const std::lock_guard<std::mutex> lock(mutex_);
    own_chains_.erase(std::this_thread::get_id());
    return absl::OkStatus();
  }

  absl::Status Encode(const TensorMapSpec& spec, EncodedTensorMap* map) override {
    constexpr int kSpans[] = {0, 32, 64, 128};
    // The emulator numbers types as the driver does.
    const auto type = static_cast<emulator::MapType>(spec.type);
    TW_ASSIGN_OR_RETURN(const TwTensorMap encoded,
                        spec.im2col ? emulator::EncodeIm2col({.type = type,
                                                              .address = spec.address,
                                                              .extents = spec.extents,
                                                              .strides = spec.strides,
                                                              .lower = spec.lower,
                                                              .upper = spec.upper,
                                                              .channels = spec.channels,
                                                              .pixels = spec.pixels,
                                                              .steps = spec.steps,
                                                              .swizzle_bytes = kSpans[spec.swizzle]})
                                    : emulator::EncodeTiled({.type = type,
                                                             .address = spec.address,
                                                             .extents = spec.extents,
                                                             .strides = spec.strides,
                                                             .box = spec.box,
                                                             .steps = spec.steps,
                                                             .swizzle_bytes = kSpans[spec.swizzle]}));
    std::memcpy(map, &encoded, sizeof(*map));
    return absl::OkStatus();
  }

  void* Allocate(int64_t bytes, void* /*stream*/) override {
    const auto rounded = (static_cast<size_t>(bytes) + 255) / 256 * 256;
    void* memory = std::aligned_alloc(256, rounded);
    // The bytes are NaNs, so that reads of unwritten memory show.
    if (memory != nullptr) std::memset(memory, 0xff, rounded);
    return memory;
  }
  void Free(void* memory, void* /*stream*/) override { std::free(memory); }
  bool CopyIn(void* to, const void* from, int64_t bytes) override {
    std::memcpy(to, from, static_cast<size_t>(bytes));
    return true;
  }
  bool CopyOut(void* to, const void* from, int64_t bytes) override { return CopyIn(to, from, bytes); }

 private:
  // Null where no grid may begin early.
  emulator::GridChain* ChainOf(const LaunchArguments& arguments) {
    if (arguments.stream != nullptr) return static_cast<emulator::GridChain*>(arguments.stream);
    if (!has_dependent_) return nullptr;
    const std::lock_guard<std::mutex> lock(mutex_);
    return &own_chains_[std::this_thread::get_id()];
  }
  // What other programs have put into the stream is not known.
  static void BeginChain(const LaunchArguments& arguments, emulator::GridChain& chain) {
    chain.last = "what ran before";
    for (const ArrayArgument& array : arguments.arrays) {
      if (!array.constant) chain.touched.Add(array.data, static_cast<size_t>(array.bytes), /*write=*/true);
    }
  }

  void* library_;
  std::vector<EmulatedKernel> kernels_;
  const emulator::DeviceLimits limits_;
  const bool has_dependent_;  // kernels that are launched as dependent ones
  std::mutex mutex_;
  std::map<std::thread::id, emulator::GridChain> own_chains_;  // of threads that call without a stream
};

std::string CallName(const Kernel& kernel) { return kernel.name + "_call"; }

// Leaves kernels.so in the folder.
absl::Status CompileEmulated(const Program& program, const TemporaryFolder& folder) {
  bool written = !folder.path().empty() && folder.Write("kernels.cc", EmulatedText(program));
  for (const DeviceHeader& header : DeviceHeaders()) written = written && folder.Write(header.path, header.text);
  if (!written) return absl::InternalError(absl::StrCat("cannot write into ", folder.path().string()));
  std::vector<std::string> arguments(std::begin(kFlags), std::end(kFlags));
  for (const std::string& argument :
       {absl::StrCat("-I", folder.path().string()), (folder.path() / "kernels.cc").string(), std::string("-o"),
        (folder.path() / "kernels.so").string(), std::string("-lm"), std::string("-lc")}) {
    arguments.push_back(argument);
  }
  return RunCxxCompiler(arguments, "emulation");
}

}  // namespace

std::string EmulatedText(const Program& program) {
  std::string text = absl::StrCat("#include \"codegen/cuda/emulator/device/kernel.h\"\n\n", program.text, "\n");
  for (const DeviceFunction& function : program.functions) {
    for (const Kernel& kernel : function.kernels) {
      std::vector<std::string> params, sizes;
      for (size_t i = 0; i < kernel.params.size(); ++i) {
        const KernelParam& param = kernel.params[i];
        if (param.map) {
          sizes.push_back("sizeof(TwTensorMap)");
          params.push_back(absl::StrCat("*static_cast<const TwTensorMap*>(params[", i, "])"));
          continue;
        }
        const auto type = param.buffer ? StoredType(param.buffer->dtype.element()) : ValueType(param.var.dtype());
        const std::string stored = absl::StrCat(type.ok() ? *type : "int", param.buffer ? "*" : "");
        sizes.push_back(absl::StrCat("sizeof(", stored, ")"));
        params.push_back(absl::StrCat("*static_cast<", stored, " const*>(params[", i, "])"));
      }
      absl::StrAppend(&text, "extern \"C\" void ", CallName(kernel), "(void* const* params) {\n  ", kernel.name, "(",
                      absl::StrJoin(params, ", "), ");\n}\n");
      // What a launch through the driver does not give, since machine code holds it: the size of the cluster, and those
      // of parameters, with a 0 behind them.
      std::vector<int64_t> cluster;
      for (const Expr& extent : kernel.cluster) cluster.push_back(AsInt(extent).value_or(1));
      absl::StrAppend(&text, "extern \"C\" { extern const unsigned ", kernel.name, "_cluster[3] = {",
                      absl::StrJoin(cluster, ", "), "}; extern const unsigned ", kernel.name, "_params[] = {",
                      absl::StrJoin(sizes, ", "), sizes.empty() ? "0}; }\n" : ", 0}; }\n");
    }
  }
  return text;
}

absl::StatusOr<std::unique_ptr<Device>> EmulatedDevice(const Program& program) {
  const TemporaryFolder folder;
  TW_RETURN_IF_ERROR(CompileEmulated(program, folder));
  void* library = dlopen((folder.path() / "kernels.so").c_str(), RTLD_NOW | RTLD_LOCAL);
  if (library == nullptr)
    return absl::InternalError(absl::StrCat("the emulated kernels cannot be loaded: ", dlerror()));
  std::vector<Emulated::EmulatedKernel> kernels;
  bool has_dependent = false;
  for (const DeviceFunction& function : program.functions) {
    for (const Kernel& kernel : function.kernels) {
      has_dependent = has_dependent || kernel.dependent;
      kernels.push_back({kernel.name, reinterpret_cast<KernelCall>(dlsym(library, CallName(kernel).c_str()))});
    }
  }
  return std::make_unique<Emulated>(library, std::move(kernels), program.gpu, has_dependent);
}

absl::StatusOr<std::string> EmulatedKernels(const Program& program) {
  const TemporaryFolder folder;
  TW_RETURN_IF_ERROR(CompileEmulated(program, folder));
  return ReadFile((folder.path() / "kernels.so").string());
}

}  // namespace tilewright::cuda
