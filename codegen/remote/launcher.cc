#include "codegen/remote/launcher.h"

#include <sys/utsname.h>
#include <unistd.h>

#include <cstdlib>
#include <string_view>

#include "absl/strings/str_cat.h"
#include "absl/strings/str_split.h"
#include "base/status_macros.h"
#include "base/worker_path.h"
#include "codegen/remote/messages.h"

namespace tilewright::remote {
namespace {

// "aarch64" of aarch64-unknown-linux-gnu.
std::string ArchitectureOf(const Target& target) { return target.triple.substr(0, target.triple.find('-')); }

std::string ArchitectureHere() {
  utsname system;
  return uname(&system) == 0 ? system.machine : "";
}

// Whether one of the folders of PATH has the program.
bool IsInstalled(const std::string& program) {
  const char* path = std::getenv("PATH");
  const std::string folders = path != nullptr ? path : "/usr/bin";
  for (const absl::string_view folder : absl::StrSplit(folders, ':', absl::SkipEmpty())) {
    if (access(absl::StrCat(folder, "/", program).c_str(), X_OK) == 0) return true;
  }
  return false;
}

// Everything that the emulator can do: code uses no more than its target has.
absl::StatusOr<std::vector<std::string>> Emulator(const Target& target) {
  const std::string architecture = ArchitectureOf(target), emulator = "qemu-" + architecture;
  if (!IsInstalled(emulator)) {
    return absl::FailedPreconditionError(absl::StrCat("code for ", target.name, " runs on this machine in ", emulator,
                                                      ", which is not installed (apt-get install qemu-user)"));
  }
  std::vector<std::string> command = {emulator};
  // The folder in which Debian's cross compilers have the C library.
  const std::string root = absl::StrCat("/usr/", architecture, "-linux-gnu");
  if (access(root.c_str(), R_OK) == 0) command.insert(command.end(), {"-L", root});
  command.insert(command.end(), {"-cpu", "max"});
  if (const auto plugin = WorkerPath("codegen/remote/libcount_instructions.so"); plugin.ok()) {
    command.insert(command.end(), {"-plugin", absl::StrCat(*plugin, ",fd=", kCounterFd)});
  }
  return command;
}

}  // namespace

bool IsForeign(const Target& target) { return ArchitectureOf(target) != ArchitectureHere(); }

absl::StatusOr<std::vector<std::string>> WorkerCommand(const Target& target, const std::string& launcher) {
  std::vector<std::string> command = absl::StrSplit(launcher, ' ', absl::SkipEmpty());
  const bool foreign = IsForeign(target);
  if (foreign && command.empty()) {
    TW_ASSIGN_OR_RETURN(auto emulator, Emulator(target));
    command = std::move(emulator);
  }
  std::string name = "codegen/remote/call_worker";
  if (foreign) absl::StrAppend(&name, "_", ArchitectureOf(target));
  const auto worker = WorkerPath(name);
  if (!worker.ok()) {
    if (!foreign) return worker.status();
    return absl::FailedPreconditionError(absl::StrCat("this build has no worker that runs code for ", target.name,
                                                      " (apt-get install g++-", ArchitectureOf(target),
                                                      "-linux-gnu, and build again): ", worker.status().message()));
  }
  command.push_back(*worker);
  return command;
}

}  // namespace tilewright::remote
