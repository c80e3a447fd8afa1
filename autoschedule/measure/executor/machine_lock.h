// Who may use the processor while somebody measures.
//
//   auto lock = MachineLock::Open();
//   { MachineLock::Guard working = lock->Shared();     Compile(); }   // beside others who do not measure
//   { MachineLock::Guard alone = lock->Exclusive();    Measure(); }   // nobody else compiles or measures
//
// Waiting for others is not counted as one's own time: waited_seconds() says how long it was, and LimitWaiting() ends
// it.
//
// The lock is a file in the user's folder (run_folder.h), which all of the user's processes on the machine share. The
// system releases what a process holds when it ends, however it ends.
#pragma once

#include <limits>
#include <utility>

#include "absl/status/statusor.h"

namespace tilewright {

class MachineLock {
 public:
  static absl::StatusOr<MachineLock> Open();
  MachineLock(MachineLock&& other) noexcept
      : fd_(std::exchange(other.fd_, -1)), deadline_(other.deadline_), waited_seconds_(other.waited_seconds_) {}
  MachineLock& operator=(MachineLock&& other) noexcept {
    std::swap(fd_, other.fd_);
    std::swap(deadline_, other.deadline_);
    std::swap(waited_seconds_, other.waited_seconds_);
    return *this;
  }
  ~MachineLock();

  // Holds the lock until it goes; one at a time per MachineLock.
  class Guard {
   public:
    Guard(Guard&& other) noexcept : fd_(std::exchange(other.fd_, -1)) {}
    Guard& operator=(Guard&&) = delete;
    ~Guard();
    // False when others had the lock until the end of the time that LimitWaiting() allows.
    bool held() const { return fd_ >= 0; }

   private:
    friend class MachineLock;
    explicit Guard(int fd) : fd_(fd) {}
    int fd_;
  };
  // Both wait until they may have it, or no longer may wait.
  Guard Shared();
  Guard Exclusive();

  // From now on, waiting ends so many seconds from now. Without a limit it does not end.
  void LimitWaiting(double seconds);
  // All that this object has waited.
  double waited_seconds() const { return waited_seconds_; }

 private:
  explicit MachineLock(int fd) : fd_(fd) {}
  Guard Hold(int mode);

  int fd_;
  double deadline_ = std::numeric_limits<double>::infinity();  // in seconds of the steady clock
  double waited_seconds_ = 0;
};

}  // namespace tilewright
