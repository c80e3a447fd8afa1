#include "target/target.h"

#include <algorithm>
#include <iterator>

#include "absl/strings/str_cat.h"
#include "absl/strings/str_join.h"

namespace tilewright {
namespace {

std::vector<std::string> Sorted(std::vector<std::string> features) {
  std::sort(features.begin(), features.end());
  return features;
}

const std::vector<std::string>& Avx2Features() {
  static const auto* const features =
      new std::vector<std::string>{"sse4.2", "avx", "avx2", "fma", "f16c", "bmi", "bmi2", "popcnt"};
  return *features;
}

std::vector<std::string> With(std::vector<std::string> base, std::vector<std::string> more) {
  base.insert(base.end(), more.begin(), more.end());
  return Sorted(std::move(base));
}

// What a core does per cycle.
struct Rates {
  int fma_latency;
  double loads, stores, issue;
  double bytes_from[3];  // from each cache level
  double clock_ghz, memory_gbs;
};

void SetRates(const Rates& rates, Target& t) {
  t.fma_latency = rates.fma_latency;
  t.loads_per_cycle = rates.loads;
  t.stores_per_cycle = rates.stores;
  t.issue_per_cycle = rates.issue;
  for (size_t i = 0; i < t.caches.size(); ++i) t.caches[i].bytes_per_cycle = rates.bytes_from[i];
  t.clock_ghz = rates.clock_ghz;
  t.memory_gbs = rates.memory_gbs;
}

// Instructions that add up several products start as often as FMAs of the same width; AMX has units of its own.
void SetDotRates(Target& t) {
  const int f32 = t.f32_fma_per_cycle * t.lanes(32);
  const auto any = [&t](std::initializer_list<const char*> names) {
    return std::any_of(names.begin(), names.end(), [&t](const char* name) { return t.has(name); });
  };
  t.bf16_dot_per_cycle = t.has("amx-bf16") ? 512 : any({"avx512bf16", "bf16"}) ? 2 * f32 : 0;
  t.int8_dot_per_cycle = t.has("amx-int8")                           ? 1024
                         : t.has("i8mm")                             ? 8 * f32
                         : any({"avx512vnni", "avxvnni", "dotprod"}) ? 4 * f32
                                                                     : 0;
}

Target X86(std::string name, std::string cpu, int vector_bits, std::vector<std::string> features, int64_t l1,
           int64_t l2, int64_t l3, int f32_fma_per_cycle, const Rates& rates) {
  Target t;
  t.name = std::move(name);
  t.kind = TargetKind::kX86;
  t.triple = "x86_64-unknown-linux-gnu";
  t.cpu = std::move(cpu);
  t.features = std::move(features);
  t.cores = 2;
  t.vector_bits = vector_bits;
  t.vector_registers = vector_bits == 512 ? 32 : 16;
  t.caches = {{l1, 64, 1, l1 > (32 << 10) ? 12 : 8}, {l2, 64, 1, 8}, {l3, 64, 8, 16}};
  t.f32_fma_per_cycle = f32_fma_per_cycle;
  SetRates(rates, t);
  SetDotRates(t);
  return t;
}

Target Arm(std::string name, std::string cpu, std::vector<std::string> features, int64_t l2, int fma,
           const Rates& rates) {
  Target t;
  t.name = std::move(name);
  t.kind = TargetKind::kArm;
  t.triple = "aarch64-unknown-linux-gnu";
  t.cpu = std::move(cpu);
  t.features = Sorted(std::move(features));
  t.cores = 4;
  t.vector_bits = 128;
  t.vector_registers = 32;
  t.caches = {{64 << 10, 64, 1, 4}, {l2, 64, 1, 8}, {32 << 20, 64, 32, 16}};
  t.f32_fma_per_cycle = fma;
  SetRates(rates, t);
  SetDotRates(t);
  return t;
}

Target Cuda(std::string name, std::string cpu, int cores, int threads_per_core, int64_t shared_per_block,
            int64_t shared_per_core, double clock_ghz, double memory_gbs, int f16_tensor_fma,
            std::vector<std::string> features) {
  Target t;
  t.name = std::move(name);
  t.kind = TargetKind::kCuda;
  t.triple = "nvptx64-nvidia-cuda";
  t.cpu = std::move(cpu);
  t.features = Sorted(std::move(features));
  t.cores = cores;
  t.warp_size = 32;
  t.max_threads_per_block = 1024;
  t.max_threads_per_core = threads_per_core;
  t.max_shared_bytes_per_block = shared_per_block;
  t.shared_bytes_per_core = shared_per_core;
  t.registers_per_core = 65536;
  t.max_registers_per_thread = 255;
  t.max_block_dims[0] = 1024;
  t.max_block_dims[1] = 1024;
  t.max_block_dims[2] = 64;
  t.f32_fma_per_cycle = 128;
  t.fma_latency = 4;
  t.bf16_dot_per_cycle = f16_tensor_fma;
  t.int8_dot_per_cycle = 2 * f16_tensor_fma;
  t.clock_ghz = clock_ghz;
  t.memory_gbs = memory_gbs;
  return t;
}

// Sources: vendors' optimization guides and architecture white papers (cache sizes per core, issue rates), CUDA
// programming guide (limits per compute capability). Rates of znver4 are measured; bandwidth of memory is for as many
// cores as the preset has.
constexpr Rates kHaswell = {5, 2, 1, 4, {64, 25, 12}, 3.4, 20};
constexpr Rates kSkylake = {4, 2, 1, 4, {128, 48, 10}, 2.8, 25};
constexpr Rates kSapphireRapids = {4, 2, 1, 6, {128, 48, 10}, 3.0, 25};
constexpr Rates kZen3 = {4, 2, 1, 6, {64, 32, 27}, 3.6, 30};
constexpr Rates kZen4 = {4, 1, 0.5, 6, {64, 32, 27}, 3.7, 30};
constexpr Rates kZen5 = {4, 2, 1, 8, {128, 64, 27}, 4.0, 40};
constexpr Rates kCortexA72 = {4, 1, 1, 3, {16, 16, 8}, 1.8, 10};
constexpr Rates kNeoverseN1 = {4, 2, 1, 4, {32, 32, 16}, 2.6, 40};
constexpr Rates kNeoverseV1 = {4, 3, 2, 8, {48, 32, 16}, 2.6, 40};

const std::vector<Target>& Presets() {
  static const auto* const presets = [] {
    const std::vector<std::string> avx512 =
        With(Avx2Features(), {"avx512f", "avx512bw", "avx512cd", "avx512dq", "avx512vl", "avx512vnni"});
    const std::vector<std::string> zen4 = With(avx512, {"avx512bf16"});
    const std::vector<std::string> amx = With(zen4, {"amx-tile", "amx-int8", "amx-bf16", "avx512fp16", "avxvnni"});
    auto* list = new std::vector<Target>{
        X86("x86-haswell", "haswell", 256, Sorted(Avx2Features()), 32 << 10, 256 << 10, 8 << 20, 2, kHaswell),
        X86("x86-skylake-avx512", "skylake-avx512", 512,
            With(Avx2Features(), {"avx512f", "avx512bw", "avx512cd", "avx512dq", "avx512vl"}), 32 << 10, 1 << 20,
            16 << 20, 2, kSkylake),
        X86("x86-cascadelake", "cascadelake", 512, avx512, 32 << 10, 1 << 20, 16 << 20, 2, kSkylake),
        X86("x86-sapphirerapids", "sapphirerapids", 512, amx, 48 << 10, 2 << 20, 32 << 20, 2, kSapphireRapids),
        X86("x86-znver3", "znver3", 256, Sorted(Avx2Features()), 32 << 10, 512 << 10, 32 << 20, 2, kZen3),
        X86("x86-znver4", "znver4", 512, zen4, 32 << 10, 1 << 20, 32 << 20, 1, kZen4),
        X86("x86-znver5", "znver5", 512, With(zen4, {"avxvnni", "avx512vp2intersect"}), 48 << 10, 1 << 20, 32 << 20, 2,
            kZen5),
        Arm("arm-cortex-a72", "cortex-a72", {"neon"}, 1 << 20, 1, kCortexA72),
        Arm("arm-neoverse-n1", "neoverse-n1", {"neon", "dotprod", "fullfp16"}, 1 << 20, 2, kNeoverseN1),
        Arm("arm-neoverse-v1", "neoverse-v1", {"neon", "dotprod", "fullfp16", "bf16", "i8mm", "sve"}, 1 << 20, 4,
            kNeoverseV1),
        Cuda("cuda-sm75", "sm_75", 40, 1024, 64 << 10, 64 << 10, 1.59, 320, 512, {"wmma", "mma", "dp4a", "ldmatrix"}),
        Cuda("cuda-sm80", "sm_80", 108, 2048, 163 << 10, 164 << 10, 1.41, 1555, 1024,
             {"wmma", "mma", "dp4a", "ldmatrix", "cp.async"}),
        Cuda("cuda-sm86", "sm_86", 68, 1536, 99 << 10, 100 << 10, 1.7, 760, 512,
             {"wmma", "mma", "dp4a", "ldmatrix", "cp.async"}),
        Cuda("cuda-sm89", "sm_89", 128, 1536, 99 << 10, 100 << 10, 2.5, 1008, 512,
             {"wmma", "mma", "dp4a", "ldmatrix", "cp.async", "fp8"}),
        Cuda("cuda-sm90", "sm_90", 132, 2048, 227 << 10, 228 << 10, 1.75, 3350, 2048,
             {"wmma", "mma", "dp4a", "ldmatrix", "cp.async", "fp8", "tma", "mbarrier"}),
        // Instructions that later GPUs do not have.
        Cuda("cuda-sm90a", "sm_90a", 132, 2048, 227 << 10, 228 << 10, 1.75, 3350, 2048,
             {"wmma", "mma", "dp4a", "ldmatrix", "cp.async", "fp8", "wgmma", "tma", "mbarrier", "setmaxnreg"}),
    };
    return list;
  }();
  return *presets;
}

}  // namespace

bool Target::has(std::string_view feature) const {
  return std::binary_search(features.begin(), features.end(), feature);
}

bool Target::VectorsFillLines() const {
  return kind == TargetKind::kX86 && !caches.empty() && vector_bits == 8 * caches.front().line_bytes;
}

std::string Target::FeatureString() const {
  return absl::StrJoin(features, ",", [](std::string* out, const std::string& f) { absl::StrAppend(out, "+", f); });
}

std::string Target::ToString() const {
  std::string text = absl::StrCat("name: ", name, "\ntriple: ", triple, "\ncpu: ", cpu,
                                  "\nfeatures: ", absl::StrJoin(features, " "), "\ncores: ", cores, "\n");
  if (kind == TargetKind::kCuda) {
    absl::StrAppend(
        &text, "warp size: ", warp_size, "\nthreads per block: ", max_threads_per_block,
        "\nthreads per core: ", max_threads_per_core, "\nblock dimensions: ", max_block_dims[0], " x ",
        max_block_dims[1], " x ", max_block_dims[2], "\nshared memory per block: ", max_shared_bytes_per_block,
        " bytes\nshared memory per core: ", shared_bytes_per_core, " bytes\nregisters per core: ", registers_per_core,
        "\nregisters per thread: ", max_registers_per_thread, "\n");
  } else {
    absl::StrAppend(&text, "vector registers: ", vector_registers, " of ", vector_bits, " bits\n");
    for (size_t i = 0; i < caches.size(); ++i) {
      absl::StrAppend(&text, "L", i + 1, ": ", caches[i].bytes, " bytes, lines of ", caches[i].line_bytes,
                      ", shared by ", caches[i].shared_by, " cores");
      if (caches[i].bytes_per_cycle != 0) absl::StrAppend(&text, ", ", caches[i].bytes_per_cycle, " bytes per cycle");
      absl::StrAppend(&text, "\n");
    }
  }
  if (f32_fma_per_cycle != 0) absl::StrAppend(&text, "f32 FMA per cycle and core: ", f32_fma_per_cycle, "\n");
  if (bf16_dot_per_cycle != 0)
    absl::StrAppend(&text, "bf16 multiply-adds per cycle and core: ", bf16_dot_per_cycle, "\n");
  if (int8_dot_per_cycle != 0)
    absl::StrAppend(&text, "int8 multiply-adds per cycle and core: ", int8_dot_per_cycle, "\n");
  if (loads_per_cycle != 0) {
    absl::StrAppend(&text, "vector loads, stores and operations per cycle: ", loads_per_cycle, ", ", stores_per_cycle,
                    ", ", issue_per_cycle, "\n");
  }
  if (clock_ghz != 0) absl::StrAppend(&text, "clock: ", clock_ghz, " GHz\n");
  if (memory_gbs != 0) absl::StrAppend(&text, "memory: ", memory_gbs, " GB/s\n");
  return text;
}

std::vector<std::string> TargetNames() {
  std::vector<std::string> names = {"host"};
  for (const Target& preset : Presets()) names.push_back(preset.name);
  return names;
}

absl::Status CheckRunsOn(const Target& target, const Target& host) {
  std::vector<std::string> lacking;
  std::ranges::copy_if(target.features, std::back_inserter(lacking),
                       [&](const std::string& feature) { return !host.has(feature); });
  if (target.kind == host.kind && lacking.empty()) return absl::OkStatus();
  const std::string why =
      target.kind != host.kind ? "it is of another kind" : "it lacks " + absl::StrJoin(lacking, ", ");
  return absl::FailedPreconditionError(absl::StrCat("this machine does not run code for ", target.name, ": ", why));
}

absl::StatusOr<Target> NamedTarget(std::string_view name) {
  if (name == "host") return HostTarget();
  for (const Target& preset : Presets()) {
    if (preset.name == name) return preset;
  }
  return absl::InvalidArgumentError(absl::StrCat("unknown target \"", absl::string_view(name.data(), name.size()),
                                                 "\"; known are ", absl::StrJoin(TargetNames(), ", ")));
}

}  // namespace tilewright
