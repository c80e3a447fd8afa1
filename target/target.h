// Targets: what a program is compiled for. The only place where hardware limits are written down.
//
//   Target host = HostTarget();
//   absl::StatusOr<Target> gpu = NamedTarget("cuda-sm90");
//   if (host.has("avx512bf16")) ...
#pragma once

#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

#include "absl/status/statusor.h"

namespace tilewright {

enum class TargetKind : uint8_t { kX86, kArm, kCuda };

struct CacheLevel {
  int64_t bytes = 0;
  int line_bytes = 64;
  int shared_by = 1;  // cores
  int ways = 8;       // lines of one set
  // What a core reads from this level when data streams through it; 0 when unknown.
  double bytes_per_cycle = 0;
};

struct Target {
  std::string name;  // a preset's name, or "host"
  TargetKind kind = TargetKind::kX86;
  std::string triple;  // LLVM's
  std::string cpu;     // LLVM's name of the processor: "znver4", "neoverse-n1", "sm_90a"
  // Names as LLVM spells them ("avx512f", "avx512vnni", "dotprod"), sorted. For CUDA: "wmma", "mma", "cp.async",
  // "wgmma".
  std::vector<std::string> features;
  int cores = 1;  // CPU cores this process may use, or streaming multiprocessors

  // CPU.
  int vector_bits = 0;             // width of the vector registers
  int vector_registers = 0;        // per core
  std::vector<CacheLevel> caches;  // data caches, L1 first

  // GPU.
  int warp_size = 0;
  int max_threads_per_block = 0;
  int max_threads_per_core = 0;
  int64_t max_shared_bytes_per_block = 0;  // opt-in limit
  int64_t shared_bytes_per_core = 0;
  int registers_per_core = 0;  // 32-bit
  int max_registers_per_thread = 0;
  int max_block_dims[3] = {0, 0, 0};

  // Fused multiply-adds of f32 a core can start per cycle, as vectors (CPU) or as scalars (GPU); 0 when unknown.
  int f32_fma_per_cycle = 0;
  int fma_latency = 0;  // cycles until the result of an FMA can be added to
  // Multiply-adds of narrow operands, as scalars, that a core starts per cycle with its best tensor instruction; 0 when
  // it has none. bf16 stands for f16 too where both exist.
  int bf16_dot_per_cycle = 0, int8_dot_per_cycle = 0;
  // CPU: vectors that a core loads and stores per cycle, and operations of any sort that it starts.
  double loads_per_cycle = 0, stores_per_cycle = 0, issue_per_cycle = 0;
  double clock_ghz = 0;   // under load on all cores: measured on the host, nominal in presets
  double memory_gbs = 0;  // nominal bandwidth of main memory that `cores` can use

  bool has(std::string_view feature) const;
  // Elements of a type of that many bits in one vector register, at least 1: a GPU's threads compute one at a time.
  int lanes(int bits) const { return bits > 0 && bits < vector_bits ? vector_bits / bits : 1; }
  // Whether a CPU's vectors are as wide as a cache line: those that are not aligned lie in two.
  bool VectorsFillLines() const;
  std::string FeatureString() const;  // "+avx2,+fma,...": what LLVM takes
  std::string ToString() const;       // several lines, for people
};

// The machine this process runs on, from cpuid and sysfs. The number of cores respects the affinity mask.
Target HostTarget();
// "host" or a preset; an unknown name is an error that lists the known ones.
absl::StatusOr<Target> NamedTarget(std::string_view name);
std::vector<std::string> TargetNames();
// Whether the machine `host` runs what is compiled for the target; an error names what it lacks. Numbers of cores and
// sizes of caches do not matter.
absl::Status CheckRunsOn(const Target& target, const Target& host);

}  // namespace tilewright
