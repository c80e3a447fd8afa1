// Targets: what a program is compiled for. The only place where hardware limits are written down.
//
//   Target host = HostTarget();
//   absl::StatusOr<Target> gpu = NamedTarget("cuda-sm90");
//   if (host.has("avx512bf16")) ...
#pragma once

#include <array>
#include <cstdint>
#include <string>
#include <string_view>
#include <variant>
#include <vector>

#include "absl/status/statusor.h"

namespace tilewright {

enum class TargetKind : uint8_t { kX86, kArm, kCuda };

// A level of memory between a core and main memory: a data cache.
struct MemoryLevel {
  std::string name = {};  // "L1"
  int64_t bytes = 0;
  // What an operand may fill so that it stays while others pass by.
  int64_t usable_bytes = 0;
  int line_bytes = 64;
  int shared_by = 1;  // cores
  int ways = 8;       // lines of one set
  // What a core reads from this level when data streams through it; 0 when unknown.
  double bytes_per_cycle = 0;

  bool operator==(const MemoryLevel&) const = default;
};

// A unit of a core that multiplies and adds.
struct ComputeUnit {
  std::string name = {};     // "fma", "dot" (sums of products in vectors), "matrix" (tiles, tensor cores)
  std::string operand = {};  // the type of its factors: "float32", "bfloat16" (float16 too), "int8", "int16"
  int per_cycle = 0;         // multiply-adds of scalars that a core starts per cycle
  int latency = 0;           // cycles until a result can be added to; 0 when unknown
  std::vector<std::string> features = {};  // of the target; any of them comes with the unit

  bool operator==(const ComputeUnit&) const = default;
};

struct CpuTarget {
  int vector_bits = 0;       // width of the vector registers
  int vector_registers = 0;  // per core
  // Vectors that a core loads and stores per cycle, and operations of any sort that it starts.
  double loads_per_cycle = 0, stores_per_cycle = 0, issue_per_cycle = 0;
  int page_bytes = 4096;
  double fork_join_seconds = 0;  // to start and to end a parallel loop

  bool operator==(const CpuTarget&) const = default;
};

// A core is a streaming multiprocessor, a cycle one of its clock. Figures of presets: target/README.md.
//
// The defaults of warp_size and warpgroup_size are what a program for GPUs is read by where no target is given:
// verification without one, the interpreter. No other limit holds there.
struct GpuTarget {
  // Threads.
  int warp_size = 32;
  int warpgroup_size = 128;  // threads that start an instruction of a warpgroup together
  int max_threads_per_block = 0;
  int max_threads_per_core = 0;
  int max_blocks_per_core = 0;  // at the same time
  std::array<int, 3> max_block_dims = {0, 0, 0};
  std::array<int, 3> max_grid_dims = {0, 0, 0};  // blocks of a launch
  int max_cluster_blocks = 0;                    // that every kernel may have; 1 without clusters
  // Cores that clusters of more than two blocks can use at once, where a core has one block: cores are neighbours in
  // groups whose sizes are not all multiples of four.
  int cluster_cores = 0;

  // Memory.
  int registers_per_core = 0;  // 32-bit
  int max_registers_per_thread = 0;
  int64_t max_shared_bytes_per_block = 0;       // opt-in limit
  int64_t default_shared_bytes_per_block = 0;   // without asking for more
  int64_t reserved_shared_bytes_per_block = 0;  // taken by the system
  int64_t shared_bytes_per_core = 0;
  int64_t max_local_bytes_per_thread = 0;  // memory of a thread that does not fit into registers
  int max_access_bytes = 0;                // the widest load or store of a thread
  int sector_bytes = 0;                    // of global memory that a request fetches at least
  int fetched_bytes = 0;                   // of global memory that are fetched together
  int min_async_copy_bytes = 0;            // that a thread copies asynchronously (cp.async)
  int max_swizzle_bytes = 0;               // a row of the widest swizzle of shared memory

  // Bulk copies by the engine (TMA), and the tensor maps that describe them.
  int bulk_alignment = 0;         // of rows in global memory, in bytes
  int bulk_shared_alignment = 0;  // of boxes in shared memory, in bytes
  int max_map_rank = 0;
  int max_map_box = 0;     // elements of a box along each dimension
  int max_map_pixels = 0;  // of a box of an im2col map
  int max_map_step = 0;

  // Rates per cycle and core; the first level's bytes_per_cycle is that of shared memory, too.
  double warp_instructions_per_cycle = 0;  // one by each scheduler
  double special_per_cycle = 0;            // exponentials, roots and quotients
  double shared_fill_bytes_per_cycle = 0;  // that bulk copies bring into shared memory; 0 without them

  // Cycles.
  double memory_latency = 0, shared_latency = 0;  // until a load arrives
  double barrier_cycles = 0;                      // of a block
  double shuffle_cycles = 0;                      // an exchange between lanes
  // Until the first operands of a product's tile arrive from memory, and until its last results have left.
  double tile_fill_cycles = 0, tile_drain_cycles = 0;

  // Steps of a pipeline from which on a warpgroup of its own that copies pixels pays (measured).
  int min_producer_steps = 0;
  double launch_seconds = 0;  // to start a kernel

  bool operator==(const GpuTarget&) const = default;
};

struct Target {
  std::string name;  // a preset's name, or "host"
  TargetKind kind = TargetKind::kX86;
  std::string triple;  // LLVM's
  std::string cpu;     // LLVM's name of the processor: "znver4", "neoverse-n1", "sm_90a"
  // Names as LLVM spells them ("avx512f", "avx512vnni", "dotprod"), sorted. For CUDA: "wmma", "mma", "cp.async",
  // "wgmma".
  std::vector<std::string> features;
  int cores = 1;                    // CPU cores this process may use, or streaming multiprocessors
  std::vector<MemoryLevel> levels;  // nearest first, without main memory
  std::vector<ComputeUnit> units;
  double clock_ghz = 0;   // under load on all cores: measured on the host, nominal in presets
  double memory_gbs = 0;  // nominal bandwidth of main memory that `cores` can use
  std::variant<CpuTarget, GpuTarget> machine;

  bool operator==(const Target&) const = default;

  bool is_gpu() const { return std::holds_alternative<GpuTarget>(machine); }
  // What only CPUs have; CpuTarget() for a GPU.
  const CpuTarget& cpu_part() const;
  CpuTarget& mutable_cpu_part() { return std::get<CpuTarget>(machine); }
  // What only GPUs have; GpuTarget() for a CPU.
  const GpuTarget& gpu_part() const;

  // The first level, which each core of a GPU has for itself (L1, one memory with shared memory there); the second, or
  // the last where there is one; and the last. Every description has levels.
  const MemoryLevel& Nearest() const { return levels.front(); }
  const MemoryLevel& Near() const { return levels[levels.size() > 1 ? 1 : 0]; }
  const MemoryLevel& Farthest() const { return levels.back(); }

  // The fastest unit for factors of this type, or null. f32 has one unit.
  const ComputeUnit* UnitFor(std::string_view operand) const;
  // Multiply-adds of factors of this type, as scalars, that a core starts per cycle by its best unit; 0 without one.
  int ProductsPerCycle(std::string_view operand) const;
  // Fused multiply-adds of f32 that a core starts per cycle, as vectors (CPU) or as scalars (GPU); 0 when unknown.
  int FmaPerCycle() const { return ProductsPerCycle("float32") / lanes(32); }
  int FmaLatency() const;

  bool has(std::string_view feature) const;
  // Elements of a type of that many bits in one vector register, at least 1: a GPU's threads compute one at a time.
  int lanes(int bits) const {
    const int vector_bits = cpu_part().vector_bits;
    return bits > 0 && bits < vector_bits ? vector_bits / bits : 1;
  }
  // Whether a CPU's vectors are as wide as a cache line: those that are not aligned lie in two.
  bool VectorsFillLines() const;
  std::string FeatureString() const;  // "+avx2,+fma,...": what LLVM takes
  std::string ToString() const;       // several lines, for people
};

// The machine this process runs on, from cpuid and sysfs. The number of cores respects the affinity mask.
Target HostTarget();
// "host", a preset, or the path of a description (FILE.json, target_json.h); an unknown name is an error that lists the
// known ones.
absl::StatusOr<Target> NamedTarget(std::string_view name);
std::vector<std::string> TargetNames();
// Whether the machine `host` runs what is compiled for the target; an error names what it lacks. Numbers of cores and
// sizes of caches do not matter.
absl::Status CheckRunsOn(const Target& target, const Target& host);

}  // namespace tilewright
