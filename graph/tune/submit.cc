#include "graph/tune/submit.h"

#include <fcntl.h>
#include <poll.h>
#include <signal.h>
#include <spawn.h>
#include <sys/wait.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <cstring>
#include <map>
#include <mutex>
#include <optional>
#include <thread>

#include "absl/strings/match.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/str_join.h"
#include "absl/strings/str_replace.h"
#include "base/status_macros.h"

extern char** environ;

namespace tilewright::graph {
namespace {

// How often it is seen whether jobs are to end.
constexpr int kPollMilliseconds = 200;

// A command of the shell in a process group of its own, whose standard output is read line by line.
class ShellProcess {
 public:
  static absl::StatusOr<ShellProcess> Start(const std::string& command) {
    int ends[2];
    if (pipe2(ends, O_CLOEXEC) != 0) return absl::InternalError(absl::StrCat("no pipe: ", std::strerror(errno)));
    posix_spawn_file_actions_t actions;
    posix_spawn_file_actions_init(&actions);
    posix_spawn_file_actions_adddup2(&actions, ends[1], STDOUT_FILENO);
    posix_spawn_file_actions_addopen(&actions, STDIN_FILENO, "/dev/null", O_RDONLY, 0);
    posix_spawnattr_t attributes;
    posix_spawnattr_init(&attributes);
    posix_spawnattr_setflags(&attributes, POSIX_SPAWN_SETPGROUP);
    const char* const words[] = {"/bin/sh", "-c", command.c_str(), nullptr};
    ShellProcess process;
    const int failed = posix_spawn(&process.pid_, words[0], &actions, &attributes, const_cast<char**>(words), environ);
    posix_spawnattr_destroy(&attributes);
    posix_spawn_file_actions_destroy(&actions);
    close(ends[1]);
    process.output_ = ends[0];
    if (failed != 0) {
      close(ends[0]);
      return absl::InternalError(absl::StrCat("/bin/sh cannot be started: ", std::strerror(failed)));
    }
    return process;
  }

  void Interrupt() const { kill(-pid_, SIGINT); }

  // The next line without its end, or nothing when the output has ended; `waiting` is called now and then.
  std::optional<std::string> Line(const std::function<void()>& waiting) {
    for (;;) {
      if (const size_t end = buffer_.find('\n'); end != std::string::npos) {
        std::string line = buffer_.substr(0, end);
        buffer_.erase(0, end + 1);
        return line;
      }
      waiting();
      pollfd ready{.fd = output_, .events = POLLIN, .revents = 0};
      if (poll(&ready, 1, kPollMilliseconds) <= 0) continue;
      char bytes[1 << 16];
      const ssize_t count = read(output_, bytes, sizeof bytes);
      if (count < 0 && errno == EINTR) continue;
      if (count <= 0) return std::nullopt;  // what has no end is not a line
      buffer_.append(bytes, static_cast<size_t>(count));
    }
  }

  // Why it failed; empty where it did not.
  std::string Wait() {
    close(output_);
    int status = 0;
    while (waitpid(pid_, &status, 0) < 0 && errno == EINTR) {
    }
    if (WIFSIGNALED(status)) return absl::StrCat("killed by signal ", WTERMSIG(status));
    return WEXITSTATUS(status) == 0 ? "" : absl::StrCat("exit status ", WEXITSTATUS(status));
  }

 private:
  ShellProcess() = default;
  pid_t pid_ = 0;
  int output_ = -1;
  std::string buffer_;
};

// Tasks in shards of about equal weight: each to the one that has least so far, the heaviest first.
std::vector<std::vector<size_t>> Shards(absl::Span<const ModelTask> tasks, int jobs) {
  std::vector<std::vector<size_t>> shards(std::min(static_cast<size_t>(std::max(jobs, 1)), tasks.size()));
  std::vector<double> weights(shards.size());
  for (size_t i = 0; i < tasks.size(); ++i) {  // they stand from heavy to light
    const auto least = static_cast<size_t>(std::ranges::min_element(weights) - weights.begin());
    shards[least].push_back(i);
    weights[least] += tasks[i].calls * tasks[i].projected_seconds;
  }
  return shards;
}

class Submitter {
 public:
  Submitter(absl::Span<const ModelTask> tasks, const RecordQuery& query, Database& database,
            const SubmitOptions& options)
      : tasks_(tasks), query_(query), database_(database), options_(options) {}

  absl::StatusOr<SubmitResult> Run() {
    const std::vector<std::vector<size_t>> shards = Shards(tasks_, options_.jobs);
    result_.jobs = static_cast<int>(shards.size());
    std::vector<std::thread> threads;
    for (size_t i = 0; i < shards.size(); ++i) threads.emplace_back([this, i, &shards] { RunJob(i, shards[i]); });
    for (std::thread& thread : threads) thread.join();
    if (!status_.ok()) return status_;
    return std::move(result_);
  }

 private:
  bool Stopped() const { return options_.stop && options_.stop(); }

  void RunJob(size_t job, const std::vector<size_t>& tasks) {
    std::vector<uint64_t> workloads;
    std::vector<std::string> kernels;
    for (const size_t i : tasks) {
      workloads.push_back(tasks_[i].workload);
      kernels.push_back(tasks_[i].kernels.empty() ? tasks_[i].name : tasks_[i].kernels.front());
    }
    const std::string name = absl::StrCat("job ", job, " (", absl::StrJoin(kernels, ", "), ")");
    const std::string command =
        absl::StrReplaceAll(options_.submit, {{"{}", ShellQuoted(options_.command(workloads))}});
    for (const bool again : {false, true}) {
      const absl::StatusOr<std::string> lost = RunOnce(name, command);
      const std::lock_guard<std::mutex> lock(mutex_);
      if (!lost.ok()) {
        status_.Update(lost.status());
        return;
      }
      if (lost->empty()) return;
      if (again || Stopped()) {
        result_.lost.push_back(absl::StrCat(name, ": ", *lost));
        return;
      }
      ++result_.requeued;
      Say(absl::StrCat(name, " is lost: ", *lost, "; it is submitted again"));
    }
  }

  // Why the job is lost; empty where it is not.
  absl::StatusOr<std::string> RunOnce(const std::string& name, const std::string& command) {
    TW_ASSIGN_OR_RETURN(ShellProcess process, ShellProcess::Start(command));
    bool interrupted = false, ended = false;
    int64_t records = 0;
    std::map<std::string, int64_t> refused;
    const auto waiting = [&] {
      if (interrupted || !Stopped()) return;
      interrupted = true;
      process.Interrupt();
    };
    while (const std::optional<std::string> line = process.Line(waiting)) {
      ended |= *line == EndOfRecords(records);
      absl::StatusOr<TuningRecord> record = RecordFromJson(*line);
      if (!record.ok()) continue;  // what else the template prints
      ++records;
      if (record->target != query_.target) {
        ++refused[record->target];
        continue;
      }
      const std::lock_guard<std::mutex> lock(mutex_);
      status_.Update(database_.Put(*std::move(record)));
      ++result_.records;
    }
    const std::string failed = process.Wait();
    const std::lock_guard<std::mutex> lock(mutex_);
    for (const auto& [target, count] : refused) {
      result_.refused.push_back(absl::StrCat(name, ": ", count, " records of another target, ", target));
    }
    // A shell between dies of the signal when the job has ended well.
    if (!failed.empty() && !(interrupted && ended)) return failed;
    return ended ? "" : absl::StrCat("its output ends after ", records, " records");
  }

  void Say(std::string_view sentence) const {
    if (options_.on_event) options_.on_event(sentence);
  }

  const absl::Span<const ModelTask> tasks_;
  const RecordQuery& query_;
  Database& database_;
  const SubmitOptions& options_;
  std::mutex mutex_;  // of what follows, the database and events
  absl::Status status_;
  SubmitResult result_;
};

}  // namespace

absl::StatusOr<SubmitResult> SubmitTasks(absl::Span<const ModelTask> tasks, const RecordQuery& query,
                                         Database& database, const SubmitOptions& options) {
  if (!absl::StrContains(options.submit, "{}")) {
    return absl::InvalidArgumentError(
        absl::StrCat("\"", options.submit, "\" has no {} in it, where the command of a job goes"));
  }
  return Submitter(tasks, query, database, options).Run();
}

std::string EndOfRecords(int64_t records) { return absl::StrCat("{\"records\": ", records, "}"); }

std::string ShellQuoted(std::string_view text) {
  return absl::StrCat("'", absl::StrReplaceAll(std::string(text), {{"'", "'\\''"}}), "'");
}

}  // namespace tilewright::graph
