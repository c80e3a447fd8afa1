#include "autoschedule/measure/protocol/run_folder.h"

#include <signal.h>
#include <sys/stat.h>
#include <unistd.h>

#include <cerrno>
#include <cstdio>
#include <cstring>
#include <filesystem>
#include <system_error>

#include "absl/strings/str_cat.h"
#include "base/status_macros.h"

namespace tilewright {
namespace {

namespace fs = std::filesystem;

// "run-PID-XXXXXX" of processes that are no more.
void RemoveLeftovers(const std::string& folder) {
  std::error_code error;
  for (const fs::directory_entry& entry : fs::directory_iterator(folder, error)) {
    int pid = 0;
    if (std::sscanf(entry.path().filename().c_str(), "run-%d-", &pid) != 1 || pid <= 0) continue;
    if (kill(pid, 0) != 0 && errno == ESRCH) fs::remove_all(entry.path(), error);
  }
}

}  // namespace

absl::StatusOr<std::string> UserFolder() {
  const std::string folder = absl::StrCat("/tmp/tilewright-", getuid());
  mkdir(folder.c_str(), 0700);
  // Somebody else may have made it to be given what is written there.
  struct stat status;
  if (lstat(folder.c_str(), &status) != 0 || !S_ISDIR(status.st_mode) || status.st_uid != getuid()) {
    return absl::PermissionDeniedError(absl::StrCat(folder, " is not a folder of this user"));
  }
  return folder;
}

absl::StatusOr<RunFolder> RunFolder::Make() {
  TW_ASSIGN_OR_RETURN(const auto folder, UserFolder());
  RemoveLeftovers(folder);
  std::string path = absl::StrCat(folder, "/run-", getpid(), "-XXXXXX");
  if (mkdtemp(path.data()) == nullptr) {
    return absl::InternalError(absl::StrCat("cannot make ", path, ": ", std::strerror(errno)));
  }
  return RunFolder(std::move(path));
}

RunFolder::~RunFolder() {
  std::error_code error;
  if (!path_.empty()) fs::remove_all(path_, error);
}

}  // namespace tilewright
