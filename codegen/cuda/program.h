// A function as CUDA sees it: kernels, and a host's part that says which of them run, in which order and on which
// grids.
//
//   for i in T.thread_binding(n // 128, thread="blockIdx.x"):         kernel 0: grid (n // 128), block (128)
//       for j in T.thread_binding(128, thread="threadIdx.x"):
//           ...                                                       host:  launch(0)
//   for i in T.thread_binding(m, thread="blockIdx.x"): ...                   launch(1)
#pragma once

#include <array>
#include <cstdint>
#include <optional>
#include <set>
#include <string>
#include <vector>

#include "ir/function.h"
#include "target/target.h"

namespace tilewright::cuda {

// How bulk copies see an array; encoded for each launch. Innermost dimension first.
struct KernelTensorMap {
  DataType type;
  std::vector<Expr> extents, strides;    // of the function's scalars; strides in bytes, of dimensions 1 and up
  std::vector<int> box;                  // of an im2col map: channels and pixels
  int span = 0;                          // of the swizzle in bytes
  std::vector<int> lower, upper, steps;  // corners and steps along the axes of pixels; empty: no im2col map
};

// Pointers are `buffer->data`, scalars `var`; a map is one of the buffer's array.
struct KernelParam {
  Var var;
  Buffer buffer;  // null for scalars
  bool written = false;
  std::optional<KernelTensorMap> map = {};
};

struct Kernel {
  std::string name;  // of the __global__ function
  std::string text;  // its definition
  std::vector<KernelParam> params;
  // Extents of x, y, z: expressions of the kernel's scalar parameters. The grid counts blocks.
  std::array<Expr, 3> grid, block, cluster;
  int64_t shared_bytes = 0;
  bool dependent = false;  // waits itself for the kernel in front of it (codegen/lower/gpu/grids/dependent_grids.h)
};

// Memory of the device between kernels of one call.
struct Temporary {
  Buffer buffer;
  Expr bytes;
};

struct EmitOptions {
  // Loops over addresses are unrolled; else they are the compiler's to unroll, which may need fewer registers.
  bool unroll_addresses = true;
};

// The call by which the host's part starts a kernel, with its number as the only argument.
inline constexpr char kLaunch[] = "cuda.launch";

struct DeviceFunction {
  std::string name;
  std::vector<Param> params;
  std::set<size_t> constants;  // parameters whose contents are the same in every call
  std::vector<Kernel> kernels;
  std::vector<Temporary> temporaries;
  // Loops, branches, lets, assertions, and launches.
  Stmt host;
};

// Numbers by which the driver knows a map's type of elements, and its swizzle of so many bytes (driver.h).
int MapTypeOf(DataType type);
int SwizzleOf(int span);

// By parameter: whether a kernel writes it.
std::vector<bool> WrittenParams(const DeviceFunction& function);

// The functions of a module and the one text that defines their kernels.
struct Program {
  std::vector<DeviceFunction> functions;
  GpuTarget gpu;  // of the target: what a launch may ask for
  // The kernels alone: what follows the preamble of either side.
  std::string text;
};

}  // namespace tilewright::cuda
