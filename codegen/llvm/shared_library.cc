#include <fcntl.h>
#include <spawn.h>
#include <sys/wait.h>
#include <unistd.h>

#include <cerrno>
#include <cstdlib>
#include <cstring>
#include <fstream>
#include <iterator>
#include <string>
#include <vector>

#include "absl/strings/str_cat.h"
#include "codegen/llvm/object.h"

extern char** environ;

namespace tilewright {
namespace {

// A file that is gone when the object is.
class TemporaryFile {
 public:
  TemporaryFile() {
    const char* folder = std::getenv("TMPDIR");
    path_ = absl::StrCat(folder != nullptr ? folder : "/tmp", "/tilewright-XXXXXX");
    fd_ = mkstemp(path_.data());
  }
  ~TemporaryFile() {
    if (fd_ < 0) return;
    close(fd_);
    unlink(path_.c_str());
  }
  TemporaryFile(const TemporaryFile&) = delete;
  TemporaryFile& operator=(const TemporaryFile&) = delete;

  const std::string& path() const { return path_; }
  int fd() const { return fd_; }
  bool Write(const std::string& bytes) const {
    for (size_t done = 0; done < bytes.size();) {
      const ssize_t written = write(fd_, bytes.data() + done, bytes.size() - done);
      if (written <= 0) return false;
      done += static_cast<size_t>(written);
    }
    return true;
  }
  std::string Read() const {
    std::string text(4096, '\0');
    const ssize_t size = pread(fd_, text.data(), text.size(), 0);
    text.resize(size > 0 ? static_cast<size_t>(size) : 0);
    return text;
  }
  // What another program wrote to the path; it may have put a new file there.
  std::string ReadNew() const {
    std::ifstream file(path_, std::ios::binary);
    return {std::istreambuf_iterator<char>(file), std::istreambuf_iterator<char>()};
  }

 private:
  std::string path_;
  int fd_ = -1;
};

// The exit status, with everything the program prints in `output`; -1 when it cannot be started.
int Spawn(const std::vector<std::string>& command, const TemporaryFile& output) {
  std::vector<char*> argv;
  for (const std::string& arg : command) argv.push_back(const_cast<char*>(arg.c_str()));
  argv.push_back(nullptr);
  posix_spawn_file_actions_t actions;
  posix_spawn_file_actions_init(&actions);
  posix_spawn_file_actions_adddup2(&actions, output.fd(), STDOUT_FILENO);
  posix_spawn_file_actions_adddup2(&actions, output.fd(), STDERR_FILENO);
  pid_t child;
  const int failed = posix_spawnp(&child, argv[0], &actions, nullptr, argv.data(), environ);
  posix_spawn_file_actions_destroy(&actions);
  if (failed != 0) return -1;
  int status = 0;
  while (waitpid(child, &status, 0) < 0 && errno == EINTR) {
  }
  return WIFEXITED(status) ? WEXITSTATUS(status) : 1;
}

// GNU's linker takes 4 ms where LLVM's takes 25, most of them for starting. It links for its own machine only.
std::vector<const char*> Linkers(const Target& target) {
#if defined(__x86_64__)
  if (target.kind == TargetKind::kX86) return {"ld", "ld.lld-19", "ld.lld"};
#endif
  static_cast<void>(target);
  return {"ld.lld-19", "ld.lld", "ld"};
}

}  // namespace

absl::StatusOr<std::string> EmitSharedLibrary(const Module& module, const Target& target, const CompileOptions& options,
                                              std::string* assembly) {
  auto object = EmitObject(module, target, options, assembly);
  if (!object.ok()) return object.status();
  TemporaryFile input, library, output;
  if (input.fd() < 0 || library.fd() < 0 || output.fd() < 0 || !input.Write(*object)) {
    return absl::InternalError(absl::StrCat("cannot write ", input.path(), ": ", std::strerror(errno)));
  }
  for (const char* linker : Linkers(target)) {
    // The C library's functions are found in the process that loads the library.
    const int status =
        Spawn({linker, "-shared", "--hash-style=gnu", "-z", "noexecstack", "-o", library.path(), input.path()}, output);
    if (status == 0) return library.ReadNew();
    // 127: a shell's and posix_spawn's way of saying that there is no such program.
    if (status > 0 && status != 127) return absl::InternalError(absl::StrCat(linker, ": ", output.Read()));
  }
  return absl::FailedPreconditionError(
      "no linker: none of ld.lld-19, ld.lld and ld is installed (apt-get install lld-19)");
}

}  // namespace tilewright
