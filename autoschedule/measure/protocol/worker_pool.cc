#include "autoschedule/measure/protocol/worker_pool.h"

#include <fcntl.h>
#include <poll.h>
#include <signal.h>
#include <spawn.h>
#include <sys/mman.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <cstring>
#include <utility>

#include "absl/strings/str_cat.h"
#include "absl/strings/strip.h"
#include "codegen/runtime/timer.h"

extern char** environ;

namespace tilewright {

WorkerPool::WorkerPool(std::string program, std::vector<std::string> args, int num_workers)
    : program_(std::move(program)), args_(std::move(args)), workers_(static_cast<size_t>(std::max(num_workers, 1))) {}

WorkerPool::~WorkerPool() { Restart(); }

void WorkerPool::Restart() {
  for (Worker& worker : workers_) Stop(worker);
}

std::string WorkerPool::Start(Worker& worker) {
  int ends[2];
  if (socketpair(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0, ends) != 0) {
    return absl::StrCat("no socket for a worker: ", std::strerror(errno));
  }
  worker.error_fd = memfd_create("worker", MFD_CLOEXEC);
  std::vector<std::string> command = {program_};
  command.insert(command.end(), args_.begin(), args_.end());
  std::vector<char*> argv;
  for (std::string& word : command) argv.push_back(word.data());
  argv.push_back(nullptr);
  posix_spawn_file_actions_t actions;
  posix_spawn_file_actions_init(&actions);
  posix_spawn_file_actions_adddup2(&actions, ends[1], STDIN_FILENO);
  posix_spawn_file_actions_adddup2(&actions, ends[1], STDOUT_FILENO);
  if (worker.error_fd >= 0) posix_spawn_file_actions_adddup2(&actions, worker.error_fd, STDERR_FILENO);
  // Ctrl-C is for the process that measures: it ends its workers when it is ready.
  posix_spawnattr_t attributes;
  posix_spawnattr_init(&attributes);
  sigset_t blocked;
  pthread_sigmask(SIG_SETMASK, nullptr, &blocked);
  sigaddset(&blocked, SIGINT);
  posix_spawnattr_setsigmask(&attributes, &blocked);
  posix_spawnattr_setflags(&attributes, POSIX_SPAWN_SETSIGMASK);
  const int failed = posix_spawn(&worker.pid, argv[0], &actions, &attributes, argv.data(), environ);
  posix_spawnattr_destroy(&attributes);
  posix_spawn_file_actions_destroy(&actions);
  close(ends[1]);
  worker.fd = ends[0];
  if (failed != 0) {
    worker.pid = 0;
    Stop(worker);
    return absl::StrCat(program_, " cannot be started: ", std::strerror(failed));
  }
  // Not before the worker has its end: the flag belongs to each end by itself.
  fcntl(worker.fd, F_SETFL, O_NONBLOCK);
  return "";
}

void WorkerPool::Stop(Worker& worker) {
  if (worker.pid > 0) {
    kill(worker.pid, SIGKILL);
    while (waitpid(worker.pid, nullptr, 0) < 0 && errno == EINTR) {
    }
  }
  if (worker.fd >= 0) close(worker.fd);
  if (worker.error_fd >= 0) close(worker.error_fd);
  worker = Worker();
}

std::string WorkerPool::LastWords(const Worker& worker) {
  struct stat status;
  if (worker.error_fd < 0 || fstat(worker.error_fd, &status) != 0) return "";
  std::string text(std::min<size_t>(static_cast<size_t>(status.st_size), 400), '\0');
  const ssize_t size =
      pread(worker.error_fd, text.data(), text.size(), status.st_size - static_cast<off_t>(text.size()));
  text.resize(size > 0 ? static_cast<size_t>(size) : 0);
  return text.empty() ? "" : absl::StrCat(": ", absl::StripAsciiWhitespace(text));
}

WorkerReply WorkerPool::Bury(Worker& worker) {
  int status = 0;
  while (waitpid(worker.pid, &status, 0) < 0 && errno == EINTR) {
  }
  worker.pid = 0;
  WorkerReply reply{.outcome = WorkerReply::Outcome::kEnded};
  if (WIFSIGNALED(status)) {
    reply.killed = WTERMSIG(status) == SIGKILL;
    reply.text = absl::StrCat("the worker ended with signal ", WTERMSIG(status), " (", strsignal(WTERMSIG(status)), ")",
                              LastWords(worker));
  } else {
    reply.text = absl::StrCat("the worker ended with status ", WEXITSTATUS(status), LastWords(worker));
  }
  Stop(worker);
  return reply;
}

bool WorkerPool::Advance(Worker& worker, const std::string& request, WorkerReply* reply) {
  while (worker.sent < request.size()) {
    const ssize_t size = send(worker.fd, request.data() + worker.sent, request.size() - worker.sent, MSG_NOSIGNAL);
    if (size < 0) break;  // not now, or never again: then reading says so
    worker.sent += static_cast<size_t>(size);
  }
  char buffer[65536];
  for (;;) {
    const ssize_t size = recv(worker.fd, buffer, sizeof buffer, 0);
    if (size < 0 && (errno == EAGAIN || errno == EWOULDBLOCK || errno == EINTR)) break;
    if (size <= 0) {
      *reply = Bury(worker);
      return true;
    }
    worker.received.append(buffer, static_cast<size_t>(size));
  }
  const size_t end = worker.received.find('\n');
  if (end == worker.received.npos) return false;
  *reply = {.text = worker.received.substr(0, end)};
  worker.received.erase(0, end + 1);
  return true;
}

std::vector<WorkerReply> WorkerPool::Run(std::span<const std::string> requests, double timeout_seconds) {
  std::vector<std::string> lines;
  for (const std::string& request : requests) lines.push_back(request + "\n");
  std::vector<WorkerReply> replies(requests.size());
  size_t next = 0, done = 0;
  while (done < requests.size()) {
    for (Worker& worker : workers_) {
      if (worker.busy || next == requests.size()) continue;
      worker.busy = true;
      worker.request = next++;
      worker.sent = 0;
      if (worker.pid == 0) {
        const size_t request = worker.request;
        if (const std::string problem = Start(worker); !problem.empty()) {
          replies[request] = {.outcome = WorkerReply::Outcome::kEnded, .text = problem};
          ++done;
          continue;
        }
        worker.busy = true;
        worker.request = request;
      }
      worker.deadline = runtime::NowNanoseconds() + static_cast<int64_t>(timeout_seconds * 1e9);
    }
    std::vector<pollfd> polled;
    int64_t deadline = INT64_MAX;
    for (const Worker& worker : workers_) {
      if (!worker.busy) continue;
      const bool sending = worker.sent < lines[worker.request].size();
      polled.push_back({.fd = worker.fd, .events = static_cast<short>(POLLIN | (sending ? POLLOUT : 0))});
      deadline = std::min(deadline, worker.deadline);
    }
    if (polled.empty()) continue;
    const int64_t wait = std::clamp<int64_t>((deadline - runtime::NowNanoseconds()) / 1'000'000 + 1, 0, 60'000);
    poll(polled.data(), polled.size(), static_cast<int>(wait));
    for (Worker& worker : workers_) {
      if (!worker.busy) continue;
      const size_t request = worker.request;
      WorkerReply& reply = replies[request];
      if (!Advance(worker, lines[request], &reply)) {
        if (runtime::NowNanoseconds() < worker.deadline) continue;
        reply = {.outcome = WorkerReply::Outcome::kTimedOut,
                 .text = absl::StrCat("no answer within ", timeout_seconds, " seconds", LastWords(worker))};
        Stop(worker);
      }
      worker.busy = false;
      ++done;
    }
  }
  return replies;
}

}  // namespace tilewright
