#include "base/golden.h"

#include <algorithm>
#include <cstdlib>
#include <filesystem>
#include <sstream>
#include <string_view>

#include "base/files.h"

namespace tilewright {
namespace {

bool UpdatesGolden() {
  const char* update = std::getenv("TILEWRIGHT_UPDATE_GOLDEN");
  return update != nullptr && std::string_view(update) == "1";
}

// The file in the repository, where the test's own is a link to it.
std::string PathInRepository(const std::string& path) {
  if (const char* root = std::getenv("BUILD_WORKSPACE_DIRECTORY")) return std::string(root) + "/" + path;
  std::error_code error;
  const std::filesystem::path file = std::filesystem::canonical(path, error);
  return error ? path : file.string();
}

// "line 3: "expected" is now "actual"".
std::string FirstDifference(const std::string& expected, const std::string& actual) {
  std::istringstream a(expected), b(actual);
  std::string line_a, line_b;
  for (int number = 1;; ++number) {
    const bool has_a = static_cast<bool>(std::getline(a, line_a)), has_b = static_cast<bool>(std::getline(b, line_b));
    if (has_a && has_b && line_a == line_b) continue;
    const auto shown = [](bool has, const std::string& line) { return has ? "\"" + line + "\"" : "nothing"; };
    return "line " + std::to_string(number) + ": " + shown(has_a, line_a) + " is now " + shown(has_b, line_b);
  }
}

}  // namespace

testing::AssertionResult MatchesGolden(const std::string& path, const std::string& text) {
  if (UpdatesGolden()) {
    const absl::Status written = WriteFile(PathInRepository(path), text);
    return written.ok() ? testing::AssertionSuccess() : testing::AssertionFailure() << std::string(written.message());
  }
  const absl::StatusOr<std::string> expected = ReadFile(path);
  if (!expected.ok()) return testing::AssertionFailure() << std::string(expected.status().message());
  if (*expected == text) return testing::AssertionSuccess();
  return testing::AssertionFailure() << path << " differs, " << FirstDifference(*expected, text)
                                     << "\nRun the test with TILEWRIGHT_UPDATE_GOLDEN=1 to write the file.";
}

}  // namespace tilewright
