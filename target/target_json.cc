#include "target/target_json.h"

#include <algorithm>
#include <array>
#include <nlohmann/json.hpp>
#include <type_traits>
#include <utility>

#include "absl/status/status.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/str_join.h"

namespace tilewright {
namespace {

// Members keep the order in which they are written.
using Json = nlohmann::ordered_json;

constexpr std::array<const char*, 3> kKinds = {"x86", "arm", "cuda"};
constexpr char kCpuPart[] = "cpu_part", kGpuPart[] = "gpu_part";
// Larger numbers of bytes, cores or operations are mistakes, and their products must not overflow.
constexpr double kMost = int64_t{1} << 50;
constexpr int kMostCores = 1024;

// The members of each part, once for reading and for writing: `f(name, member)`.
template <class Part, class F>
void ForMembers(Part& part, const F& f)
  requires std::is_same_v<std::remove_const_t<Part>, MemoryLevel>
{
  f("name", part.name);
  f("bytes", part.bytes);
  f("usable_bytes", part.usable_bytes);
  f("line_bytes", part.line_bytes);
  f("shared_by", part.shared_by);
  f("ways", part.ways);
  f("bytes_per_cycle", part.bytes_per_cycle);
}
template <class Part, class F>
void ForMembers(Part& part, const F& f)
  requires std::is_same_v<std::remove_const_t<Part>, ComputeUnit>
{
  f("name", part.name);
  f("operand", part.operand);
  f("per_cycle", part.per_cycle);
  f("latency", part.latency);
  f("features", part.features);
}
template <class Part, class F>
void ForMembers(Part& part, const F& f)
  requires std::is_same_v<std::remove_const_t<Part>, CpuTarget>
{
  f("vector_bits", part.vector_bits);
  f("vector_registers", part.vector_registers);
  f("loads_per_cycle", part.loads_per_cycle);
  f("stores_per_cycle", part.stores_per_cycle);
  f("issue_per_cycle", part.issue_per_cycle);
  f("page_bytes", part.page_bytes);
  f("fork_join_seconds", part.fork_join_seconds);
}
template <class Part, class F>
void ForMembers(Part& part, const F& f)
  requires std::is_same_v<std::remove_const_t<Part>, GpuTarget>
{
  f("warp_size", part.warp_size);
  f("warpgroup_size", part.warpgroup_size);
  f("max_threads_per_block", part.max_threads_per_block);
  f("max_threads_per_core", part.max_threads_per_core);
  f("max_blocks_per_core", part.max_blocks_per_core);
  f("max_block_dims", part.max_block_dims);
  f("max_grid_dims", part.max_grid_dims);
  f("max_cluster_blocks", part.max_cluster_blocks);
  f("cluster_cores", part.cluster_cores);
  f("registers_per_core", part.registers_per_core);
  f("max_registers_per_thread", part.max_registers_per_thread);
  f("max_shared_bytes_per_block", part.max_shared_bytes_per_block);
  f("default_shared_bytes_per_block", part.default_shared_bytes_per_block);
  f("reserved_shared_bytes_per_block", part.reserved_shared_bytes_per_block);
  f("shared_bytes_per_core", part.shared_bytes_per_core);
  f("max_local_bytes_per_thread", part.max_local_bytes_per_thread);
  f("max_access_bytes", part.max_access_bytes);
  f("sector_bytes", part.sector_bytes);
  f("fetched_bytes", part.fetched_bytes);
  f("min_async_copy_bytes", part.min_async_copy_bytes);
  f("max_swizzle_bytes", part.max_swizzle_bytes);
  f("bulk_alignment", part.bulk_alignment);
  f("bulk_shared_alignment", part.bulk_shared_alignment);
  f("max_map_rank", part.max_map_rank);
  f("max_map_box", part.max_map_box);
  f("max_map_pixels", part.max_map_pixels);
  f("max_map_step", part.max_map_step);
  f("warp_instructions_per_cycle", part.warp_instructions_per_cycle);
  f("special_per_cycle", part.special_per_cycle);
  f("shared_fill_bytes_per_cycle", part.shared_fill_bytes_per_cycle);
  f("memory_latency", part.memory_latency);
  f("shared_latency", part.shared_latency);
  f("barrier_cycles", part.barrier_cycles);
  f("shuffle_cycles", part.shuffle_cycles);
  f("tile_fill_cycles", part.tile_fill_cycles);
  f("tile_drain_cycles", part.tile_drain_cycles);
  f("min_producer_steps", part.min_producer_steps);
  f("launch_seconds", part.launch_seconds);
}
// Those of a target beside its kind, its lists of parts and the part of its kind.
template <class Part, class F>
void ForMembers(Part& part, const F& f)
  requires std::is_same_v<std::remove_const_t<Part>, Target>
{
  f("name", part.name);
  f("triple", part.triple);
  f("cpu", part.cpu);
  f("features", part.features);
  f("cores", part.cores);
  f("clock_ghz", part.clock_ghz);
  f("memory_gbs", part.memory_gbs);
}

std::string TextOf(const Json& json) { return json.dump(-1, ' ', false, Json::error_handler_t::replace); }

// Leaves out what nests deeper than any description. Copying a value, as a growing object does, and printing it take
// stack for each level.
bool IsShallow(int depth, Json::parse_event_t /*event*/, Json& /*parsed*/) { return depth < 10; }

template <class Part>
Json ToJson(const Part& part) {
  Json json = Json::object();
  ForMembers(part, [&](const char* name, const auto& member) { json[name] = member; });
  return json;
}

class Reader {
 public:
  absl::Status status;

  template <class Part>
  void ReadObject(const std::string& where, const Json& json, Part* part) {
    if (!json.is_object()) return Fail(where, "is not an object");
    size_t read = 0;
    ForMembers(*part, [&](const char* name, auto& member) {
      const std::string path = absl::StrCat(where, where.empty() ? "" : ".", name);
      const auto found = json.find(name);
      if (found == json.end()) return Fail(path, "is missing");
      ++read;
      if (!Read(*found, &member)) Fail(path, absl::StrCat("has a wrong value: ", TextOf(*found)));
    });
    // A target's kind, lists and part are read apart.
    if (read + (std::is_same_v<Part, Target> ? 4 : 0) < json.size()) Fail(where, "has a member that is not known");
  }

  template <class Part>
  void ReadList(const Json& json, const char* name, std::vector<Part>* parts) {
    const auto found = json.find(name);
    if (found == json.end() || !found->is_array()) return Fail(name, "is not a list");
    for (size_t i = 0; i < found->size(); ++i) {
      ReadObject(absl::StrCat(name, "[", i, "]"), (*found)[i], &parts->emplace_back());
    }
  }

  void Fail(const std::string& where, const std::string& why) {
    if (status.ok()) status = absl::InvalidArgumentError(absl::StrCat("target description: \"", where, "\" ", why));
  }

 private:
  static bool IsAmount(const Json& json) {
    return json.is_number() && json.get<double>() >= 0 && json.get<double>() <= kMost;
  }
  static bool Read(const Json& json, std::string* member) {
    return json.is_string() && (*member = json.get<std::string>(), true);
  }
  static bool Read(const Json& json, double* member) { return IsAmount(json) && (*member = json.get<double>(), true); }
  static bool Read(const Json& json, int64_t* member) {
    return json.is_number_integer() && IsAmount(json) && (*member = json.get<int64_t>(), true);
  }
  static bool Read(const Json& json, int* member) {
    return json.is_number_integer() && IsAmount(json) && json.get<int64_t>() <= INT32_MAX &&
           (*member = json.get<int>(), true);
  }
  static bool Read(const Json& json, std::vector<std::string>* member) {
    if (!json.is_array()) return false;
    return std::ranges::all_of(json, [&](const Json& entry) { return Read(entry, &member->emplace_back()); });
  }
  static bool Read(const Json& json, std::array<int, 3>* member) {
    if (!json.is_array() || json.size() != 3) return false;
    for (size_t i = 0; i < 3; ++i) {
      if (!Read(json[i], &(*member)[i])) return false;
    }
    return true;
  }
};

void CheckGpu(const Target& target, Reader& reader) {
  if (!target.levels.empty() && target.Nearest().shared_by != 1) {
    reader.Fail(target.Nearest().name + ".shared_by", "must be 1: the first level of a GPU is that of each core");
  }
  for (const MemoryLevel& level : target.levels) {
    if (!(level.bytes_per_cycle > 0)) reader.Fail(level.name + ".bytes_per_cycle", "must be positive");
  }
  ForMembers(target.gpu_part(), [&](const std::string& name, const auto& member) {
    bool positive = false;
    if constexpr (std::is_arithmetic_v<std::remove_cvref_t<decltype(member)>>) {
      positive = member > 0;
    } else {
      positive = std::ranges::min(member) > 0;
    }
    // What the system of old GPUs does not take, and what is brought only where there are bulk copies.
    const bool may_be_zero = name == "reserved_shared_bytes_per_block" || name == "shared_fill_bytes_per_cycle";
    if (!positive && !may_be_zero) reader.Fail(absl::StrCat(kGpuPart, ".", name), "must be positive");
  });
  const GpuTarget& gpu = target.gpu_part();
  if (gpu.warp_size > 0 && gpu.warpgroup_size % gpu.warp_size != 0) {
    reader.Fail("gpu_part.warpgroup_size", "must be a multiple of warp_size");
  }
}

// What code that reads targets relies on.
void CheckConsistent(const Target& target, Reader& reader) {
  const auto positive = [&](const std::string& where, double number) {
    if (!(number > 0)) reader.Fail(where, "must be positive");
  };
  positive("cores", target.cores);
  if (target.cores > kMostCores) reader.Fail("cores", absl::StrCat("must be at most ", kMostCores));
  positive("clock_ghz", target.clock_ghz);
  positive("memory_gbs", target.memory_gbs);
  for (const MemoryLevel& level : target.levels) {
    positive(level.name + ".bytes", static_cast<double>(level.bytes));
    positive(level.name + ".line_bytes", level.line_bytes);
    positive(level.name + ".shared_by", level.shared_by);
    positive(level.name + ".ways", level.ways);
    if (level.usable_bytes > level.bytes) reader.Fail(level.name + ".usable_bytes", "is more than its bytes");
    if (level.bytes / std::max(level.ways, 1) < level.line_bytes) reader.Fail(level.name + ".ways", "is too many");
  }
  if (target.levels.empty()) {
    reader.Fail("levels",
                target.is_gpu() ? "is empty: a GPU has the level of each core, L1, and those behind it" : "is empty");
  }
  if (target.is_gpu()) return CheckGpu(target, reader);
  const CpuTarget& cpu = target.cpu_part();
  if (cpu.vector_bits < 64 || cpu.vector_bits > 2048 || (cpu.vector_bits & (cpu.vector_bits - 1)) != 0) {
    reader.Fail("cpu_part.vector_bits", "must be a power of two from 64 to 2048");
  }
  positive("cpu_part.vector_registers", cpu.vector_registers);
  positive("cpu_part.loads_per_cycle", cpu.loads_per_cycle);
  positive("cpu_part.stores_per_cycle", cpu.stores_per_cycle);
  positive("cpu_part.issue_per_cycle", cpu.issue_per_cycle);
  positive("cpu_part.page_bytes", cpu.page_bytes);
  if (target.FmaPerCycle() == 0) reader.Fail("units", "has no unit for a vector of float32");
}

// The members of an object, in one line or in a line each.
std::string Members(const Json& object, const char* between) {
  std::string text;
  for (const auto& [name, member] : object.items()) {
    absl::StrAppend(&text, text.empty() ? "" : between, "\"", name, "\": ", TextOf(member));
  }
  return text;
}

// The many members of a GPU in a line each.
std::string PartText(const Json& part, bool gpu) {
  return gpu ? absl::StrCat("\n    ", Members(part, ",\n    "), "\n  ") : Members(part, ", ");
}

template <class Part>
std::string Lines(const std::vector<Part>& parts) {
  return absl::StrJoin(parts, ",\n", [](std::string* out, const Part& part) {
    absl::StrAppend(out, "    {", Members(ToJson(part), ", "), "}");
  });
}

}  // namespace

std::string TargetToJson(const Target& target) {
  const Json part = target.is_gpu() ? ToJson(target.gpu_part()) : ToJson(target.cpu_part());
  return absl::StrCat("{\n  \"kind\": \"", kKinds[static_cast<size_t>(target.kind)], "\",\n  ",
                      Members(ToJson(target), ",\n  "), ",\n  \"levels\": [\n", Lines(target.levels),
                      "\n  ],\n  \"units\": [\n", Lines(target.units), "\n  ],\n  \"",
                      target.is_gpu() ? kGpuPart : kCpuPart, "\": {", PartText(part, target.is_gpu()), "}\n}\n");
}

absl::StatusOr<Target> TargetFromJson(std::string_view text) {
  const Json json = Json::parse(text, IsShallow, /*allow_exceptions=*/false);
  if (!json.is_object()) return absl::InvalidArgumentError("target description: the text is not a JSON object");
  Target target;
  Reader reader;
  const auto kind = json.find("kind");
  const auto known =
      kind == json.end() || !kind->is_string() ? kKinds.end() : std::ranges::find(kKinds, kind->get<std::string>());
  if (known == kKinds.end()) {
    reader.Fail("kind", absl::StrCat("must be one of ", absl::StrJoin(kKinds, ", ")));
    return reader.status;
  }
  target.kind = static_cast<TargetKind>(known - kKinds.begin());
  const bool gpu = target.kind == TargetKind::kCuda;
  reader.ReadObject("", json, &target);
  reader.ReadList(json, "levels", &target.levels);
  reader.ReadList(json, "units", &target.units);
  const auto part = json.find(gpu ? kGpuPart : kCpuPart);
  if (part == json.end()) {
    reader.Fail(gpu ? kGpuPart : kCpuPart, "is missing");
  } else if (gpu) {
    reader.ReadObject(kGpuPart, *part, &target.machine.emplace<GpuTarget>());
  } else {
    reader.ReadObject(kCpuPart, *part, &target.machine.emplace<CpuTarget>());
  }
  std::ranges::sort(target.features);
  if (reader.status.ok()) CheckConsistent(target, reader);
  if (!reader.status.ok()) return reader.status;
  return target;
}

}  // namespace tilewright
