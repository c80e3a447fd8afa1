// A process that answers requests over its standard input and output.
#pragma once

#include <sys/types.h>

#include <string>
#include <vector>

#include "absl/status/statusor.h"

namespace tilewright::remote {

class WorkerProcess {
 public:
  explicit WorkerProcess(std::vector<std::string> command) : command_(std::move(command)) {}
  ~WorkerProcess() { Stop(); }
  WorkerProcess(const WorkerProcess&) = delete;
  WorkerProcess& operator=(const WorkerProcess&) = delete;

  bool started() const { return process_ > 0; }
  absl::Status Start();
  void Stop();
  // The answer; an error, with how the process ended and what it said last, after which it is not started any more.
  absl::StatusOr<std::string> Ask(const std::string& request);

 private:
  // How the process ended; it is gone then.
  std::string Bury();
  std::string LastWords() const;

  const std::vector<std::string> command_;
  pid_t process_ = 0;
  int requests_ = -1, answers_ = -1, errors_ = -1;
};

}  // namespace tilewright::remote
