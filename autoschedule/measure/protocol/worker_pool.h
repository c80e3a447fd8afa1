// Processes that answer requests, each of which may end them.
//
//   WorkerPool pool(path, {"--memory-bytes=4000000000"}, 2);
//   for (const WorkerReply& reply : pool.Run(requests, /*timeout_seconds=*/10)) ...
//
// A request is a line that a worker reads from its standard input, the answer a line that it writes to its standard
// output (serve.h is the worker's side). Workers are started with posix_spawn when they are first needed and stay. One
// that ends in the middle of a request, or does not answer in time and is killed, loses that request only: another one
// takes its place. Workers end with the pool, and with its process however that ends.
#pragma once

#include <sys/types.h>

#include <cstdint>
#include <span>
#include <string>
#include <vector>

namespace tilewright {

struct WorkerReply {
  enum class Outcome : uint8_t { kAnswered, kEnded, kTimedOut };
  Outcome outcome = Outcome::kAnswered;
  std::string text;     // the answer; otherwise a sentence with the last of what the worker wrote to standard error
  bool killed = false;  // by SIGKILL from elsewhere: what the system does when memory is short
};

class WorkerPool {
 public:
  WorkerPool(std::string program, std::vector<std::string> args, int num_workers);
  ~WorkerPool();
  WorkerPool(const WorkerPool&) = delete;
  WorkerPool& operator=(const WorkerPool&) = delete;

  // The replies in the order of the requests, which contain no newline.
  std::vector<WorkerReply> Run(std::span<const std::string> requests, double timeout_seconds);
  // Ends the workers; the next request starts new ones.
  void Restart();

 private:
  struct Worker {
    pid_t pid = 0;      // 0: not running
    int fd = -1;        // a socket: the worker's standard input and output
    int error_fd = -1;  // a file in memory: its standard error
    size_t request = 0;
    bool busy = false;
    size_t sent = 0;  // bytes of the request
    std::string received;
    int64_t deadline = 0;  // nanoseconds
  };

  std::string Start(Worker& worker);  // why it could not be started, or nothing
  void Stop(Worker& worker);
  // Moves what can be moved; true when the request is over and `reply` is set.
  bool Advance(Worker& worker, const std::string& request, WorkerReply* reply);
  WorkerReply Bury(Worker& worker);
  static std::string LastWords(const Worker& worker);

  const std::string program_;
  const std::vector<std::string> args_;
  std::vector<Worker> workers_;
};

}  // namespace tilewright
