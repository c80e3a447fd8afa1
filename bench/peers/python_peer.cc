#include "bench/peers/python_peer.h"

#include <unistd.h>

#include <algorithm>
#include <cstdlib>
#include <iterator>
#include <string>
#include <vector>

#include "absl/strings/str_cat.h"
#include "base/status_macros.h"
#include "bench/operators/missing_peer.h"
#include "bench/peers/worker_peer.h"
#include "codegen/remote/emulator.h"

namespace tilewright::bench {
namespace {

constexpr std::string_view kNames[] = {"onnxruntime", "openvino", "pytorch", "tvm", "iree", "xla"};

std::string EnvironmentFolder() {
  if (const char* folder = std::getenv("TILEWRIGHT_PEERS")) return folder;
  if (const char* cache = std::getenv("XDG_CACHE_HOME")) return absl::StrCat(cache, "/tilewright/peers");
  const char* home = std::getenv("HOME");
  return absl::StrCat(home == nullptr ? "" : home, "/.cache/tilewright/peers");
}

// Bazel puts the scripts among the program's run files: what `bazel run` and a program started from bazel-bin have.
std::string ScriptPath() {
  std::string program(4096, '\0');
  const ssize_t size = readlink("/proc/self/exe", program.data(), program.size());
  program.resize(size > 0 ? static_cast<size_t>(size) : 0);
  return absl::StrCat(program, ".runfiles/tilewright/bench/peers/serve.py");
}

// The Python and the script that it runs. `group`: what bench/peers/setup.sh makes the Python with, after a space.
absl::StatusOr<std::vector<std::string>> ServerCommand(const std::string& python, const std::string& group,
                                                       std::string_view name) {
  const std::string script = ScriptPath();
  if (access(python.c_str(), X_OK) != 0) {
    return absl::NotFoundError(
        absl::StrCat("not installed: there is no ", python, "; bench/peers/setup.sh", group, " makes it"));
  }
  if (access(script.c_str(), R_OK) != 0) {
    return absl::NotFoundError(absl::StrCat("there is no ", script, "; build it with bazel"));
  }
  return std::vector<std::string>{python, script, std::string(name)};
}

}  // namespace

absl::StatusOr<std::vector<std::string>> PythonPeerCommand(std::string_view name) {
  return ServerCommand(absl::StrCat(EnvironmentFolder(), "/bin/python3"), "", name);
}

absl::StatusOr<std::vector<std::string>> EmulatedPeerCommand(std::string_view name, const Target& target,
                                                             const std::string& counter) {
  const std::string architecture = remote::ArchitectureOf(target);
  const std::string root = absl::StrCat(EnvironmentFolder(), "/", architecture);
  TW_ASSIGN_OR_RETURN(const auto server, ServerCommand(absl::StrCat(root, "/usr/bin/python3"),
                                                       absl::StrCat(" ", std::string(name), "-", architecture), name));
  const remote::EmulatorOptions options = {
      .root = root, .only_target = true, .counter = absl::StrCat("counter=", counter)};
  TW_ASSIGN_OR_RETURN(auto command, remote::EmulatorCommand(target, options));
  command.insert(command.end(), server.begin(), server.end());
  command.push_back(absl::StrCat("--counter=", counter));
  return command;
}

std::unique_ptr<Implementation> MakePythonPeer(std::string_view name) {
  if (std::find(std::begin(kNames), std::end(kNames), name) == std::end(kNames)) return nullptr;
  const auto command = PythonPeerCommand(name);
  if (!command.ok()) return MakeMissingPeer(std::string(name), std::string(command.status().message()));
  return MakeWorkerPeer(std::string(name), *command);
}

}  // namespace tilewright::bench
