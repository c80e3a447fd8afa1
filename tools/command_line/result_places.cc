#include "tools/command_line/result_places.h"

#include <fcntl.h>
#include <sys/stat.h>
#include <unistd.h>

#include <cerrno>
#include <cstdlib>
#include <cstring>
#include <filesystem>
#include <ranges>
#include <vector>

#include "tools/command_line/flag_table.h"

namespace tilewright {
namespace {

namespace fs = std::filesystem;

// What stands in the way; empty where nothing does. Of pipes and devices nothing is said.
std::string ObstacleOfFile(const std::string& path) {
  struct stat file = {};
  const bool known = stat(path.c_str(), &file) == 0;
  if (known && S_ISDIR(file.st_mode)) return std::strerror(EISDIR);
  if (known && !S_ISREG(file.st_mode)) return "";
  const int descriptor = open(path.c_str(), O_WRONLY | O_CREAT | O_CLOEXEC, 0666);
  if (descriptor < 0) return std::strerror(errno);
  close(descriptor);
  if (!known) unlink(path.c_str());
  return "";
}

// The same of a folder, which is made where there is none, with those around it.
std::string ObstacleOfFolder(const fs::path& path) {
  std::vector<fs::path> made;
  std::string obstacle;
  fs::path at;
  for (const fs::path& part : path) {
    at /= part;
    std::error_code error;
    if (fs::is_directory(at, error)) continue;
    error.clear();
    if (fs::create_directory(at, error)) made.push_back(at);
    if (!error) continue;
    obstacle = fs::exists(at) ? std::strerror(ENOTDIR) : error.message();
    break;
  }
  if (obstacle.empty()) {
    std::string file = (path / ".tilewright-XXXXXX").string();
    const int descriptor = mkostemp(file.data(), O_CLOEXEC);
    if (descriptor < 0) {
      obstacle = std::strerror(errno);
    } else {
      close(descriptor);
      unlink(file.c_str());
    }
  }
  for (const fs::path& folder : made | std::views::reverse) {
    std::error_code error;
    fs::remove(folder, error);
  }
  return obstacle;
}

}  // namespace

std::optional<std::string> UnwritablePlace(const CommandArguments& args) {
  for (const FlagRow& row : FlagsOf(args.command())) {
    const bool is_file = row.form == ValueForm::kOut, is_folder = row.form == ValueForm::kOutFolder;
    const std::optional<std::string> path = is_file || is_folder ? args.Get(row.flag) : std::nullopt;
    if (!path) continue;
    const bool folder = is_folder || (!row.rules.folder_with.empty() && args.Has(row.rules.folder_with));
    const std::string obstacle = folder ? ObstacleOfFolder(*path) : ObstacleOfFile(*path);
    if (!obstacle.empty()) return *path + " cannot be written: " + obstacle;
  }
  return std::nullopt;
}

}  // namespace tilewright
