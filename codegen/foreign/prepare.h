// From the front end's view of a CUDA kernel to code of the host in which every access calls the emulator.
//
// The front end reads the text as for a GPU, so inline PTX, address spaces and kernels arrive as they were written.
//   A load            %v = load float, ptr %p
// becomes             %q = call ptr @tw_foreign_access(ptr %p, i64 4, i32 0, i32 PLACE); %v = load float, ptr %q
// where PLACE numbers the line of the text. Accesses of variables of the thread itself stay as they are. Shared
// variables become constant addresses of the emulator's window, inline PTX a call of its interpreter (ptx/), and loops
// count their turns.
#pragma once

#include <cstdint>
#include <memory>
#include <string>
#include <vector>

#include "absl/status/statusor.h"
#include "codegen/cuda/emulator/launch.h"
#include "codegen/foreign/kernel.h"
#include "codegen/foreign/ptx/program.h"
#include "llvm/IR/Module.h"

namespace tilewright::foreign {

// A place in the text, and those it was inlined into, innermost first.
struct TextPlace {
  struct Line {
    std::string file;
    unsigned line = 0;
  };
  std::vector<Line> lines;
};

using KernelParameter = ForeignParameter;

// A variable of the text in global or constant memory.
struct DeviceVariable {
  std::string name, symbol;
  uint64_t bytes = 0;
  bool constant = false;
};

struct PreparedKernel {
  std::string name;  // as people write it
  std::vector<KernelParameter> parameters;
  uint64_t argument_bytes = 0;
  std::vector<DeviceVariable> variables;
  std::vector<emulator::SharedVariable> shared;  // static ones; the dynamic part follows at `dynamic_begin`
  std::vector<int64_t> cluster;                  // of __cluster_dims__
  bool uses_dynamic = false;
  std::string dynamic_name;
  uint32_t static_bytes = 0;      // as a GPU would count them
  uint32_t dynamic_begin = 0;     // behind the static variables and the room between them
  std::vector<TextPlace> places;  // by number; number 0 is none
  std::vector<std::unique_ptr<ptx::Program>> programs;
};

// The function that runs the kernel: void(const std::byte* arguments).
inline constexpr char kEntry[] = "tw_foreign_entry";

// `kernel` as LAUNCH.json names it, possibly with template arguments; empty where the text has one kernel. Errors name
// the file and line.
absl::StatusOr<PreparedKernel> PrepareKernel(llvm::Module& module, const std::string& kernel);

// Optimizes the module for this machine.
void OptimizeForHost(llvm::Module& module);

}  // namespace tilewright::foreign
