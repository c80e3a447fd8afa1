// Folders for what is there while a tuner runs.
#pragma once

#include <string>
#include <utility>

#include "absl/status/statusor.h"

namespace tilewright {

// /tmp/tilewright-UID, which only this user may enter; made when it is not there. All processes of the user on the
// machine find the same one.
absl::StatusOr<std::string> UserFolder();

// A fresh folder in it that is removed with the object. What is left of processes that were killed is removed when the
// next one is made.
class RunFolder {
 public:
  static absl::StatusOr<RunFolder> Make();
  RunFolder(RunFolder&& other) noexcept : path_(std::exchange(other.path_, "")) {}
  RunFolder& operator=(RunFolder&&) = delete;
  ~RunFolder();

  const std::string& path() const { return path_; }

 private:
  explicit RunFolder(std::string path) : path_(std::move(path)) {}
  std::string path_;
};

}  // namespace tilewright
