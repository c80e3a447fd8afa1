#include "autoschedule/measure/protocol/serve.h"

#include <dlfcn.h>
#include <poll.h>
#include <sys/resource.h>
#include <sys/stat.h>
#include <unistd.h>

#include <cerrno>
#include <cstdio>
#include <cstdlib>
#include <string_view>
#include <thread>

#include "base/limit_memory.h"

namespace tilewright {
namespace {

constexpr std::string_view kMemory = "--memory-bytes=", kLibrary = "--library=";

// Ends the process when the other end of its standard input, a socket, is closed.
void EndWithTheCaller() {
  struct stat status;
  if (fstat(STDIN_FILENO, &status) != 0 || !S_ISSOCK(status.st_mode)) return;
  std::thread([] {
    pollfd input = {.fd = STDIN_FILENO, .events = 0};
    while (poll(&input, 1, -1) < 0 && errno == EINTR) {
    }
    _exit(0);
  }).detach();
}

bool WriteAll(int fd, const std::string& text) {
  for (size_t done = 0; done < text.size();) {
    const ssize_t size = write(fd, text.data() + done, text.size() - done);
    if (size <= 0) return false;
    done += static_cast<size_t>(size);
  }
  return true;
}

}  // namespace

int ServeLines(int argc, char** argv, const std::function<std::string(const std::string& request)>& answer) {
  for (int i = 1; i < argc; ++i) {
    const std::string_view flag = argv[i];
    if (flag.starts_with(kMemory)) {
      LimitMemory(std::strtoull(argv[i] + kMemory.size(), nullptr, 10));
    } else if (!flag.starts_with(kLibrary)) {
      std::fprintf(stderr, "unknown flag %s\n", argv[i]);
      return 2;
    } else if (dlopen(argv[i] + kLibrary.size(), RTLD_NOW | RTLD_GLOBAL) == nullptr) {
      std::fprintf(stderr, "%s\n", dlerror());
      return 2;
    }
  }
  const rlimit no_core = {0, 0};
  setrlimit(RLIMIT_CORE, &no_core);
  EndWithTheCaller();
  const int output = dup(STDOUT_FILENO);
  dup2(STDERR_FILENO, STDOUT_FILENO);
  std::string received;
  char buffer[65536];
  for (ssize_t size; (size = read(STDIN_FILENO, buffer, sizeof buffer)) > 0;) {
    received.append(buffer, static_cast<size_t>(size));
    for (size_t end; (end = received.find('\n')) != received.npos;) {
      const std::string request = received.substr(0, end);
      received.erase(0, end + 1);
      if (!WriteAll(output, answer(request) + "\n")) return 1;
    }
  }
  return 0;
}

}  // namespace tilewright
