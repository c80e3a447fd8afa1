// A process that answers requests (README.md), a line of JSON each.
//
//   Worker worker({"python3", "serve.py", "onnxruntime"}, /*num_threads=*/2, {0, 1});
//   absl::StatusOr<nlohmann::json> answer = worker.Ask({{"do", "hello"}});
//
// The process is started by the first request and is stopped between requests: its threads use no CPU then. An answer
// with an error is a status, as is a process that ends or does not answer; the next request then starts another one.
#pragma once

#include <sys/types.h>

#include <cstdint>
#include <string>
#include <vector>

#include "absl/status/statusor.h"
#include "autoschedule/measure/protocol/worker_pool.h"
#include "bench/harness/runner.h"
#include "nlohmann/json.hpp"

namespace tilewright::bench {

class Worker {
 public:
  // `command`: a program and its first arguments; --threads=2 and --cpus=0,1 follow.
  Worker(const std::vector<std::string>& command, int num_threads, const std::vector<int>& cpus);
  ~Worker();
  Worker(const Worker&) = delete;
  Worker& operator=(const Worker&) = delete;

  absl::StatusOr<nlohmann::json> Ask(const nlohmann::json& request, double seconds = 60) {
    return Ask(request.dump(), seconds);
  }
  absl::StatusOr<nlohmann::json> Ask(const std::string& request, double seconds);

 private:
  void Signal(int number) const;

  WorkerPool pool_;
  pid_t pid_ = 0;  // As it said itself; 0 when it has not.
};

// 0 where the answer has no such number.
int64_t NumberOf(const nlohmann::json& answer, const char* key);
// What was answered to a request for a block of runs.
TimedBlock BlockOf(const nlohmann::json& answer);

}  // namespace tilewright::bench
