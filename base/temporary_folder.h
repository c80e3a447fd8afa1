// A folder that is gone when the object is.
//
//   const TemporaryFolder folder;
//   if (folder.path().empty() || !folder.Write("a/kernel.cc", text)) ... there is no room
#pragma once

#include <cstdlib>
#include <filesystem>
#include <fstream>
#include <string>
#include <string_view>
#include <system_error>

namespace tilewright {

class TemporaryFolder {
 public:
  TemporaryFolder() {
    const char* folder = std::getenv("TMPDIR");
    std::string path = std::string(folder != nullptr ? folder : "/tmp") + "/tilewright-XXXXXX";
    if (mkdtemp(path.data()) != nullptr) path_ = path;
  }
  ~TemporaryFolder() {
    std::error_code ignored;
    if (!path_.empty()) std::filesystem::remove_all(path_, ignored);
  }
  TemporaryFolder(const TemporaryFolder&) = delete;
  TemporaryFolder& operator=(const TemporaryFolder&) = delete;

  // Empty where it could not be made.
  const std::filesystem::path& path() const { return path_; }
  // Makes the folders of `name` too.
  bool Write(std::string_view name, std::string_view text) const {
    const std::filesystem::path file = path_ / name;
    std::error_code ignored;
    std::filesystem::create_directories(file.parent_path(), ignored);
    std::ofstream stream(file, std::ios::binary);
    stream << text;
    return static_cast<bool>(stream.flush());
  }

 private:
  std::filesystem::path path_;
};

}  // namespace tilewright
