// The host as a Target: cpuid (through the compiler's builtins) and sysfs. TILEWRIGHT_HOST_FEATURES caps the features
// that are taken from there (docs/targets.md).
#include <sched.h>
#include <sys/syscall.h>
#include <unistd.h>

#include <algorithm>
#include <cstdlib>
#include <fstream>
#include <sstream>
#include <string_view>
#include <vector>

#include "absl/status/status.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/str_join.h"
#include "target/measure_clock.h"
#include "target/target.h"

namespace tilewright {
namespace {

constexpr char kCapVariable[] = "TILEWRIGHT_HOST_FEATURES";

// The features that a host may show under a cap, by LLVM's names. bench/harness/feature_cap.cc has the peers' names.
struct FeatureCap {
  std::string_view name;
  std::vector<std::string_view> features;
};

// From the fewest features to the most, for each kind of machine.
const std::vector<FeatureCap>& FeatureCaps() {
#if defined(__x86_64__)
  static const auto* const caps =
      new std::vector<FeatureCap>{{"avx2", {"avx", "avx2", "bmi", "bmi2", "f16c", "fma", "popcnt", "sse4.2"}},
                                  {"avx512",
                                   {"avx", "avx2", "avx512bw", "avx512cd", "avx512dq", "avx512f", "avx512vl", "bmi",
                                    "bmi2", "f16c", "fma", "popcnt", "sse4.2"}},
                                  {"avx512vnni",
                                   {"avx", "avx2", "avx512bw", "avx512cd", "avx512dq", "avx512f", "avx512vl",
                                    "avx512vnni", "bmi", "bmi2", "f16c", "fma", "popcnt", "sse4.2"}}};
#else
  static const auto* const caps =
      new std::vector<FeatureCap>{{"neon", {"neon"}}, {"dotprod", {"dotprod", "fullfp16", "neon"}}};
#endif
  return *caps;
}

// The value of the variable; empty where it is not set.
std::string_view CapName() {
  const char* name = std::getenv(kCapVariable);
  return name == nullptr ? "" : name;
}

// Removes what the cap hides: whether that was anything.
bool CapFeatures(Target& t) {
  const std::string_view name = CapName();
  if (name.empty()) return false;
  const std::vector<FeatureCap>& caps = FeatureCaps();
  auto cap = std::ranges::find(caps, name, &FeatureCap::name);
  // An unknown name hides the most, so that what was to be hidden is not used.
  if (cap == caps.end()) cap = caps.begin();
  return std::erase_if(t.features, [&](const std::string& feature) {
           return std::ranges::find(cap->features, feature) == cap->features.end();
         }) > 0;
}

int UsableCores() {
  cpu_set_t set;
  CPU_ZERO(&set);
  if (sched_getaffinity(0, sizeof(set), &set) != 0) return 1;
  return std::max(1, CPU_COUNT(&set));
}

std::string ReadLine(const std::string& path) {
  std::ifstream file(path);
  std::string line;
  std::getline(file, line);
  return line;
}

// "32K" or "1024K" as sysfs writes sizes.
int64_t ParseSize(const std::string& text) {
  int64_t value = 0;
  size_t i = 0;
  for (; i < text.size() && text[i] >= '0' && text[i] <= '9'; ++i) value = value * 10 + (text[i] - '0');
  if (i < text.size() && text[i] == 'K') value <<= 10;
  if (i < text.size() && text[i] == 'M') value <<= 20;
  return value;
}

// CPUs in a list such as "0-1,4".
int CountCpus(const std::string& list) {
  int count = 0;
  std::istringstream stream(list);
  std::string part;
  while (std::getline(stream, part, ',')) {
    const size_t dash = part.find('-');
    const int first = std::atoi(part.c_str());
    count += dash == std::string::npos ? 1 : std::atoi(part.c_str() + dash + 1) - first + 1;
  }
  return std::max(count, 1);
}

std::vector<MemoryLevel> DataCaches() {
  std::vector<MemoryLevel> caches;
  for (int index = 0; index < 8; ++index) {
    const std::string dir = "/sys/devices/system/cpu/cpu0/cache/index" + std::to_string(index) + "/";
    const std::string type = ReadLine(dir + "type");
    if (type.empty()) break;
    if (type == "Instruction") continue;
    MemoryLevel level;
    level.bytes = ParseSize(ReadLine(dir + "size"));
    level.line_bytes = std::max(16, std::atoi(ReadLine(dir + "coherency_line_size").c_str()));
    level.shared_by = CountCpus(ReadLine(dir + "shared_cpu_list"));
    level.ways = std::max(1, std::atoi(ReadLine(dir + "ways_of_associativity").c_str()));
    caches.push_back(level);
  }
  // Machines that hide it: the common least.
  if (caches.empty()) caches = {{.bytes = 32 << 10}, {.bytes = 1 << 20}};
  for (size_t i = 0; i < caches.size(); ++i) {
    caches[i].name = "L" + std::to_string(i + 1);
    caches[i].usable_bytes = i == 0 ? caches[i].bytes * 2 / 3 : caches[i].bytes * 3 / 4;
  }
  return caches;
}

// The preset whose rates per cycle the host has, or nearly so.
const char* SimilarPreset(const Target& t) {
  if (t.kind == TargetKind::kArm) return "arm-neoverse-n1";
  if (t.cpu == "znver5") return "x86-znver5";
  if (t.cpu == "znver4") return "x86-znver4";
  if (t.cpu == "znver3" || t.cpu == "znver2") return "x86-znver3";
  if (t.cpu == "sapphirerapids") return "x86-sapphirerapids";
  return t.cpu_part().vector_bits == 512 ? "x86-cascadelake" : "x86-haswell";
}

void FillRates(Target& t) {
  const Target similar = *NamedTarget(SimilarPreset(t));
  CpuTarget& cpu = t.mutable_cpu_part();
  cpu.loads_per_cycle = similar.cpu_part().loads_per_cycle;
  cpu.stores_per_cycle = similar.cpu_part().stores_per_cycle;
  cpu.issue_per_cycle = similar.cpu_part().issue_per_cycle;
  cpu.fork_join_seconds = similar.cpu_part().fork_join_seconds;
  for (const ComputeUnit& unit : similar.units) {
    const bool here = unit.features.empty() ||
                      std::ranges::any_of(unit.features, [&](const std::string& feature) { return t.has(feature); });
    if (!here) continue;
    t.units.push_back(unit);
    if (unit.name != "matrix") {
      t.units.back().per_cycle = unit.per_cycle * cpu.vector_bits / similar.cpu_part().vector_bits;
    }
  }
  for (size_t i = 0; i < t.levels.size(); ++i) {
    t.levels[i].bytes_per_cycle = similar.levels[std::min(i, similar.levels.size() - 1)].bytes_per_cycle;
  }
  constexpr double kMemoryGbsOfCore = 15;
  t.memory_gbs = kMemoryGbsOfCore * t.cores;
  static const double clock_ghz = MeasureClockGhz();
  t.clock_ghz = clock_ghz;
}

#if defined(__x86_64__)

// Whether programs may ask the operating system for AMX's registers (ARCH_GET_XCOMP_SUPP).
bool SystemKnowsAmx() {
  constexpr int kGetSupported = 0x1021, kTileData = 18;
  uint64_t supported = 0;
  return syscall(SYS_arch_prctl, kGetSupported, &supported) == 0 && (supported >> kTileData & 1) != 0;
}

// What LLVM calls the processor. A model brings features of its own to LLVM, which a cap may hide.
const char* NameOfCpu(const Target& t, bool avx512, bool capped) {
  if (!capped) {
    // Older run-time libraries, which answer here, take znver4 for znver3, which has no AVX-512.
    if (__builtin_cpu_is("znver4") || (avx512 && __builtin_cpu_is("znver3"))) return "znver4";
    if (__builtin_cpu_is("znver5")) return "znver5";
    if (__builtin_cpu_is("znver3")) return "znver3";
    if (__builtin_cpu_is("znver2")) return "znver2";
    // Hypervisors may give another model than the processor's.
    if (__builtin_cpu_is("sapphirerapids") || (t.has("amx-tile") && t.has("avx512fp16"))) return "sapphirerapids";
    if (__builtin_cpu_is("icelake-server")) return "icelake-server";
    if (__builtin_cpu_is("cascadelake")) return "cascadelake";
    if (__builtin_cpu_is("skylake-avx512")) return "skylake-avx512";
    if (__builtin_cpu_is("haswell")) return "haswell";
  }
  return avx512 ? "x86-64-v4" : t.has("avx2") && t.has("fma") ? "x86-64-v3" : "x86-64-v2";
}

void FillCpu(Target& t) {
  t.kind = TargetKind::kX86;
  t.triple = "x86_64-unknown-linux-gnu";
  __builtin_cpu_init();
#define TW_FEATURE(gcc_name, llvm_name) \
  if (__builtin_cpu_supports(gcc_name)) t.features.push_back(llvm_name)
  TW_FEATURE("sse4.2", "sse4.2");
  TW_FEATURE("popcnt", "popcnt");
  TW_FEATURE("avx", "avx");
  TW_FEATURE("avx2", "avx2");
  TW_FEATURE("fma", "fma");
  TW_FEATURE("f16c", "f16c");
  TW_FEATURE("bmi", "bmi");
  TW_FEATURE("bmi2", "bmi2");
  TW_FEATURE("avx512f", "avx512f");
  TW_FEATURE("avx512bw", "avx512bw");
  TW_FEATURE("avx512cd", "avx512cd");
  TW_FEATURE("avx512dq", "avx512dq");
  TW_FEATURE("avx512vl", "avx512vl");
  TW_FEATURE("avx512vbmi", "avx512vbmi");
  TW_FEATURE("avx512vnni", "avx512vnni");
  TW_FEATURE("avx512bf16", "avx512bf16");
  TW_FEATURE("avx512fp16", "avx512fp16");
  TW_FEATURE("avxvnni", "avxvnni");
  TW_FEATURE("avxvnniint8", "avxvnniint8");
  if (SystemKnowsAmx()) {
    TW_FEATURE("amx-tile", "amx-tile");
    TW_FEATURE("amx-int8", "amx-int8");
    TW_FEATURE("amx-bf16", "amx-bf16");
  }
#undef TW_FEATURE
  std::sort(t.features.begin(), t.features.end());
  const bool capped = CapFeatures(t);
  const bool avx512 = t.has("avx512f") && t.has("avx512vl") && t.has("avx512bw") && t.has("avx512dq");
  t.cpu = NameOfCpu(t, avx512, capped);
  t.mutable_cpu_part().vector_bits = avx512 ? 512 : t.has("avx2") ? 256 : 128;
  t.mutable_cpu_part().vector_registers = avx512 ? 32 : 16;
}

#elif defined(__aarch64__)

void FillCpu(Target& t) {
  t.kind = TargetKind::kArm;
  t.triple = "aarch64-unknown-linux-gnu";
  t.cpu = "generic";
  std::ifstream file("/proc/cpuinfo");
  std::string line;
  while (std::getline(file, line)) {
    if (line.rfind("Features", 0) != 0) continue;
    std::istringstream words(line.substr(line.find(':') + 1));
    std::string word;
    while (words >> word) {
      if (word == "asimd") t.features.push_back("neon");
      if (word == "asimddp") t.features.push_back("dotprod");
      if (word == "asimdhp") t.features.push_back("fullfp16");
      if (word == "bf16") t.features.push_back("bf16");
      if (word == "i8mm") t.features.push_back("i8mm");
      if (word == "sve") t.features.push_back("sve");
    }
    break;
  }
  std::sort(t.features.begin(), t.features.end());
  CapFeatures(t);
  t.mutable_cpu_part().vector_bits = 128;
  t.mutable_cpu_part().vector_registers = 32;
}

#else
#error "no description of this processor family"
#endif

}  // namespace

// Whether the cap is one that this kind of machine has; target.cc asks.
absl::Status CheckFeatureCap() {
  const std::string_view name = CapName();
  const std::vector<FeatureCap>& caps = FeatureCaps();
  if (name.empty() || std::ranges::find(caps, name, &FeatureCap::name) != caps.end()) return absl::OkStatus();
  return absl::InvalidArgumentError(
      absl::StrCat(kCapVariable, "=", absl::string_view(name.data(), name.size()), ": unknown; known are ",
                   absl::StrJoin(caps, ", ", [](std::string* out, const FeatureCap& cap) { out->append(cap.name); })));
}

Target HostTarget() {
  Target t;
  t.name = "host";
  t.cores = UsableCores();
  t.levels = DataCaches();
  FillCpu(t);
  t.mutable_cpu_part().page_bytes = static_cast<int>(sysconf(_SC_PAGESIZE));
  FillRates(t);
  return t;
}

}  // namespace tilewright
