#include "ir/target.h"

#include <algorithm>

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

Target X86(std::string name, std::string cpu, int vector_bits, std::vector<std::string> features, int64_t l1,
           int64_t l2, int64_t l3, int f32_fma_per_cycle) {
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
  return t;
}

Target Arm(std::string name, std::string cpu, std::vector<std::string> features, int64_t l2, int fma) {
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
  return t;
}

Target Cuda(std::string name, std::string cpu, int cores, int threads_per_core, int64_t shared_per_block,
            int64_t shared_per_core, std::vector<std::string> features) {
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
  return t;
}

// Sources: vendors' optimization guides and architecture white papers (cache sizes per core, issue rates), CUDA
// programming guide (limits per compute capability).
const std::vector<Target>& Presets() {
  static const auto* const presets = [] {
    const std::vector<std::string> avx512 =
        With(Avx2Features(), {"avx512f", "avx512bw", "avx512cd", "avx512dq", "avx512vl", "avx512vnni"});
    const std::vector<std::string> zen4 = With(avx512, {"avx512bf16"});
    const std::vector<std::string> amx = With(zen4, {"amx-tile", "amx-int8", "amx-bf16", "avx512fp16", "avxvnni"});
    auto* list = new std::vector<Target>{
        X86("x86-haswell", "haswell", 256, Sorted(Avx2Features()), 32 << 10, 256 << 10, 8 << 20, 2),
        X86("x86-skylake-avx512", "skylake-avx512", 512,
            With(Avx2Features(), {"avx512f", "avx512bw", "avx512cd", "avx512dq", "avx512vl"}), 32 << 10, 1 << 20,
            16 << 20, 2),
        X86("x86-cascadelake", "cascadelake", 512, avx512, 32 << 10, 1 << 20, 16 << 20, 2),
        X86("x86-sapphirerapids", "sapphirerapids", 512, amx, 48 << 10, 2 << 20, 32 << 20, 2),
        X86("x86-znver3", "znver3", 256, Sorted(Avx2Features()), 32 << 10, 512 << 10, 32 << 20, 2),
        X86("x86-znver4", "znver4", 512, zen4, 32 << 10, 1 << 20, 32 << 20, 1),
        X86("x86-znver5", "znver5", 512, With(zen4, {"avxvnni", "avx512vp2intersect"}), 48 << 10, 1 << 20, 32 << 20, 2),
        Arm("arm-cortex-a72", "cortex-a72", {"neon"}, 1 << 20, 1),
        Arm("arm-neoverse-n1", "neoverse-n1", {"neon", "dotprod", "fullfp16"}, 1 << 20, 2),
        Arm("arm-neoverse-v1", "neoverse-v1", {"neon", "dotprod", "fullfp16", "bf16", "i8mm", "sve"}, 1 << 20, 4),
        Cuda("cuda-sm75", "sm_75", 40, 1024, 64 << 10, 64 << 10, {"wmma", "mma", "dp4a", "ldmatrix"}),
        Cuda("cuda-sm80", "sm_80", 108, 2048, 163 << 10, 164 << 10, {"wmma", "mma", "dp4a", "ldmatrix", "cp.async"}),
        Cuda("cuda-sm86", "sm_86", 68, 1536, 99 << 10, 100 << 10, {"wmma", "mma", "dp4a", "ldmatrix", "cp.async"}),
        Cuda("cuda-sm89", "sm_89", 128, 1536, 99 << 10, 100 << 10,
             {"wmma", "mma", "dp4a", "ldmatrix", "cp.async", "fp8"}),
        Cuda("cuda-sm90", "sm_90a", 132, 2048, 227 << 10, 228 << 10,
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
                      ", shared by ", caches[i].shared_by, " cores\n");
    }
  }
  if (f32_fma_per_cycle != 0) absl::StrAppend(&text, "f32 FMA per cycle and core: ", f32_fma_per_cycle, "\n");
  if (clock_ghz != 0) absl::StrAppend(&text, "clock: ", clock_ghz, " GHz\n");
  return text;
}

std::vector<std::string> TargetNames() {
  std::vector<std::string> names = {"host"};
  for (const Target& preset : Presets()) names.push_back(preset.name);
  return names;
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
