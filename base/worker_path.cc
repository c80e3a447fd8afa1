#include "base/worker_path.h"

#include <unistd.h>

#include <cstdlib>
#include <vector>

#include "absl/strings/str_cat.h"
#include "absl/strings/str_join.h"

namespace tilewright {
namespace {

std::string ThisProgram() {
  std::string path(4096, '\0');
  const ssize_t size = readlink("/proc/self/exe", path.data(), path.size());
  path.resize(size > 0 ? static_cast<size_t>(size) : 0);
  return path;
}

}  // namespace

absl::StatusOr<std::string> WorkerPath(std::string_view path_in_workspace) {
  const std::string program = ThisProgram(), in_workspace(path_in_workspace);
  const std::string file = in_workspace.substr(in_workspace.rfind('/') + 1);
  std::vector<std::string> paths;
  if (const char* folder = std::getenv("TILEWRIGHT_WORKERS")) paths.push_back(absl::StrCat(folder, "/", file));
  paths.push_back(absl::StrCat(program.substr(0, program.rfind('/') + 1), file));
  std::vector<std::string> runfiles = {absl::StrCat(program, ".runfiles")};
  for (const char* variable : {"RUNFILES_DIR", "TEST_SRCDIR"}) {
    if (const char* folder = std::getenv(variable)) runfiles.emplace_back(folder);
  }
  for (const std::string& folder : runfiles) {
    paths.push_back(absl::StrCat(folder, "/tilewright/", in_workspace));
  }
  for (const std::string& path : paths) {
    if (access(path.c_str(), X_OK) == 0) return path;
  }
  return absl::NotFoundError(absl::StrCat("there is no worker at ", absl::StrJoin(paths, ", ")));
}

}  // namespace tilewright
