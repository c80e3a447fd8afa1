// Runs a kernel on the CPU, every access checked.
//
//   GlobalMemory memory;
//   memory.Add("A", a.data(), bytes);
//   memory.Add("C", c.data(), bytes, GlobalMemory::kOutput);
//   LaunchResult result = Launch({.kernel = "scale", .grid = {4}, .block = {128}, .shared_bytes = 4096}, memory,
//                                [&] { scale(a.data(), c.data(), n); });
//   for (const Fault& fault : result.faults) std::cerr << ToString(fault) << "\n";
//
// The callable is called once for each thread. Kernels are text that includes device/kernel.h.
//
// A faulty access is reported and not done (reads give zeros), and the kernel goes on; after a deadlock, a divergence
// or too many instructions it ends. Asynchronous work is done as late as the program allows; with a seed, threads and
// asynchronous work take turns at random instead, and a right kernel gives the same values for every seed.
//
// Launches on different operating-system threads are independent of each other.
#pragma once

#include <cstddef>
#include <cstdint>
#include <functional>
#include <string>
#include <vector>

#include "codegen/cuda/emulator/fault.h"
#include "codegen/cuda/emulator/footprint.h"
#include "codegen/cuda/emulator/global_memory.h"

namespace tilewright::emulator {

// What a device limits; that of sm_90.
struct DeviceLimits {
  uint32_t threads = 1024;            // of a block
  uint32_t cluster_blocks = 16;       // where a kernel asks for more than every device has
  uint32_t shared_bytes = 227 << 10;  // of a block
  int registers = 65536;              // of a block
  int thread_registers = 255;
};

// A variable in shared memory, or the dynamic part of it: faults name it.
struct SharedVariable {
  std::string name;
  uint32_t begin = 0, bytes = 0;
};

// The place in the text of the kernel of the instruction that runs: the kernel writes its number before it calls the
// emulator.
struct TextPlaces {
  const uint32_t* now = nullptr;              // null: the text has no places
  std::function<std::string(uint32_t)> name;  // "softmax.cu:17"
};

// An access whose place in the text is wanted: a second launch of the same kernel writes it to `place`.
struct WatchedAccess {
  uint32_t agent = 0, time = 0;  // of clocks::Epoch
  uint8_t operation = 0;
  const void* array = nullptr;  // null: shared memory of block `block`
  uint32_t block = 0;           // its number in the grid
  uint64_t byte = 0;
  uint32_t place = 0;
};

struct LaunchOptions {
  std::string kernel = "kernel";
  Dim grid, block, cluster;
  uint32_t shared_bytes = 0;  // dynamic
  DeviceLimits device;
  // Clusters that run at once. Blocks of others have ended or not begun: a kernel whose blocks wait for each other
  // needs all of them, others run faster with one.
  uint64_t concurrent_clusters = 1;
  uint32_t registers = 0;        // of a thread at entry, for setmaxnreg; 0: as many as the block leaves room for
  uint64_t seed = 0;             // 0: in order, asynchronous work late
  uint64_t budget = 2000000000;  // instructions
  size_t stack_bytes = 64 << 10;
  size_t most_faults = 32;  // different ones that are kept
  bool check = true;        // races, unwritten reads; bounds and alignment are always checked
  bool count_bank_conflicts = true;
  // If there are any, other bytes of shared memory are out of bounds.
  std::vector<SharedVariable> variables;
  TextPlaces places;
  std::vector<WatchedAccess>* watched = nullptr;
  // The stream, where the order of grids is checked. The launch takes the place of the grid in front.
  GridChain* chain = nullptr;
  bool dependent = false;  // may begin before the grid in front has ended
};

struct LaunchResult {
  std::vector<Fault> faults;
  Counters counters;
  bool finished = false;  // all threads ran to their end
  bool ok() const { return finished && faults.empty(); }
};

LaunchResult Launch(const LaunchOptions& options, GlobalMemory& memory, const std::function<void()>& kernel);

}  // namespace tilewright::emulator
