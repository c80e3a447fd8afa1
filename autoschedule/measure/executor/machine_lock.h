// Who may use the processor while somebody measures.
//
//   auto lock = MachineLock::Open();
//   { MachineLock::Guard working = lock->Shared();     Compile(); }   // beside others who do not measure
//   { MachineLock::Guard alone = lock->Exclusive();    Measure(); }   // nobody else compiles or measures
//
// The lock is a file in the user's folder (run_folder.h), which all of the user's processes on the machine share. The
// system releases what a process holds when it ends, however it ends.
#pragma once

#include <string>
#include <utility>

#include "absl/status/statusor.h"

namespace tilewright {

class MachineLock {
 public:
  static absl::StatusOr<MachineLock> Open();
  MachineLock(MachineLock&& other) noexcept : fd_(std::exchange(other.fd_, -1)) {}
  MachineLock& operator=(MachineLock&& other) noexcept {
    std::swap(fd_, other.fd_);
    return *this;
  }
  ~MachineLock();

  // Holds the lock until it goes; one at a time per MachineLock.
  class Guard {
   public:
    Guard(Guard&& other) noexcept : fd_(std::exchange(other.fd_, -1)) {}
    Guard& operator=(Guard&&) = delete;
    ~Guard();

   private:
    friend class MachineLock;
    explicit Guard(int fd) : fd_(fd) {}
    int fd_;
  };
  // Both wait until they may have it.
  Guard Shared();
  Guard Exclusive();

 private:
  explicit MachineLock(int fd) : fd_(fd) {}
  int fd_;
};

}  // namespace tilewright
