#include "autoschedule/measure/executor/machine_lock.h"

#include <fcntl.h>
#include <sys/file.h>
#include <unistd.h>

#include <cerrno>
#include <cstring>

#include "absl/strings/str_cat.h"
#include "autoschedule/measure/protocol/run_folder.h"
#include "base/status_macros.h"

namespace tilewright {
namespace {

int Hold(int fd, int mode) {
  while (flock(fd, mode) != 0 && errno == EINTR) {
  }
  return fd;
}

}  // namespace

absl::StatusOr<MachineLock> MachineLock::Open() {
  TW_ASSIGN_OR_RETURN(const auto folder, UserFolder());
  const std::string path = folder + "/measuring.lock";
  const int fd = open(path.c_str(), O_RDWR | O_CREAT | O_CLOEXEC | O_NOFOLLOW, 0600);
  if (fd < 0) return absl::InternalError(absl::StrCat("cannot open ", path, ": ", std::strerror(errno)));
  return MachineLock(fd);
}

MachineLock::~MachineLock() {
  if (fd_ >= 0) close(fd_);
}
MachineLock::Guard::~Guard() {
  if (fd_ >= 0) flock(fd_, LOCK_UN);
}
MachineLock::Guard MachineLock::Shared() { return Guard(Hold(fd_, LOCK_SH)); }
MachineLock::Guard MachineLock::Exclusive() { return Guard(Hold(fd_, LOCK_EX)); }

}  // namespace tilewright
