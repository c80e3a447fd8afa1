#include "autoschedule/measure/executor/machine_lock.h"

#include <fcntl.h>
#include <sys/file.h>
#include <unistd.h>

#include <cerrno>
#include <chrono>
#include <cmath>
#include <cstring>
#include <thread>

#include "absl/strings/str_cat.h"
#include "autoschedule/measure/protocol/run_folder.h"
#include "base/status_macros.h"

namespace tilewright {
namespace {

// Between two looks at a lock that is not waited for without end.
constexpr auto kLook = std::chrono::milliseconds(2);

double Now() { return std::chrono::duration<double>(std::chrono::steady_clock::now().time_since_epoch()).count(); }

int Flock(int fd, int mode) {
  int result;
  do result = flock(fd, mode);
  while (result != 0 && errno == EINTR);
  return result;
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
MachineLock::Guard MachineLock::Shared() { return Hold(LOCK_SH); }
MachineLock::Guard MachineLock::Exclusive() { return Hold(LOCK_EX); }

void MachineLock::LimitWaiting(double seconds) { deadline_ = Now() + seconds; }

MachineLock::Guard MachineLock::Hold(int mode) {
  if (Flock(fd_, mode | LOCK_NB) == 0) return Guard(fd_);
  const double start = Now();
  bool held = false;
  if (std::isinf(deadline_)) {
    held = Flock(fd_, mode) == 0;
  } else {
    while (!held && Now() < deadline_) {
      std::this_thread::sleep_for(kLook);
      held = Flock(fd_, mode | LOCK_NB) == 0;
    }
  }
  waited_seconds_ += Now() - start;
  return Guard(held ? fd_ : -1);
}

}  // namespace tilewright
