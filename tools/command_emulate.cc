#include <algorithm>
#include <cmath>
#include <filesystem>
#include <memory>
#include <ostream>
#include <string>
#include <vector>

#include "absl/strings/str_cat.h"
#include "absl/strings/str_format.h"
#include "codegen/foreign/kernel.h"
#include "nlohmann/json.hpp"
#include "target/target.h"
#include "tools/arrays/array_summary.h"
#include "tools/arrays/guarded_memory.h"
#include "tools/commands.h"
#include "tools/foreign/compare_program.h"
#include "tools/foreign/launch_arguments.h"
#include "tools/foreign/launch_file.h"
#include "tools/program_file.h"

namespace tilewright {
namespace {

// Instructions of all threads together, where LAUNCH.json does not say.
constexpr uint64_t kBudget = 500'000'000;

int Refuse(const CommandArguments& args, const std::string& file, std::string_view message) {
  args.err() << file << ": error: " << message << "\n";
  return kRefused;
}

emulator::Dim DimOf(const std::vector<int64_t>& extents) {
  const auto at = [&](size_t i) { return i < extents.size() ? static_cast<uint32_t>(extents[i]) : 1; };
  return {at(0), at(1), at(2)};
}

std::string Text(const emulator::Dim& dim) { return absl::StrCat(dim.x, " x ", dim.y, " x ", dim.z); }

// A launch, from its file to what came of it.
struct Emulation {
  LaunchFile file;
  std::string launch_path;
  std::unique_ptr<foreign::ForeignKernel> kernel;
  LaunchArguments arguments;
  std::vector<NDArray> before;  // values of the arrays when the kernel begins
  foreign::ForeignLaunch launch;
  emulator::LaunchResult result;
};

absl::StatusOr<foreign::ForeignLaunch> LaunchOf(const LaunchFile& file) {
  auto target = NamedTarget(file.target);
  if (!target.ok()) return absl::InvalidArgumentError(absl::StrCat("target: ", std::string(target.status().message())));
  if (!target->is_gpu())
    return absl::InvalidArgumentError(absl::StrCat("target is ", file.target, ", which is not a GPU"));
  const GpuTarget& gpu = target->gpu_part();
  foreign::ForeignLaunch launch;
  launch.grid = DimOf(file.grid);
  launch.block = DimOf(file.block);
  launch.cluster = DimOf(file.cluster);
  launch.shared_bytes = static_cast<uint32_t>(file.shared_bytes);
  launch.device.threads = static_cast<uint32_t>(gpu.max_threads_per_block);
  launch.device.shared_bytes = static_cast<uint32_t>(gpu.max_shared_bytes_per_block);
  launch.device.registers = gpu.registers_per_core;
  launch.device.thread_registers = gpu.max_registers_per_thread;
  launch.concurrent_clusters = static_cast<uint64_t>(file.concurrent_clusters);
  launch.seed = static_cast<uint64_t>(file.seed);
  launch.budget = file.budget == 0 ? kBudget : static_cast<uint64_t>(file.budget);
  return launch;
}

// Reads and compiles. The status where something is refused, which is reported.
std::optional<int> Prepare(const CommandArguments& args, Emulation& emulation) {
  const std::string& path = args.operands()[0];
  const auto launch_path = args.Get("--launch");
  if (!launch_path) return UsageError(args, "emulate", "--launch=LAUNCH.json is needed: grid, block and arguments");
  emulation.launch_path = *launch_path;
  const auto refuse = [&](const absl::Status& status) {
    return Refuse(args, emulation.launch_path, std::string(status.message()));
  };
  const std::optional<std::string> text = ReadText(args, *launch_path);
  if (!text) return kRefused;
  auto file = ParseLaunchFile(*text);
  if (!file.ok()) return refuse(file.status());
  emulation.file = *std::move(file);
  auto launch = LaunchOf(emulation.file);
  if (!launch.ok()) return refuse(launch.status());
  emulation.launch = *launch;
  foreign::ForeignSource source{emulation.file.kernel, {}, emulation.file.define};
  const std::string folder = std::filesystem::path(*launch_path).parent_path().string();
  for (const std::string& include : emulation.file.include) {
    source.include_dirs.push_back((std::filesystem::path(folder) / include).string());
  }
  auto kernel = foreign::ForeignKernel::Load(path, source);
  if (!kernel.ok()) {
    args.err() << kernel.status().message() << "\n";
    return kRefused;
  }
  emulation.kernel = *std::move(kernel);
  const std::vector<int64_t>& cluster = emulation.kernel->cluster();
  if (!cluster.empty() && emulation.file.cluster.empty()) emulation.launch.cluster = DimOf(cluster);
  if (!cluster.empty() && emulation.launch.cluster != DimOf(cluster)) {
    return refuse(absl::InvalidArgumentError("cluster is not what __cluster_dims__ of the kernel says"));
  }
  auto arguments = MakeLaunchArguments(emulation.file, *emulation.kernel, folder);
  if (!arguments.ok()) return refuse(arguments.status());
  emulation.arguments = *std::move(arguments);
  for (const LaunchArray& array : emulation.arguments.arrays) emulation.before.push_back(array.array.Clone());
  return std::nullopt;
}

nlohmann::json PartyJson(const emulator::Party& party) {
  return {{"who", party.who},
          {"instruction", party.what},
          {"block", {party.block.x, party.block.y, party.block.z}},
          {"where", party.where}};
}

nlohmann::json FaultJson(const emulator::Fault& fault) {
  nlohmann::json json = {{"kind", std::string(ToString(fault.kind))},
                         {"message", fault.message},
                         {"place", fault.place},
                         {"count", fault.count}};
  if (!fault.self.who.empty()) json["self"] = PartyJson(fault.self);
  if (!fault.other.who.empty()) json["other"] = PartyJson(fault.other);
  return json;
}

// "softmax.cu:17: error: race: load by thread 3 of block (0, 0, 0), tile byte 8: ..."
void PrintFault(const CommandArguments& args, const emulator::Fault& fault) {
  emulator::Fault plain = fault;
  const std::string& where = fault.self.where;
  const size_t first = where.find(", called from ");
  args.err() << (where.empty() ? args.operands()[0] : where.substr(0, first)) << ": error: ";
  if (first == std::string::npos) plain.self.where.clear();
  args.err() << ToString(plain) << "\n";
}

int PrintOutputs(const CommandArguments& args, const Emulation& emulation, nlohmann::json* json) {
  const auto folder = args.Get("--outputs");
  std::error_code error;  // what cannot be made cannot be written either, which is reported
  if (folder) std::filesystem::create_directories(*folder, error);
  for (const LaunchArray& array : emulation.arguments.arrays) {
    if (!array.argument->output) continue;
    if (folder) {
      const absl::Status stored = WriteNpy(array.array, *folder + "/" + array.name + ".npy");
      if (!stored.ok()) return Refuse(args, args.operands()[0], std::string(stored.message()));
    }
    if (json != nullptr) {
      (*json)["outputs"].push_back(ToJson(array.name, array.array));
    } else {
      PrintArray(args.out(), array.name, array.array);
    }
  }
  return kDone;
}

int Compare(const CommandArguments& args, const Emulation& emulation, nlohmann::json* json) {
  const std::string path = *args.Get("--against");
  const std::optional<Module> program = ReadProgram(args, path);
  if (!program) return kRefused;
  const Function function = program->Main();
  if (!function) return Refuse(args, path, "the file holds several functions and none is called main");
  Engine engine{.name = args.Get("--engine").value_or("interp"), .target = HostTarget()};
  const auto compared =
      CompareWithProgram(engine, *program, function, emulation.file, emulation.arguments, emulation.before);
  if (!compared.ok()) return Refuse(args, path, std::string(compared.status().message()));
  int status = kDone;
  for (const auto& [name, comparison] : *compared) {
    const auto& [difference, of_tolerance, failure] = comparison;
    if (!failure.empty()) status = kRefused;
    if (json != nullptr) {
      (*json)["against"].push_back({{"name", name},
                                    {"max_abs", OrNull(difference.max_abs)},
                                    {"max_rel", OrNull(difference.max_rel)},
                                    {"of_tolerance", OrNull(of_tolerance)},
                                    {"good", failure.empty()},
                                    {"failure", failure}});
      continue;
    }
    args.out() << name << ": largest error absolute " << difference.max_abs << " relative " << difference.max_rel
               << (failure.empty() ? absl::StrFormat(", %.1f%% of the tolerance", 100 * of_tolerance)
                                   : absl::StrCat(", tolerance EXCEEDED: ", failure))
               << "\n";
  }
  return status;
}

int Report(const CommandArguments& args, const Emulation& emulation) {
  const emulator::LaunchResult& result = emulation.result;
  const bool as_json = args.Has("--json");
  nlohmann::json json = {{"kernel", emulation.kernel->name()},
                         {"faults", nlohmann::json::array()},
                         {"finished", result.finished},
                         {"instructions", result.counters.instructions},
                         {"bank_conflicts", result.counters.bank_conflicts},
                         {"outputs", nlohmann::json::array()}};
  for (const emulator::Fault& fault : result.faults) {
    PrintFault(args, fault);
    json["faults"].push_back(FaultJson(fault));
  }
  int status = result.ok() ? kDone : kRefused;
  status = std::max(status, PrintOutputs(args, emulation, as_json ? &json : nullptr));
  if (args.Has("--against") && result.finished) {
    status = std::max(status, Compare(args, emulation, as_json ? &json : nullptr));
  }
  if (as_json) {
    args.out() << json.dump(2, ' ', false, nlohmann::json::error_handler_t::replace) << "\n";
    return status;
  }
  args.out() << emulation.kernel->name() << ": grid " << Text(emulation.launch.grid) << " of blocks of "
             << Text(emulation.launch.block) << " threads, " << result.counters.instructions << " instructions, "
             << result.counters.bank_conflicts << " cycles of bank conflicts, "
             << (result.faults.empty() ? "no" : absl::StrCat(result.faults.size()))
             << (result.faults.size() == 1 ? " fault" : " faults") << "\n";
  return status;
}

int Emulate(const CommandArguments& args) {
  Emulation emulation;
  if (const std::optional<int> status = Prepare(args, emulation)) return *status;
  {
    const FaultReport faults(args.operands()[0] + ": error: the stack overflows, or ",
                             &foreign::ForeignKernel::PlaceNow);
    emulation.result =
        emulation.kernel->Launch(emulation.launch, emulation.arguments.ForKernel(), emulation.arguments.bytes.data());
  }
  return Report(args, emulation);
}

}  // namespace

Command EmulateCommand() {
  return {.name = "emulate",
          .operands = "KERNEL.cu",
          .summary = "runs a CUDA kernel that a person wrote on the CPU, every access checked",
          .details =
              "Finds races, deadlocks, accesses out of bounds, reads of memory that nobody wrote, missing waits and "
              "fences of asynchronous copies, and names file, line and thread. LAUNCH.json says how the kernel is "
              "launched (docs/emulate.md). No GPU and no CUDA is needed, but clang 18 or 19. Exit status 1 for a "
              "fault, and for outputs that are not those of --against.",
          .takes = kKernels,
          .run = Emulate};
}

}  // namespace tilewright
