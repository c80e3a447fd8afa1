// Whole files.
#pragma once

#include <string>
#include <string_view>

#include "absl/status/status.h"
#include "absl/status/statusor.h"

namespace tilewright {

// The bytes of a file. NotFound says which one cannot be read.
absl::StatusOr<std::string> ReadFile(const std::string& path);

// Makes the file, or replaces what is in it. Unavailable says which one cannot be written, and why.
absl::Status WriteFile(const std::string& path, std::string_view bytes);

// A path as a user means it who started the program by `bazel run`: from the folder in which he called that.
// Elsewhere, and of absolute and empty paths, the path itself.
std::string AbsolutePath(const std::string& path);

}  // namespace tilewright
