#include "target/target.h"

#include <algorithm>
#include <fstream>
#include <iterator>
#include <sstream>
#include <utility>

#include "absl/strings/str_cat.h"
#include "absl/strings/str_join.h"
#include "base/check.h"
#include "target/target_json.h"

namespace tilewright {

absl::Status CheckFeatureCap();  // host_target.cc

namespace {

// The files of target/presets, in the order of the BUILD file.
constexpr const char* kPresets[] = {
#include "target/presets.inc"
};

const std::vector<Target>& Presets() {
  static const auto* const presets = [] {
    auto* list = new std::vector<Target>;
    for (const char* text : kPresets) {
      absl::StatusOr<Target> preset = TargetFromJson(text);
      TW_CHECK(preset.ok()) << preset.status().ToString();
      list->push_back(*std::move(preset));
    }
    return list;
  }();
  return *presets;
}

absl::StatusOr<Target> ReadTarget(const std::string& path) {
  std::ifstream file(path);
  std::stringstream text;
  if (!file || !(text << file.rdbuf())) return absl::NotFoundError(absl::StrCat("cannot read ", path));
  absl::StatusOr<Target> target = TargetFromJson(text.str());
  if (target.ok()) return target;
  return absl::Status(target.status().code(), absl::StrCat(path, ": ", target.status().message()));
}

}  // namespace

bool Target::has(std::string_view feature) const {
  return std::binary_search(features.begin(), features.end(), feature);
}

const CpuTarget& Target::cpu_part() const {
  static const CpuTarget none;
  const auto* part = std::get_if<CpuTarget>(&machine);
  return part != nullptr ? *part : none;
}

const GpuTarget& Target::gpu_part() const {
  static const GpuTarget none;
  const auto* gpu = std::get_if<GpuTarget>(&machine);
  return gpu != nullptr ? *gpu : none;
}

const ComputeUnit* Target::UnitFor(std::string_view operand) const {
  const ComputeUnit* best = nullptr;
  for (const ComputeUnit& unit : units) {
    if (unit.operand == operand && (best == nullptr || unit.per_cycle > best->per_cycle)) best = &unit;
  }
  return best;
}

int Target::ProductsPerCycle(std::string_view operand) const {
  const ComputeUnit* unit = UnitFor(operand);
  return unit == nullptr ? 0 : unit->per_cycle;
}

int Target::FmaLatency() const {
  const ComputeUnit* unit = UnitFor("float32");
  return unit == nullptr ? 0 : unit->latency;
}

bool Target::VectorsFillLines() const {
  return kind == TargetKind::kX86 && !levels.empty() && cpu_part().vector_bits == 8 * Nearest().line_bytes;
}

std::string Target::FeatureString() const {
  return absl::StrJoin(features, ",", [](std::string* out, const std::string& f) { absl::StrAppend(out, "+", f); });
}

std::string Target::ToString() const {
  std::string text = absl::StrCat("name: ", name, "\ntriple: ", triple, "\ncpu: ", cpu,
                                  "\nfeatures: ", absl::StrJoin(features, " "), "\ncores: ", cores, "\n");
  if (is_gpu()) {
    const GpuTarget& gpu = gpu_part();
    absl::StrAppend(&text, "warp size: ", gpu.warp_size, "\nthreads per block: ", gpu.max_threads_per_block,
                    "\nthreads per core: ", gpu.max_threads_per_core, "\nblock dimensions: ", gpu.max_block_dims[0],
                    " x ", gpu.max_block_dims[1], " x ", gpu.max_block_dims[2],
                    "\nshared memory per block: ", gpu.max_shared_bytes_per_block,
                    " bytes\nshared memory per core: ", gpu.shared_bytes_per_core,
                    " bytes\nregisters per core: ", gpu.registers_per_core,
                    "\nregisters per thread: ", gpu.max_registers_per_thread, "\n");
  } else {
    const CpuTarget& vectors = cpu_part();
    absl::StrAppend(&text, "vector registers: ", vectors.vector_registers, " of ", vectors.vector_bits, " bits\n",
                    "vector loads, stores and operations per cycle: ", vectors.loads_per_cycle, ", ",
                    vectors.stores_per_cycle, ", ", vectors.issue_per_cycle, "\n");
  }
  for (const MemoryLevel& level : levels) {
    absl::StrAppend(&text, level.name, ": ", level.bytes, " bytes, lines of ", level.line_bytes, ", shared by ",
                    level.shared_by, " cores");
    if (level.bytes_per_cycle != 0) absl::StrAppend(&text, ", ", level.bytes_per_cycle, " bytes per cycle");
    absl::StrAppend(&text, "\n");
  }
  for (const ComputeUnit& unit : units) {
    absl::StrAppend(&text, unit.name, " of ", unit.operand, ": ", unit.per_cycle, " multiply-adds per cycle and core");
    if (unit.latency != 0) absl::StrAppend(&text, ", ready after ", unit.latency, " cycles");
    absl::StrAppend(&text, "\n");
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
  if (name == "host") {
    const absl::Status cap = CheckFeatureCap();
    if (!cap.ok()) return cap;
    return HostTarget();
  }
  if (name.ends_with(".json")) return ReadTarget(std::string(name));
  for (const Target& preset : Presets()) {
    if (preset.name == name) return preset;
  }
  return absl::InvalidArgumentError(absl::StrCat("unknown target \"", absl::string_view(name.data(), name.size()),
                                                 "\"; known are ", absl::StrJoin(TargetNames(), ", ")));
}

}  // namespace tilewright
