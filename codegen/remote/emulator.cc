#include "codegen/remote/emulator.h"

#include <unistd.h>

#include <algorithm>
#include <cstdlib>
#include <string_view>

#include "absl/strings/str_cat.h"
#include "absl/strings/str_split.h"
#include "base/run_command.h"
#include "base/worker_path.h"

namespace tilewright::remote {
namespace {

// The program in the folders of PATH; empty where none has it.
std::string PathOf(const std::string& program) {
  const char* path = std::getenv("PATH");
  const std::string folders = path != nullptr ? path : "/usr/bin";
  for (const absl::string_view folder : absl::StrSplit(folders, ':', absl::SkipEmpty())) {
    std::string found = absl::StrCat(folder, "/", program);
    if (access(found.c_str(), X_OK) == 0) return found;
  }
  return "";
}

// The processors that the emulator knows by name. Its exit status is that of wrong usage.
std::vector<std::string> Processors(const std::string& emulator) {
  std::string output;
  RunCommand({emulator, "-cpu", "help"}, &output);
  return absl::StrSplit(output, absl::ByAnyChar(" \n"), absl::SkipEmpty());
}

// The processor that has the target's features: the one of that name, else the greatest one without the extensions
// that can be switched off. Streaming vectors are never the target's: its description has no word for them.
std::string ProcessorOf(const Target& target, const std::string& emulator) {
  if (const auto known = Processors(emulator); std::ranges::find(known, target.cpu) != known.end()) return target.cpu;
  if (!target.has("sve")) return "max,sve=off,sme=off";
  const int bits = target.cpu_part().vector_bits;
  return absl::StrCat("max,sme=off,sve", bits, "=on,sve", 2 * bits, "=off");
}

}  // namespace

std::string ArchitectureOf(const Target& target) { return target.triple.substr(0, target.triple.find('-')); }

absl::StatusOr<std::vector<std::string>> EmulatorCommand(const Target& target, const EmulatorOptions& options) {
  const std::string architecture = ArchitectureOf(target), name = "qemu-" + architecture, emulator = PathOf(name);
  if (emulator.empty()) {
    return absl::FailedPreconditionError(absl::StrCat("code for ", target.name, " runs on this machine in ", name,
                                                      ", which is not installed (apt-get install qemu-user)"));
  }
  std::vector<std::string> command = {emulator};
  const std::string root = options.root.empty() ? absl::StrCat("/usr/", architecture, "-linux-gnu") : options.root;
  if (access(root.c_str(), R_OK) == 0) command.insert(command.end(), {"-L", root});
  command.insert(command.end(), {"-cpu", options.only_target ? ProcessorOf(target, emulator) : "max"});
  if (options.counter.empty()) return command;
  if (const auto plugin = WorkerPath("codegen/remote/libcount_instructions.so"); plugin.ok()) {
    command.insert(command.end(), {"-plugin", absl::StrCat(*plugin, ",", options.counter)});
  }
  return command;
}

}  // namespace tilewright::remote
