#include "codegen/remote/worker_process.h"

#include <fcntl.h>
#include <signal.h>
#include <spawn.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <cstring>

#include "absl/strings/ascii.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/str_join.h"
#include "codegen/remote/messages.h"

extern char** environ;

namespace tilewright::remote {
namespace {

void Close(int& fd) {
  if (fd >= 0) close(fd);
  fd = -1;
}

// Writing to a process that has ended is an error of the write, not a signal, as long as the object lives.
class WithoutPipeSignal {
 public:
  WithoutPipeSignal() {
    sigemptyset(&pipe_);
    sigaddset(&pipe_, SIGPIPE);
    pthread_sigmask(SIG_BLOCK, &pipe_, &before_);
  }
  ~WithoutPipeSignal() {
    const timespec now = {};
    if (sigismember(&before_, SIGPIPE) == 0) sigtimedwait(&pipe_, nullptr, &now);
    pthread_sigmask(SIG_SETMASK, &before_, nullptr);
  }
  WithoutPipeSignal(const WithoutPipeSignal&) = delete;
  WithoutPipeSignal& operator=(const WithoutPipeSignal&) = delete;

 private:
  sigset_t pipe_, before_;
};

}  // namespace

absl::Status WorkerProcess::Start() {
  int in[2], out[2];
  if (pipe2(in, O_CLOEXEC) != 0) return absl::UnavailableError(absl::StrCat("no pipe: ", std::strerror(errno)));
  if (pipe2(out, O_CLOEXEC) != 0) {
    const int error = errno;
    Close(in[0]);
    Close(in[1]);
    return absl::UnavailableError(absl::StrCat("no pipe: ", std::strerror(error)));
  }
  errors_ = memfd_create("worker", MFD_CLOEXEC);
  int counter = memfd_create("counter", MFD_CLOEXEC);
  if (counter >= 0 && ftruncate(counter, kCounterBytes) != 0) Close(counter);
  std::vector<char*> argv;
  for (const std::string& word : command_) argv.push_back(const_cast<char*>(word.c_str()));
  argv.push_back(nullptr);
  posix_spawn_file_actions_t actions;
  posix_spawn_file_actions_init(&actions);
  posix_spawn_file_actions_adddup2(&actions, in[0], STDIN_FILENO);
  posix_spawn_file_actions_adddup2(&actions, out[1], STDOUT_FILENO);
  if (errors_ >= 0) posix_spawn_file_actions_adddup2(&actions, errors_, STDERR_FILENO);
  // Last: what was open under this number has gone to its place.
  if (counter >= 0) posix_spawn_file_actions_adddup2(&actions, counter, kCounterFd);
  const int failed = posix_spawnp(&process_, argv[0], &actions, nullptr, argv.data(), environ);
  posix_spawn_file_actions_destroy(&actions);
  Close(in[0]);
  Close(out[1]);
  Close(counter);
  requests_ = in[1];
  answers_ = out[0];
  if (failed == 0) return absl::OkStatus();
  process_ = 0;
  Stop();
  return absl::FailedPreconditionError(
      absl::StrCat(absl::StrJoin(command_, " "), " cannot be started: ", std::strerror(failed)));
}

void WorkerProcess::Stop() {
  if (process_ > 0) {
    kill(process_, SIGKILL);
    while (waitpid(process_, nullptr, 0) < 0 && errno == EINTR) {
    }
  }
  process_ = 0;
  for (int* fd : {&requests_, &answers_, &errors_}) Close(*fd);
}

std::string WorkerProcess::LastWords() const {
  struct stat status;
  if (errors_ < 0 || fstat(errors_, &status) != 0) return "";
  std::string text(std::min<size_t>(static_cast<size_t>(status.st_size), 400), '\0');
  const ssize_t size = pread(errors_, text.data(), text.size(), status.st_size - static_cast<off_t>(text.size()));
  text.resize(size > 0 ? static_cast<size_t>(size) : 0);
  return text.empty() ? "" : absl::StrCat(": ", absl::StripAsciiWhitespace(text));
}

std::string WorkerProcess::Bury() {
  // Long enough for a process that ends by itself to say how.
  constexpr int kMostPolls = 200, kPollMicroseconds = 10'000;
  int status = 0;
  Close(requests_);
  bool ended = false;
  for (int poll = 0; poll < kMostPolls && !ended; ++poll) {
    ended = waitpid(process_, &status, WNOHANG) != 0;
    if (!ended) usleep(kPollMicroseconds);
  }
  if (!ended) {
    kill(process_, SIGKILL);
    while (waitpid(process_, &status, 0) < 0 && errno == EINTR) {
    }
  }
  process_ = 0;
  std::string how = WIFSIGNALED(status)
                        ? absl::StrCat("signal ", WTERMSIG(status), " (", strsignal(WTERMSIG(status)), ")")
                        : absl::StrCat("status ", WEXITSTATUS(status));
  how = absl::StrCat("the worker ended with ", how, LastWords());
  Stop();
  return how;
}

absl::StatusOr<std::string> WorkerProcess::Ask(const std::string& request) {
  const WithoutPipeSignal quiet;
  std::string answer;
  if (SendMessage(requests_, request) && ReceiveMessage(answers_, &answer)) return answer;
  return absl::UnavailableError(Bury());
}

}  // namespace tilewright::remote
