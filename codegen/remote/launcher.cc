#include "codegen/remote/launcher.h"

#include <sys/utsname.h>

#include "absl/strings/str_cat.h"
#include "absl/strings/str_split.h"
#include "base/status_macros.h"
#include "base/worker_path.h"
#include "codegen/remote/emulator.h"
#include "codegen/remote/messages.h"

namespace tilewright::remote {
namespace {

std::string ArchitectureHere() {
  utsname system;
  return uname(&system) == 0 ? system.machine : "";
}

}  // namespace

bool IsForeign(const Target& target) { return ArchitectureOf(target) != ArchitectureHere(); }

absl::StatusOr<std::vector<std::string>> WorkerCommand(const Target& target, const std::string& launcher) {
  std::vector<std::string> command = absl::StrSplit(launcher, ' ', absl::SkipEmpty());
  const bool foreign = IsForeign(target);
  if (foreign && command.empty()) {
    TW_ASSIGN_OR_RETURN(command, EmulatorCommand(target, {.counter = absl::StrCat("fd=", kCounterFd)}));
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
