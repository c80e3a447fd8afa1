// Tuning on many machines, by whatever starts jobs there: nothing of ours is resident.
//
//   SubmitOptions options{.submit = "ssh board {}", .jobs = 2, .command = [](const auto& workloads) { ... }};
//   TW_ASSIGN_OR_RETURN(SubmitResult result, SubmitTasks(tasks, query, database, options));
//
// The tasks are sharded into jobs of about equal weight. The template is a command of the shell in which {} stands for
// the quoted command of a job: `sh -c {}`, `ssh HOST {}`, `srun -n1 sh -c {}`. All jobs run at once; what starts them
// may queue them. A job writes its records to its standard output, one line of JSON each, and at last EndOfRecords: no
// disk needs to be shared. They are stored as they come, so what a lost job has sent is kept.
//
// A job is lost when its command fails, or ends without that last line. It is submitted once more; when it is lost
// again, the result names it.
#pragma once

#include <cstdint>
#include <functional>
#include <string>
#include <string_view>
#include <vector>

#include "absl/status/statusor.h"
#include "absl/types/span.h"
#include "autoschedule/database/database.h"
#include "graph/tune/model_tasks.h"

namespace tilewright::graph {

struct SubmitOptions {
  std::string submit;  // with {} in it
  int jobs = 4;        // at most; no more than there are tasks
  // What tunes the tasks of these workloads and writes their records.
  std::function<std::string(const std::vector<uint64_t>& workloads)> command;
  std::function<bool()> stop = {};                      // the jobs are interrupted once, and end with what they have
  std::function<void(std::string_view)> on_event = {};  // a sentence
};

struct SubmitResult {
  int64_t records = 0;
  int jobs = 0, requeued = 0;
  std::vector<std::string> lost;     // twice: "job 2 (k0, k3): exit status 1"
  std::vector<std::string> refused;  // "job 1: 12 records of another target, znver4 ..."
};

// An error where the template has no {}, or no process can be started.
absl::StatusOr<SubmitResult> SubmitTasks(absl::Span<const ModelTask> tasks, const RecordQuery& query,
                                         Database& database, const SubmitOptions& options);

// The last line of a job that wrote so many records.
std::string EndOfRecords(int64_t records);

// As one word of the shell.
std::string ShellQuoted(std::string_view text);

}  // namespace tilewright::graph
