// A CUDA kernel that a person wrote, run on the CPU with every access checked.
//
//   auto kernel = ForeignKernel::Load("softmax.cu", {.kernel = "softmax"});
//   std::vector<ForeignArray> arrays = {{"x", x.data(), bytes, GlobalMemory::kInput}, ...};
//   LaunchResult result = kernel.value()->Launch({.grid = {64}, .block = {128}}, arrays, arguments);
//   for (const Fault& fault : result.faults) std::cerr << ToString(fault) << "\n";   // with file and line
//
// One launch at a time in a process: the place of the instruction that runs is a variable of the process.
#pragma once

#include <cstddef>
#include <cstdint>
#include <memory>
#include <string>
#include <vector>

#include "absl/status/statusor.h"
#include "codegen/cuda/emulator/launch.h"

namespace tilewright::foreign {

struct ForeignArray {
  std::string name;
  void* data = nullptr;
  size_t bytes = 0;
  emulator::GlobalMemory::Use use = emulator::GlobalMemory::kInput;
};

// What a kernel takes: bytes at offsets, as the kernel's code reads them.
struct ForeignParameter {
  enum class Kind { kPointer, kInteger, kFloat, kStruct };
  Kind kind = Kind::kInteger;
  std::string name;
  uint64_t offset = 0, bytes = 0;
  // The scalars of a struct, in order.
  struct Field {
    Kind kind;
    uint64_t offset, bytes;
  };
  std::vector<Field> fields;
};

struct ForeignSource {
  std::string kernel;                     // with template arguments where it is a template; may be empty
  std::vector<std::string> include_dirs;  // beside the folder of the text
  std::vector<std::string> definitions;   // "TILE=32"
};

struct ForeignLaunch {
  emulator::Dim grid, block, cluster;
  uint32_t shared_bytes = 0;  // dynamic
  emulator::DeviceLimits device;
  uint64_t concurrent_clusters = 1;
  uint64_t seed = 0;
  uint64_t budget = 0;  // instructions
  size_t stack_bytes = 256 << 10;
};

class ForeignKernel {
 public:
  // The file and line of the instruction that runs, for reports of a signal; empty where nothing runs.
  static std::string PlaceNow();

  // Errors are those of the text, with file and line.
  static absl::StatusOr<std::unique_ptr<ForeignKernel>> Load(const std::string& path, const ForeignSource& source);
  virtual ~ForeignKernel() = default;

  virtual const std::string& name() const = 0;
  virtual const std::vector<ForeignParameter>& parameters() const = 0;
  virtual uint64_t argument_bytes() const = 0;
  // What __cluster_dims__ says; empty where the text does not have it.
  virtual const std::vector<int64_t>& cluster() const = 0;
  // Whether the kernel has an `extern __shared__` array.
  virtual bool uses_dynamic_shared() const = 0;

  // `arguments` are argument_bytes() bytes. Arrays should have emulator::kRoomOfArray of nothing around them.
  virtual emulator::LaunchResult Launch(const ForeignLaunch& launch, const std::vector<ForeignArray>& arrays,
                                        const std::byte* arguments) = 0;
};

}  // namespace tilewright::foreign
